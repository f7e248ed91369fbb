// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The fields of map entries in words; a function per kind of entry. */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include "../maps/events.h"
#include "map.h"

static const char *addr(const union poise_addr *a, char buf[POISE_ADDR_TEXT])
{
	return poise_format_addr(a, buf, POISE_ADDR_TEXT);
}

static void print_mac(FILE *out, const __u8 m[6])
{
	fprintf(out, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

void print_meta(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_meta *m = entry;

	(void)i;
	(void)key;
	fprintf(out,
		"instance %s abi %u services %u members %u flow_buckets %u table_slots %u "
		"listener_slots %u listener_seeds %u paths %u cpus %u any_port %u"
		" refusing %u answering %u\n"
		"   committed %llu applied %llu opened %llu graced %llu swept %llu sequence %llu "
		"flows_live %llu flows_used %llu",
		m->instance, m->abi, m->services, m->members, m->flow_buckets, m->table_slots,
		m->listener_slots, m->listener_seeds, m->paths, m->cpus, m->any_port, m->refusing,
		m->answering, m->committed, m->applied, m->opened, m->graced, m->swept, m->sequence,
		m->flows_live, m->flows_used);
}

static void print_record(FILE *out, const struct poise_record *r)
{
	static const char *const states[] = {"free", "used", "leaving", "ashes"};

	fprintf(out, "generation %llu %s crc %08x", r->generation,
		r->state <= POISE_REC_ASHES ? states[r->state] : "?", r->crc);
}

void print_service_conf(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_service_slot *s = entry;

	(void)i;
	(void)key;
	for (int k = 0; k < 2; k++) {
		fprintf(out, "%scopy %d ", k ? "\n   " : "", k);
		print_record(out, &s->copy[k].r);
		fprintf(out,
			" name %s policy %u forward %u track %u table_size %u listeners %u "
			"extents %u",
			s->copy[k].name, s->copy[k].policy, s->copy[k].forward, s->copy[k].track,
			s->copy[k].table_size, s->copy[k].listeners, s->copy[k].extents);
	}
}

void print_member_conf(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_member_slot *s = entry;
	char text[POISE_ADDR_TEXT];

	(void)i;
	(void)key;
	for (int k = 0; k < 2; k++) {
		const struct poise_member_conf *m = &s->copy[k];

		fprintf(out, "%scopy %d ", k ? "\n   " : "", k);
		print_record(out, &m->r);
		fprintf(out,
			" address %s port %u service %u ordinal %u weight %u admin %u health %u",
			addr(&m->addr, text), ntohs(m->port), m->service, m->ordinal, m->weight,
			m->admin, m->health);
	}
}

void print_address_conf(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_address_slot *s = entry;
	char text[POISE_ADDR_TEXT];

	(void)i;
	(void)key;
	for (int k = 0; k < 2; k++) {
		const struct poise_address_conf *a = &s->copy[k];

		fprintf(out, "%scopy %d ", k ? "\n   " : "", k);
		print_record(out, &a->r);
		fprintf(out,
			" address %s device %s put %u ping %u other_ports %u "
			"announce %u announced %u announced_since %llu withdraw_grace %u own %u",
			addr(&a->addr, text), a->device, a->put, a->ping, a->other_ports,
			a->announce, a->announced, a->announced_since, a->withdraw_grace, a->own);
		if (a->was[0])
			fprintf(out, " was %s was_put %u", a->was, a->was_put);
	}
}

void print_listener(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_listener *l = entry;
	char text[POISE_ADDR_TEXT];

	(void)i;
	(void)key;
	fprintf(out, "address %s port %u protocol %s%s flags %#x service %u retired %u",
		addr(&l->addr, text), ntohs(l->port),
		l->proto == POISE_PROTO_HOST			? "any"
		: (l->proto & ~POISE_PROTO_HOST) == IPPROTO_UDP ? "udp"
								: "tcp",
		l->proto & POISE_PROTO_HOST ? " of the address" : "", l->flags, l->service,
		l->retired);
}

void print_u32(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	(void)i;
	(void)key;
	fprintf(out, "%u", *(const __u32 *)entry);
}

void print_service(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_service *s = entry;

	(void)i;
	(void)key;
	fprintf(out, "active %u%s retired %u", s->active & 1,
		s->active & POISE_SERVICE_GONE ? " gone" : "", s->retired);
	for (int k = 0; k < 2; k++) {
		const struct poise_service_rec *r = &s->rec[k];

		fprintf(out,
			"\n   record %d table %u+%u base %u+%u policy %u track %u rung %u "
			"members %u idle %u syn %u closing %u udp %u",
			k, r->table_at, r->table_size, r->base_at, r->base_size, r->policy,
			r->track, r->rung, r->members, r->idle, r->syn, r->closing, r->udp);
		for (int e = 0; e < r->extents && e < POISE_EXTENTS; e++)
			fprintf(out, " extent %u+%u", r->extent[e].first, r->extent[e].count);
	}
}

void print_member(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_member *m = entry;
	char text[POISE_ADDR_TEXT];
	__u8 mac[6];

	(void)i;
	(void)key;
	for (int k = 0; k < 6; k++)
		mac[k] = (__u8)(m->nexthop >> 8 * k);
	fprintf(out,
		"address %s port %u service %u ordinal %u weight %u mode %u rank %u live %#x "
		"next hop ",
		addr(&m->addr, text), ntohs(m->port), m->service, m->ordinal, m->weight, m->mode,
		m->live & POISE_L_RANK, m->live);
	if (!m->nexthop || m->nexthop == POISE_NEXTHOP_LOCAL) {
		fputs(m->nexthop ? "the host's stack" : "none", out);
		return;
	}
	print_mac(out, mac);
	fprintf(out, " path %u", (unsigned int)(m->nexthop >> 48));
}

void print_table_entry(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	__u32 e = *(const __u32 *)entry;

	(void)i;
	(void)key;
	fprintf(out, "current %u base %u%s", POISE_ENTRY_CURRENT(e), POISE_ENTRY_BASE(e),
		e & POISE_ENTRY_MIXED ? " mixed" : "");
}

void print_path(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_path *p = entry;
	char name[IF_NAMESIZE] = "?", text[POISE_ADDR_TEXT], src4[INET_ADDRSTRLEN];

	(void)i;
	(void)key;
	if_indextoname(p->ifindex, name);
	fprintf(out, "device %s (%u) mtu %u source mac ", name, p->ifindex, p->mtu);
	print_mac(out, p->smac);
	for (int k = 0; k < p->vlans && k < POISE_PATH_MAX_VLANS; k++)
		fprintf(out, " vlan %u", ntohs(p->vlan[k]) & 0xfff);
	fprintf(out, " source4 %s source6 %s users %llu",
		inet_ntop(AF_INET, &p->src4, src4, sizeof(src4)), addr(&p->src6, text), p->refs);
	if (p->more)
		fprintf(out, " more %u", p->more);
}

void print_server_ids(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_server_ids *b = entry;
	const char *gap = "";

	(void)i;
	(void)key;
	for (int k = 0; k < POISE_SERVER_ID_WORDS; k++) {
		__u64 w = b->word[k];

		if (!w)
			continue;
		fprintf(out, "%sword %d server id %u service %u member %u", gap, k,
			(unsigned int)(w >> 32), POISE_ID_SERVICE(w), POISE_ID_MEMBER(w));
		gap = "\n   ";
	}
}

void print_range(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_range *r = entry;
	char text[RANGE_TEXT];

	(void)i;
	(void)key;
	fprintf(out, "%s %s", r->deny ? "deny" : "allow", range_format(r, text, sizeof(text)));
}

void print_bound(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_bound *b = entry;
	union poise_addr a = {.q = {__builtin_bswap64(b->high), __builtin_bswap64(b->low)}};
	char text[POISE_ADDR_TEXT];

	(void)i;
	(void)key;
	fprintf(out, "from %s", poise_format_addr(&a, text, sizeof(text)));
}

void print_bucket(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_bucket *b = entry;
	const char *gap = "";

	(void)key;
	for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
		__u64 w = b->word[k];

		if (!w)
			continue;
		fprintf(out, "%sword %d tag %08x member %u state %u idle %us", gap, k,
			POISE_WORD_TAG(w), POISE_WORD_MEMBER(w), POISE_WORD_STATE(w),
			instance_word_age(w, instance_stamp_now(i)));
		gap = "\n   ";
	}
}

void print_counter(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_counter *n = entry;

	fprintf(out,
		"cpu %llu member %llu packets %llu bytes %llu opened %llu closed %llu "
		"begun %u answered %u finished %u refused %u",
		key / i->meta->members, key % i->meta->members, n->packets, n->bytes,
		POISE_COUNT(n->opened), POISE_COUNT(n->closed), n->signal[POISE_BEGUN],
		n->signal[POISE_ANSWERED], n->signal[POISE_FINISHED], n->signal[POISE_REFUSED]);
}

void print_loads(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	__u32 row = poise_loads_row(i->meta->members);
	const struct poise_loads *l = entry;

	fprintf(out, "cpu %llu member %llu own %d others %d", key / row, key % row, l->own,
		l->others);
}

void print_latency(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	static const char *const kinds[POISE_SAMPLES] = {"requests", "connects", "short"};
	const struct poise_latency *l = entry;

	(void)i;
	fprintf(out, "member %llu", key);
	for (int k = 0; k < POISE_SAMPLES; k++)
		fprintf(out, " %s %llu mean %u peak %u", kinds[k], l->samples[k],
			POISE_MEAN_TICKS(l->mean[k]), POISE_PEAK_TICKS(l->peak[k]));
	fprintf(out, " ticks");
}

void print_held(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	(void)i;
	fprintf(out, "member %llu %d", key, *(const poise_load *)entry);
}

void print_rate(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_rate *r = entry;

	(void)i;
	(void)key;
	fprintf(out, "new flows/s %u %u packets/s %llu %llu bytes/s %llu %llu", r->flows[0],
		r->flows[1], r->packets[0], r->packets[1], r->bytes[0], r->bytes[1]);
}

void print_check(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_check_result *r = entry;

	(void)i;
	(void)key;
	fprintf(out, "%s %u in a row: %.*s", r->good ? "good" : "bad", r->in_a_row,
		(int)sizeof(r->words) - 1, r->words);
}

void print_cluster(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_cluster *c = entry;

	(void)i;
	(void)key;
	fprintf(out, "state %u server %s node %s services %u slices %u endpoints %u findings %u%s",
		c->state, c->server, c->node, c->services, c->slices, c->endpoints, c->findings,
		c->leads ? " leads" : "");
}

void print_probe(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	const struct poise_probe *p = entry;
	char backend[POISE_ENDPOINT_TEXT], address[POISE_ADDR_TEXT];

	(void)i;
	(void)key;
	poise_format_endpoint(&p->backend, p->port, backend, sizeof(backend));
	poise_format_addr(&p->address, address, sizeof(address));
	fprintf(out, "backend %s by way of %s, protocol %u%s", backend, address, p->proto,
		p->flags & POISE_PROBE_FULL ? ", full size" : "");
}

void print_event(FILE *out, const struct instance *i, __u64 key, const void *entry)
{
	struct poise_event e = *(const struct poise_event *)entry;
	char text[EVENTS_TEXT];

	(void)i;
	(void)key;
	/* It may be in the midst of being written. */
	e.service[sizeof(e.service) - 1] = '\0';
	e.object[sizeof(e.object) - 1] = '\0';
	e.words[sizeof(e.words) - 1] = '\0';
	fprintf(out, "%llu %s: %s", e.number, events_name(e.kind),
		events_words(&e, text, sizeof(text)));
}
