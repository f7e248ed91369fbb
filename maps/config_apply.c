// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Making live what a file says. The work is done on a copy, which takes the place of the original
 * only when it is whole and valid.
 *
 * Owners: the file replaces what it owns. A service made by hand becomes the file's, with all that
 * is in it, once the file names it: that is how `save`, an edit, and `apply` fit together. What the
 * file does not name stays if somebody else made it, and what Kubernetes made is never the file's.
 * What Kubernetes wants is applied likewise, but it takes nothing over from anybody.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "config_priv.h"
#include "option.h"
#include "text.h"

struct applier {
	struct config *work;
	const struct config *file;
	__u8 owner; /* whose `file` is */
	bool merge;
	__u64 now; /* CLOCK_REALTIME, ns */
	struct config_summary *sum;
	struct poise_error *err;
};

/* ---- what goes --------------------------------------------------------------------------------*/

/* Whether what this one owns may become a->owner's. */
static bool may_take(const struct applier *a, __u8 owner)
{
	if (owner == a->owner)
		return true;
	if (owner == POISE_OWNER_KUBERNETES)
		poise_fail(a->err, POISE_E_CONFLICT, "is kept by Kubernetes");
	else if (a->owner == POISE_OWNER_KUBERNETES)
		poise_fail(a->err, POISE_E_CONFLICT, "is not kept by Kubernetes");
	else
		return true;
	return false;
}

/* The service and all that is in it turn to the file's; what the file lacks then goes. */
static void adopt(struct applier *a, struct config_service *svc)
{
	if (svc->conf.r.owner == a->owner)
		return;
	svc->conf.r.owner = a->owner;
	for (size_t i = 0; i < svc->conf.listeners; i++)
		svc->conf.listener[i].owner = a->owner;
	for (size_t i = 0; i < svc->members; i++)
		svc->member[i].conf.r.owner = a->owner;
	a->sum->adopted++;
}

/* Returns whether any listener went. */
static bool drop_listeners(const struct applier *a, struct config_service *svc,
			   const struct config_service *want)
{
	bool dropped = false;

	for (size_t i = svc->conf.listeners; i-- > 0;) {
		struct poise_listener_conf l = svc->conf.listener[i];

		if (l.owner != a->owner || config_listener_at(want, &l) >= 0)
			continue;
		config_unlisten(svc, &l, NULL);
		dropped = true;
	}
	return dropped;
}

static void drop_members(struct applier *a, struct config_service *svc,
			 const struct config_service *want)
{
	for (size_t i = svc->members; i-- > 0;) {
		struct config_member *m = &svc->member[i];

		if (m->conf.r.owner != a->owner || config_member_leaving(m) ||
		    config_member_at(want, &m->conf.addr, m->conf.port))
			continue;
		config_member_leave(svc, m, a->now);
		a->sum->backends_removed++;
	}
}

/*
 * The names of Kubernetes' services are made from what its Services say, not chosen: where one goes
 * and another comes that listens where it did, it is the same one, with all flows of its. Returns
 * whether there was one.
 */
static bool rename_service(const struct applier *a, const struct config_service *want)
{
	if (a->owner != POISE_OWNER_KUBERNETES || config_service_named(a->work, want->conf.name))
		return false;
	for (size_t i = 0; i < want->conf.listeners; i++) {
		struct config_service *svc = config_index_find(a->work, &want->conf.listener[i]);

		if (svc && svc->conf.r.owner == a->owner &&
		    !config_service_named(a->file, svc->conf.name))
			return !config_service_rename(a->work, svc, want->conf.name, NULL);
	}
	return false;
}

/* Services first and all of them, so that a listener may move from any to any other. */
static void drop_services(struct applier *a)
{
	for (size_t i = a->work->services; i-- > 0;) {
		struct config_service *svc = a->work->service[i];

		if (svc->conf.r.owner != a->owner || config_service_named(a->file, svc->conf.name))
			continue;
		a->sum->services_removed++;
		a->sum->backends_removed += (unsigned int)config_members_in(svc);
		config_service_del(a->work, svc);
	}
}

/* ---- what comes and changes -------------------------------------------------------------------*/

/* Copies the options that differ; returns whether any did. */
static bool take_options(enum option_scope scope, void *to, const void *from, const char *but)
{
	bool changed = false;

	for (const struct option *o = option_first(scope); o; o = option_next(o)) {
		if ((but && !strcmp(o->key, but)) || option_equal(o, to, from))
			continue;
		option_copy(o, to, from);
		changed = true;
	}
	return changed;
}

static int apply_member(struct applier *a, struct config_service *svc,
			const struct config_member *want)
{
	struct config_member *m = config_member_at(svc, &want->conf.addr, want->conf.port);
	bool comes = !m || config_member_leaving(m), changed;

	if (comes) {
		m = config_member_add(svc, &want->conf.addr, want->conf.port, a->err);
		if (!m)
			return -1;
		m->conf.since = a->now;
		a->sum->backends_added++;
	}
	m->conf.r.owner = a->owner;
	m->line = want->line;
	m->admin_said = want->admin_said;
	changed = take_options(OPTION_BACKEND, &m->conf, &want->conf, "admin");
	if (want->admin_said && m->conf.admin != want->conf.admin) {
		config_member_admin(svc, m, want->conf.admin, 0, a->now);
		changed = true;
	}
	if (changed && !comes)
		a->sum->backends_changed++;
	config_health_forget_one(svc, m);
	return 0;
}

/* One that is there already. Returns whether it changed. */
static bool keep_listener(const struct applier *a, struct poise_listener_conf *l,
			  const struct poise_listener_conf *want)
{
	bool changed = l->alone != want->alone;

	l->owner = a->owner;
	l->alone = want->alone;
	return changed;
}

static int apply_service(struct applier *a, const struct config_service *want, bool *changed)
{
	struct config_service *svc = config_service_named(a->work, want->conf.name);

	svc->line = want->line;
	svc->health_line = want->health_line;
	for (size_t i = 0; i < want->conf.listeners; i++) {
		int at = config_listener_at(svc, &want->conf.listener[i]);

		if (at >= 0) {
			*changed |=
				keep_listener(a, &svc->conf.listener[at], &want->conf.listener[i]);
			continue;
		}
		if (config_listen(a->work, svc, &want->conf.listener[i], a->err))
			return -1;
		at = config_listener_at(svc, &want->conf.listener[i]);
		svc->conf.listener[at].owner = a->owner;
		*changed = true;
	}
	*changed |= take_options(OPTION_SERVICE, svc, want, NULL);
	if (take_options(OPTION_HEALTH, &svc->conf.health, &want->conf.health, NULL)) {
		config_health_forget(svc);
		*changed = true;
	}
	for (size_t i = 0; i < want->members; i++)
		if (apply_member(a, svc, &want->member[i]))
			return -1;
	return 0;
}

/* Makes the service be there and be the file's, and takes away what the file lacks. *comes: it is
 * new; *changed: a listener went. */
static int prepare_service(struct applier *a, const struct config_service *want, bool *comes,
			   bool *changed)
{
	struct config_service *svc = config_service_named(a->work, want->conf.name);

	*comes = !svc;
	*changed = false;
	if (!svc) {
		svc = config_service_add(a->work, want->conf.name, a->owner, a->err);
		if (!svc)
			return -1;
		svc->conf.created = a->now;
	}
	if (!may_take(a, svc->conf.r.owner)) {
		poise_error_remedy(a->err, "change its Service there, or name this one otherwise");
		return poise_error_about(a->err, "service \"%s\"", want->conf.name);
	}
	adopt(a, svc);
	if (!a->merge) {
		*changed = drop_listeners(a, svc, want);
		drop_members(a, svc, want);
	}
	return 0;
}

static int apply_services(struct applier *a)
{
	const struct config *file = a->file;
	struct {
		bool renamed, comes, changed;
	} *seen = memory_alloc(file->services * sizeof(*seen));
	int failed = 0;

	for (size_t i = 0; i < file->services && !a->merge; i++)
		seen[i].renamed = rename_service(a, file->service[i]);
	if (!a->merge)
		drop_services(a);
	for (size_t i = 0; i < file->services && !failed; i++) {
		a->err->line = file->service[i]->line;
		failed = prepare_service(a, file->service[i], &seen[i].comes, &seen[i].changed);
		seen[i].changed |= seen[i].renamed;
	}
	for (size_t i = 0; i < file->services && !failed; i++) {
		a->err->line = file->service[i]->line;
		failed = apply_service(a, file->service[i], &seen[i].changed);
		a->sum->services_added += seen[i].comes;
		a->sum->services_changed += seen[i].changed && !seen[i].comes;
	}
	free(seen);
	return failed;
}

/* ---- what is not services ---------------------------------------------------------------------*/

static void apply_interfaces(struct applier *a)
{
	const struct config *file = a->file;
	struct config *work = a->work;

	if (!file->interfaces)
		return; /* says nothing about them */
	if (!a->merge)
		work->interfaces = 0;
	for (size_t i = 0; i < file->interfaces; i++) {
		const struct config_interface *want = &file->interface[i];
		size_t at = 0, room = work->interfaces;

		while (at < work->interfaces &&
		       strcmp(work->interface[at].device, want->device) != 0)
			at++;
		if (at == work->interfaces)
			work->interface = memory_grow(work->interface, work->interfaces++, &room,
						      sizeof(*work->interface));
		work->interface[at] = *want;
	}
}

/* What a hand claimed becomes the file's once the file names it; a claim of Kubernetes never. */
static int apply_address(struct applier *a, const struct config_address *want)
{
	struct config_address *now = config_address_at(a->work, &want->conf.addr);
	bool comes = !now || config_address_leaving(now), changed;
	char text[POISE_ADDR_TEXT];

	a->err->line = want->line;
	if (!comes && !may_take(a, now->conf.r.owner))
		return poise_error_about(a->err, "address %s",
					 poise_format_addr(&want->conf.addr, text, sizeof(text)));
	now = config_address_add(a->work, &want->conf.addr, a->err);
	if (!now)
		return -1;
	now->line = want->line;
	changed = strcmp(now->conf.device, want->conf.device) != 0;
	changed |= take_options(OPTION_ADDRESS, &now->conf, &want->conf, NULL);
	if (comes)
		a->sum->addresses_added++;
	else if (changed)
		a->sum->addresses_changed++;
	if (!comes && now->conf.r.owner != a->owner)
		a->sum->adopted++;
	now->conf.r.owner = a->owner;
	return config_address_device(now, want->conf.device, a->err);
}

static int apply_addresses(struct applier *a)
{
	for (size_t i = 0; i < a->file->addresses; i++)
		if (apply_address(a, &a->file->address[i]))
			return -1;
	for (size_t i = 0; i < a->work->addresses && !a->merge; i++) {
		struct config_address *now = &a->work->address[i];

		if (now->conf.r.owner != a->owner || config_address_leaving(now) ||
		    config_address_at(a->file, &now->conf.addr))
			continue;
		config_address_leave(now);
		a->sum->addresses_removed++;
	}
	return 0;
}

static int check_whole(struct applier *a, const struct config *live, unsigned int flags)
{
	const struct config *file = a->file;
	size_t owned = 0;

	for (size_t i = 0; i < live->services; i++)
		owned += live->service[i]->conf.r.owner == a->owner;
	if (owned && !file->services && !(flags & (CONFIG_APPLY_MERGE | CONFIG_APPLY_EMPTY))) {
		poise_fail(a->err, POISE_E_CONFLICT,
			   "lists no service: applying it would remove %zu", owned);
		return poise_error_remedy(a->err, "--allow-empty if that is meant");
	}
	if (file->has_hash_key && live->has_hash_key &&
	    memcmp(file->hash_key, live->hash_key, sizeof(live->hash_key))) {
		poise_fail(a->err, POISE_E_CONFLICT,
			   "hash-key is not the one this instance was created with");
		return poise_error_remedy(a->err, "leave hash-key out, or poise reset and start "
						  "anew: its flows would all move");
	}
	return 0;
}

/* A copy of live that names the lines of this file and of no earlier one. */
static struct config *work_copy(const struct config *live, const struct config *file)
{
	struct config *work = config_clone(live);

	snprintf(work->file, sizeof(work->file), "%s", file->file);
	for (size_t i = 0; i < work->services; i++) {
		work->service[i]->line = 0;
		work->service[i]->health_line = 0;
		for (size_t k = 0; k < work->service[i]->members; k++)
			work->service[i]->member[k].line = 0;
	}
	for (size_t i = 0; i < work->addresses; i++)
		work->address[i].line = 0;
	return work;
}

/* Puts work in place of what live held. */
static void replace(struct config *live, struct config *work)
{
	struct config old = *live;

	*live = *work;
	*work = old;
	config_free(work);
}

int config_apply(struct config *live, const struct config *file, unsigned int flags,
		 struct config_summary *sum, struct poise_error *err)
{
	return config_apply_as(live, file, POISE_OWNER_FILE, flags, sum, err);
}

int config_apply_as(struct config *live, const struct config *file, __u8 owner, unsigned int flags,
		    struct config_summary *sum, struct poise_error *err)
{
	struct config_summary counted = {0};
	struct poise_error mine = {0};
	struct applier a = {
		.file = file,
		.owner = owner,
		.merge = flags & CONFIG_APPLY_MERGE,
		.now = clock_realtime(),
		.sum = &counted,
		.err = &mine,
	};

	a.work = work_copy(live, file);
	snprintf(mine.file, sizeof(mine.file), "%s", file->file);
	if (check_whole(&a, live, flags) || apply_services(&a) || apply_addresses(&a) ||
	    config_validate(a.work, &mine)) {
		config_free(a.work);
		if (err)
			*err = mine;
		return -1;
	}
	apply_interfaces(&a);
	if (file->has_hash_key && !live->has_hash_key) {
		a.work->has_hash_key = true;
		memcpy(a.work->hash_key, file->hash_key, sizeof(file->hash_key));
	}
	replace(live, a.work);
	if (sum)
		*sum = counted;
	return 0;
}
