// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * attach/: what is loaded, pinned and attached, and stays so over replacements, restarts and kills.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "maps/clock.h"
#include "tests/support/place.h"

static struct place place;

TestSuite(attach, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* ---- helpers ----------------------------------------------------------------------------------*/

static struct instance *load(bool *created)
{
	struct poise_error err = {0};
	struct instance *i = NULL;

	place_must(attach_load(&i, &place.where, &place_small, created, &err), "attach_load", &err);
	return i;
}

static struct attach_state attach(struct instance *i, const char *device, enum attach_mode mode)
{
	struct config_interface want = {.mode = (__u8)mode};
	struct attach_state state;
	struct poise_error err = {0};

	snprintf(want.device, sizeof(want.device), "%s", device);
	place_must(attach_device(i, &want, &state, &err), device, &err);
	return state;
}

static int listed(struct instance *i, struct attach_state *first)
{
	struct attach_state *list;
	struct poise_error err = {0};
	int n = attach_list(i, &list, &err);

	place_must(n < 0, "attach_list", &err);
	if (n && first)
		*first = list[0];
	free(list);
	return n;
}

/* The id of the program on a device, and how it is attached (XDP_ATTACHED_*). */
static __u32 on_device(unsigned int ifindex, int *how)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	cr_assert(!bpf_xdp_query((int)ifindex, 0, &query));
	if (how)
		*how = query.attach_mode;
	return query.prog_id;
}

static __u32 pinned_program(void)
{
	char path[160];
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);
	int fd;

	snprintf(path, sizeof(path), "%s/prog_xdp", place.dir);
	fd = bpf_obj_get(path);
	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	cr_assert(!bpf_obj_get_info_by_fd(fd, &info, &size));
	close(fd);
	return info.id;
}

static unsigned int pins(const char *prefix)
{
	DIR *dir = opendir(place.dir);
	struct dirent *entry;
	unsigned int n = 0;

	cr_assert(dir, "%s: %s", place.dir, strerror(errno));
	while ((entry = readdir(dir)))
		n += !strncmp(entry->d_name, prefix, strlen(prefix));
	closedir(dir);
	return n;
}

/* ---- maps and programs ------------------------------------------------------------------------*/

Test(attach, everything_is_pinned)
{
	bool created = false;
	struct instance *i;

	place_open(&place);
	i = load(&created);
	cr_expect(created);
#define EXPECT_PIN(name) cr_expect(pins(#name) > 0, "%s is not pinned", #name);
	POISE_MAPS(EXPECT_PIN)
	EXPECT_PIN(prog_xdp)
	EXPECT_PIN(prog_sweep)
	cr_expect(!pins("new"));
	cr_expect(i->meta->magic == POISE_MAGIC && i->meta->abi == POISE_ABI);
	cr_expect(!strcmp(i->meta->instance, place.name));
	cr_expect(i->sweep_fd >= 0);
	cr_expect(listed(i, NULL) == 0);
	instance_close(i);
}

Test(attach, opened_again_all_is_there)
{
	struct poise_error err = {0};
	bool created = false;
	struct attach_state state = {0};
	struct instance *i;
	__u64 key[2];
	__u32 before;

	place_open(&place);
	i = load(&created);
	attach(i, "out", ATTACH_AUTO);
	memcpy(key, i->meta->hash_key, sizeof(key));
	cr_expect(key[0] && key[1], "no hash key was drawn");
	i->meta->committed = 77;
	i->meta->applied = i->meta->opened = 77;
	before = on_device(place.out, NULL);
	instance_close(i);

	i = load(&created);
	cr_expect(!created);
	cr_expect(!memcmp(key, i->meta->hash_key, sizeof(key)));
	cr_expect(i->meta->committed == 77);
	cr_expect(listed(i, &state) == 1);
	cr_expect(!strcmp(state.device, "out") && state.ifindex == place.out);
	cr_expect(state.mode == ATTACH_NATIVE && state.wanted == ATTACH_AUTO && !state.warning[0]);
	cr_expect(on_device(place.out, NULL) == pinned_program());
	cr_expect(on_device(place.out, NULL) != before, "the program was not replaced");
	instance_close(i);

	place_must(instance_open(&i, &place.where, &err), "instance_open", &err);
	instance_close(i);
}

Test(attach, the_file_gives_the_key)
{
	struct config cfg = place_small;
	struct poise_error err = {0};
	struct instance *i;
	bool created;

	place_open(&place);
	cfg.has_hash_key = true;
	cfg.hash_key[0] = 0x1234;
	cfg.hash_key[1] = 0x5678;
	place_must(attach_load(&i, &place.where, &cfg, &created, &err), "attach_load", &err);
	cr_expect(i->meta->hash_key[0] == 0x1234 && i->meta->hash_key[1] == 0x5678);
	cr_expect(i->meta->members == cfg.limits.backends + 1);
	instance_close(i);
}

#define REPLACEMENTS 100 /* with POISE_FULL set; else a few */
#define FEW	     15

/* Each loads all programs: half a second of the verifier's on a machine that does nothing else. */
Test(attach, many_replacements, .timeout = TEST_LONGEST)
{
	struct instance *i;
	int how = 0, replacements = getenv("POISE_FULL") ? REPLACEMENTS : FEW;
	unsigned int programs;
	bool created;

	place_open(&place);
	i = load(&created);
	attach(i, "out", ATTACH_AUTO);
	instance_close(i);
	programs = pins("prog_");
	cr_assert(programs > 0);
	for (int k = 0; k < replacements; k++) {
		i = load(&created);
		cr_assert(!created);
		cr_assert(on_device(place.out, &how) == pinned_program(), "after %d", k);
		cr_assert(how == XDP_ATTACHED_DRV, "after %d: attached otherwise, %d", k, how);
		if (k % 10 == 0)
			attach(i, "out", ATTACH_AUTO); /* as a CLI that is told so again */
		instance_close(i);
	}
	cr_expect(pins("link_") == 1);
	cr_expect_eq(pins("prog_"), programs);
	cr_expect(!pins("new"));
}

/* ---- devices ----------------------------------------------------------------------------------*/

Test(attach, a_device_without_native_xdp)
{
	struct attach_state state;
	struct instance *i;
	bool created;
	int how;

	place_open(&place);
	i = load(&created);
	state = attach(i, "lo", ATTACH_AUTO);
	cr_expect(state.mode == ATTACH_GENERIC && state.wanted == ATTACH_AUTO);
	cr_expect(strstr(state.warning, "has no native XDP"), "\"%s\"", state.warning);
	on_device(place.lo, &how);
	cr_expect(how == XDP_ATTACHED_SKB);
	cr_expect(listed(i, &state) == 1);
	cr_expect(strstr(state.warning, "has no native XDP"), "list: \"%s\"", state.warning);
	instance_close(i);
}

Test(attach, an_mtu_too_large_for_native)
{
	struct attach_state state;
	struct instance *i;
	bool created;

	place_open(&place);
	cr_assert(!system("ip link set out mtu 9000 && ip link set outpeer mtu 9000"));
	i = load(&created);
	state = attach(i, "out", ATTACH_AUTO);
	cr_expect(state.mode == ATTACH_GENERIC);
	cr_expect(strstr(state.warning, "MTU of 9000"), "\"%s\"", state.warning);
	instance_close(i);
}

Test(attach, modes_change)
{
	struct attach_state state;
	struct instance *i;
	bool created;
	int how;

	place_open(&place);
	i = load(&created);
	attach(i, "out", ATTACH_GENERIC);
	on_device(place.out, &how);
	cr_expect(how == XDP_ATTACHED_SKB);
	state = attach(i, "out", ATTACH_NATIVE);
	on_device(place.out, &how);
	cr_expect(how == XDP_ATTACHED_DRV && state.mode == ATTACH_NATIVE);
	state = attach(i, "out", ATTACH_AUTO); /* content with what it is */
	cr_expect(state.mode == ATTACH_NATIVE && state.wanted == ATTACH_AUTO);
	cr_expect(listed(i, &state) == 1 && state.wanted == ATTACH_AUTO);
	cr_expect(pins("link_") == 1);
	instance_close(i);
}

static bool rxvlan(const char *device)
{
	struct ethtool_value value = {.cmd = ETHTOOL_GFLAGS};
	struct ifreq request = {.ifr_data = (void *)&value};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	cr_assert(!ioctl(fd, SIOCETHTOOL, &request), "%s", strerror(errno));
	close(fd);
	return value.data & ETH_FLAG_RXVLAN;
}

Test(attach, offloads_are_restored)
{
	struct poise_error err = {0};
	struct instance *i;
	bool created;

	place_open(&place);
	i = load(&created);
	cr_assert(rxvlan("out"), "this veth has no VLAN offload to turn off");
	attach(i, "out", ATTACH_AUTO);
	cr_expect(!rxvlan("out"));
	attach(i, "out", ATTACH_AUTO); /* must not take "off" for what it was */
	instance_close(i);
	i = load(&created);
	place_must(attach_detach(i, "out", &err), "attach_detach", &err);
	cr_expect(rxvlan("out"));
	cr_expect(!on_device(place.out, NULL));
	cr_expect(listed(i, NULL) == 0);
	instance_close(i);
}

/* bpffs takes no dots in names, devices do. */
Test(attach, a_device_with_a_dot)
{
	struct attach_state state;
	struct poise_error err = {0};
	struct instance *i;
	bool created;

	place_open(&place);
	cr_assert(!system("ip link add a.b_c.7 type veth peer name x.y"));
	i = load(&created);
	attach(i, "a.b_c.7", ATTACH_AUTO);
	cr_expect(listed(i, &state) == 1 && !strcmp(state.device, "a.b_c.7"), "\"%s\"",
		  state.device);
	place_must(attach_detach(i, "a.b_c.7", &err), "attach_detach", &err);
	instance_close(i);
}

Test(attach, a_device_that_went)
{
	struct instance *i;
	bool created;

	place_open(&place);
	i = load(&created);
	attach(i, "out", ATTACH_AUTO);
	cr_assert(!system("ip link del out"));
	cr_expect(listed(i, NULL) == 0);
	cr_assert(!system("ip link add out type veth peer name outpeer"));
	cr_expect(listed(i, NULL) == 0, "another device of that name is taken for it");
	attach(i, "out", ATTACH_AUTO);
	cr_expect(listed(i, NULL) == 1);
	cr_assert(!system("ip link del out"));
	instance_close(i);
	i = load(&created); /* forgets it */
	cr_expect(!pins("link_"));
	instance_close(i);
}

Test(attach, reset_leaves_nothing)
{
	struct poise_error err = {0};
	struct instance *i;
	bool created;

	place_open(&place);
	i = load(&created);
	attach(i, "out", ATTACH_AUTO);
	attach(i, "lo", ATTACH_AUTO);
	instance_close(i);
	place_must(attach_reset(&place.where, &err), "attach_reset", &err);
	cr_expect(access(place.dir, F_OK) && errno == ENOENT);
	cr_expect(!on_device(place.out, NULL) && !on_device(place.lo, NULL));
	cr_expect(rxvlan("out"));
	i = load(&created);
	cr_expect(created);
	instance_close(i);
}

/* ---- privileges -------------------------------------------------------------------------------*/

/* In a child: only these capabilities, and none to be had. */
static void keep_only(const cap_value_t *keep, int n)
{
	cap_t caps = cap_init();

	if (!caps || cap_set_flag(caps, CAP_PERMITTED, n, keep, CAP_SET) ||
	    cap_set_flag(caps, CAP_EFFECTIVE, n, keep, CAP_SET) || cap_set_proc(caps))
		_exit(100);
	cap_free(caps);
}

/* Three capabilities are enough for all of it: load, attach, replace, list, detach, reset. */
static int all_of_it(void)
{
	static const cap_value_t needed[] = {CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON};
	struct config_interface want = {.device = "out"};
	struct attach_state state, *list;
	struct poise_error err = {0};
	struct instance *i;
	int rc;

	keep_only(needed, 3);
	rc = attach_load(&i, &place.where, &place_small, NULL, &err) ||
	     attach_device(i, &want, &state, &err) || state.mode != ATTACH_NATIVE;
	if (!rc) {
		instance_close(i);
		rc = attach_load(&i, &place.where, &place_small, NULL, &err) ||
		     attach_list(i, &list, &err) != 1 || attach_detach(i, "out", &err) ||
		     attach_reset(&place.where, &err);
	}
	if (rc)
		fprintf(stderr, "%s (%s)\n", err.message, err.object);
	return rc;
}

static int in_child(int (*what)(void))
{
	int status = -1;
	pid_t child = fork();

	if (!child)
		_exit(what());
	cr_assert(child > 0 && waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(attach, three_capabilities_suffice)
{
	place_open(&place);
	cr_expect(in_child(all_of_it) == 0);
}

/* ---- kills ------------------------------------------------------------------------------------*/

static void load_and_attach(void)
{
	struct config_interface want = {.device = "out"};
	struct instance *i;

	if (!attach_load(&i, &place.where, &place_small, NULL, NULL))
		attach_device(i, &want, NULL, NULL);
	_exit(0);
}

#define KILLS 16 /* spread over what a load and attach takes */

/* Killed after so long, or at its end; when that was. */
static unsigned int kill_at(unsigned int microseconds)
{
	double begin = clock_seconds(CLOCK_MONOTONIC);
	pid_t child = fork();
	int status;

	if (!child)
		load_and_attach();
	cr_assert(child > 0);
	if (microseconds) {
		usleep(microseconds);
		kill(child, SIGKILL);
	}
	cr_assert(waitpid(child, &status, 0) == child);
	return (unsigned int)((clock_seconds(CLOCK_MONOTONIC) - begin) * 1e6);
}

static void expect_whole(unsigned int microseconds)
{
	struct instance *i;
	bool created;
	int how = 0;

	i = load(&created);
	attach(i, "out", ATTACH_AUTO);
	cr_expect(listed(i, NULL) == 1, "killed after %u us", microseconds);
	cr_expect(on_device(place.out, &how) == pinned_program() && how == XDP_ATTACHED_DRV,
		  "killed after %u us", microseconds);
	cr_expect(pins("link_") == 1 && !pins("new"), "killed after %u us", microseconds);
	instance_close(i);
}

/* Killed at any moment, the next one finds or makes all that is needed. */
static void kill_often(bool anew)
{
	struct poise_error err = {0};
	unsigned int whole, at;

	place_open(&place);
	whole = kill_at(0);
	for (unsigned int k = 1; k <= KILLS; k++) {
		if (anew)
			place_must(attach_reset(&place.where, &err), "attach_reset", &err);
		at = kill_at(whole / KILLS * k);
		expect_whole(at);
	}
}

Test(attach, killed_while_it_creates)
{
	kill_often(true);
}

Test(attach, killed_while_it_replaces)
{
	kill_often(false);
}
