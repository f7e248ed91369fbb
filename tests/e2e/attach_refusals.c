// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What attach/ refuses: each with one message that says what and why, a remedy, and nothing half
 * applied.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "tests/support/driver.skel.h"
#include "tests/support/place.h"

static struct place place;
static struct poise_error err;

TestSuite(attach_refusals, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* ---- helpers ----------------------------------------------------------------------------------*/

static bool holds(const char *text, const char *part)
{
	return !part || strstr(text, part);
}

/* The error is of this code, exit status 1, and its texts hold these words. */
static void expect_error(enum poise_code code, const char *object, const char *message,
			 const char *remedy)
{
	cr_expect(err.code == code, "code %s, not %s", poise_code_word(err.code),
		  poise_code_word(code));
	cr_expect(poise_code_status(err.code) == 1);
	cr_expect(holds(err.object, object), "object \"%s\" without \"%s\"", err.object, object);
	cr_expect(holds(err.message, message), "message \"%s\" without \"%s\"", err.message,
		  message);
	cr_expect(err.remedy[0] && holds(err.remedy, remedy), "remedy \"%s\" without \"%s\"",
		  err.remedy, remedy);
	memset(&err, 0, sizeof(err));
}

static int try_load(const struct config *cfg)
{
	struct instance *i = NULL;
	int rc = attach_load(&i, &place.where, cfg, NULL, &err);

	if (!rc)
		instance_close(i);
	return rc;
}

static struct instance *load(void)
{
	struct instance *i = NULL;

	place_must(attach_load(&i, &place.where, &place_small, NULL, &err), "attach_load", &err);
	return i;
}

static int try_attach(struct instance *i, const char *device, enum attach_mode mode, bool shared)
{
	struct config_interface want = {.mode = (__u8)mode, .shared = shared};

	snprintf(want.device, sizeof(want.device), "%s", device);
	return attach_device(i, &want, NULL, &err);
}

static void expect_no_instance(void)
{
	char base[POISE_NAME_MAX + 32];

	snprintf(base, sizeof(base), "%s/%s", POISE_PIN_ROOT, place.name);
	cr_expect(access(base, F_OK) && errno == ENOENT, "%s was left", base);
}

static __u32 on_device(unsigned int ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	cr_assert(!bpf_xdp_query((int)ifindex, 0, &query));
	return query.prog_id;
}

static int attached(struct instance *i)
{
	struct attach_state *list;
	int n = attach_list(i, &list, NULL);

	free(list);
	return n;
}

/* ---- loading ----------------------------------------------------------------------------------*/

/* Runs in a child without these capabilities; the error comes back through a pipe. */
static void load_without(const cap_value_t *caps, int n)
{
	int fds[2], status;
	pid_t child;
	cap_t own;

	cr_assert(!pipe(fds));
	child = fork();
	if (!child) {
		own = cap_get_proc();
		cap_set_flag(own, CAP_EFFECTIVE, n, caps, CAP_CLEAR);
		cap_set_proc(own);
		_exit(try_load(&place_small) == -1 &&
				      write(fds[1], &err, sizeof(err)) == sizeof(err)
			      ? 0
			      : 1);
	}
	cr_assert(waitpid(child, &status, 0) == child);
	cr_expect(WIFEXITED(status) && !WEXITSTATUS(status));
	close(fds[1]);
	cr_assert(read(fds[0], &err, sizeof(err)) == sizeof(err), "there was no error");
	close(fds[0]);
}

Test(attach_refusals, no_privileges)
{
	static const cap_value_t bpf[] = {CAP_BPF, CAP_SYS_ADMIN};
	static const cap_value_t all[] = {CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON, CAP_SYS_ADMIN};

	place_open(&place);
	load_without(bpf, 2);
	expect_error(POISE_E_PERMISSION, NULL, "lacks: CAP_BPF", "as root");
	load_without(all, 4);
	expect_error(POISE_E_PERMISSION, NULL, "CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON", "as root");
	expect_no_instance();
}

Test(attach_refusals, no_bpffs)
{
	char root[] = "/tmp/poise-test-XXXXXX", inside[64];

	place_open(&place);
	cr_assert(mkdtemp(root));
	place.where.root = root;
	cr_expect(try_load(&place_small) == -1);
	expect_error(POISE_E_NO_BPFFS, NULL, root, "mount -t bpf bpffs");
	snprintf(inside, sizeof(inside), "%s/a/b", root);
	place.where.root = inside;
	cr_expect(try_load(&place_small) == -1);
	expect_error(POISE_E_NO_BPFFS, NULL, inside, "mount -t bpf bpffs");
	cr_expect(!rmdir(root), "something was made in %s", root);
	place.where.root = NULL;
}

Test(attach_refusals, limits_too_large)
{
	struct config cfg = place_small;

	place_open(&place);
	cfg.limits.table_slots = 4294967295u;
	cfg.limits.flow_slots = 1u << 31;
	cr_expect(try_load(&cfg) == -1);
	expect_error(POISE_E_FULL, NULL, "map '", "flow-slots 2147483648");
	expect_no_instance();
}

Test(attach_refusals, names)
{
	static const char *const bad[] = {"a.b", "a/b", "..", ""};

	place_open(&place);
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		place.where.name = bad[k];
		cr_expect(try_load(&place_small) == -1);
		expect_error(POISE_E_BAD_VALUE, NULL, bad[k], "no dots");
	}
	place.where.name = place.name;
}

static void newer_dir(char *path, size_t size)
{
	snprintf(path, size, "%s/%s/v%d", POISE_PIN_ROOT, place.name, POISE_ABI + 1);
}

Test(attach_refusals, newer_abi)
{
	char newer[160];

	place_open(&place);
	instance_close(load());
	newer_dir(newer, sizeof(newer));
	cr_assert(!mkdir(newer, 0700));
	cr_expect(try_load(&place_small) == -1);
	expect_error(POISE_E_ABI, NULL, "newer poise", "use the newer poise");
	cr_expect(attach_reset(&place.where, &err) == -1);
	expect_error(POISE_E_ABI, NULL, "newer poise", "use the newer poise");
	cr_expect(!access(place.dir, F_OK), "ours was removed");
	cr_assert(!rmdir(newer));
}

/* Only the newer one is there: nothing of ours may be made beside it. */
Test(attach_refusals, newer_abi_alone)
{
	char newer[160], base[POISE_NAME_MAX + 32];

	place_open(&place);
	snprintf(base, sizeof(base), "%s/%s", POISE_PIN_ROOT, place.name);
	newer_dir(newer, sizeof(newer));
	mkdir(POISE_PIN_ROOT, 0755);
	cr_assert(!mkdir(base, 0700) && !mkdir(newer, 0700));
	cr_expect(try_load(&place_small) == -1);
	expect_error(POISE_E_ABI, NULL, "newer poise", "use the newer poise");
	cr_expect(access(place.dir, F_OK), "%s was left", place.dir);
	cr_assert(!rmdir(newer) && !rmdir(base));
}

static void replace_map(const char *name, enum bpf_map_type type, __u32 value, __u32 entries)
{
	char path[160];
	int fd = bpf_map_create(type, NULL, 4, value, entries, NULL);

	cr_assert(fd >= 0, "%s", strerror(errno));
	snprintf(path, sizeof(path), "%s/%s", place.dir, name);
	cr_assert(!unlink(path) && !bpf_obj_pin(fd, path));
	close(fd);
}

Test(attach_refusals, maps_that_are_not_ours)
{
	char path[160];
	__u32 before;
	struct instance *i;

	place_open(&place);
	i = load();
	place_must(try_attach(i, "out", ATTACH_AUTO, false), "attach", &err);
	instance_close(i);
	before = on_device(place.out);

	replace_map("rates", BPF_MAP_TYPE_ARRAY, 8, 64);
	cr_expect(try_load(&place_small) == -1);
	expect_error(POISE_E_CORRUPT, NULL, "rates is not a map of this poise", "poise reset");
	snprintf(path, sizeof(path), "%s/rates", place.dir);
	cr_assert(!unlink(path));
	cr_expect(try_load(&place_small) == -1);
	expect_error(POISE_E_CORRUPT, NULL, "map rates is missing", "poise reset");
	replace_map("meta", BPF_MAP_TYPE_ARRAY, 8, 1);
	cr_expect(try_load(&place_small) == -1);
	expect_error(POISE_E_CORRUPT, NULL, "meta is not a map of this poise", "poise reset");
	cr_expect(on_device(place.out) == before, "the program was replaced all the same");
}

/* ---- devices ----------------------------------------------------------------------------------*/

Test(attach_refusals, no_such_device)
{
	struct instance *i;

	place_open(&place);
	i = load();
	cr_expect(try_attach(i, "nowhere0", ATTACH_AUTO, false) == -1);
	expect_error(POISE_E_NO_DEVICE, "device nowhere0", "no such network device", "ip link");
	cr_expect(attach_detach(i, "nowhere0", &err) == -1);
	expect_error(POISE_E_NOT_FOUND, "device nowhere0", "not attached", "poise status");
	cr_expect(attached(i) == 0);
	instance_close(i);
}

Test(attach_refusals, no_native_xdp)
{
	struct instance *i;

	place_open(&place);
	i = load();
	cr_expect(try_attach(i, "lo", ATTACH_NATIVE, false) == -1);
	expect_error(POISE_E_ATTACH, "device lo", "has no native XDP", "mode generic");
	cr_expect(attached(i) == 0 && !on_device(place.lo));
	/* what was there before is there again */
	place_must(try_attach(i, "lo", ATTACH_GENERIC, false), "attach", &err);
	cr_expect(try_attach(i, "lo", ATTACH_NATIVE, false) == -1);
	expect_error(POISE_E_ATTACH, "device lo", "has no native XDP", "mode generic");
	cr_expect(attached(i) == 1 && on_device(place.lo));
	instance_close(i);
}

/* Upon others: VLANs, bonds and teams are like a macvlan, which more kernels have. */
Test(attach_refusals, a_device_upon_another)
{
	struct instance *i;

	place_open(&place);
	if (system("ip link add link out name upon type macvlan 2> /dev/null"))
		cr_skip_test("this kernel has no macvlan");
	i = load();
	cr_expect(try_attach(i, "upon", ATTACH_NATIVE, false) == -1);
	expect_error(POISE_E_ATTACH, "device upon", "it is a macvlan", "what it stands upon");
	cr_expect(attached(i) == 0);
	place_must(try_attach(i, "upon", ATTACH_AUTO, false), "attach", &err);
	cr_expect(attached(i) == 1);
	instance_close(i);
}

Test(attach_refusals, mtu_too_large)
{
	struct instance *i;

	place_open(&place);
	cr_assert(!system("ip link set out mtu 9000 && ip link set outpeer mtu 9000"));
	i = load();
	cr_expect(try_attach(i, "out", ATTACH_NATIVE, false) == -1);
	expect_error(POISE_E_ATTACH, "device out", "MTU of 9000", "ip link set out mtu 3506");
	cr_assert(!system("ip link set out mtu 1500"));
	cr_expect(try_attach(i, "out", ATTACH_NATIVE, false) == -1);
	expect_error(POISE_E_ATTACH, "device out", "MTU of its peer", "both ends");
	cr_expect(attached(i) == 0 && !on_device(place.out));
	instance_close(i);
}

/* By netlink or by a link, natively or generically: somebody else's program stays. */
static void expect_busy(struct instance *i, __u32 theirs)
{
	static const enum attach_mode modes[] = {ATTACH_AUTO, ATTACH_NATIVE, ATTACH_GENERIC};

	for (size_t k = 0; k < sizeof(modes) / sizeof(modes[0]); k++) {
		cr_expect(try_attach(i, "out", modes[k], false) == -1);
		expect_error(POISE_E_BUSY, "device out", "another XDP program", "out shared");
		cr_expect(on_device(place.out) == theirs);
	}
	cr_expect(attached(i) == 0);
}

Test(attach_refusals, somebody_elses_program)
{
	static const __u32 flags[] = {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE};
	struct driver *theirs = driver__open_and_load();
	struct bpf_link *link;
	struct instance *i;
	int fd;

	place_open(&place);
	cr_assert(theirs);
	fd = bpf_program__fd(theirs->progs.poisoned);
	i = load();
	for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++) {
		cr_assert(!bpf_xdp_attach((int)place.out, fd, flags[k], NULL));
		expect_busy(i, on_device(place.out));
		cr_assert(!bpf_xdp_detach((int)place.out, flags[k], NULL));
	}
	link = bpf_program__attach_xdp(theirs->progs.poisoned, (int)place.out);
	cr_assert(link);
	expect_busy(i, on_device(place.out));
	bpf_link__destroy(link);
	place_must(try_attach(i, "out", ATTACH_AUTO, false), "attach", &err);
	instance_close(i);
	driver__destroy(theirs);
}

/* Where the kernel has no programs of type ext, a device cannot be shared; that is said, and no
 * lone program is left in the dispatcher's place. */
Test(attach_refusals, shared_without_a_dispatcher)
{
	struct instance *i;
	char path[160];

	place_open(&place);
	i = load();
	if (!try_attach(i, "out", ATTACH_AUTO, true))
		cr_skip_test("this kernel has dispatchers: tests/vm/shared.c is about them");
	expect_error(POISE_E_UNSUPPORTED, "device out", "libxdp's dispatcher", "without shared");
	cr_expect(attached(i) == 0 && !on_device(place.out));
	snprintf(path, sizeof(path), "%s/shared_progs", place.dir);
	cr_expect(access(path, F_OK), "%s was left", path);
	place_must(try_attach(i, "out", ATTACH_AUTO, false), "attach", &err);
	instance_close(i);
}

/* ---- the instance is not there ----------------------------------------------------------------*/

Test(attach_refusals, nothing_to_reset)
{
	place_open(&place);
	cr_expect(attach_reset(&place.where, &err) == -1);
	expect_error(POISE_E_NO_INSTANCE, NULL, place.name, "poise attach DEV");
	expect_no_instance();
}

/* It is reset while somebody has it open: that one is told, and makes nothing. */
Test(attach_refusals, removed_meanwhile)
{
	struct instance *i;

	place_open(&place);
	i = load();
	place_must(attach_reset(&place.where, &err), "attach_reset", &err);
	cr_expect(try_attach(i, "out", ATTACH_AUTO, false) == -1);
	cr_expect(err.code == POISE_E_NO_INSTANCE, "%s", err.message);
	cr_expect(!on_device(place.out));
	expect_no_instance();
	instance_close(i);
}
