/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `flows`, `flows client` and `flows drop` share: which flows are meant, whose a word is, and
 * the columns it is shown in.
 */
#ifndef POISE_CLI_FLOWS_H
#define POISE_CLI_FLOWS_H

#include "json.h"
#include "transact.h"

/* Which flows are meant; NULL or 0: any. */
struct flow_filter {
	const struct config_service *service;
	const struct config_member *member;
	unsigned int state; /* enum poise_flow_state */
	__u32 idle;	    /* silent for so many seconds at least */
	bool sourced;	    /* its packets to the backend come from ... */
	__u16 port;	    /* ... this port, network order, 0: any, ... */
	union poise_addr source;
};

/* Takes [SERVICE [BACKEND]] [state S] [idle D], and if so [source ADDR[:PORT]], up to the end. */
int flow_filter_take(struct cli *c, struct flow_filter *f, bool source);
bool flow_filter_is_any(const struct flow_filter *f);

/* Whose a word is. member NULL: nobody's, and the sweeper takes it away. */
struct flow_owner {
	const struct config_service *service;
	const struct config_member *member;
};

struct flow_owners {
	struct flow_owner *of; /* by member id */
	size_t n;
};

void flow_owners_index(struct flow_owners *o, const struct cli *c);
void flow_owners_free(struct flow_owners *o);
struct flow_owner flow_owner_of(const struct flow_owners *o, __u64 word);

/* There may be millions of rows: each is printed as it is found, in columns as wide as the names
 * that there are. */
struct flow_columns {
	int service, backend;
};

/* Of svc, or of every service if NULL. */
void flow_columns_measure(struct flow_columns *w, const struct cli *c,
			  const struct config_service *svc);
/* `before` stands in front, "" for nothing. */
void flow_print_header(const struct cli *c, const struct flow_columns *w, const char *before,
		       const char *after);
void flow_print(const struct cli *c, const struct flow_columns *w, const char *before,
		const struct flow_owner *owner, __u64 word, __u32 idle, const char *after);
/* The fields of a word; `o` may have some already. */
void flow_json(struct json_object *o, const struct flow_owner *owner, __u64 word, __u32 idle);

#define FLOW_TUPLE_TEXT (3 * POISE_ENDPOINT_TEXT + 16)

/* Who a flow of mode nat is of, "" for another: "CLIENT > ADDRESS by SOURCE". */
char *flow_tuple(const struct cli *c, __u32 slot, char buf[FLOW_TUPLE_TEXT]);
/* The same as fields. */
void flow_tuple_json(const struct cli *c, __u32 slot, struct json_object *o);
void flow_source_json(const struct cli *c, __u32 slot, struct json_object *o);

/* Says which of the services (svc, or all) record only what their table does not answer alone: as a
 * line on standard error, or as a field of o. */
void flow_say_partly(const struct cli *c, const struct config_service *svc, struct json_object *o);

#endif
