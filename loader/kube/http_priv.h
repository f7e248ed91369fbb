/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request under way, between http.c (when), http_easy.c (how) and http_answer.c (what came). */
#ifndef POISE_KUBE_HTTP_PRIV_H
#define POISE_KUBE_HTTP_PRIV_H

#include <curl/curl.h>

#include "http.h"

#define KUBE_HEAD 65536 /* bytes of headers that are read: no honest server sends more */

struct kube_http {
	CURLM *multi;
	struct kube_access *access;
	struct kube_call *calls; /* all of them */
};

struct kube_call {
	struct kube_http *http;
	struct kube_call *next, **link;
	struct kube_request request; /* its texts are ours */
	bool begun;		     /* curl has it */
	CURL *easy;
	struct curl_slist *headers, *connect;
	char error[CURL_ERROR_SIZE];

	size_t head, got;	  /* bytes of headers, and of a body that is collected */
	json_tokener *tokener;	  /* of it */
	struct json_object *json; /* once it is complete */
	bool awry;		  /* not JSON, or too much of it */
	bool enough;		  /* piece() wants no more */
};

/* Everything curl has to know of it. */
void call_prepare(struct kube_call *c);
/* curl's: a piece of the body. */
size_t call_on_body(char *data, size_t one, size_t length, void *ctx);
size_t call_on_head(char *data, size_t one, size_t length, void *ctx);
/* What came of it. The body is lent: c->json. */
void call_answer(struct kube_call *c, CURLcode code, struct kube_answer *answer);

/* As people call it: GET, PATCH. */
const char *kube_verb_word(enum kube_verb verb);

#endif
