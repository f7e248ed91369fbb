// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Claims of addresses as configuration: in files, by owner, and in an instance. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/net/claim.h"
#include "maps/text.h"
#include "tests/support/parsed.h"
#include "tests/support/store.h"

#define FOUR "addresses:\n  - { address: 192.0.2.10, claim: lo }\n"
#define SIX  "  - { address: \"2001:db8::10\", claim: eth0 }\n"

static struct config_summary apply(struct config *live, const char *text, unsigned int flags)
{
	struct config *file = parsed(text);
	struct config_summary sum = {0};
	struct poise_error err = {0};

	cr_assert_eq(config_apply(live, file, flags, &sum, &err), 0, "%s", err.message);
	config_free(file);
	return sum;
}

static union poise_addr address(const char *text)
{
	union poise_addr addr;

	cr_assert_eq(poise_parse_host(text, &addr, NULL), 0);
	return addr;
}

static struct config_address *at(const struct config *cfg, const char *text)
{
	union poise_addr addr = address(text);

	return config_address_at(cfg, &addr);
}

static struct config_address *by_hand(struct config *cfg, const char *text, const char *device)
{
	union poise_addr addr = address(text);
	struct config_address *a = config_address_add(cfg, &addr, NULL);

	cr_assert(a && !config_address_device(a, device, NULL));
	return a;
}

Test(address, a_file_reads_back_as_saved)
{
	struct config *cfg = parsed(FOUR SIX);
	char *saved = config_save(cfg, 0);

	cr_assert_str_eq(saved, "addresses:\n"
				"  - { address: 192.0.2.10, claim: lo }\n"
				"  - { address: \"2001:db8::10\", claim: eth0 }\n");
	free(saved);
	config_free(cfg);
}

/* What the file claimed leaves with it, what a hand claimed stays until the file names it. */
#define SET                                                                                        \
	"addresses:\n"                                                                             \
	"  - { address: 192.0.2.10, claim: lo, ping: usable }\n"                                   \
	"  - { address: 192.0.2.11, other-ports: pass }\n"

Test(address, keys_read_back_as_saved)
{
	struct config *cfg = parsed(SET);
	char *saved = config_save(cfg, 0);

	cr_expect_str_eq(saved, SET);
	cr_expect_eq(at(cfg, "192.0.2.11")->conf.device[0], '\0');
	free(saved);
	saved = config_save(cfg, CONFIG_SAVE_ALL);
	cr_expect(strstr(saved, "{ address: 192.0.2.10, claim: lo, ping: usable, "
				"other-ports: refuse, announce: auto, withdraw-grace: 3s }"));
	free(saved);
	config_free(cfg);
}

/* What a file does not say is at its default, a claim too. */
Test(address, keys_follow_the_file)
{
	struct config *live = config_new();
	struct config_summary sum = apply(live, SET, 0);

	cr_expect_eq(sum.addresses_added, 2);
	sum = apply(live, SET, 0);
	cr_expect_eq(sum.addresses_added + sum.addresses_changed + sum.addresses_removed, 0);
	at(live, "192.0.2.10")->conf.put = POISE_PUT_MARKED;
	sum = apply(live,
		    "addresses:\n  - { address: 192.0.2.10, ping: no }\n"
		    "  - { address: 192.0.2.11, claim: lo }\n",
		    0);
	cr_expect_eq(sum.addresses_changed, 2);
	cr_expect_eq(at(live, "192.0.2.10")->conf.ping, POISE_PING_NO);
	cr_expect_str_eq(at(live, "192.0.2.10")->conf.device, "");
	cr_expect_str_eq(at(live, "192.0.2.10")->conf.was, "lo");
	cr_expect_eq(at(live, "192.0.2.10")->conf.was_put, POISE_PUT_MARKED);
	cr_expect_eq(at(live, "192.0.2.11")->conf.other_ports, POISE_OTHER_REFUSE);
	config_free(live);
}

Test(address, released_ones_forget_their_keys)
{
	struct config *live = config_new();
	struct config_address *a = by_hand(live, "192.0.2.10", "lo");

	a->conf.ping = POISE_PING_NO;
	cr_expect(config_address_says(a));
	config_address_leave(a);
	a = by_hand(live, "192.0.2.10", "");
	cr_expect_eq(a->conf.ping, POISE_PING_YES);
	cr_expect_not(config_address_says(a));
	config_free(live);
}

Test(address, owners)
{
	struct config *live = config_new();
	struct config_summary sum = apply(live, FOUR, 0);

	cr_expect_eq(sum.addresses_added, 1);
	by_hand(live, "192.0.2.99", "lo");
	sum = apply(live, "addresses:\n" SIX, CONFIG_APPLY_MERGE);
	cr_expect_eq(sum.addresses_added, 1);
	cr_expect_eq(sum.addresses_removed, 0);
	sum = apply(live, "addresses:\n" SIX, 0);
	cr_expect_eq(sum.addresses_removed, 1);
	cr_expect(config_address_leaving(at(live, "192.0.2.10")));
	cr_expect_not(config_address_leaving(at(live, "192.0.2.99")));
	cr_expect_not(config_address_leaving(at(live, "2001:db8::10")));
	sum = apply(live, "addresses: [ { address: 192.0.2.99, claim: lo } ]\n", 0);
	cr_expect_eq(sum.adopted, 1);
	cr_expect_eq(sum.addresses_removed, 1);
	sum = apply(live, "addresses: []\n", 0);
	cr_expect_eq(sum.addresses_removed, 1);
	for (size_t a = 0; a < live->addresses; a++)
		cr_expect(config_address_leaving(&live->address[a]));
	config_free(live);
}

/* One that is leaving is no longer of the configuration, and may come back. */
Test(address, leaving_and_back)
{
	struct config *live = config_new();
	struct config_summary sum;
	char *saved;

	apply(live, FOUR, 0);
	config_address_leave(at(live, "192.0.2.10"));
	saved = config_save(live, CONFIG_SAVE_ALL);
	cr_expect_null(strstr(saved, "192.0.2.10"), "%s", saved);
	cr_expect_null(config_address_find(live, "192.0.2.10", NULL));
	sum = apply(live, FOUR, 0);
	cr_expect_eq(sum.addresses_added, 1);
	cr_expect_not_null(config_address_find(live, "192.0.2.10", NULL));
	free(saved);
	config_free(live);
}

/* Moved: where we put it before is remembered until it is off there; what is another's is not. */
Test(address, moving_remembers_where_it_was)
{
	struct config *live = config_new();
	struct config_address *a = by_hand(live, "192.0.2.10", "lo");

	a->conf.put = POISE_PUT_MARKED;
	by_hand(live, "192.0.2.10", "eth0");
	cr_expect_str_eq(a->conf.was, "lo");
	cr_expect_eq(a->conf.was_put, POISE_PUT_MARKED);
	cr_expect_eq(a->conf.put, POISE_PUT_NOT);
	by_hand(live, "192.0.2.10", "eth1");
	cr_expect_str_eq(a->conf.was, "lo", "never put on eth0");

	a = by_hand(live, "192.0.2.11", "lo");
	a->conf.put = POISE_PUT_FOREIGN;
	by_hand(live, "192.0.2.11", "eth0");
	cr_expect_str_empty(at(live, "192.0.2.11")->conf.was);
	config_free(live);
}

static void emit(void *ctx, char sign, const char *line)
{
	char *all = ctx;

	sprintf(all + strlen(all), "%c %s\n", sign, line);
}

Test(address, differences)
{
	struct config *from = parsed(FOUR SIX);
	struct config *to = parsed("addresses:\n"
				   "  - { address: 192.0.2.11, claim: lo }\n"
				   "  - { address: \"2001:db8::10\", claim: lo, ping: no }\n"
				   "  - { address: \"2001:db8::11\", other-ports: pass }\n");
	char lines[512] = "";

	cr_expect_eq(config_diff(from, to, emit, lines), 5);
	cr_expect_str_eq(lines, "- address 192.0.2.10\n"
				"~ address 2001:db8::10 claim eth0 -> lo\n"
				"~ address 2001:db8::10 ping yes -> no\n"
				"+ address 192.0.2.11 claim lo\n"
				"+ address 2001:db8::11 other-ports pass\n");
	cr_expect_eq(config_diff(from, from, NULL, NULL), 0);
	config_free(from);
	config_free(to);
}

/* ---- on a device ------------------------------------------------------------------------------*/

#define THERE	    1
#define OTHERS_MARK 3 /* IFAPROT_KERNEL_LL */

static const struct {
	__u8 there, mark; /* what the kernel says */
	__u8 before;	  /* what the record says */
	bool ours;
	__u8 after; /* what it is to say */
} judged[] = {
	{0, 0, POISE_PUT_NOT, false, POISE_PUT_NOT},
	{0, 0, POISE_PUT_UNMARKED, false, POISE_PUT_NOT},
	{0, 0, POISE_PUT_MARKED, false, POISE_PUT_NOT},
	{0, 0, POISE_PUT_FOREIGN, false, POISE_PUT_NOT},
	/* a kernel without marks */
	{THERE, 0, POISE_PUT_NOT, false, POISE_PUT_FOREIGN},
	{THERE, 0, POISE_PUT_UNMARKED, true, POISE_PUT_UNMARKED},
	{THERE, 0, POISE_PUT_FOREIGN, false, POISE_PUT_FOREIGN},
	/* put there anew by somebody else */
	{THERE, 0, POISE_PUT_MARKED, false, POISE_PUT_FOREIGN},
	{THERE, OTHERS_MARK, POISE_PUT_NOT, false, POISE_PUT_FOREIGN},
	{THERE, OTHERS_MARK, POISE_PUT_UNMARKED, false, POISE_PUT_FOREIGN},
	{THERE, OTHERS_MARK, POISE_PUT_MARKED, false, POISE_PUT_FOREIGN},
	/* killed between putting and noting; a kernel that learnt of marks */
	{THERE, POISE_IFA_PROTO, POISE_PUT_NOT, false, POISE_PUT_MARKED},
	{THERE, POISE_IFA_PROTO, POISE_PUT_UNMARKED, false, POISE_PUT_MARKED},
	{THERE, POISE_IFA_PROTO, POISE_PUT_FOREIGN, false, POISE_PUT_MARKED},
	{THERE, POISE_IFA_PROTO, POISE_PUT_MARKED, true, POISE_PUT_MARKED},
};

Test(address, whose_it_is)
{
	for (size_t k = 0; k < sizeof(judged) / sizeof(judged[0]); k++) {
		struct net_placed p = {.proto = judged[k].mark};
		const struct net_placed *there = judged[k].there ? &p : NULL;

		cr_expect_eq(net_placed_ours(there, judged[k].before), judged[k].ours, "row %zu",
			     k);
		cr_expect_eq(net_placed_put(there, judged[k].before), judged[k].after, "row %zu",
			     k);
	}
}

/* ---- in an instance ---------------------------------------------------------------------------*/

static void fill(struct config *cfg, unsigned long n)
{
	char text[POISE_ADDR_TEXT];

	for (unsigned long k = 0; k < n; k++) {
		snprintf(text, sizeof(text), "10.%lu.%lu.1", k / 256, k % 256);
		by_hand(cfg, text, "lo");
	}
}

static void every_second_goes(struct config *cfg, unsigned long n)
{
	(void)n;
	for (size_t a = cfg->addresses; a-- > 0;)
		if (a % 2)
			config_address_del(cfg, &cfg->address[a]);
}

static void one_option(struct config *cfg, unsigned long n)
{
	(void)n;
	cr_assert(cfg->part);
	cfg->service[0]->conf.idle = 60000;
}

static void a_service(struct config *cfg, unsigned long n)
{
	(void)n;
	store_add_service(cfg, "web", 1, 0, 2)->conf.table_size = 61;
}

static size_t count(struct instance *i)
{
	struct config *cfg;
	size_t n;

	cr_assert_eq(instance_load(i, &cfg, NULL), 0);
	n = cfg->addresses;
	for (size_t a = 1; a < n; a++)
		cr_assert_lt(
			poise_addr_cmp(&cfg->address[a - 1].conf.addr, &cfg->address[a].conf.addr),
			0);
	config_free(cfg);
	return n;
}

/* As many as there is room for; slots of those that go are had again. */
Test(address, all_slots)
{
	union poise_addr more = address("192.0.2.1");
	struct poise_error err = {0};
	struct instance *i = store_tiny();
	struct config *cfg;

	store_change(i, fill, POISE_ADDRESSES);
	store_check(i, "full");
	cr_assert_eq(count(i), POISE_ADDRESSES);
	cr_assert_eq(instance_load(i, &cfg, NULL), 0);
	cr_expect_null(config_address_add(cfg, &more, &err));
	cr_expect_eq(err.code, POISE_E_FULL);
	config_free(cfg);
	store_change(i, every_second_goes, 0);
	cr_assert_eq(count(i), POISE_ADDRESSES / 2);
	store_change(i, fill, POISE_ADDRESSES);
	store_check(i, "full again");
	cr_assert_eq(count(i), POISE_ADDRESSES);
	instance_close(i);
}

/* A change of one service, loaded alone, knows of no addresses and leaves them. */
Test(address, a_part_leaves_them)
{
	struct poise_error err = {0};
	struct instance *i = store_tiny();
	struct config *cfg;

	store_change(i, a_service, 0);
	store_change(i, fill, 3);
	cr_assert_eq(instance_lock(i, &err), 0);
	cr_assert_eq(instance_load_service(i, "web", &cfg, &err), 0);
	one_option(cfg, 0);
	cr_assert_eq(instance_commit(i, cfg, NULL, &err), 0, "%s", err.message);
	config_free(cfg);
	instance_unlock(i);
	store_check(i, "after");
	cr_assert_eq(count(i), 3);
	instance_close(i);
}
