// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as what a checked backend answers, as our own parsers see them: type dns, grpc, exec
 * and the escapes of udp. An answer is good or not, in words that a terminal can bear. The first
 * byte says whose answer it is.
 */
#include <string.h>

#include "loader/health/probe_priv.h"
#include "tests/support/fuzz.h"

#define ANSWER_MAX 512
#define DNS_ID	   0x1234

static void check_words(const char *words)
{
	fuzz_require(words[0] && strlen(words) < PROBE_WORDS);
	for (const char *c = words; *c; c++)
		fuzz_require((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_dns(const uint8_t *data, size_t size)
{
	char words[PROBE_WORDS];
	enum probe_said said = probe_dns_said(data, size, DNS_ID, words);

	if (said != PROBE_NOT_OURS)
		check_words(words);
	fuzz_require((said == PROBE_GOOD) ==
		     (said != PROBE_NOT_OURS && !strcmp(words, "dns NOERROR")));
	fuzz_require(said == PROBE_NOT_OURS || (size > 1 && data[0] << 8 == (DNS_ID & 0xff00)));
}

static void check_grpc(const uint8_t *data, size_t size)
{
	char words[PROBE_WORDS];
	enum probe_said said = probe_grpc_said(data, size, words);

	check_words(words);
	fuzz_require((said == PROBE_GOOD) == !strcmp(words, "grpc SERVING"));
}

static void check_exec(const uint8_t *data, size_t size)
{
	char line[ANSWER_MAX + 1];

	memcpy(line, data, size);
	probe_exec_line(line, size);
	fuzz_require(strlen(line) <= size);
	if (line[0])
		for (const char *c = line; *c; c++)
			fuzz_require((unsigned char)*c >= ' ' && *c != 0x7f);
}

/* What is sent is never longer than what was written. */
static void check_escapes(const uint8_t *data, size_t size)
{
	char text[ANSWER_MAX + 1], out[ANSWER_MAX];
	size_t length;

	memcpy(text, data, size);
	text[size] = '\0';
	length = probe_unescape(text, out, sizeof(out));
	fuzz_require(length <= strlen(text));
	fuzz_require(probe_unescape(text, out, length / 2) == length / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > ANSWER_MAX)
		return 0;
	switch (data[0] & 3) {
	case 0: check_dns(data + 1, size - 1); break;
	case 1: check_grpc(data + 1, size - 1); break;
	case 2: check_exec(data + 1, size - 1); break;
	default: check_escapes(data + 1, size - 1);
	}
	return 0;
}

FUZZ_TARGET(answer)
