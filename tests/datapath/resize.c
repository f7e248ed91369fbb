// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The flow table gets another size while packets run: no flow moves, whichever program of two a
 * device has at the moment, and wherever the process that resizes is killed; gauges are what a
 * recount of both tables gives. A ledger plays the clients (tests/support/ledger.h).
 */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "tests/support/ledger.h"
#include "tests/support/rig.h"

static const char setup[] = "services:\n"
			    "  - name: web\n"
			    "    listen: " LEDGER_LISTENERS "\n"
			    "    forward: l2\n"
			    "    track: always\n"
			    "    backends:\n"
			    "      - { address: 10.3.0.1 }\n"
			    "      - { address: 10.3.0.2 }\n"
			    "      - { address: 10.3.0.3 }\n"
			    "      - { address: 10.3.0.4 }\n";

static struct rig rig;
static struct ledger l;
/* Two devices: one has the program that is pinned now, the other that of the step before. */
static int device[2] = {-1, -1};

TestSuite(resize, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* ---- packets ----------------------------------------------------------------------------------*/

static int send_by(int program, const __u8 *frame, size_t length)
{
	static __u8 out[512];
	struct xdp_md ctx = {.data_end = (__u32)length, .ingress_ifindex = rig.place.lo};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = (__u32)length,
		    .data_out = out, .data_size_out = sizeof(out), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx));

	cr_assert(!bpf_prog_test_run_opts(program, &run), "%s", strerror(errno));
	return run.retval == XDP_TX ? out[5] : 0;
}

static int send_by_chance(void *ctx, const __u8 *frame, size_t length)
{
	(void)ctx;
	return send_by(device[l.packets & 1], frame, length);
}

static void pick_up(int which)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/prog_xdp", rig.i->dir);
	if (device[which] >= 0)
		close(device[which]);
	device[which] = bpf_obj_get(path);
	cr_assert(device[which] >= 0, "%s: %s", path, strerror(errno));
}

static void open_world(size_t flows)
{
	rig_open(&rig, setup);
	/* A flow whose word is lost shows. */
	config_service_named(rig.cfg, "web")->conf.policy = POISE_RANDOM;
	rig_commit(&rig);
	ledger_open(&l, flows, 1);
	l.send = send_by_chance;
	l.idle = l.udp = 1000;
	pick_up(0);
	pick_up(1);
	for (size_t f = 0; f < flows; f++)
		ledger_begin(&l, f, f & 1);
}

static void close_world(void)
{
	ledger_close(&l);
	close(device[0]);
	close(device[1]);
	rig_close(&rig);
}

/* ---- what must be true ------------------------------------------------------------------------*/

/* Takes the lock, and so maps whatever tables there are by now. */
static void refresh(void)
{
	struct poise_error err = {0};

	cr_assert(!instance_lock(rig.i, &err), "%s", err.message);
	instance_unlock(rig.i);
}

static void expect_right(const char *when)
{
	cr_assert_eq(l.moved, 0, "%s: %lu flows of %lu moved; first %s", when, l.moved, l.begun,
		     l.first);
	cr_assert_eq(l.lost, 0, "%s: %lu packets went nowhere", when, l.lost);
	refresh();
	rig_expect_recount(&rig, when);
}

/* Flows that began, by the counters: a flow that moved to another table is no new one. */
static __u64 opened(void)
{
	struct instance_stats stats;
	__u64 sum = 0;

	for (__u32 m = 1; m < rig.i->meta->members; m++) {
		instance_member_stats(rig.i, (__u16)m, &stats);
		sum += stats.opened;
	}
	return sum;
}

/* Between two steps one device has its new program already. */
static void between_steps(unsigned int step)
{
	(void)step;
	pick_up(0);
	ledger_talk_some(&l, 100);
	pick_up(1);
}

static __u64 go_on(void)
{
	struct poise_error err = {0};
	__u64 left;

	attach_resize_step = between_steps;
	cr_assert(!attach_resize_go_on(&rig.place.where, &left, &err), "%s", err.message);
	attach_resize_step = NULL;
	between_steps(0);
	return left;
}

static __u64 resize_to(__u32 slots)
{
	struct poise_error err = {0};
	__u64 left;

	cr_assert(!attach_resize(&rig.place.where, slots / POISE_BUCKET_WORDS, &left, &err), "%s",
		  err.message);
	cr_assert_eq(rig.i->meta->flow_buckets, slots / POISE_BUCKET_WORDS);
	return left;
}

/* ---- a hundred thousand flows -----------------------------------------------------------------*/

#define FLOWS	 100000
#define EMULATED 20 /* times fewer where the CPU is emulated */
#define LARGE	 (1 << 20)

Test(resize, flows_move_with_their_packets)
{
	size_t flows = FLOWS / (place_emulated() ? EMULATED : 1);
	__u64 began;

	rig_open(&rig, setup);
	resize_to(LARGE);
	open_world(flows);
	expect_right("before");
	began = opened();
	cr_assert_eq(began, flows);
	cr_assert_eq(resize_to(4 * LARGE), flows, "all are recorded in the old table");
	pick_up(0);
	expect_right("no packet yet");
	pick_up(1);
	for (size_t f = 0; f < flows / 2; f++)
		ledger_talk(&l, f);
	expect_right("half of them have sent a packet");
	ledger_talk_all(&l);
	expect_right("all of them have");
	cr_assert_eq(opened(), began);
	cr_assert_eq(go_on(), 0);
	refresh();
	cr_assert_eq(rig.i->beside_buckets, 0);
	cr_assert_eq(rig.i->flow_buckets, 4 * LARGE / POISE_BUCKET_WORDS);
	ledger_talk_all(&l);
	expect_right("the old table is gone");
	close_world();
}

/* Where there is less room than there are flows, none is counted that is not recorded. */
Test(resize, into_a_table_too_small)
{
	static struct rig_counts c;
	__u64 lost;

	open_world(3000);
	cr_assert(resize_to(1024) > 1700, "who found room has moved at once, and nobody else");
	pick_up(0);
	pick_up(1);
	ledger_talk_all(&l);
	cr_assert_eq(go_on(), 0, "each has moved, or has no record any more");
	l.moved = 0; /* a policy by chance does not find them again */
	expect_right("afterwards");
	rig_count(&rig, &c);
	lost = c.service[rig_service(&rig, "web")].count[POISE_R_EVICTED] +
	       c.service[rig_service(&rig, "web")].count[POISE_R_UNRECORDED];
	cr_assert(lost >= 1900, "%llu were lost, and are not counted", lost);
	close_world();
}

/* ---- one after another, while flows are silent ------------------------------------------------*/

#define SMALL 65536

/* Words and gauges are right, though no packet has come. */
static void expect_silent(const char *when)
{
	pick_up(0);
	pick_up(1);
	expect_right(when);
}

static void open_small(size_t flows)
{
	rig_open(&rig, setup);
	resize_to(SMALL);
	open_world(flows);
}

Test(resize, into_a_smaller_table_without_a_packet)
{
	__u64 began;

	rig_open(&rig, setup);
	resize_to(4 * SMALL);
	open_world(2000);
	began = opened();
	cr_assert_eq(resize_to(SMALL), 0, "the old table is not empty");
	refresh();
	cr_assert_eq(rig.i->beside_buckets, 0);
	expect_silent("into a smaller table");
	cr_assert_eq(opened(), began);
	ledger_talk_all(&l);
	expect_right("packets have come");
	close_world();
}

/* Loading takes seconds where the CPU is emulated: what others show of these programs is enough. */
static void not_emulated(void)
{
	if (place_emulated())
		cr_skip_test("the CPU is emulated");
}

Test(resize, twice_while_flows_are_silent)
{
	not_emulated();
	open_small(800);
	cr_assert_eq(resize_to(2 * SMALL), 800);
	pick_up(0);
	pick_up(1);
	for (size_t f = 0; f < 400; f++)
		ledger_talk(&l, f);
	cr_assert_eq(resize_to(4 * SMALL), 800, "all are in the smallest table");
	expect_silent("twice");
	cr_assert_eq(resize_to(SMALL), 0, "back again");
	expect_silent("back again");
	ledger_talk_all(&l);
	expect_right("packets have come");
	close_world();
}

Test(resize, twice_where_the_first_table_was_full)
{
	struct poise_error err = {0};
	__u64 left;

	not_emulated();
	open_world(3000);
	resize_to(16384);
	pick_up(0);
	pick_up(1);
	for (size_t f = 100; f < 3000; f++)
		ledger_talk(&l, f);
	l.moved = 0; /* of those that had no room in the first table */
	for (size_t f = 3000 - 500; f < 3000; f++)
		ledger_begin(&l, f, true);
	cr_assert_eq(attach_resize(&rig.place.where, 32768 / POISE_BUCKET_WORDS, &left, &err), -1);
	cr_assert_eq(err.code, POISE_E_BUSY);
	cr_assert(strstr(err.remedy, "back to 4096 slots"), "%s", err.remedy);
	cr_assert(strstr(err.remedy, "2h15m"), "the longest timeout is not told: %s", err.remedy);
	resize_to(4096);
	pick_up(0);
	pick_up(1);
	refresh();
	rig_expect_recount(&rig, "back");
	close_world();
}

/* ---- killed -----------------------------------------------------------------------------------*/

#define ROLES_CHANGED 6 /* the step at which the old table is in force no more */

static unsigned int kill_at;

static void maybe_die(unsigned int step)
{
	if (step == kill_at)
		_exit(17);
}

/* True if the child came to its end. */
static bool resize_killed(__u32 slots)
{
	int status;
	pid_t pid = fork();

	cr_assert(pid >= 0);
	if (!pid) {
		struct poise_error err = {0};
		__u64 left;

		attach_resize_step = maybe_die;
		_exit(attach_resize(&rig.place.where, slots / POISE_BUCKET_WORDS, &left, &err) ? 1
											       : 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == 17),
		  "status 0x%x", status);
	return !WEXITSTATUS(status);
}

/* To another size and, flows having moved, to its end; killed at step kill_at of it. */
static bool one_resize(__u32 slots)
{
	bool ended = resize_killed(slots);
	char when[48];

	snprintf(when, sizeof(when), "killed at step %u", kill_at);
	pick_up(0);
	pick_up(1);
	ledger_talk_some(&l, 300);
	expect_right(when);
	go_on();
	expect_right("gone on");
	ledger_talk_all(&l);
	go_on();
	ledger_talk_some(&l, 300);
	expect_right("ended");
	refresh();
	cr_assert_eq(rig.i->beside_buckets, 0, "%s: there is a table beside still", when);
	return ended;
}

Test(resize, killed_at_each_step)
{
	struct poise_error err = {0};
	bool ended = false;

	open_small(800);
	/* Loading takes seconds where the CPU is emulated: there one kill, the one that matters
	 * most. */
	for (kill_at = place_emulated() ? ROLES_CHANGED : 1; !ended; kill_at++) {
		ended = one_resize(rig.i->flow_buckets == SMALL / POISE_BUCKET_WORDS ? 2 * SMALL
										     : SMALL);
		cr_assert(kill_at < 30);
		if (place_emulated())
			break;
	}
	cr_assert(place_emulated() || kill_at > ROLES_CHANGED, "only %u steps", kill_at);
	cr_assert_eq(instance_check(rig.i, NULL, NULL, &err), 0);
	close_world();
}

/* The table that no resize is about must be gone once anybody loads. */
static void expect_no_leftover(void)
{
	struct poise_error err = {0};
	struct instance *i;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", rig.i->dir,
		 instance_flows_pin(rig.i->meta->flow_stage, true));
	cr_assert(!attach_load(&i, &rig.place.where, NULL, NULL, &err), "%s", err.message);
	instance_close(i);
	cr_assert(access(path, F_OK) || POISE_FLOWS_STAGE(rig.i->meta->flow_stage),
		  "killed at step %u left %s", kill_at, path);
}

Test(resize, killed_while_it_turns_back)
{
	/* The size is told, roles have changed, the third table is there. */
	static const unsigned int steps[] = {2, 3, 6};

	not_emulated();
	open_small(400);
	for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		char when[48];

		kill_at = steps[k];
		cr_assert_eq(resize_to(2 * SMALL), 400);
		cr_assert(!resize_killed(4 * SMALL));
		snprintf(when, sizeof(when), "killed at step %u", kill_at);
		expect_silent(when);
		expect_no_leftover();
		ledger_talk_some(&l, 50);
		expect_silent("loaded anew");
		resize_to(4 * SMALL);
		expect_silent("done after all");
		resize_to(SMALL);
		expect_silent("back");
	}
	ledger_talk_all(&l);
	expect_right("at the end");
	close_world();
}
