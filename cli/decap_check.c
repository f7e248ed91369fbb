// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise decap check: what this backend lacks to answer clients directly, each with the command that
 * mends it. The facts and the judgement are net/'s.
 */
#include "../loader/net/decap_check.h"

#include <stdlib.h>
#include <string.h>

#include "attached.h"
#include "json.h"

struct checking {
	struct cli *c;
	struct json_object *list; /* NULL: print */
	int found;
};

static void say(void *ctx, const char *sentence, const char *remedy)
{
	struct checking *k = ctx;
	struct json_object *o;

	k->found++;
	if (!k->list) {
		fprintf(k->c->out, "%s\n", sentence);
		if (remedy && *remedy)
			fprintf(k->c->out, "  %s\n", remedy);
		return;
	}
	o = json_object_new_object();
	json_add_known(o, "message", sentence);
	json_add_known(o, "remedy", remedy);
	json_object_array_add(k->list, o);
}

static int check(struct checking *k, const char *device, bool encapsulated,
		 const union poise_addr *address, size_t addresses)
{
	struct decap_facts facts;

	if (decap_facts_read(&facts, device, encapsulated, address, addresses, &k->c->error))
		return -1;
	decap_judge(&facts, say, k);
	decap_facts_free(&facts);
	return 0;
}

/* Every device that unwraps, for the addresses it unwraps for. */
static int check_attached(struct checking *k, const struct attach_decap *list, int n)
{
	if (!n)
		return cli_usage(k->c, "nothing is unwrapped here: say the service's addresses");
	for (int i = 0; i < n; i++) {
		if (check(k, list[i].device, true, list[i].address, list[i].addresses))
			return -1;
	}
	return 0;
}

static bool unwraps(const struct attach_decap *list, int n, const char *device)
{
	for (int i = 0; i < n; i++) {
		if (!*device || !strcmp(list[i].device, device))
			return true;
	}
	return false;
}

/* [DEV] ADDR... as said; also for l2 backends, where nothing is attached. */
static int check_said(struct checking *k, const struct attach_decap *list, int n)
{
	struct cli *c = k->c;
	const char *word = args_peek(&c->args), *device = "";
	union poise_addr *address;
	size_t addresses;
	int status = -1;

	if (!strpbrk(word, ".:"))
		device = args_take(&c->args);
	if (!decap_take_addresses(c, &address, &addresses))
		status = check(k, device, unwraps(list, n, device), address, addresses);
	free(address);
	return status;
}

static void print_verdict(struct checking *k)
{
	struct cli *c = k->c;

	if (k->list) {
		struct json_object *o = json_answer(c);

		json_object_object_add(o, "lacks", k->list);
		json_print(c, o);
	} else if (!k->found && !c->quiet) {
		fprintf(c->out, "this host lacks nothing to answer clients directly.\n");
	}
}

int cmd_decap_check(struct cli *c)
{
	struct checking k = {.c = c};
	struct attach_decap *list = NULL;
	int n = attach_decap_list(&c->where, &list, &c->error), status;

	if (n < 0)
		return -1;
	k.list = c->json ? json_object_new_array() : NULL;
	status = args_left(&c->args) ? check_said(&k, list, n) : check_attached(&k, list, n);
	attach_decap_free(list, (size_t)n);
	free(list);
	if (status) {
		json_object_put(k.list);
		return -1;
	}
	print_verdict(&k);
	return k.found ? CLI_NO : CLI_OK;
}
