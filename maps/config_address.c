// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The addresses that poise keeps on devices of this host, or that are told something though they
 * are on none, sorted by address. One that is given up stays, leaving, until whoever may touch
 * devices has taken it off: a crash in between forgets nothing.
 */
#include <net/if.h>
#include <string.h>

#include "config_priv.h"
#include "option.h"
#include "sorted.h"
#include "text.h"

_Static_assert(POISE_DEVICE == IFNAMSIZ, "a record holds any device's name");

static int by_addr(const void *addr, const void *entry)
{
	const struct config_address *a = entry;

	return poise_addr_cmp(addr, &a->conf.addr);
}

/* Where addr is or would be; *found tells which. */
static size_t locate(const struct config *cfg, const union poise_addr *addr, bool *found)
{
	return sorted_find(addr, cfg->address, cfg->addresses, sizeof(*cfg->address), by_addr,
			   found);
}

struct config_address *config_address_at(const struct config *cfg, const union poise_addr *addr)
{
	bool found;
	size_t at = locate(cfg, addr, &found);

	return found ? &cfg->address[at] : NULL;
}

struct config_address *config_address_find(const struct config *cfg, const char *text,
					   struct poise_error *err)
{
	struct config_address *a;
	union poise_addr addr;

	if (poise_parse_host(text, &addr, err)) {
		poise_error_of(err, "address");
		return NULL;
	}
	a = config_address_at(cfg, &addr);
	if (a && !config_address_leaving(a))
		return a;
	poise_fail(err, POISE_E_NOT_FOUND, "is not claimed");
	poise_error_remedy(err, "poise address list shows those that are");
	poise_error_about(err, "address %s", text);
	return NULL;
}

struct config_address *config_address_add(struct config *cfg, const union poise_addr *addr,
					  struct poise_error *err)
{
	struct config_address *a;
	bool found;
	size_t at = locate(cfg, addr, &found);

	if (!found && cfg->addresses == POISE_ADDRESSES) {
		poise_fail(err, POISE_E_FULL, "%d addresses are claimed, and there is room for %d",
			   POISE_ADDRESSES, POISE_ADDRESSES);
		poise_error_remedy(err, "route a prefix to this host instead: packets for a "
					"service need no address on a device");
		return NULL;
	}
	if (!found) {
		cfg->address = sorted_open(cfg->address, at, &cfg->addresses, &cfg->address_room,
					   sizeof(*cfg->address));
		a = &cfg->address[at];
		memset(a, 0, sizeof(*a));
		a->conf.addr = *addr;
	}
	a = &cfg->address[at];
	if (!found || config_address_leaving(a))
		option_defaults(OPTION_ADDRESS, &a->conf);
	a->conf.r.state = POISE_REC_USED;
	return a;
}

bool config_address_serves(const struct config *cfg, const union poise_addr *addr)
{
	for (size_t s = 0; s < cfg->services; s++) {
		const struct poise_service_conf *conf = &cfg->service[s]->conf;

		for (size_t l = 0; l < conf->listeners; l++)
			if (!poise_addr_cmp(&conf->listener[l].addr, addr))
				return true;
	}
	return false;
}

bool config_address_says(const struct config_address *a)
{
	for (const struct option *o = option_first(OPTION_ADDRESS); o; o = option_next(o))
		if (!option_is_default(o, &a->conf))
			return true;
	return a->conf.device[0];
}

int config_device(const char *name, struct poise_error *err)
{
	size_t length = strlen(name);
	bool good = length && length < IFNAMSIZ && strcmp(name, ".") && strcmp(name, "..");

	for (const char *c = name; *c && good; c++)
		good = *c > ' ' && *c < 0x7f && *c != '/' && *c != ':';
	if (good)
		return 0;
	poise_fail_text(err, POISE_E_BAD_VALUE, name, "not a name of a device");
	return poise_error_of(err, "device");
}

int config_address_device(struct config_address *a, const char *device, struct poise_error *err)
{
	char text[POISE_ADDR_TEXT];

	if (*device && config_device(device, err))
		return -1;
	if (*device && poise_addr_is_loopback(&a->conf.addr)) {
		poise_fail(err, POISE_E_BAD_VALUE,
			   "a loopback address is each host's own: no client is led here by it");
		return poise_error_about(err, "address %s",
					 poise_format_addr(&a->conf.addr, text, sizeof(text)));
	}
	if (a->conf.put != POISE_PUT_NOT && strcmp(a->conf.device, device) != 0) {
		if (a->conf.put != POISE_PUT_FOREIGN) {
			memcpy(a->conf.was, a->conf.device, sizeof(a->conf.was));
			a->conf.was_put = a->conf.put;
		}
		a->conf.put = POISE_PUT_NOT;
	}
	memset(a->conf.device, 0, sizeof(a->conf.device));
	memcpy(a->conf.device, device, strlen(device));
	return 0;
}

bool config_address_gated(const struct config_address *a)
{
	if (a->conf.announce == POISE_ANNOUNCE_AUTO)
		return !strcmp(a->conf.device, "lo");
	return a->conf.device[0] && a->conf.announce == POISE_ANNOUNCE_USABLE;
}

void config_address_leave(struct config_address *a)
{
	a->conf.r.state = POISE_REC_LEAVING;
}

void config_address_del(struct config *cfg, struct config_address *a)
{
	sorted_close(cfg->address, (size_t)(a - cfg->address), &cfg->addresses, sizeof(*a));
}

/* ---- why it is withdrawn ----------------------------------------------------------------------*/

static const struct {
	const char *word, *clause;
} reasons[] = {
	[POISE_WITHDRAWN_NO_SERVICE] = {"no-service", "no service listens on it"},
	[POISE_WITHDRAWN_NO_BACKEND] = {"no-backend",
					"no backend of the services on it may be chosen"},
	[POISE_WITHDRAWN_DETACHED] = {"detached", "poise is attached to no device"},
	[POISE_WITHDRAWN_BELOW] = {"below-minimum",
				   "the services on it are below their minimum (min-up)"},
};

static bool has_reason(__u8 announced)
{
	return announced >= POISE_WITHDRAWN && announced < sizeof(reasons) / sizeof(reasons[0]);
}

const char *config_address_why_word(__u8 announced)
{
	return has_reason(announced) ? reasons[announced].word : "";
}

const char *config_address_why(__u8 announced)
{
	return has_reason(announced) ? reasons[announced].clause : "";
}
