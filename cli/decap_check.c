// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise decap check: what keeps this backend from answering clients directly. */
#include <stdlib.h>
#include <string.h>

#include "../loader/attach/attach.h"
#include "../loader/net/decap_check.h"
#include "json.h"

struct checking {
	struct cli *c;
	const char *device;
	struct json_object *faults; /* --json */
	int found;
};

static void say_fault(void *ctx, const char *sentence, const char *remedy)
{
	struct checking *k = ctx;
	struct json_object *o;

	k->found++;
	if (!k->c->json) {
		fprintf(k->c->out, "%s: %s\n    %s\n", k->device, sentence, remedy);
		return;
	}
	o = json_object_new_object();
	json_add_known(o, "device", k->device);
	json_add_known(o, "message", sentence);
	json_add_known(o, "remedy", remedy);
	json_object_array_add(k->faults, o);
}

/* how: what is attached there; NULL: nothing, behind l2. */
static int check_device(struct checking *k, const char *device, const struct attach_decap *how,
			const union poise_addr *address, size_t addresses)
{
	struct decap_facts facts;

	if (decap_facts_read(&facts, device, how != NULL, address, addresses, &k->c->error))
		return -1;
	facts.gue = how && how->ports;
	k->device = device;
	decap_judge(&facts, say_fault, k);
	decap_facts_free(&facts);
	return 0;
}

/* The device and addresses as typed: behind l2 nothing is attached that would know them. */
static int check_named(struct checking *k, const char *device, const struct attach_decap *list,
		       int n)
{
	struct cli *c = k->c;
	size_t addresses = 0;
	const struct attach_decap *how = NULL;
	union poise_addr *address = calloc(args_left(&c->args) + 1, sizeof(*address));
	const char *word;
	int rc = 0;

	if (!address)
		abort();
	while (!rc && (word = args_take(&c->args)))
		rc = poise_parse_addr(word, &address[addresses++], &c->error);
	for (int d = 0; d < n; d++)
		if (!strcmp(list[d].device, device))
			how = &list[d];
	if (!rc && !addresses)
		rc = cli_usage(c, "ADDR is missing: the service's addresses");
	if (!rc)
		rc = check_device(k, device, how, address, addresses);
	free(address);
	return rc;
}

static int check_attached(struct checking *k, const struct attach_decap *list, int n)
{
	for (int d = 0; d < n; d++)
		if (check_device(k, list[d].device, &list[d], list[d].address, list[d].addresses))
			return -1;
	k->device = "this host";
	if (!n)
		say_fault(k, "nothing unwraps encapsulated packets here",
			  "poise decap attach DEV ADDR (behind l2: poise decap check DEV ADDR)");
	return 0;
}

int cmd_decap_check(struct cli *c)
{
	struct checking k = {.c = c, .faults = c->json ? json_object_new_array() : NULL};
	struct attach_decap *list = NULL;
	int n = attach_decap_list(&c->where, &list, &c->error), rc;
	const char *device = args_take(&c->args);

	if (n < 0)
		return -1;
	rc = device ? check_named(&k, device, list, n) : check_attached(&k, list, n);
	attach_decap_free(list, n);
	free(list);
	if (rc) {
		json_object_put(k.faults);
		return -1;
	}
	if (c->json) {
		struct json_object *o = json_answer(c);

		json_object_object_add(o, "faults", k.faults);
		json_print(c, o);
	} else if (!k.found) {
		fprintf(c->out, "Nothing is lacking.\n");
	}
	return k.found ? CLI_NO : CLI_OK;
}
