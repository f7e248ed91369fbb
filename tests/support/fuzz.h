/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fuzz target is a file of tests/fuzz that defines LLVMFuzzerTestOneInput and ends with
 * FUZZ_TARGET(name). build/fuzz/NAME is it under libFuzzer and sanitizers, for as long as one
 * likes; build/tests/fuzz/NAME is it as a test: every seed of tests/fuzz/seeds/NAME, then a bounded
 * number of mutations of them, the same ones each time.
 */
#ifndef POISE_TEST_FUZZ_H
#define POISE_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input. */
#define fuzz_require(condition)                                                                    \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#ifdef POISE_LIBFUZZER
#define FUZZ_TARGET(name)
#else
#include <criterion/criterion.h>

/* Each returns how many inputs it ran. */
unsigned int fuzz_seeds(const char *dir);
unsigned int fuzz_mutations(const char *dir, unsigned int rounds);

#define FUZZ_ROUNDS 50000 /* some ten seconds with sanitizers */

#define FUZZ_TARGET(name)                                                                          \
	Test(fuzz_##name, seeds)                                                                   \
	{                                                                                          \
		cr_assert_gt(fuzz_seeds("tests/fuzz/seeds/" #name), 0, "no seeds");                \
	}                                                                                          \
	Test(fuzz_##name, mutations)                                                               \
	{                                                                                          \
		cr_assert_eq(fuzz_mutations("tests/fuzz/seeds/" #name, FUZZ_ROUNDS), FUZZ_ROUNDS); \
	}
#endif

#endif
