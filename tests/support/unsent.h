/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * In place of loader/kube/http.c: requests are not sent but kept, to be looked at and answered. A
 * test that calls one of these is linked with it.
 */
#ifndef POISE_TEST_UNSENT_H
#define POISE_TEST_UNSENT_H

#include "loader/kube/http.h"

#define UNSENT 512

struct kube_call {
	enum kube_verb verb;
	char path[1024], body[4096];
	void (*done)(void *ctx, const struct kube_answer *answer);
	void *ctx;
	bool open; /* neither answered nor dropped */
	bool dropped;
};

/* All requests since unsent_begin, in their order. */
extern struct kube_call unsent[UNSENT];
extern size_t unsents;

void unsent_begin(void);
void unsent_end(void);
/* The newest one that waits for an answer. */
struct kube_call *unsent_newest(void);
size_t unsent_open(void);
/* Answers it; 0: not at all. body: JSON, or NULL. */
void unsent_answer(struct kube_call *call, int status, const char *body);

#endif
