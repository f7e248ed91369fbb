/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The packets in and out of tests/datapath/peer-vectors.json, another load balancer's own, and who
 * of us compares them: what a balancer does (datapath/peer), or a backend (datapath/peer_decap).
 */
#ifndef POISE_TEST_PEER_H
#define POISE_TEST_PEER_H

#include <json-c/json.h>

#include "frame.h"

enum peer_side { PEER_BALANCER, PEER_BACKEND };

struct peer_vector {
	int index; /* in its set */
	const char
		*kind; /* encap, unchanged, reply_in_place, icmp_error, rewritten, decap_or_other */
	int verdict;
	struct frame in, expected;
	struct frame out; /* and what it is here */
	int got;
	char fault[160]; /* the first difference that counts */
};

#define PEER_FAULT(v, ...) snprintf((v)->fault, sizeof((v)->fault), __VA_ARGS__)

/* The file, to be put by the caller. */
struct json_object *peer_open(void);
/* A member that must be there. */
struct json_object *peer_get(struct json_object *from, const char *key);
const char *peer_text(struct json_object *from, const char *key);

/* The set-up of a set as in poise.yaml, each service with these keys. */
void peer_yaml(char *yaml, size_t size, struct json_object *all, const char *set, const char *keys);

/* Calls run with each vector of the set, and fails the test if that leaves a fault. How many. */
int peer_each(struct json_object *all, const char *set, void (*run)(struct peer_vector *v));
/* How many vectors of the file are that side's; the test fails if there is one that is nobody's. */
int peer_count(struct json_object *all, enum peer_side side);

#endif
