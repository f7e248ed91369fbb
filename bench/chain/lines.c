// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * lines PROGRAM-ID <ADDRESSES: which source files the instructions are from that a profile met in a
 * loaded program and the functions it calls, inlined ones told apart: by what the compiler noted of
 * each instruction's line. Addresses in hex, one a line (perf script -F ip); those of others are
 * left out. A line a file, SAMPLES FILE, most first.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 128

struct line {
	__u64 from; /* the address of its first instruction */
	const char *file;
};

struct program {
	struct btf *btf;
	struct line *line; /* ascending */
	__u64 *function;   /* addresses */
	__u32 *length;	   /* bytes of each */
	__u32 lines, functions;
};

struct tally {
	const char *file;
	unsigned long samples;
};

/* ---- the program ------------------------------------------------------------------------------*/

static int by_address(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static const char *name_of(const struct btf *btf, __u32 offset)
{
	const char *path = btf__str_by_offset(btf, offset),
		   *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ?: "?";
}

static void put_lines(struct program *p, const struct bpf_line_info *source, const __u64 *address)
{
	for (__u32 i = 0; i < p->lines; i++)
		p->line[i] = (struct line){
			.from = address[i],
			.file = name_of(p->btf, source[i].file_name_off),
		};
	qsort(p->line, p->lines, sizeof(*p->line), by_address);
}

/* Asked a second time, with room for what the first answer says that there is. */
static int read_program(int fd, struct program *p)
{
	struct bpf_prog_info info = {};
	struct bpf_line_info *source = NULL;
	__u64 *address = NULL;
	__u32 size = sizeof(info);
	int rc = -1;

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -1;
	p->lines = info.nr_jited_line_info;
	p->functions = info.nr_jited_ksyms;
	errno = ENODATA;
	if (!p->lines || p->lines != info.nr_line_info || p->functions != info.nr_jited_func_lens)
		return -1;
	source = calloc(p->lines, sizeof(*source));
	address = calloc(p->lines, sizeof(*address));
	p->line = calloc(p->lines, sizeof(*p->line));
	p->function = calloc(p->functions, sizeof(*p->function));
	p->length = calloc(p->functions, sizeof(*p->length));
	if (!source || !address || !p->line || !p->function || !p->length)
		goto out;
	info = (struct bpf_prog_info){
		.line_info = (__u64)(unsigned long)source,
		.nr_line_info = p->lines,
		.line_info_rec_size = sizeof(*source),
		.jited_line_info = (__u64)(unsigned long)address,
		.nr_jited_line_info = p->lines,
		.jited_line_info_rec_size = sizeof(*address),
		.jited_ksyms = (__u64)(unsigned long)p->function,
		.nr_jited_ksyms = p->functions,
		.jited_func_lens = (__u64)(unsigned long)p->length,
		.nr_jited_func_lens = p->functions,
	};
	size = sizeof(info);
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		goto out;
	p->btf = btf__load_from_kernel_by_id(info.btf_id);
	if (!p->btf)
		goto out;
	put_lines(p, source, address);
	rc = 0;
out:
	free(source);
	free(address);
	return rc;
}

static void free_program(struct program *p)
{
	btf__free(p->btf);
	free(p->line);
	free(p->function);
	free(p->length);
}

/* NULL: it is no instruction of the program. */
static const char *file_at(const struct program *p, __u64 address)
{
	__u32 low = 0, high = p->lines, f = 0;

	while (f < p->functions && address - p->function[f] >= p->length[f])
		f++;
	if (f == p->functions)
		return NULL;
	while (low < high) {
		__u32 middle = (low + high) / 2;

		if (p->line[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* What comes before a function's first line is its entry. */
	return low && p->line[low - 1].from >= p->function[f] ? p->line[low - 1].file : "(entry)";
}

/* ---- what was met -----------------------------------------------------------------------------*/

static void count(struct tally *tally, const char *file)
{
	int i = 0;

	while (i < FILES_MAX - 1 && tally[i].file && strcmp(tally[i].file, file) != 0)
		i++;
	if (!tally[i].file)
		tally[i].file = file;
	tally[i].samples++;
}

static int by_samples(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return (x->samples < y->samples) - (x->samples > y->samples);
}

int main(int argc, char **argv)
{
	struct tally tally[FILES_MAX] = {};
	struct program p = {};
	unsigned long long address;
	int fd, rc = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: lines PROGRAM-ID <ADDRESSES\n");
		return 2;
	}
	fd = bpf_prog_get_fd_by_id((__u32)strtoul(argv[1], NULL, 10));
	if (fd < 0 || read_program(fd, &p)) {
		fprintf(stderr, "lines: program %s: %s\n", argv[1], strerror(errno));
		goto out;
	}
	while (scanf("%llx", &address) == 1) {
		const char *file = file_at(&p, address);

		if (file)
			count(tally, file);
	}
	qsort(tally, FILES_MAX, sizeof(*tally), by_samples);
	for (int i = 0; i < FILES_MAX && tally[i].samples; i++)
		printf("%lu %s\n", tally[i].samples, tally[i].file);
	rc = 0;
out:
	free_program(&p);
	if (fd >= 0)
		close(fd);
	return rc;
}
