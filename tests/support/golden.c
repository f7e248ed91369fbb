// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Golden dumps; see golden.h. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "loader/kube/access.h"
#include "maps/memory.h"
#include "maps/text.h"

#define ROOT "tests/kube/golden"
#define PATH 256

/* ---- files ------------------------------------------------------------------------------------*/

static char *path(const struct golden *g, const char *file, char buf[PATH])
{
	snprintf(buf, PATH, ROOT "/%s/%s", g->name, file);
	return buf;
}

/* The text of a file, malloc'ed; NULL: there is none. */
static char *text_of(const struct golden *g, const char *file)
{
	char name[PATH], *text = NULL;
	FILE *in = fopen(path(g, file, name), "re");
	size_t size = 0;

	if (!in)
		return NULL;
	if (getdelim(&text, &size, '\0', in) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(in);
	return text;
}

static int not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

char **golden_names(void)
{
	struct dirent **entry;
	int n = scandir(ROOT, &entry, not_hidden, alphasort);
	char **names;

	cr_assert_gt(n, 0, "no golden dumps in %s", ROOT);
	names = memory_alloc((size_t)(n + 1) * sizeof(*names));
	for (int i = 0; i < n; i++) {
		names[i] = strdup(entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	return names;
}

void golden_names_free(char **names)
{
	for (char **n = names; *n; n++)
		free(*n);
	free(names);
}

/* ---- options ----------------------------------------------------------------------------------*/

static void take_line(struct golden *g, char *line)
{
	char *word = strsep(&line, " ");

	if (!strcmp(word, "classless")) {
		g->options.classless = true;
	} else if (!strcmp(word, "no-external-ips")) {
		g->options.no_external_ips = true;
	} else if (!strcmp(word, "claim")) {
		snprintf(g->claim, sizeof(g->claim), "%s", line);
		g->options.claim = g->claim;
	} else if (!strcmp(word, "server")) {
		cr_assert(kube_access_where(line, &g->options.server, &g->options.server_port),
			  "%s: %s", g->name, line);
	} else if (!strcmp(word, "node-ports")) {
		cr_assert_eq(kube_node_ports(&g->options, line, g->node, NULL), 0, "%s: %s",
			     g->name, line);
	} else {
		cr_assert_fail("%s: no such option: %s", g->name, word);
	}
}

static void take_options(struct golden *g)
{
	char *text = text_of(g, "options"), *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			take_line(g, line);
	free(text);
}

/* ---- one of them ------------------------------------------------------------------------------*/

static void take_live(struct golden *g)
{
	char *text = text_of(g, "live.yaml");
	struct poise_error err = {0};

	if (!text)
		return;
	g->live = config_parse("live.yaml", text, strlen(text), &err);
	cr_assert_not_null(g->live, "%s: %s (line %d)", g->name, err.message, err.line);
	free(text);
}

void golden_open(struct golden *g, const char *name)
{
	struct json_object *list;
	char *text;

	memset(g, 0, sizeof(*g));
	snprintf(g->name, sizeof(g->name), "%s", name);
	text = text_of(g, "objects.json");
	cr_assert_not_null(text, "%s has no objects.json", name);
	list = json_tokener_parse(text);
	free(text);
	cr_assert(list && json_object_object_get_ex(list, "items", &g->objects),
		  "%s: objects.json is no List", name);
	json_object_get(g->objects);
	json_object_put(list);
	take_options(g);
	take_live(g);
	g->dump = text_of(g, "dump");
}

void golden_close(struct golden *g)
{
	json_object_put(g->objects);
	config_free(g->live);
	free(g->dump);
}

int golden_kind(struct json_object *obj)
{
	const char *kind = json_object_get_string(json_object_object_get(obj, "kind"));

	for (int k = 0; kind && k < KUBE_KINDS; k++)
		if (!strcmp(kind, kube_kind_word((enum kube_kind)k)))
			return k;
	return -1;
}

void golden_list(const struct golden *g, struct kube_cache *cache)
{
	for (int k = 0; k < KUBE_KINDS; k++) {
		kube_cache_relist_begin(cache, (enum kube_kind)k);
		for (size_t i = 0; i < json_object_array_length(g->objects); i++) {
			struct json_object *obj = json_object_array_get_idx(g->objects, i);

			if (golden_kind(obj) == k)
				kube_cache_object(cache, (enum kube_kind)k, obj);
		}
		kube_cache_relist_end(cache, (enum kube_kind)k);
	}
}

/* ---- dumps ------------------------------------------------------------------------------------*/

char *golden_config(const struct config *cfg)
{
	struct config bare = *cfg;

	bare.has_limits = bare.has_hash_key = false;
	bare.interfaces = 0;
	return config_save(&bare, CONFIG_SAVE_NO_SECRETS);
}

char *golden_dump(const struct kube_desired *d)
{
	char *text = NULL, *config = golden_config(d->cfg), line[1024];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_not_null(out);
	fputs(config, out);
	free(config);
	for (size_t i = 0; i < d->healths; i++)
		fprintf(out, "# health check port %u of %s/%s: %zu on this node\n",
			d->health[i].port, d->health[i].ns, d->health[i].name, d->health[i].local);
	for (size_t i = 0; i < d->findings.n; i++)
		fprintf(out, "# %s: %s\n", kube_reason_word(d->findings.finding[i].reason),
			kube_finding_text(&d->findings.finding[i], line, sizeof(line)));
	fclose(out);
	return text;
}

void golden_write(const struct golden *g, const char *dump)
{
	char name[PATH];
	FILE *out = fopen(path(g, "dump", name), "we");

	cr_assert_not_null(out, "%s", name);
	fputs(dump, out);
	fclose(out);
}
