/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames through the native datapath: whatever arrives, nothing is touched outside the frame and
 * its headroom, what passes is as it came, what leaves has headers that agree with it, and what is
 * dropped is counted once. As a test it makes its own frames (tests/support/mutate.c), and sees to
 * it that each verdict is among the answers.
 */
#include <arpa/inet.h>
#include <linux/pkt_cls.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/mutate.h"
#include "../support/native.h"
#include "tests/support/longest.h"

#define HEADROOM 128
#define ROUNDS	 300000
#define MAX_DATA 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char yaml[] =
	"services:\n"
	"  - { name: l2, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp', '[fd02::1]:80',\n"
	"      '[fd02::1]:53/udp' ], forward: l2,\n"
	"      backends: [ { address: 10.3.0.1 }, { address: 10.4.0.2 } ] }\n"
	"  - { name: four, listen: [ '10.2.0.2:80', '[fd02::2]:80', '10.2.0.2:53/udp' ],\n"
	"      forward: ipip, track: always, entropy: yes, gue-checksum: yes,\n"
	"      backends: [ { address: 10.3.0.3 }, { address: 10.3.0.4, forward: gue } ] }\n"
	"  - { name: six, listen: [ '10.2.0.3:80', '[fd02::3]:80', '[fd02::3]:53/udp' ],\n"
	"      forward: ipip, policy: source-hash, gue-checksum: yes,\n"
	"      backends: [ { address: 'fd03::5' }, { address: 'fd03::6', forward: gue } ] }\n"
	"  - { name: any, listen: [ '10.2.0.4:0', '[fd02::4]:0/udp' ], forward: l2,\n"
	"      backends: [ { address: 10.9.0.6 }, { address: 10.3.0.7 } ] }\n"
	"  - { name: nat4, listen: [ '10.2.0.5:80', '10.2.0.5:53/udp', '[fd02::5]:80',\n"
	"      '[fd02::5]:53/udp' ], forward: nat, backends: [ { address: 10.3.0.8 } ] }\n"
	"  - { name: nat6, listen: [ '10.2.0.6:80', '10.2.0.6:53/udp', '[fd02::6]:80',\n"
	"      '[fd02::6]:53/udp' ], forward: nat, backends: [ { address: 'fd03::8' } ] }\n";

#define GROWTH_MAX 48 /* two tags and an outer IPv6 header, or those of an ICMPv6 error */

static unsigned long verdicts[XDP_REDIRECT + 1];

static void complain(const char *what, const uint8_t *data, size_t size)
{
	fprintf(stderr, "%s:", what);
	for (size_t k = 0; k < size; k++)
		fprintf(stderr, " %02x", data[k]);
	fprintf(stderr, "\n");
	abort();
}

/* The addresses of one service are the host's own, the others are not. */
static void answer_for(struct native *n)
{
	for (size_t s = 0; s < n->cfg->services; s++) {
		struct poise_service_conf *conf = &n->cfg->service[s]->conf;

		for (int l = 0; l < conf->listeners; l++)
			conf->listener[l].own =
				strcmp(conf->name, "six") ? POISE_OWN_NOT : POISE_OWN_HOST;
	}
	native_commit(n);
}

/* Why packets did not go on; an echo reply does not count as one, but is none that went on. */
static uint64_t dropped(const struct native *n)
{
	uint64_t sum = 0;

	for (__u32 s = 0; s < n->i->meta->services; s++) {
		for (int r = 0; r < POISE_DROP_REASONS; r++)
			sum += run_drops((__u16)s)->count[r];
		sum += run_drops((__u16)s)->count[POISE_R_ECHO];
	}
	return sum;
}

static uint64_t counted(const struct native *n)
{
	uint64_t sum = 0;

	for (unsigned int m = 0; m < n->i->meta->members; m++)
		sum += n->i->counters[m].packets;
	for (__u32 s = 0; s < n->i->meta->services; s++)
		sum += run_drops((__u16)s)->count[POISE_R_REPLY];
	return sum;
}

/* What left: an IP packet as long as it says, within the frame, and within the MTU, unless it came
 * so long and goes back. */
static bool sound(const struct run_frame *f, size_t was)
{
	static struct frame out;
	size_t end;

	out.length = (size_t)(f->end - f->data);
	if (out.length > was + GROWTH_MAX)
		return false;
	memcpy(out.byte, f->data, out.length);
	end = frame_ip_end(&out);
	return end && end <= out.length &&
	       (end - frame_ip_at(&out) <= NATIVE_MTU || out.length <= was);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct native n;
	static uint32_t seconds;
	uint64_t drops, packets;
	uint8_t *buffer, *start;
	struct run_frame f;
	int verdict;

	if (!n.i) {
		native_open(&n, yaml, 1024);
		answer_for(&n);
	}
	if (size > MAX_DATA)
		size = MAX_DATA;
	run_set_seconds(seconds++ / 16);
	drops = dropped(&n);
	packets = counted(&n);
	/* of just that size, so that what reaches beyond is caught */
	buffer = malloc(2 + HEADROOM + size);
	if (!buffer)
		abort();
	start = buffer + 2;
	memcpy(start + HEADROOM, data, size);
	f = (struct run_frame){
		.start = start,
		.data = start + HEADROOM,
		.end = start + HEADROOM + size,
		.limit = start + HEADROOM + size,
	};
	verdict = run_xdp(&f, NATIVE_DEVICE);
	if (verdict >= 0 && verdict <= XDP_REDIRECT)
		verdicts[verdict]++;
	switch (verdict) {
	case XDP_PASS:
		if (f.data != start + HEADROOM || f.end != f.data + size ||
		    memcmp(f.data, data, size) || dropped(&n) != drops || counted(&n) != packets)
			complain("not passed as it came", data, size);
		break;
	case XDP_DROP:
		if (dropped(&n) != drops + 1 || counted(&n) != packets)
			complain("not counted as one drop", data, size);
		break;
	case XDP_TX:
	case XDP_REDIRECT:
		/* forwarded, or answered for a reason */
		if (dropped(&n) - drops + counted(&n) - packets != 1)
			complain("not counted as one packet or drop", data, size);
		if (!sound(&f, size))
			complain("unsound", data, size);
		break;
	default: complain("no verdict of ours", data, size);
	}
	free(buffer);
	return 0;
}

#ifndef POISE_LIBFUZZER
#include <criterion/criterion.h>

#define LEAVE_ROUNDS 60000

/* Answers of mode local's backends, and what asks for them. */
static const char *const asks[] = {
	"ip4 10.1.0.9 > 10.2.0.7 | tcp 1234 > 80 S",
	"ip4 10.1.0.9 > 10.2.0.7 | udp 1234 > 53",
	"ip6 fd01::9 > fd02::7 | tcp 1234 > 80 S",
	"ip6 fd01::9 > fd02::7 | udp 1234 > 53",
};
static const char *const tells[] = {
	"ip4 10.3.0.9 > 10.1.0.9 | tcp 80 > 1234 SA | data 4",
	"ip4 10.3.0.9 > 10.1.0.9 opt 40 | udp 53 > 1234 | data 40",
	"ip4 10.3.0.9 > 10.1.0.9 id 7 mf | udp 53 > 1234 | data 24",
	"ip4 10.3.0.9 > 10.1.0.9 id 7 off 4 proto 17 | data 24",
	"ip4 10.3.0.9 > 10.1.0.9 | icmp 3 code 3 | ip4 10.1.0.9 > 10.3.0.9 | udp 1234 > 53",
	"ip6 fd03::9 > fd01::9 | tcp 80 > 1234 A | data 40",
	"ip6 fd03::9 > fd01::9 | frag6 id 7 mf | udp 53 > 1234 | data 24",
	"ip6 fd03::9 > fd01::9 | frag6 id 7 off 4 proto 17 | data 24",
	"ip6 fd03::9 > fd01::9 | icmp6 1 code 4 | ip6 fd01::9 > fd03::9 | tcp 1234 > 80 A",
};
#define PICK(of, random) ((of)[mutate_draw(random, sizeof(of) / sizeof((of)[0]))])

/* True if it is another packet afterwards. */
static bool leave(const struct frame *f)
{
	uint8_t *buffer = malloc(2 + f->length), *start = buffer + 2;
	struct run_frame r = {start, start, start + f->length, start + f->length};
	int verdict;
	bool turned;

	if (!buffer)
		abort();
	memcpy(start, f->byte, f->length);
	verdict = run_leave(&r);
	if ((verdict != TC_ACT_UNSPEC && verdict != TC_ACT_SHOT) || r.data != start ||
	    r.end != start + f->length)
		complain("left by no verdict of ours", f->byte, f->length);
	turned = memcmp(start, f->byte, f->length) != 0;
	free(buffer);
	return turned;
}

Test(packet, mutated_frames_that_leave_do_no_harm, .timeout = TEST_LONGEST)
{
	static struct frame f;
	uint64_t random = 0x706f697365;
	unsigned long turned = 0;
	struct native n;

	native_open(&n,
		    "services:\n"
		    "  - { name: four, listen: [ '10.2.0.7:80', '10.2.0.7:53/udp' ],\n"
		    "      forward: local, backends: [ { address: 10.3.0.9 } ] }\n"
		    "  - { name: six, listen: [ '[fd02::7]:80', '[fd02::7]:53/udp' ],\n"
		    "      forward: local, backends: [ { address: 'fd03::9' } ] }\n",
		    1024);
	for (uint32_t round = 0; round < LEAVE_ROUNDS; round++) {
		run_set_seconds(1000 + round / 64);
		native_send(&n, NULL, PICK(asks, &random));
		mutate_of(&f, PICK(tells, &random), &random);
		turned += leave(&f);
	}
	cr_assert_gt(turned, LEAVE_ROUNDS / 10);
	cr_assert_lt(turned, LEAVE_ROUNDS);
	native_close(&n);
}

Test(packet, mutated_frames_do_no_harm, .timeout = TEST_LONGEST)
{
	static struct frame f;
	uint64_t random = 0x706f697365;

	for (int round = 0; round < ROUNDS; round++) {
		mutate_next(&f, &random);
		LLVMFuzzerTestOneInput(f.byte, f.length);
	}
	/* the mutations must not have gone past everything that there is to find */
	cr_assert_gt(verdicts[XDP_PASS], ROUNDS / 20);
	cr_assert_gt(verdicts[XDP_DROP], ROUNDS / 50);
	cr_assert_gt(verdicts[XDP_TX], ROUNDS / 10);
	cr_assert_gt(verdicts[XDP_REDIRECT], ROUNDS / 50);
}
#endif
