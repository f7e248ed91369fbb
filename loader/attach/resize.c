// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Another size of the flow table, while packets run. A word does not say where in a larger table it
 * belongs, so flows move when their packets come, which do: the program then has two tables, puts
 * words into one, and brings over from the other what it misses (bpf/beside.h).
 *
 *  1. The new table is pinned beside, and every device gets a program that also looks there. It
 *     finds nothing, for nobody puts words there yet.
 *  2. Tables change roles, and every device gets a program that puts words into the new table and
 *     also looks into the old one. Meanwhile some devices have the one program and some the other:
 *     each finds what the other has put.
 *  3. Once the old table is empty, for its flows have moved or are over, every device gets the
 *     plain program, and the old pin goes. If the new table is the smaller one, the sweeper moves
 *     all that has room there at once (beside.c).
 *
 * There are never three tables. While the old one is not empty the two may change roles again; so
 * another size is possible before that if what both hold finds room in the smaller.
 *
 * meta.flow_stage says which of these is due. A step that was begun is done again by whoever goes
 * on, and two programs that may run side by side always find each other's words, so a process may
 * be killed anywhere.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "maps/text.h"

void (*attach_resize_step)(unsigned int n);

struct resize {
	const struct instance_where *where;
	struct attach_dir dir;
	struct attach_beside beside; /* in stage MOVING */
	struct poise_meta *meta;
	unsigned int steps;
};

static void step(struct resize *r)
{
	r->steps++;
	if (attach_resize_step)
		attach_resize_step(r->steps);
}

static void set_stage(struct resize *r, enum poise_flow_stage stage, __u32 pin)
{
	step(r);
	__atomic_store_n(&r->meta->flow_stage, POISE_FLOWS_AT(stage, pin), __ATOMIC_RELEASE);
}

static char *pin_path(const struct resize *r, bool other, char path[PATH_MAX])
{
	return attach_path(path, PATH_MAX, r->dir.path,
			   instance_flows_pin(r->meta->flow_stage, other));
}

static int load(struct resize *r, struct poise_error *err)
{
	step(r);
	return attach_load_anew(&r->dir, err);
}

/* ---- tables -----------------------------------------------------------------------------------*/

/* Buckets of the pinned table; 0 and an error if it cannot be said. */
static __u32 buckets_of(const struct resize *r, bool other, struct poise_error *err)
{
	struct bpf_map_info info = {0};
	__u32 size = sizeof(info);
	char path[PATH_MAX];
	int fd = bpf_obj_get(pin_path(r, other, path));

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		poise_fail_errno(err, "cannot look at %s", path);
	if (fd >= 0)
		close(fd);
	return info.max_entries;
}

static int make_table(struct resize *r, __u32 buckets, struct poise_error *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "flows", sizeof(__u32),
				sizeof(struct poise_bucket), buckets, &opts);
	int rc;

	if (fd < 0) {
		poise_fail_errno(err, "a flow table of %u slots cannot be made",
				 buckets * POISE_BUCKET_WORDS);
		return poise_error_remedy(err, "ask for fewer slots; each takes 8 bytes");
	}
	step(r);
	rc = attach_pin_replace(fd, r->dir.path, instance_flows_pin(r->meta->flow_stage, true),
				err);
	close(fd);
	return rc;
}

/* ---- stages -----------------------------------------------------------------------------------*/

/* From programs of which each looks into both tables. */
static int change_roles(struct resize *r, struct poise_error *err)
{
	__u32 pin = POISE_FLOWS_PIN(r->meta->flow_stage), buckets = buckets_of(r, true, err);

	if (!buckets)
		return -1;
	step(r);
	r->meta->flow_buckets = buckets;
	set_stage(r, POISE_FLOWS_SWITCHED, !pin);
	return 0;
}

/* What is pinned though nobody needs it was left by a process that was killed, before it had begun
 * or after it had ended. Loading removes it. */
static int remove_other(struct resize *r, struct poise_error *err)
{
	char path[PATH_MAX];

	return access(pin_path(r, true, path), F_OK) ? 0 : load(r, err);
}

/* A process killed just before roles changed has told the other table's size. */
static int mend_size(struct resize *r, struct poise_error *err)
{
	__u32 buckets = buckets_of(r, false, err);

	if (buckets && r->meta->flow_buckets != buckets)
		r->meta->flow_buckets = buckets;
	return buckets ? 0 : -1;
}

static int go_on(struct resize *r, __u64 *left, struct poise_error *err)
{
	__u32 stage = POISE_FLOWS_STAGE(r->meta->flow_stage);

	*left = 0;
	if (mend_size(r, err))
		return -1;
	if (stage == POISE_FLOWS_BESIDE) {
		if (load(r, err) || change_roles(r, err))
			return -1;
		stage = POISE_FLOWS_SWITCHED;
	}
	if (stage == POISE_FLOWS_SWITCHED) {
		if (load(r, err))
			return -1;
		set_stage(r, POISE_FLOWS_MOVING, POISE_FLOWS_PIN(r->meta->flow_stage));
		stage = POISE_FLOWS_MOVING;
	}
	if (stage == POISE_FLOWS_MOVING) {
		if (attach_beside_empty(r->where, &r->beside, err))
			return -1;
		*left = r->beside.left;
		if (*left)
			return 0;
		set_stage(r, POISE_FLOWS_ALONE, POISE_FLOWS_PIN(r->meta->flow_stage));
	}
	return remove_other(r, err);
}

/* ---- the lock, and meta -----------------------------------------------------------------------*/

static int resize_begin(struct resize *r, const struct instance_where *where,
			struct poise_error *err)
{
	char path[PATH_MAX];
	int fd;

	attach_log_start();
	r->where = where;
	r->meta = MAP_FAILED;
	if (attach_privileges(err) || attach_dir_open(&r->dir, where, NULL, false, err))
		return -1;
	fd = bpf_obj_get(attach_path(path, sizeof(path), r->dir.path, "meta"));
	r->meta = mmap(NULL, sizeof(*r->meta), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return r->meta == MAP_FAILED ? poise_fail_errno(err, "cannot map %s", path) : 0;
}

static void resize_end(struct resize *r)
{
	if (r->meta != MAP_FAILED)
		munmap(r->meta, sizeof(*r->meta));
	attach_dir_close(&r->dir);
}

static int still_moving(const struct resize *r, struct poise_error *err)
{
	char time[32];

	poise_fail(
		err, POISE_E_BUSY,
		"the last resize is not over: %llu flow%s not moved to the table of %u slots yet",
		r->beside.left, r->beside.left == 1 ? " has" : "s have",
		r->meta->flow_buckets * POISE_BUCKET_WORDS);
	return poise_error_remedy(
		err,
		"wait until all have sent a packet or are over, which they are in %s at most; "
		"only back to %u slots is possible now",
		poise_format_duration(r->beside.seconds * 1000ull, time, sizeof(time)),
		r->beside.buckets * POISE_BUCKET_WORDS);
}

static int resize(struct resize *r, __u32 buckets, __u64 *left, struct poise_error *err)
{
	__u32 stage;

	if (go_on(r, left, err))
		return -1;
	if (r->meta->flow_buckets == buckets)
		return 0;
	if (*left && (r->beside.buckets == buckets || r->beside.takes_all)) {
		if (change_roles(r, err) || go_on(r, left, err))
			return -1;
		if (r->meta->flow_buckets == buckets)
			return 0;
	}
	if (*left)
		return still_moving(r, err);
	stage = r->meta->flow_stage;
	if (make_table(r, buckets, err))
		return -1;
	set_stage(r, POISE_FLOWS_BESIDE, POISE_FLOWS_PIN(stage));
	return go_on(r, left, err);
}

int attach_resize(const struct instance_where *where, __u32 buckets, __u64 *left,
		  struct poise_error *err)
{
	struct resize r = {.dir.fd = -1};
	int rc = resize_begin(&r, where, err);

	if (!rc)
		rc = resize(&r, buckets, left, err);
	resize_end(&r);
	return rc;
}

int attach_resize_go_on(const struct instance_where *where, __u64 *left, struct poise_error *err)
{
	struct resize r = {.dir.fd = -1};
	int rc = resize_begin(&r, where, err);

	if (!rc)
		rc = go_on(&r, left, err);
	resize_end(&r);
	return rc;
}
