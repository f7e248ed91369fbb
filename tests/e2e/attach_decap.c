// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * attach/, the backend side: the decapsulator on devices, for the addresses it was told and no
 * others.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "maps/text.h"
#include "tests/support/driver.skel.h"
#include "tests/support/place.h"

static struct place place;
static struct poise_error err;
static union poise_addr four, six, other;

static void init(void)
{
	place_open(&place);
	cr_assert(!poise_parse_addr("192.0.2.1", &four, NULL));
	cr_assert(!poise_parse_addr("2001:db8::1", &six, NULL));
	cr_assert(!poise_parse_addr("192.0.2.2", &other, NULL));
}

TestSuite(attach_decap, .init = init, .fini = place_cleanup);

static struct attach_decap attach(const char *device, const union poise_addr *address, size_t n)
{
	struct attach_decap state = {0};

	const struct attach_decap_want want = {.address = address, .addresses = n};

	place_must(attach_decap(&place.where, device, &want, &state, &err), device, &err);
	attach_decap_free(&state, 1);
	return state;
}

static __u32 on_device(unsigned int ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	cr_assert(!bpf_xdp_query((int)ifindex, 0, &query));
	return query.prog_id;
}

/* The program at TC ingress where attach/ puts it; 0: none. */
static __u32 at_tc(unsigned int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 1);

	return bpf_tc_query(&hook, &opts) ? 0 : opts.prog_id;
}

static void expect_addresses(const char *device, const union poise_addr *address, size_t n)
{
	struct attach_decap *list;
	int devices = attach_decap_list(&place.where, &list, &err);
	bool found = false;

	for (int k = 0; k < devices; k++) {
		if (strcmp(list[k].device, device) != 0)
			continue;
		found = true;
		cr_assert(list[k].addresses == n, "%zu addresses", list[k].addresses);
		for (size_t a = 0; a < n; a++)
			cr_expect(!poise_addr_cmp(&list[k].address[a], &address[a]));
	}
	cr_expect(found, "%s is not listed", device);
	attach_decap_free(list, devices > 0 ? (size_t)devices : 0);
	free(list);
}

Test(attach_decap, at_xdp)
{
	union poise_addr sorted[2];
	struct attach_decap state;
	__u32 before;

	sorted[poise_addr_cmp(&four, &six) > 0] = four;
	sorted[poise_addr_cmp(&four, &six) < 0] = six;
	state = attach("out", sorted, 2);
	cr_expect(!state.tc && !state.warning[0] && state.addresses == 2);
	expect_addresses("out", sorted, 2);
	before = on_device(place.out);
	cr_assert(before);
	/* again: another program, other addresses, the same attachment */
	attach("out", &other, 1);
	expect_addresses("out", &other, 1);
	cr_expect(on_device(place.out) && on_device(place.out) != before);
	place_must(attach_decap_detach(&place.where, "out", &err), "detach", &err);
	cr_expect(!on_device(place.out));
	cr_expect(attach_decap_list(&place.where, &(struct attach_decap *){NULL}, &err) == 0);
}

Test(attach_decap, at_tc_where_xdp_will_not_go)
{
	struct attach_decap state = attach("lo", &four, 1);
	__u32 before = at_tc(place.lo);

	cr_expect(state.tc && strstr(state.warning, "no native XDP"), "\"%s\"", state.warning);
	cr_expect(before && !on_device(place.lo));
	attach("lo", &six, 1);
	expect_addresses("lo", &six, 1);
	cr_expect(at_tc(place.lo) && at_tc(place.lo) != before);
	place_must(attach_decap_detach(&place.where, "lo", &err), "detach", &err);
	cr_expect(!at_tc(place.lo));
}

/* Somebody else's XDP program stays, and the decapsulator goes behind it. */
Test(attach_decap, at_tc_behind_another_program)
{
	struct driver *theirs = driver__open_and_load();
	struct attach_decap state;
	struct bpf_link *link;
	__u32 before;

	cr_assert(theirs);
	link = bpf_program__attach_xdp(theirs->progs.forgetful, (int)place.out);
	cr_assert(link);
	before = on_device(place.out);
	state = attach("out", &four, 1);
	cr_expect(state.tc && strstr(state.warning, "another XDP program"), "\"%s\"",
		  state.warning);
	cr_expect(on_device(place.out) == before && at_tc(place.out));
	bpf_link__destroy(link);
	driver__destroy(theirs);
}

Test(attach_decap, each_device_has_its_own_addresses)
{
	attach("out", &four, 1);
	attach("lo", &six, 1);
	expect_addresses("out", &four, 1);
	expect_addresses("lo", &six, 1);
	place_must(attach_decap_detach(&place.where, "lo", &err), "detach", &err);
	expect_addresses("out", &four, 1);
}

Test(attach_decap, a_device_that_went)
{
	struct attach_decap *list;

	attach("out", &four, 1);
	cr_assert(!system("ip link del out"));
	cr_expect(attach_decap_list(&place.where, &list, &err) == 0);
	free(list);
	cr_assert(!system("ip link add out type veth peer name outpeer"));
	attach("out", &six, 1);
	expect_addresses("out", &six, 1);
}

/* reset takes both sides of an instance, or the one that is there. */
Test(attach_decap, reset)
{
	char base[POISE_NAME_MAX + 32];

	attach("out", &four, 1);
	attach("lo", &four, 1);
	place_must(attach_reset(&place.where, &err), "attach_reset", &err);
	cr_expect(!on_device(place.out) && !at_tc(place.lo));
	snprintf(base, sizeof(base), "%s/%s", POISE_PIN_ROOT, place.name);
	cr_expect(access(base, F_OK) && errno == ENOENT, "%s was left", base);
}

static struct attach_decap with_ports(const __u16 *port, size_t n)
{
	const struct attach_decap_want want = {&four, 1, port, n};
	struct attach_decap state = {0};

	place_must(attach_decap(&place.where, "out", &want, &state, &err), "out", &err);
	return state;
}

Test(attach_decap, ports)
{
	static const __u16 one[] = {6080}, two[] = {7000, 6081};
	struct attach_decap state = with_ports(one, 1);

	cr_expect(state.ports == 1 && state.port[0] == 6080);
	attach_decap_free(&state, 1);
	state = with_ports(two, 2);
	cr_assert_eq(state.ports, 2);
	cr_expect(state.port[0] == 6081 && state.port[1] == 7000, "%u %u", state.port[0],
		  state.port[1]);
	attach_decap_free(&state, 1);
	state = with_ports(NULL, 0);
	cr_expect_eq(state.ports, 0);
	attach_decap_free(&state, 1);
}

Test(attach_decap, refusals)
{
	static union poise_addr many[POISE_DECAP_ADDRESSES + 1];
	static __u16 ports[POISE_DECAP_PORTS + 1];
	struct attach_decap_want want = {.address = &four, .addresses = 1};

	cr_expect(attach_decap(&place.where, "nowhere0", &want, NULL, &err) == -1);
	cr_expect(err.code == POISE_E_NO_DEVICE && err.remedy[0]);
	want = (struct attach_decap_want){.address = many, .addresses = POISE_DECAP_ADDRESSES + 1};
	cr_expect(attach_decap(&place.where, "out", &want, NULL, &err) == -1);
	cr_expect(err.code == POISE_E_FULL && err.remedy[0]);
	want = (struct attach_decap_want){&four, 1, ports, POISE_DECAP_PORTS + 1};
	cr_expect(attach_decap(&place.where, "out", &want, NULL, &err) == -1);
	cr_expect(err.code == POISE_E_FULL && err.remedy[0]);
	cr_expect(attach_decap_detach(&place.where, "out", &err) == -1);
	cr_expect(err.code == POISE_E_NOT_FOUND && err.remedy[0]);
	cr_expect(!strcmp(err.object, "device out"), "\"%s\"", err.object);
	cr_expect(!on_device(place.out) && !at_tc(place.out));
}
