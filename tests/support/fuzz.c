// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Seeds and mutations for a fuzz target that runs as a test. No match for libFuzzer, which follows
 * coverage; but it runs wherever the tests run, and what libFuzzer once found is among the seeds.
 */
#include <dirent.h>
#include <string.h>

#include "fuzz.h"

#define SEED_MAX  65536 /* bytes of a seed; longer ones are cut */
#define SEEDS_MAX 512

struct seed {
	uint8_t *data;
	size_t size;
};

static int only_files(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* In order of names, so that runs are alike. */
static size_t read_seeds(const char *dir, struct seed *seeds)
{
	struct dirent **entry;
	int entries = scandir(dir, &entry, only_files, alphasort);
	size_t n = 0;

	for (int i = 0; i < entries; i++) {
		char path[512];
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", dir, entry[i]->d_name);
		free(entry[i]);
		f = n < SEEDS_MAX ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		seeds[n].data = malloc(SEED_MAX);
		seeds[n].size = seeds[n].data ? fread(seeds[n].data, 1, SEED_MAX, f) : 0;
		n++;
		fclose(f);
	}
	if (entries >= 0)
		free(entry);
	return n;
}

/* Runs it in memory of its exact size, where a sanitizer sees the first byte beyond. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

unsigned int fuzz_seeds(const char *dir)
{
	static struct seed seeds[SEEDS_MAX];
	size_t n = read_seeds(dir, seeds);

	for (size_t i = 0; i < n; i++) {
		run(seeds[i].data, seeds[i].size);
		free(seeds[i].data);
	}
	return (unsigned int)n;
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* One change: a byte, a run of bytes gone, doubled, or taken from another seed. Returns the size.
 */
static size_t mutate(uint8_t *data, size_t size, const struct seed *other, uint64_t *state)
{
	static const char telling[] = "{}[]:,-#&*!|>'\"%@`\n\t \\0~<.";
	size_t at = size ? draw(state) % size : 0;
	size_t run_length = draw(state) % 16 + 1;
	size_t from;

	if (run_length > size - at)
		run_length = size - at;
	switch (size ? draw(state) % 5 : 4) {
	case 0: data[at] = (uint8_t)draw(state); return size;
	case 1: data[at] = (uint8_t)telling[draw(state) % (sizeof(telling) - 1)]; return size;
	case 2:
		memmove(data + at, data + at + run_length, size - at - run_length);
		return size - run_length;
	case 3:
		if (size + run_length > SEED_MAX)
			return size;
		memmove(data + at + run_length, data + at, size - at);
		return size + run_length;
	default:
		if (!other->size)
			return size;
		from = draw(state) % other->size;
		if (run_length > other->size - from)
			run_length = other->size - from;
		if (at + run_length > SEED_MAX)
			return size;
		memcpy(data + at, other->data + from, run_length);
		return at + run_length > size ? at + run_length : size;
	}
}

unsigned int fuzz_mutations(const char *dir, unsigned int rounds)
{
	static struct seed seeds[SEEDS_MAX];
	static uint8_t data[SEED_MAX];
	size_t n = read_seeds(dir, seeds), size;
	uint64_t state = 0x9e3779b97f4a7c15;
	unsigned int done = 0;

	while (n && done < rounds) {
		const struct seed *seed = &seeds[draw(&state) % n];

		size = seed->size;
		memcpy(data, seed->data, size);
		for (uint64_t changes = draw(&state) % 6 + 1; changes; changes--)
			size = mutate(data, size, &seeds[draw(&state) % n], &state);
		run(data, size);
		done++;
	}
	while (n)
		free(seeds[--n].data);
	return done;
}
