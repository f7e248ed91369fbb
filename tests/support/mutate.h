/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames that go wrong in the ways frames do: from sound ones, by changed bytes and bits, mostly in
 * the headers, and by other lengths. The same seed, the same frames.
 */
#ifndef POISE_TEST_MUTATE_H
#define POISE_TEST_MUTATE_H

#include <stdint.h>

#include "frame.h"

/* Below `below`. */
uint32_t mutate_draw(uint64_t *random, uint32_t below);

/* A frame that was this one. */
void mutate_of(struct frame *f, const char *words, uint64_t *random);
/* The next frame: for listeners 10.2.0.1 .. 10.2.0.4 and fd02::1 .. fd02::4, TCP 80 and UDP 53,
 * and of mode nat on .5 and .6. */
void mutate_next(struct frame *f, uint64_t *random);

#endif
