// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The decapsulator's pins: which devices it is on, for which addresses, and what it did there.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decap.h"

char *attach_decap_pin(const char *kind, const char *device, char *buf, size_t size)
{
	snprintf(buf, size, "%s_%s", kind, device);
	return attach_pin_escape(buf);
}

bool attach_decap_parse(const char *name, struct decap_pin *p)
{
	int end = 0;

	memset(p, 0, sizeof(*p));
	if (sscanf(name, DECAP_LINK "_%15s%n", p->device, &end) == 1 && !name[end]) {
		attach_pin_unescape(p->device);
		return true;
	}
	p->tc = sscanf(name, DECAP_TC "_%d_%15s%n", &p->why, p->device, &end) == 2 && !name[end];
	attach_pin_unescape(p->device);
	return p->tc;
}

struct search {
	const char *device;
	struct decap_pin *found;
};

static int compare_device(void *ctx, const char *name)
{
	struct search *s = ctx;

	return attach_decap_parse(name, s->found) && !strcmp(s->found->device, s->device);
}

bool attach_decap_find(const char *dir, const char *device, struct decap_pin *p)
{
	struct search s = {device, p};

	return attach_dir_each(dir, compare_device, &s, NULL) == 1;
}

unsigned int attach_decap_ifindex(const char *dir, const struct decap_pin *p)
{
	unsigned int ifindex;
	int fd;

	if (p->tc)
		return if_nametoindex(p->device);
	fd = attach_decap_open_map(dir, DECAP_LINK, p->device);
	if (fd < 0)
		return 0;
	ifindex = attach_link_ifindex(fd);
	close(fd);
	return ifindex;
}

void attach_decap_unlink(const char *dir, const struct decap_pin *p)
{
	char tc[16], name[ATTACH_PIN_NAME], path[PATH_MAX];
	const char *const kinds[] = {p->tc ? tc : DECAP_LINK, DECAP_ADDRESSES, DECAP_PORTS,
				     DECAP_COUNTS};

	snprintf(tc, sizeof(tc), DECAP_TC "_%d", p->why);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		attach_decap_pin(kinds[k], p->device, name, sizeof(name));
		unlink(attach_path(path, sizeof(path), dir, name));
	}
}

/* Sums what each CPU counted. */
static int read_counts(const char *dir, const char *device, struct poise_decap_counts *sum)
{
	int cpus = libbpf_num_possible_cpus(), fd, rc;
	struct poise_decap_counts *each = calloc((size_t)cpus, sizeof(*each));
	__u32 zero = 0;

	fd = attach_decap_open_map(dir, DECAP_COUNTS, device);
	rc = !each || fd < 0 ? -1 : bpf_map_lookup_elem(fd, &zero, each);
	for (int k = 0; !rc && k < cpus; k++) {
		sum->packets += each[k].packets;
		sum->bytes += each[k].bytes;
		sum->ecn += each[k].ecn;
		sum->failed += each[k].failed;
	}
	if (fd >= 0)
		close(fd);
	free(each);
	return rc;
}

static int by_address(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(union poise_addr));
}

static int by_port(const void *a, const void *b)
{
	return *(const __u16 *)a - *(const __u16 *)b;
}

/* The keys of a map, `size` bytes each, malloc'ed; at most so many, whatever others add meanwhile.
 * Returns their number or -1. */
static int read_keys(const char *dir, const char *kind, const char *device, size_t size,
		     size_t most, void *list)
{
	int fd = attach_decap_open_map(dir, kind, device);
	char *key = calloc(most, size);
	size_t n = 0;

	*(void **)list = key;
	if (fd < 0 || !key) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (n < most &&
	       !bpf_map_get_next_key(fd, n ? key + (n - 1) * size : NULL, key + n * size))
		n++;
	close(fd);
	return (int)n;
}

static int read_wanted(const char *dir, struct attach_decap *state)
{
	int addresses = read_keys(dir, DECAP_ADDRESSES, state->device, sizeof(*state->address),
				  POISE_DECAP_ADDRESSES, &state->address);
	int ports = read_keys(dir, DECAP_PORTS, state->device, sizeof(*state->port),
			      POISE_DECAP_PORTS, &state->port);

	if (ports < 0 && errno == ENOENT) /* attached by a version without them */
		ports = 0;
	if (addresses < 0 || ports < 0)
		return -1;
	state->addresses = (size_t)addresses;
	state->ports = (size_t)ports;
	for (size_t k = 0; k < state->ports; k++)
		state->port[k] = ntohs(state->port[k]);
	qsort(state->address, state->addresses, sizeof(*state->address), by_address);
	qsort(state->port, state->ports, sizeof(*state->port), by_port);
	return 0;
}

int attach_decap_describe(const char *dir, const struct decap_pin *p, struct attach_decap *state,
			  struct poise_error *err)
{
	char why[128];

	*state = (struct attach_decap){.tc = p->tc};
	memcpy(state->device, p->device, sizeof(state->device));
	if (p->tc && (p->why == EBUSY || p->why == EEXIST))
		snprintf(state->warning, sizeof(state->warning),
			 "at TC, slower: another XDP program is attached to it");
	else if (p->tc)
		snprintf(state->warning, sizeof(state->warning), "at TC, slower: %s",
			 attach_link_why(p->why, p->device, why, sizeof(why)));
	if (!read_counts(dir, p->device, &state->counts) && !read_wanted(dir, state))
		return 0;
	poise_fail_errno(err, "cannot read the maps of the decapsulator");
	attach_decap_free(state, 1);
	return -1;
}

struct listing {
	const char *dir;
	struct attach_decap *state;
	int used;
	struct poise_error *err;
};

static int list_one(void *ctx, const char *name)
{
	struct listing *l = ctx;
	struct attach_decap *more;
	struct decap_pin p;

	if (!attach_decap_parse(name, &p) || !attach_decap_ifindex(l->dir, &p))
		return 0;
	more = reallocarray(l->state, (size_t)l->used + 1, sizeof(*more));
	if (!more)
		return poise_fail_errno(l->err, "cannot list the devices");
	l->state = more;
	if (attach_decap_describe(l->dir, &p, &l->state[l->used], l->err))
		return -1;
	l->used++;
	return 0;
}

static int by_device(const void *a, const void *b)
{
	const struct attach_decap *x = a, *y = b;

	return strcmp(x->device, y->device);
}

int attach_decap_list(const struct instance_where *where, struct attach_decap **list,
		      struct poise_error *err)
{
	struct poise_error none = {0};
	struct listing l = {.err = err};
	struct attach_dir d;
	int rc;

	*list = NULL;
	if (attach_dir_open(&d, where, DECAP_DIR, false, &none)) {
		if (none.code == POISE_E_NO_INSTANCE)
			return 0;
		if (err)
			*err = none;
		return -1;
	}
	l.dir = d.path;
	rc = attach_dir_each(d.path, list_one, &l, err);
	attach_dir_close(&d);
	if (rc) {
		attach_decap_free(l.state, (size_t)l.used);
		free(l.state);
		return -1;
	}
	if (l.used)
		qsort(l.state, (size_t)l.used, sizeof(*l.state), by_device);
	*list = l.state;
	return l.used;
}

void attach_decap_free(struct attach_decap *list, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		free(list[k].address);
		free(list[k].port);
		list[k].address = NULL;
		list[k].port = NULL;
	}
}
