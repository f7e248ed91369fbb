// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which addresses are the host's own, by where the kernel takes packets and what we put there. */
#include <criterion/criterion.h>
#include <net/if.h>
#include <stdlib.h>

#include "loader/net/own.h"
#include "maps/text.h"

#define ADDR4 "192.0.2.1"
#define ADDR6 "2001:db8::1"
#define ELSE  99999 /* a device that is not lo */

static struct config *cfg;
static struct own_places places;

static union poise_addr address(const char *text)
{
	union poise_addr addr;

	cr_assert_eq(poise_parse_host(text, &addr, NULL), 0, "%s", text);
	return addr;
}

static struct poise_listener_conf *listener(const char *text)
{
	struct config_service *svc = config_service_named(cfg, "web");
	struct poise_listener_conf l = {0};

	cr_assert_eq(poise_parse_listener(text, &l, NULL), 0);
	return &svc->conf.listener[config_listener_at(svc, &l)];
}

static void start(void)
{
	struct poise_listener_conf l = {0};
	struct config_service *svc;

	cfg = config_new();
	places = (struct own_places){0};
	svc = config_service_add(cfg, "web", POISE_OWNER_HAND, NULL);
	cr_assert(svc);
	cr_assert(!poise_parse_listener(ADDR4 ":80", &l, NULL) &&
		  !config_listen(cfg, svc, &l, NULL));
	cr_assert(!poise_parse_listener("[" ADDR6 "]:80", &l, NULL) &&
		  !config_listen(cfg, svc, &l, NULL));
}

static void stop(void)
{
	own_places_free(&places);
	config_free(cfg);
}

TestSuite(own, .init = start, .fini = stop);

static void there(const char *text, unsigned int bits, unsigned int ifindex)
{
	union poise_addr addr = address(text);

	own_places_add(&places, &addr, bits, ifindex);
}

static struct config_address *claim(const char *text, __u8 put)
{
	union poise_addr addr = address(text);
	struct config_address *a = config_address_add(cfg, &addr, NULL);

	cr_assert(a && !config_address_device(a, "lo", NULL));
	a->conf.put = put;
	return a;
}

static void expect(__u8 own4, __u8 own6)
{
	own_places_sort(&places);
	own_note(cfg, &places, true);
	cr_expect_eq(listener(ADDR4 ":80")->own, own4);
	cr_expect_eq(listener("[" ADDR6 "]:80")->own, own6);
	cr_expect_eq(own_note(cfg, &places, false), 0, "noted twice");
}

Test(own, nowhere)
{
	expect(POISE_OWN_NOT, POISE_OWN_NOT);
}

Test(own, on_a_device)
{
	there("10.0.0.1", 128, ELSE);
	there(ADDR6, 128, ELSE);
	there("192.0.2.2", 128, ELSE);
	there("192.0.2.0", 128, ELSE);
	expect(POISE_OWN_NOT, POISE_OWN_HOST);
}

Test(own, within_a_local_prefix)
{
	there("192.0.2.0", 96 + 24, 1);
	there("2001:db8:1::", 48, 1);
	expect(POISE_OWN_HOST, POISE_OWN_NOT);
}

/* By us, and as the kernel's local route of the same; what somebody else has besides counts. */
Test(own, where_we_put_it)
{
	unsigned int lo = if_nametoindex("lo");

	claim(ADDR4, POISE_PUT_MARKED);
	claim(ADDR6, POISE_PUT_UNMARKED);
	there(ADDR4, 128, lo);
	there(ADDR4, 128, lo);
	there(ADDR6, 128, lo);
	expect(POISE_OWN_NOT, POISE_OWN_NOT);
	there(ADDR4, 128, ELSE);
	expect(POISE_OWN_HOST, POISE_OWN_NOT);
	cr_expect_eq(cfg->address[0].conf.own, POISE_OWN_HOST);
	cr_expect_eq(cfg->address[1].conf.own, POISE_OWN_NOT);
}

Test(own, claimed_where_somebody_had_it)
{
	claim(ADDR4, POISE_PUT_FOREIGN);
	there(ADDR4, 128, if_nametoindex("lo"));
	expect(POISE_OWN_HOST, POISE_OWN_NOT);
}

/* Still there where it is to be taken off. */
Test(own, moved_and_not_yet_off)
{
	struct config_address *a = claim(ADDR4, POISE_PUT_MARKED);

	cr_assert_eq(config_address_device(a, "e9", NULL), 0);
	there(ADDR4, 128, if_nametoindex("lo"));
	expect(POISE_OWN_NOT, POISE_OWN_NOT);
}

/* Looking changes nothing. */
Test(own, looking)
{
	there(ADDR4, 128, ELSE);
	own_places_sort(&places);
	cr_expect_eq(own_note(cfg, &places, false), 2);
	cr_expect_eq(listener(ADDR4 ":80")->own, POISE_OWN_UNKNOWN);
}
