// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a pin's name says. A pinned bpf_link keeps a program on its device after we exit, but has no
 * room for notes; the name carries them: the mode asked for, the offloads to restore, and why
 * native mode was refused. A rename changes the notes in one step.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* bpffs takes no dots, device names no colons: eth0.100 is pinned as eth0:100. */
#define DOT_ON_BPFFS ':'

static const char *const modes[] = {
	[ATTACH_AUTO] = "auto",
	[ATTACH_NATIVE] = "native",
	[ATTACH_GENERIC] = "generic",
	[ATTACH_INSIDE] = "inside",
};

#define MODES (sizeof(modes) / sizeof(modes[0]))

static char *swap_chars(char *text, char from, char to)
{
	for (char *c = text; *c; c++)
		if (*c == from)
			*c = to;
	return text;
}

char *attach_pin_escape(char *name)
{
	return swap_chars(name, '.', DOT_ON_BPFFS);
}

char *attach_pin_unescape(char *device)
{
	return swap_chars(device, DOT_ON_BPFFS, '.');
}

char *attach_pin_name(const struct attach_pin *p, char *buf, size_t size)
{
	snprintf(buf, size, "%s_%s_%s%s%s_%d_%s", p->shared ? "shared" : "link", modes[p->wanted],
		 p->offloads ? "" : "0", p->offloads & ATTACH_OFFLOAD_RXVLAN ? "v" : "",
		 p->offloads & ATTACH_OFFLOAD_LRO ? "l" : "", p->why, p->device);
	return attach_pin_escape(buf);
}

bool attach_pin_parse(const char *name, struct attach_pin *p)
{
	char kind[8], mode[8], off[4], device[IF_NAMESIZE];
	int end = 0;

	memset(p, 0, sizeof(*p));
	if (sscanf(name, "%7[a-z]_%7[a-z]_%3[0vl]_%d_%15s%n", kind, mode, off, &p->why, device,
		   &end) != 5 ||
	    name[end])
		return false;
	p->shared = !strcmp(kind, "shared");
	if (!p->shared && strcmp(kind, "link") != 0)
		return false;
	while (strcmp(mode, modes[p->wanted]) != 0)
		if (++p->wanted == MODES)
			return false;
	p->offloads = (strchr(off, 'v') ? ATTACH_OFFLOAD_RXVLAN : 0) |
		      (strchr(off, 'l') ? ATTACH_OFFLOAD_LRO : 0);
	memcpy(p->device, device, sizeof(p->device));
	attach_pin_unescape(p->device);
	return true;
}

struct search {
	const char *device;
	struct attach_pin *found;
};

static int compare_device(void *ctx, const char *name)
{
	struct search *s = ctx;

	return attach_pin_parse(name, s->found) && !strcmp(s->found->device, s->device);
}

bool attach_pin_find(const char *dir, const char *device, struct attach_pin *p)
{
	struct search s = {device, p};

	return attach_dir_each(dir, compare_device, &s, NULL) == 1;
}

int attach_pin_replace(int fd, const char *dir, const char *name, struct poise_error *err)
{
	char fresh[PATH_MAX], path[PATH_MAX];

	attach_path(fresh, sizeof(fresh), dir, ATTACH_PIN_NEW);
	attach_path(path, sizeof(path), dir, name);
	unlink(fresh); /* of a process that was killed before its rename */
	if (bpf_obj_pin(fd, fresh))
		return poise_fail_errno(err, "cannot pin %s", path);
	if (!rename(fresh, path))
		return 0;
	poise_fail_errno(err, "cannot pin %s", path);
	unlink(fresh);
	return -1;
}

/* A link that was pinned but not yet renamed holds its device; nobody knows of it. */
void attach_pin_leftover(const char *dir)
{
	char fresh[PATH_MAX];
	int fd = bpf_obj_get(attach_path(fresh, sizeof(fresh), dir, ATTACH_PIN_NEW));

	if (fd < 0)
		return;
	if (attach_link_ifindex(fd))
		bpf_link_detach(fd); /* now; losing the pin would detach it later */
	close(fd);
	unlink(fresh);
}

int attach_pin_rename(const char *dir, const struct attach_pin *from, const struct attach_pin *to,
		      struct poise_error *err)
{
	char name[ATTACH_PIN_NAME], old[PATH_MAX], path[PATH_MAX];

	attach_path(old, sizeof(old), dir, attach_pin_name(from, name, sizeof(name)));
	attach_path(path, sizeof(path), dir, attach_pin_name(to, name, sizeof(name)));
	if (!strcmp(old, path) || !rename(old, path))
		return 0;
	return poise_fail_errno(err, "cannot rename %s", old);
}
