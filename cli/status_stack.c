// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise status: what backends need of the host's own stack, those of mode local and those of mode
 * nat that no attached device leads to: programs at TC, forwarding, and a table of nftables.
 */
#include <stdarg.h>
#include <stdio.h>

#include "status.h"

static bool is_by_stack(const struct cli *c, const struct config_service *svc,
			const struct config_member *m)
{
	return config_mode(svc, m) == POISE_NAT &&
	       c->instance->members[m->id].nexthop == POISE_NEXTHOP_LOCAL;
}

void gather_stack(const struct cli *c, struct status *s)
{
	s->overlay = c->instance->meta->overlay;
	nft_table_name((const char *)c->instance->meta->instance, s->nft_table);
	for (size_t i = 0; s->overlay && i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		for (size_t k = 0; k < svc->members; k++)
			s->by_stack += is_by_stack(c, svc, &svc->member[k]);
	}
	if (s->overlay == POISE_OVERLAY_FAILED)
		remark(&s->problems,
		       "nftables refused table inet %s: backends of mode nat that no attached "
		       "device "
		       "leads to have no next hop (poised's log says why)",
		       s->nft_table);
	else if (s->overlay == POISE_OVERLAY_STANDS && !nft_table_look(s->nft_table, NULL))
		remark(&s->problems,
		       "table inet %s is gone from nftables: backends that it translates for "
		       "answer "
		       "nobody (poised puts it back)",
		       s->nft_table);
}

static void judge_unreturned(void *ctx, const char *device)
{
	struct status *s = ctx;

	remark(&s->problems,
	       "%s: TC lacks the programs that packets of mode local pass by: clients are answered "
	       "by "
	       "an address that they do not know (tc filter show dev %s egress, ingress)",
	       device, device);
}

/* A number that the kernel has under /proc/sys/net; -1: it has none there. */
static int sysctl(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int sysctl(const char *fmt, ...)
{
	char name[128] = "", path[160];
	int value = -1;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

/* Are there backends of this family that the stack leads to? */
static bool has_local(const struct cli *c, bool four)
{
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		for (size_t k = 0; k < svc->members; k++)
			if ((config_mode(svc, &svc->member[k]) == POISE_LOCAL ||
			     is_by_stack(c, svc, &svc->member[k])) &&
			    poise_addr_is4(&svc->member[k].conf.addr) == four)
				return true;
	}
	return false;
}

/* What the host's stack does with packets for backends of mode local is the host's to say. */
static void judge_sysctls(const struct cli *c, struct status *s)
{
	static const char *const forwarding[] = {"ipv6/conf/all/forwarding", "ipv4/ip_forward"};
	int all = sysctl("ipv4/conf/all/rp_filter");

	for (int four = 0; four < 2; four++)
		if (has_local(c, four) && !sysctl("%s", forwarding[four]))
			remark(&s->notes,
			       "/proc/sys/net/%s is 0: backends of mode local get packets only if "
			       "they are this host's own sockets",
			       forwarding[four]);
	for (int d = 0; d < s->devices && has_local(c, true); d++) {
		const char *device = s->device[d].device;
		int own = sysctl("ipv4/conf/%s/rp_filter", device);

		if ((own > all ? own : all) == 1)
			remark(&s->notes,
			       "%s: rp_filter is 1: packets for backends of mode local are dropped "
			       "if the route to their client leaves by another device",
			       device);
	}
}

void judge_stack(const struct cli *c, struct status *s)
{
	if (!c->instance->meta->locals && !s->overlay)
		return;
	judge_sysctls(c, s);
	if (attach_filters_lacking(c->instance, ATTACH_LOCAL, judge_unreturned, s) < 0)
		remark(&s->problems, "this kernel does not run the programs that packets of mode "
				     "local pass by: forward local does not work here");
}
