/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef TEST_LONGEST_H
#define TEST_LONGEST_H

/* Seconds after which a test hangs, on the slowest of machines, an emulated one included: the
 * .timeout of whatever has no claim about its own time. */
#define TEST_LONGEST 600

#endif
