/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the slot of a flow should say after each of the flow's packets, to the services of natted.h:
 * worked out anew, from no table of the datapath's.
 */
#ifndef POISE_TEST_SLOTTED_H
#define POISE_TEST_SLOTTED_H

#include "natted.h"

enum slotted_state { NONE, NEW, PICKUP, EST, FIN_, RST_, REST = 7 };

struct slotted {
	__u32 port; /* its slot's; 0: none */
	__u32 sent; /* by which its backend knows it: of mode local the client's, if that can be */
	enum slotted_state state;
	bool fin_client, fin_server, answered, ended, met;
	__u32 stamp;
	__u32 seq; /* of its last SYN or FIN */
	__u16 member;
	__u32 from; /* NATTED_SECOND, or 0 */
};

/* Counted by its backend's gauge? Over for both ends? Silent for too long? Does no end hold it half
 * open? */
bool slotted_live(const struct slotted *f);
bool slotted_closed(const struct slotted *f);
bool slotted_expired(const struct slotted *f, bool udp, __u32 now);
bool slotted_over(const struct slotted *f, bool udp, __u32 now);

/* The client sends this. True: the flow is over, and the packet begins another. */
bool slotted_client_moves(struct slotted *f, enum natted_kind k, bool udp, __u32 now);
/* The backend does. */
void slotted_server_moves(struct slotted *f, enum natted_kind k, __u32 now);
/* But is this of an older connection by this port, which is reset? Not asked of mode local, where
 * the port is the client's own. */
bool slotted_is_older(const struct slotted *f, enum natted_kind k);

#endif
