/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lab itself: two at once, and nothing left behind, whatever becomes of its owner. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/lab.h"

TestSuite(lab, .timeout = TEST_LONGEST);

Test(lab, two_at_once_and_neither_sees_the_other)
{
	struct lab one = {}, two = {};

	lab_up(&one, "--backends 1");
	lab_up(&two, "--backends 1 --mode ipip --balancers 2");
	lab_serve(&one, "b1", "serve first 10.0.0.1:7000");
	lab_serve(&two, "b1", "serve second 10.0.1.1:7000");
	cr_assert(strstr(lab_must(&one, "c1", "load http 10.0.0.1:7000 --count 1; true"), "1 req"));
	cr_assert(strstr(lab_must(&one, "c1", "load udp 10.0.0.1:7000 --count 5"), "first"));
	cr_assert(strstr(lab_must(&two, "c1", "load udp 10.0.1.1:7000 --count 5"), "second"));
	cr_assert(lab_run(&one, "c1", NULL, "load udp 10.0.1.1:7000 --count 1 --timeout 0.2") == 1);
	lab_down(&one);
	cr_assert(strstr(lab_must(&two, "c1", "load udp 10.0.1.1:7000 --count 5"), "second"));
	lab_down(&two);
}

/* Owner, nodes and a server in one of them; the owner is killed and cannot clean. */
Test(lab, of_a_killed_owner_is_removed_by_the_next)
{
	char name[32];
	pid_t owner;

	if (geteuid())
		cr_skip_test("needs root: it makes network namespaces");
	owner = fork();
	if (!owner) {
		for (;;)
			pause();
	}
	snprintf(name, sizeof(name), "k%d", owner);
	cr_assert(lab_host(NULL, "tests/lab/lab up --name %s --owner %d --backends 1", name,
			   owner) == 0);
	cr_assert(lab_host(NULL,
			   "tests/lab/lab exec --name %s b1 serve x 10.0.0.1:7000 >/dev/null "
			   "2>&1 & tests/lab/lab clean",
			   name) == 0);
	cr_assert(lab_host(NULL, "tests/lab/lab list | grep -q ^%s:", name) == 0,
		  "a lab whose owner lives was removed");
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	cr_assert(lab_host(NULL, "tests/lab/lab clean") == 0);
	cr_assert(lab_host(NULL, "tests/lab/lab list | grep -q ^%s:", name) == 1);
	cr_assert(lab_host(NULL, "ip netns list | grep -q poise-%s-", name) == 1);
	cr_assert(lab_host(NULL, "pgrep -f '[s]erve x 10.0.0.1:7000'") == 1, "a server lives on");
}

Test(lab, killed_while_it_is_being_built_is_removed_by_the_next)
{
	const char *out;
	char name[32];

	if (geteuid())
		cr_skip_test("needs root: it makes network namespaces");
	snprintf(name, sizeof(name), "h%d", getpid());
	/* Killed at 20 different moments of its building. */
	for (int ms = 10; ms <= 200; ms += 10)
		lab_host(NULL, "timeout -s KILL 0.%03d tests/lab/lab up --name %s.%d --owner $$",
			 ms, name, ms);
	cr_assert(lab_host(NULL, "tests/lab/lab clean") == 0);
	lab_host(&out, "tests/lab/lab list; ip netns list; grep '%s' /proc/mounts", name);
	cr_assert(!strstr(out, name), "left: %s", out);
}
