/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one table of nftables that an instance may have: `table inet poise`, or `poise-INSTANCE`. It
 * translates the source of what carries POISE_OVERLAY_MARK (maps/nat.h), and of nothing else:
 *
 *	table inet poise {
 *		chain overlay {
 *			type nat hook postrouting priority srcnat; policy accept;
 *			meta mark & 0x00001000 == 0x00001000 masquerade fully-random comment "poise"
 *		}
 *	}
 *
 * Since a flow's packets are marked where they come in, nobody else's to the same backend is
 * translated, and backends come and go without a change here. Any source port will do, at random,
 * so that two CPUs do not ask for the same one at a time.
 *
 * Spoken to by netlink (libmnl), a rule being little enough: libnftables would read all that others
 * have in nftables, in the loop, to parse these lines. Tables of others are never asked for. The
 * kernel's flag for a table that only its owner may remove would take it away with the process,
 * while packets go on.
 */
#ifndef POISE_NET_NFT_H
#define POISE_NET_NFT_H

#include <stdbool.h>

#include "../../maps/abi.h"
#include "../../maps/error.h"

#define NFT_TABLE_TEXT (POISE_NAME_MAX + 8) /* "poise-", an instance's name and NUL */

/* The name of the instance's table, in family inet. */
char *nft_table_name(const char *instance, char buf[NFT_TABLE_TEXT]);
/* Whether it is there with its rule. -1: the kernel could not be asked. */
int nft_table_look(const char *table, struct poise_error *err);
/* Makes it, in place of what has its name, in one step: no packet passes between. */
int nft_table_make(const char *table, struct poise_error *err);
/* It may be gone already. */
int nft_table_remove(const char *table, struct poise_error *err);

#endif
