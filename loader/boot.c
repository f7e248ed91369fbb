/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What to begin with, and what to fall back to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../maps/clock.h"
#include "../maps/events.h"
#include "../maps/text.h"
#include "attach/attach.h"
#include "boot.h"
#include "net/hostports.h"

static char *last_good_path(const struct options *o, const char *suffix, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s.yaml%s", o->state,
		 o->where.name ? o->where.name : POISE_DEFAULT_INSTANCE, suffix);
	return buf;
}

static void warn_file(void *ctx, const struct config_service *svc, const struct config_member *m,
		      const char *key, const char *path, const char *why)
{
	char backend[POISE_ENDPOINT_TEXT + 16] = "", text[POISE_ENDPOINT_TEXT];
	int line = m ? m->line : strcmp(key, "notify") ? svc->health_line : svc->line;

	if (m)
		snprintf(backend, sizeof(backend), "backend %s: ",
			 poise_format_endpoint(&m->conf.addr, m->conf.port, text, sizeof(text)));
	log_line(LOG_LEVEL_WARNING, "service %s: %s%s %s: %s (%s:%d)", svc->conf.name, backend, key,
		 path, why, (const char *)ctx, line);
}

/* As this process finds them: it is the one that will read them. */
static void warn_files(struct config *file)
{
	for (size_t s = 0; s < file->services; s++)
		config_files(file->service[s], warn_file, file->file);
}

void boot_read(struct boot *b, const struct options *o)
{
	char path[512];

	memset(b, 0, sizeof(*b));
	if (!o->config_given && access(o->config, F_OK) < 0 && errno == ENOENT) {
		log_line(LOG_LEVEL_INFO, "there is no %s: starting with what poise was told",
			 o->config);
		return;
	}
	b->cfg = config_read(o->config, &b->error);
	if (b->cfg) {
		warn_files(b->cfg);
		return;
	}
	log_error(LOG_LEVEL_ERROR, &b->error);
	last_good_path(o, "", path, sizeof(path));
	b->cfg = config_read(path, NULL);
	b->last_good = b->cfg;
	if (!b->cfg)
		log_line(LOG_LEVEL_WARNING, "no last good state can be read from %s", path);
}

int boot_reread(struct boot *b, const struct options *o, struct poise_error *err)
{
	memset(b, 0, sizeof(*b));
	b->cfg = config_read(o->config, err);
	if (!b->cfg)
		return -1;
	warn_files(b->cfg);
	return 0;
}

void boot_free(struct boot *b)
{
	config_free(b->cfg);
	memset(b, 0, sizeof(*b));
}

bool boot_is_due(const struct instance *i, bool created)
{
	return created || !i->meta->boot_applied;
}

static void say_in_meta(struct instance *i, const struct options *o, const struct poise_error *why)
{
	struct poise_meta *meta = i->meta;

	snprintf((char *)meta->boot_file, sizeof(meta->boot_file), "%s", o->config);
	if (why)
		poise_error_text(why, meta->boot_error, sizeof(meta->boot_error));
	else
		meta->boot_error[0] = '\0';
}

void boot_refuse(struct instance *i, const struct options *o, const struct poise_error *why)
{
	if (instance_lock(i, NULL) < 0)
		return;
	say_in_meta(i, o, why);
	instance_unlock(i);
}

/* Fixed when the maps were made; a file that says otherwise now should not do so unheard. */
static void warn_fixed(const struct config *file, const struct config *live)
{
	static const char then[] = "counts only when the maps are made: poise save, poise reset";

	if (file->has_limits && memcmp(&file->limits, &live->limits, sizeof(live->limits)) != 0)
		log_line(LOG_LEVEL_WARNING, "limits: other than those of the maps, and %s", then);
	if (file->has_hash_key &&
	    memcmp(file->hash_key, live->hash_key, sizeof(live->hash_key)) != 0)
		log_line(LOG_LEVEL_WARNING, "hash-key: other than that of the maps, and %s", then);
}

static int apply_locked(struct instance *i, const struct boot *b, struct config_summary *sum,
			struct poise_error *err)
{
	struct instance_change change;
	struct config *live;
	int rc = -1;

	if (instance_load(i, &live, err) < 0)
		return -1;
	warn_fixed(b->cfg, live);
	if (config_apply(live, b->cfg, 0, sum, err) == 0)
		rc = instance_commit(i, live, &change, err);
	config_free(live);
	return rc;
}

static void tell_applied(struct instance *i, const char *what, const struct config_summary *sum)
{
	char text[POISE_EVENT_WORDS];

	snprintf(text, sizeof(text),
		 "%s applied: services %u added, %u changed, %u removed; backends %u added, %u "
		 "changed, %u removed",
		 what, sum->services_added, sum->services_changed, sum->services_removed,
		 sum->backends_added, sum->backends_changed, sum->backends_removed);
	events_change(i, POISE_OWNER_FILE, text);
}

int boot_apply(struct instance *i, const struct boot *b, const struct options *o,
	       struct poise_error *err)
{
	struct config_summary sum = {0};
	int rc = 0;

	if (!b->cfg && b->error.code == POISE_E_NONE)
		return 0;
	if (instance_lock(i, err) < 0)
		return -1;
	host_ports_note(i, true);
	if (b->cfg)
		rc = apply_locked(i, b, &sum, err);
	if (rc < 0)
		say_in_meta(i, o, err);
	else
		say_in_meta(i, o, b->error.code ? &b->error : NULL);
	if (rc == 0 && b->cfg && !b->last_good)
		i->meta->boot_applied = clock_realtime();
	instance_unlock(i);
	if (rc == 0 && b->cfg)
		tell_applied(i, b->last_good ? "last good state" : o->config, &sum);
	return rc;
}

/* Devices are no part of what instance_load reads: they are taken from what is attached. */
static void add_interfaces(struct instance *i, struct config *cfg)
{
	struct attach_state *list;
	int n = attach_list(i, &list, NULL);

	if (n <= 0)
		return;
	free(cfg->interface);
	cfg->interface = calloc(n, sizeof(cfg->interface[0]));
	if (!cfg->interface)
		abort();
	cfg->interfaces = n;
	for (int k = 0; k < n; k++) {
		memcpy(cfg->interface[k].device, list[k].device, sizeof(list[k].device));
		cfg->interface[k].mode = list[k].wanted;
		cfg->interface[k].shared = list[k].shared;
	}
	free(list);
}

static int write_whole(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		text += n;
		length -= n;
	}
	return fsync(fd);
}

int boot_save_last(struct instance *i, const struct options *o, struct poise_error *err)
{
	char path[512], fresh[512];
	struct config *cfg;
	char *text;
	int fd, rc = -1;

	if (instance_load(i, &cfg, err) < 0)
		return -1;
	add_interfaces(i, cfg);
	text = config_save(cfg, 0);
	config_free(cfg);

	last_good_path(o, "", path, sizeof(path));
	last_good_path(o, ".new", fresh, sizeof(fresh));
	mkdir(o->state, 0700); /* if it is there or cannot be made, open says so */
	/* It holds the hash key. */
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0) {
		rc = write_whole(fd, text, strlen(text));
		if (close(fd) < 0 || rc < 0 || rename(fresh, path) < 0)
			rc = -1;
	}
	if (rc < 0)
		poise_fail_errno(err, "cannot keep the last good state in %s", path);
	free(text);
	return rc;
}
