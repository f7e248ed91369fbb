/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "late.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdbool.h>

#include "clients.h"

#define NAP 0.005 /* seconds: often enough to meet each time that the machine is held up */

static pthread_t thread;
static bool over;
static double worst;

static void *watch(void *arg)
{
	const struct timespec nap = {.tv_nsec = (long)(NAP * 1e9)};

	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		double slept = -clients_now();

		nanosleep(&nap, NULL);
		slept += clients_now();
		if (slept - NAP > worst)
			worst = slept - NAP;
	}
	return NULL;
}

void late_begin(void)
{
	over = false;
	worst = 0;
	cr_assert_eq(pthread_create(&thread, NULL, watch, NULL), 0);
}

double late_end(void)
{
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return worst;
}
