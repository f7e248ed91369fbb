/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The changes that kinds are made of, in files by what is changed, and what these share. */
#ifndef POISE_TEST_KINDS_PRIV_H
#define POISE_TEST_KINDS_PRIV_H

#include "kinds.h"

#define KINDS_TABLE 61 /* slots: few, so that a transaction has few stores */

/* The head of a store_edit that needs no argument, as none of these does. */
#define EDIT(name)                                                                                 \
	void kind_##name(struct config *cfg, unsigned long argument __attribute__((unused)))

/* Those of the small configuration, which are there. */
struct config_service *kinds_service(const struct config *cfg, const char *name);
struct config_member *kinds_member(const struct config *cfg, unsigned int web_member);

struct config_address *kinds_claim(struct config *cfg, const char *text, const char *device);
/* NULL: none. */
void kinds_ranges(struct config_service *svc, const char *allow, const char *deny);

/* kinds_service.c */
EDIT(service_add);
EDIT(service_del);
EDIT(service_rename);
EDIT(service_replace);
EDIT(listen_more);
EDIT(listen_less);
EDIT(listener_moves);
EDIT(set_policy);
EDIT(set_table_size);
EDIT(set_timers);
EDIT(set_forward);
EDIT(set_gue);
EDIT(set_refuse);
EDIT(set_panic);
EDIT(set_on_down);
EDIT(table_size_back);
/* kinds_options.c */
EDIT(quic_on);
EDIT(quic_web);
EDIT(quic_off);
EDIT(quic_swap);
EDIT(quic_leaves);
EDIT(limit_some);
EDIT(limit_others);
EDIT(limit_none);
EDIT(ranges_some);
EDIT(ranges_others);
EDIT(ranges_respelt);
EDIT(ranges_none);
/* kinds_backend.c */
EDIT(backend_add);
EDIT(backend_add_many);
EDIT(backend_weight);
EDIT(backend_weight_0);
EDIT(backend_drain);
EDIT(backend_disable);
EDIT(backend_forward);
EDIT(backend_down);
EDIT(backend_up);
EDIT(backend_sorry);
EDIT(backend_leaves);
EDIT(backend_del);
EDIT(all_down);
EDIT(all_disabled);
EDIT(all_del);
EDIT(all_up);
/* kinds_address.c */
EDIT(address_claim);
EDIT(address_put);
EDIT(address_moves);
EDIT(address_leaves);
EDIT(address_set);
EDIT(address_known);
EDIT(address_usable);
EDIT(own_changes);
EDIT(address_replace);

#endif
