/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "answer.h"

#include <string.h>

/* Bytes of the name and its space; 0: there is none yet. */
static size_t name_bytes(const struct answer *a)
{
	const char *space = memchr(a->head, ' ', a->got < WIRE_NAME ? a->got : WIRE_NAME);

	return space ? (size_t)(space - a->head) + 1 : 0;
}

bool answer_is_whole(const struct answer *a, const struct wire *question)
{
	size_t name = name_bytes(a);

	return name ? a->got >= name + wire_answer_bytes(question) : a->got >= WIRE_NAME;
}

enum fault answer_wire(struct answer *a, const struct wire *question, const char **who)
{
	size_t name = name_bytes(a);
	struct wire said;
	uint32_t group;

	if (name < 2 || a->got != name + wire_answer_bytes(question))
		return FAULT_WRONG_ANSWER;
	memcpy(&said, a->head + name, sizeof(said));
	group = said.group;
	said.group = question->group;
	if (memcmp(&said, question, sizeof(said)) != 0)
		return FAULT_WRONG_ANSWER;
	a->head[name - 1] = '\0';
	*who = a->head;
	return group == question->group ? FAULT_NONE : FAULT_MISDIRECTED;
}

enum fault answer_http(struct answer *a, const char **who, int *status)
{
	char *body;
	size_t len;

	a->head[a->got < ANSWER_HEAD ? a->got : ANSWER_HEAD] = '\0';
	body = strstr(a->head, "\r\n\r\n");
	if (sscanf(a->head, "HTTP/%*s %d", status) != 1 || !body)
		return FAULT_CUT_SHORT;
	if (*status != 200)
		return FAULT_STATUS;
	body += strspn(body, " \r\n");
	len = strcspn(body, " \r\n");
	if (!len || len >= WIRE_NAME)
		return FAULT_NO_NAME;
	body[len] = '\0';
	*who = body;
	return FAULT_NONE;
}
