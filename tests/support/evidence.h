/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is there to be seen when a test over a lab fails, for whoever cannot go and look: at the
 * first failed assertion the log of each balancer's poised and what poise says there, on standard
 * error.
 */
#ifndef TEST_EVIDENCE_H
#define TEST_EVIDENCE_H

#include "lab.h"

/* From now on this lab is looked at; and no longer. */
void evidence_begin(const struct lab *l);
void evidence_end(const struct lab *l);

#endif
