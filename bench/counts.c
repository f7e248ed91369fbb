// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel's half of make bench-quick: how large each loaded program is, what the verifier had to
 * look at, and how often it really calls. Helpers that the verifier inlines (array look-ups,
 * jiffies) are no calls any more; each one that is left, and each call of a function of our own,
 * costs 7 to 20 ns where it is met. Prints lines "case,instructions,helpers".
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "balancer.h"

static void count_calls(const struct bpf_insn *insn, size_t n, unsigned int *helpers,
			unsigned int *functions)
{
	*helpers = *functions = 0;
	for (size_t i = 0; i < n; i++) {
		if (insn[i].code != (BPF_JMP | BPF_CALL))
			continue;
		if (insn[i].src_reg == BPF_PSEUDO_CALL)
			++*functions;
		else
			++*helpers;
	}
}

/* As the kernel tells it: the verifier's rewritten instructions, sizes of code. */
static int print_program(const struct instance *i, const char *name)
{
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);
	unsigned int helpers, functions;
	struct bpf_insn *insn = NULL;
	char path[512];
	int fd, rc = -1;

	snprintf(path, sizeof(path), "%s/prog_%s", i->dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		goto out;
	insn = calloc(1, info.xlated_prog_len);
	if (!insn)
		goto out;
	info = (struct bpf_prog_info){
		.xlated_prog_insns = (__u64)(unsigned long)insn,
		.xlated_prog_len = info.xlated_prog_len,
	};
	size = sizeof(info);
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		goto out;
	count_calls(insn, info.xlated_prog_len / sizeof(*insn), &helpers, &functions);
	printf("bpf/%s,%zu,%u\n", name, info.xlated_prog_len / sizeof(*insn), helpers);
	printf("bpf/%s-functions,,%u\n", name, functions);
	printf("bpf/%s-verified,%u,\n", name, info.verified_insns);
	rc = 0;
out:
	if (rc)
		fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
	free(insn);
	if (fd >= 0)
		close(fd);
	return rc;
}

static const char *const programs[] = {"xdp", "sweep"};

int main(void)
{
	struct poise_error err = {0};
	struct balancer b;
	char text[1024];
	int rc = 0;

	if (balancer_open(&b, &err)) {
		fprintf(stderr, "bench: %s\n", poise_error_text(&err, text, sizeof(text)));
		return 1;
	}
	for (size_t n = 0; n < sizeof(programs) / sizeof(programs[0]); n++)
		rc |= print_program(b.instance, programs[n]);
	balancer_close(&b);
	return rc ? 1 : 0;
}
