/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What came back: whether it is whole, right, and who said it. */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H

#include <stdbool.h>

#include "outcome.h"

#define ANSWER_HEAD 1024 /* bytes kept of it: HTTP's head and a name */

struct answer {
	size_t got; /* bytes, kept or not */
	char head[ANSWER_HEAD + 1];
};

/* As many bytes have come as the answer to this question has. */
bool answer_is_whole(const struct answer *a, const struct wire *question);
/* Judges it, whole or cut short. *who: the server's name, inside the answer, which is changed. */
enum fault answer_wire(struct answer *a, const struct wire *question, const char **who);
/* The same of HTTP: "HTTP/1.1 200 ...", a blank line, and a body that begins with a name. */
enum fault answer_http(struct answer *a, const char **who, int *status);

#endif
