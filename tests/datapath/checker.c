// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The checker of an instance as a whole: that it starts and ends, again and again, and that a start
 * that fails half-way leaves nothing open.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <string.h>

#include "loader/health/checker.h"
#include "tests/support/place.h"
#include "tests/support/rig.h"

#define NO_STACK (1ul << 46) /* bytes: more than there are addresses for */

TestSuite(checker, .fini = place_cleanup, .timeout = TEST_LONGEST);

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	cr_assert(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void say(const struct poise_error *err)
{
	(void)err;
}

static void start_and_stop(const struct instance_where *where)
{
	struct checker *c = NULL;

	cr_assert_eq(checker_start(&c, where, say, NULL), 0);
	checker_stop(c);
}

static void fail_to_start(const struct instance_where *where)
{
	struct poise_error err = {0};
	struct checker *c = NULL;
	pthread_attr_t usual, huge;

	pthread_getattr_default_np(&usual);
	pthread_attr_init(&huge);
	pthread_attr_setstacksize(&huge, NO_STACK);
	cr_assert_eq(pthread_setattr_default_np(&huge), 0);
	cr_expect_eq(checker_start(&c, where, say, &err), -1);
	cr_expect(strstr(err.message, "a thread"), "%s", err.message);
	cr_assert_eq(pthread_setattr_default_np(&usual), 0);
}

Test(checker, leaves_nothing_open)
{
	struct rig rig = {0};
	int before;

	rig_open(&rig, "services: []\n");
	start_and_stop(&rig.place.where); /* what libraries open once stays */
	before = descriptors();
	start_and_stop(&rig.place.where);
	cr_expect_eq(descriptors(), before);
	fail_to_start(&rig.place.where);
	cr_expect_eq(descriptors(), before, "%d, not %d", descriptors(), before);
	start_and_stop(&rig.place.where);
	cr_expect_eq(descriptors(), before);
}
