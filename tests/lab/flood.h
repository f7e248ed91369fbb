/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by flood's two halves. */
#ifndef LAB_FLOOD_H
#define LAB_FLOOD_H

#include <linux/types.h>

#define FLOOD_HEADERS 42 /* Ethernet, IPv4, UDP */
#define FLOOD_FRAME   60 /* the smallest Ethernet frame */

struct flood_template {
	__u8 byte[FLOOD_HEADERS];
};

#endif
