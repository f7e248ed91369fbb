/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words of the map server_ids: which member a QUIC connection id names. */
#ifndef POISE_SERVER_IDS_H
#define POISE_SERVER_IDS_H

#include "derive.h"

/* The word that a member of the service asks for; 0: none, for want of an id, or of quic. */
__u64 server_id_word(const struct poise_service_conf *svc, const struct poise_member_conf *m,
		     __u16 id);
/* The word that stands for this server id and service as packets find it; NULL: none does. */
__u64 *server_id_find(const struct instance *i, __u64 key);
/* Whether the configuration in force asks for this word. */
bool server_id_wanted(const struct instance *i, __u64 word);
/* Makes the service's words those that its members ask for; d NULL: it has none. */
void server_ids_derive(struct instance *i, __u16 service, const struct derived *d);

#endif
