// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Notes that several commands leave: what a change does not do by itself. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#include "transact.h"

void cli_note_owner(struct cli *c, const struct config_service *svc)
{
	if (svc->conf.r.owner == POISE_OWNER_FILE)
		cli_note(c,
			 "service %s comes from a file: the next apply of it undoes this; "
			 "poise save --boot keeps it",
			 svc->conf.name);
}

void cli_note_added(struct cli *c, const struct config_service *svc)
{
	if (svc->conf.r.owner == POISE_OWNER_FILE)
		cli_note(c,
			 "service %s comes from a file, which does not name this: applying it "
			 "leaves what was added by hand; poise save --boot writes it there",
			 svc->conf.name);
}

static bool same_address(const struct sockaddr *sa, const union poise_addr *want)
{
	union poise_addr a = {0};

	if (sa->sa_family == AF_INET6) {
		memcpy(a.b, &((const struct sockaddr_in6 *)sa)->sin6_addr, sizeof(a.b));
	} else if (sa->sa_family == AF_INET) {
		a.w[2] = htonl(0xffff);
		memcpy(&a.w[3], &((const struct sockaddr_in *)sa)->sin_addr, sizeof(a.w[3]));
	} else {
		return false;
	}
	return !memcmp(&a, want, sizeof(a));
}

/* The device that has it; NULL: none. */
static const char *device_of(const struct ifaddrs *all, const union poise_addr *want)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (i->ifa_addr && same_address(i->ifa_addr, want))
			return i->ifa_name;
	}
	return NULL;
}

/* What leads packets for an address here, as far as this host knows. */
static void note_address(struct cli *c, const union poise_addr *addr, const char *device)
{
	const struct config_address *a = config_address_at(c->config, addr);
	const char *claimed = a && !config_address_leaving(a) ? a->conf.device : "";
	char text[POISE_ADDR_TEXT];

	poise_format_addr(addr, text, sizeof(text));
	if (*claimed)
		cli_note(c, "%s is claimed on %s%s", text, claimed,
			 strcmp(claimed, "lo") ? "" : ": a router has to lead it here");
	else if (device)
		cli_note(c, "%s is on %s%s", text, device,
			 strcmp(device, "lo") ? "" : ": a router has to lead it here");
	else
		cli_note(c,
			 "%s is on no device of this host: unless a router leads it here, "
			 "poise address claim %s DEV",
			 text, text);
}

/* poise adds no address by itself, so what leads to one is worth a word. Whether a router leads it
 * here cannot be known from here; whether the host has it, can. */
void cli_note_addresses(struct cli *c, const struct config_service *svc)
{
	struct ifaddrs *all = NULL;

	if (c->batch || getifaddrs(&all))
		return;
	for (unsigned int i = 0; i < svc->conf.listeners; i++) {
		const union poise_addr *a = &svc->conf.listener[i].addr;
		bool told = false;

		for (unsigned int k = 0; k < i && !told; k++)
			told = !poise_addr_cmp(&svc->conf.listener[k].addr, a);
		if (!told)
			note_address(c, a, device_of(all, a));
	}
	freeifaddrs(all);
}

/* ---- files ------------------------------------------------------------------------------------*/

struct file_notes {
	struct cli *c;
	bool by_line; /* only of what has a line */
};

static void note_file(void *ctx, const struct config_service *svc, const struct config_member *m,
		      const char *key, const char *path, const char *why)
{
	const struct file_notes *n = ctx;
	bool notify = !strcmp(key, "notify"), run = notify || !strcmp(key, "command");
	int line = m ? m->line : notify ? svc->line : svc->health_line;
	char backend[POISE_NAME_MAX + 16] = "", name[POISE_NAME_MAX], at[300] = "";

	if (n->by_line && !line)
		return;
	if (m)
		snprintf(backend, sizeof(backend), "backend %s: ", cli_member_name(m, name));
	if (line)
		snprintf(at, sizeof(at), " (%s:%d)", n->c->config->file, line);
	cli_note(n->c, "service %s: %s%s%s %s: %s; until poised can %s it, %s%s", svc->conf.name,
		 backend,
		 m	  ? "health-"
		 : notify ? ""
			  : "health ",
		 key, path, why, run ? "run" : "read",
		 notify ? "nobody is told" : "checks by it fail", at);
}

void cli_note_files(struct cli *c, const struct config_service *svc)
{
	struct file_notes n = {c, !svc};

	if (c->batch)
		return;
	if (svc) {
		config_files(svc, note_file, &n);
		return;
	}
	for (size_t s = 0; s < c->config->services; s++)
		config_files(c->config->service[s], note_file, &n);
}
