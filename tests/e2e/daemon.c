/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * poised as a process: its privileges, its place, its file, its death. What it follows of the
 * network is in follow.c.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "maps/sizes.h"
#include "tests/support/lab.h"

#define FILE_AT	    "/run/boot.yaml"
#define CONFIG	    "--config " FILE_AT
#define KILLS	    20
#define WATCHDOG_MS 500 /* as if the unit said so */
#define NAP_MS	    50
#define SOME_MAPS   10 /* are always mapped from their beginning */

static struct lab lab;

/* A boot file with eth0 and one service of this name. */
static void write_file(const char *service)
{
	lab_must(&lab, "lb1",
		 "printf '%%s\\n' 'interfaces: [ { device: eth0 } ]' services: '  - name: %s' "
		 "'    listen: [ \"192.0.2.10:80\", \"[2001:db8:a::10]:80\" ]' '    forward: l2' "
		 "'    backends: [ { address: 10.0.0.1 }, { address: \"2001:db8:5::2\" } ]' "
		 "> " FILE_AT,
		 service);
}

static void services_are(const char *names)
{
	const char *out = lab_must(&lab, "lb1",
				   "poise save | sed -n 's/^  - name: //p' | sort | tr '\\n' ' '");

	cr_assert_str_eq(out, names);
}

/* The daemon's log has this line, or will have. */
static void logged(const char *text)
{
	lab_until(&lab, "router", LAB_SOON, "cat %s.lb1*; grep -qF '%s' %s.lb1*", lab.log, text,
		  lab.log);
}

/* Three capabilities and no other, in every set; and all that a daemon does works with them. */
Test(daemon, runs_with_exactly_three_capabilities, .timeout = TEST_LONGEST)
{
	static const char *const sets[] = {
		"CapInh:\t0000000000000000", "CapPrm:\t000000c000001000",
		"CapEff:\t000000c000001000", "CapBnd:\t000000c000001000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1",
	};
	pid_t pid;

	lab_up(&lab, "--backends 2");
	write_file("web");
	pid = lab_poised(&lab, "lb1", CONFIG);
	for (size_t k = 0; k < sizeof(sets) / sizeof(sets[0]); k++)
		lab_must(&lab, "lb1", "grep -q '%s' /proc/%d/status", sets[k], pid);
	lab_must(&lab, "lb1", "for t in /proc/%d/task/*; do grep -q '%s' $t/status || exit 1; done",
		 pid, sets[2]);

	/* memory of maps, once, though each thread has a handle of its own: */
	lab_must(&lab, "lb1",
		 "n=$(grep -c ' 00000000 .*bpf-map' /proc/%d/maps); [ $n -gt %d -a $n -le %zu ]",
		 pid, SOME_MAPS, instance_maps_count);
	/* maps, program, attach: */
	lab_must(&lab, "lb1", "poise status | grep -q 'eth0, native'");
	/* neighbours, and next hops in both families: */
	lab_until(&lab, "lb1", LAB_SOON, "! poise show web | grep -q unresolved");
	/* the sweeper, drains, ids: */
	lab_must(&lab, "lb1", "poise backend drain web 10.0.0.1 deadline 1s");
	lab_until(&lab, "lb1", LAB_SOON, "poise show web | grep -q '10.0.0.1 .* drained'");
	lab_must(&lab, "lb1", "poise backend del web 10.0.0.1 --now");
	lab_until(&lab, "lb1", LAB_SOON,
		  "poise map show meta | awk '{ for (i = 1; i < NF; i++) v[$i] = $(i + 1) } "
		  "END { exit v[\"swept\"] != v[\"committed\"] }'");
	/* the program replaced, the file applied again: */
	write_file("other");
	lab_must(&lab, "lb1", "kill -HUP %d", pid);
	lab_until(&lab, "lb1", LAB_SOON, "poise show other");
	lab_stop(pid, SIGTERM);
	pid = lab_poised(&lab, "lb1", CONFIG);
	lab_must(&lab, "lb1", "poise map check");
	/* rates, and the last good state on disk: */
	lab_until(&lab, "lb1", LAB_SOON, "poise show other | grep -q ' 0 .* 0 '");
	lab_until(&lab, "lb1", LAB_SOON, "grep -q 'name: other' /run/poise/default.yaml");
	lab_stop(pid, SIGTERM);
	lab_down(&lab);
}

Test(daemon, a_second_one_is_refused_and_told_who_is_there, .timeout = TEST_LONGEST)
{
	char want[64];
	const char *out;
	pid_t pid;

	lab_up(&lab, "--backends 1");
	pid = lab_poised(&lab, "lb1", "");
	cr_assert_eq(lab_run(&lab, "lb1", &out, "poised"), 1);
	snprintf(want, sizeof(want), "instance default, as process %d", pid);
	cr_assert(strstr(out, want), "%s", out);
	/* Another instance has room beside it, and death makes room. */
	lab_stop(lab_start(&lab, "lb1", "poised --instance beside"), SIGTERM);
	lab_stop(pid, SIGKILL);
	pid = lab_poised(&lab, "lb1", "");
	lab_stop(pid, SIGTERM);
	lab_down(&lab);
}

Test(daemon, the_file_is_for_new_maps_and_for_reload, .timeout = TEST_LONGEST)
{
	const char *out;
	pid_t pid;

	lab_up(&lab, "--backends 2");
	write_file("first");
	pid = lab_poised(&lab, "lb1", CONFIG);
	services_are("first ");

	/* A restart leaves things as they stand, made by hand or by file. */
	lab_must(&lab, "lb1", "poise service add hand 192.0.2.10:81 forward l2");
	write_file("second");
	lab_stop(pid, SIGTERM);
	pid = lab_poised(&lab, "lb1", CONFIG);
	services_are("first hand ");

	/* A reload applies it, as a difference: what was made by hand is not the file's. */
	lab_must(&lab, "lb1", "kill -HUP %d", pid);
	lab_until(&lab, "lb1", LAB_SOON, "poise show second");
	lab_until(&lab, "lb1", LAB_SOON, "! poise show first");
	services_are("hand second ");
	lab_must(&lab, "lb1", "poise save > /run/before");

	/* What only new maps can take is told, the rest applied. */
	lab_must(&lab, "lb1",
		 "echo 'hash-key: 000102030405060708090a0b0c0d0e0f' >> " FILE_AT
		 "; echo 'limits: { paths: 99 }' >> " FILE_AT);
	lab_must(&lab, "lb1", "kill -HUP %d", pid);
	logged("limits: other than those of the maps");
	logged("hash-key: other than that of the maps");
	write_file("second");

	/* A broken one changes nothing; status says so until it is mended. */
	lab_must(&lab, "lb1", "echo 'service: []' > " FILE_AT);
	lab_must(&lab, "lb1", "kill -HUP %d", pid);
	lab_until(&lab, "lb1", LAB_SOON, "poise status | grep -q 'boot file could not be applied'");
	cr_assert_eq(lab_run(&lab, "lb1", &out, "poise status"), 3, "%s", out);
	cr_assert(strstr(out, FILE_AT ":1"), "%s", out);
	lab_must(&lab, "lb1", "poise save | cmp - /run/before");
	write_file("second");
	lab_must(&lab, "lb1", "kill -HUP %d", pid);
	lab_until(&lab, "lb1", LAB_SOON,
		  "! poise status | grep -q 'boot file could not be applied'");
	lab_stop(pid, SIGTERM);
	lab_down(&lab);
}

Test(daemon, a_broken_file_at_boot_gives_the_last_good_state, .timeout = TEST_LONGEST)
{
	pid_t pid;

	lab_up(&lab, "--backends 2");
	write_file("web");
	pid = lab_poised(&lab, "lb1", CONFIG);
	lab_must(&lab, "lb1", "poise service add hand 192.0.2.10:81 forward l2");
	lab_until(&lab, "lb1", LAB_SOON, "grep -q 'name: hand' /run/poise/default.yaml");
	lab_must(&lab, "lb1", "poise save > /run/before");
	lab_stop(pid, SIGKILL);

	/* As after a reboot: no maps, and a file that cannot be read. */
	lab_must(&lab, "lb1", "poise reset"); /* though its last heartbeat is fresh */
	lab_must(&lab, "lb1", "echo '{' > " FILE_AT);
	pid = lab_poised(&lab, "lb1", CONFIG);
	lab_must(&lab, "lb1", "poise save | cmp - /run/before");
	cr_assert_eq(lab_run(&lab, "lb1", NULL, "poise status"), 3);
	lab_must(&lab, "lb1", "poise status | grep -q 'eth0, native'");
	lab_must(&lab, "lb1", "poise status | grep -q '" FILE_AT "'");

	/* The file was never applied to these maps: mended, it is due even at a restart. */
	write_file("mended");
	lab_stop(pid, SIGTERM);
	pid = lab_poised(&lab, "lb1", CONFIG);
	lab_must(&lab, "lb1", "poise show mended");
	lab_stop(pid, SIGTERM);
	lab_down(&lab);
}

/* A command that adds backends returns when poised has reached them, and names who it cannot. */
Test(daemon, backends_that_came_are_reached_or_named, .timeout = TEST_LONGEST)
{
	const char *out;
	pid_t pid;

	lab_up(&lab, "--backends 2");
	write_file("web");
	pid = lab_poised(&lab, "lb1", CONFIG);
	lab_must(&lab, "lb1",
		 "poise service add more 192.0.2.10:81 forward l2 && "
		 "poise health off more"); /* nobody is there */
	out = lab_must(&lab, "lb1",
		       "poise backend add more 10.0.0.1 10.0.0.2 && "
		       "poise show more --no-header --columns backend,state");
	cr_assert_not(strstr(out, "cannot be reached"), "%s", out);
	cr_assert(strstr(out, "   10.0.0.1  up\n   10.0.0.2  up\n"), "%s", out);
	out = lab_must(&lab, "lb1", "poise backend add more 10.0.0.77 203.0.113.1");
	cr_assert(strstr(out, "backend 10.0.0.77 of more cannot be reached: waiting for"), "%s",
		  out);
	cr_assert(strstr(out, "backend 203.0.113.1 of more cannot be reached: behind gateway"),
		  "%s", out);
	out = lab_must(&lab, "lb1", "poise backend set more 10.0.0.1 weight 2");
	cr_assert_not(strstr(out, "cannot be reached"), "who did not come: %s", out);
	lab_stop(pid, SIGTERM);
	lab_down(&lab);
}

/* Killed at moments spread over its start and run; nothing is lost, one program is attached. */
Test(daemon, sigkill_at_any_moment_loses_nothing, .timeout = TEST_LONGEST)
{
	const char *out;
	pid_t pid;

	lab_up(&lab, "--backends 2");
	write_file("web");
	pid = lab_poised(&lab, "lb1", CONFIG);
	lab_until(&lab, "lb1", LAB_SOON, "! poise show web | grep -q unresolved");
	lab_must(&lab, "lb1", "poise save > /run/before; poise map show members 1 > /run/hop");
	lab_stop(pid, SIGKILL);
	for (int k = 0; k < KILLS; k++) {
		struct timespec t = {.tv_nsec = k * 25000000l};

		pid = lab_start(&lab, "lb1", "poised " CONFIG);
		nanosleep(&t, NULL);
		lab_stop(pid, SIGKILL);
		lab_must(&lab, "lb1", "poise save | cmp - /run/before");
		lab_must(&lab, "lb1", "poise map show members 1 | cmp - /run/hop");
		out = lab_must(&lab, "lb1",
			       "ip -details link show dev eth0 | grep -c 'prog/xdp id'");
		cr_assert_str_eq(out, "1\n");
	}
	pid = lab_poised(&lab, "lb1", CONFIG);
	lab_must(&lab, "lb1", "poise map check");
	lab_stop(pid, SIGTERM);
	lab_down(&lab);
}

/* systemd's end of the socket: what poised says, one datagram a message. */
static int notify_socket(struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	at->sun_family = AF_UNIX;
	snprintf(at->sun_path, sizeof(at->sun_path), "/tmp/poised-notify.%d", getpid());
	unlink(at->sun_path);
	cr_assert_eq(bind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	return fd;
}

/* Reads messages until one has this in it. */
static void told(int fd, const char *word)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char text[512] = "";

	do {
		cr_assert_eq(poll(&p, 1, LAB_SOON * 1000), 1, "never told %s, at last: %s", word,
			     text);
		text[recv(fd, text, sizeof(text) - 1, 0)] = '\0';
	} while (!strstr(text, word));
}

/* Stopped it says nothing any more, and again when it goes on. */
static void hangs(int fd, pid_t pid)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char text[512];

	kill(pid, SIGSTOP);
	cr_assert_eq(waitpid(pid, NULL, WUNTRACED), pid);
	while (recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0)
		;
	cr_assert_eq(poll(&p, 1, WATCHDOG_MS), 0, "a process that stands still is heard of");
	kill(pid, SIGCONT);
	told(fd, "WATCHDOG=1");
}

Test(daemon, tells_systemd, .timeout = TEST_LONGEST)
{
	struct sockaddr_un at = {0};
	int fd = notify_socket(&at);
	pid_t pid;

	lab_up(&lab, "--backends 2");
	write_file("web");
	pid = lab_start(&lab, "lb1", "env NOTIFY_SOCKET=%s WATCHDOG_USEC=%d poised " CONFIG,
			at.sun_path, WATCHDOG_MS * 1000);
	told(fd, "READY=1");
	told(fd, "STATUS=1 services, 2 backends (0 without next hop), 1 devices");
	told(fd, "WATCHDOG=1");
	hangs(fd, pid);
	kill(pid, SIGHUP);
	told(fd, "RELOADING=1\nMONOTONIC_USEC=");
	told(fd, "READY=1");
	kill(pid, SIGTERM);
	told(fd, "STOPPING=1");
	lab_stop(pid, SIGTERM);
	unlink(at.sun_path);
	lab_down(&lab);
}

Test(daemon, ends_when_its_instance_is_removed, .timeout = TEST_LONGEST)
{
	struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};
	int status, tries = 0;
	pid_t pid;

	lab_up(&lab, "--backends 1");
	pid = lab_poised(&lab, "lb1", "");
	/* poise reset refuses while poised runs; a broom does not. */
	lab_must(&lab, "lb1", "rm -r /sys/fs/bpf/poise/default");
	while (waitpid(pid, &status, WNOHANG) == 0) {
		cr_assert_lt(tries++, LAB_SOON * 1000 / NAP_MS, "it runs on");
		nanosleep(&nap, NULL);
	}
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	lab_down(&lab);
}

Test(daemon, says_what_it_cannot_do, .timeout = TEST_LONGEST)
{
	const char *out;

	lab_up(&lab, "--backends 1");
	cr_assert_eq(lab_run(&lab, "lb1", &out, "poised --colour"), 2);
	cr_assert(strstr(out, "unknown option --colour"), "%s", out);
	cr_assert_eq(lab_run(&lab, "lb1", &out, "capsh --drop=cap_perfmon -- -c poised"), 1);
	cr_assert(strstr(out, "lacks cap_perfmon"), "%s", out);
	cr_assert_eq(lab_run(&lab, "lb1", &out, "poised --pin /run/pins"), 1);
	cr_assert(strstr(out, "mount -t bpf"), "%s", out);
	cr_assert_eq(lab_run(&lab, "lb1", &out,
			     "while umount /sys/fs/bpf 2>/dev/null; do :; done; poised"),
		     1);
	cr_assert(strstr(out, "mount -t bpf bpffs /sys/fs/bpf"), "%s", out);
	lab_must(&lab, "lb1", "echo 'serv: 1' > /run/bad.yaml");
	cr_assert_eq(lab_run(&lab, "lb1", &out, "poised --check-config --config /run/bad.yaml"), 1);
	cr_assert(strstr(out, "/run/bad.yaml:1"), "%s", out);
	lab_must(&lab, "lb1", "poised --help | grep -q -- --check-config");
	lab_down(&lab);
}
