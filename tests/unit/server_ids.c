// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Server ids of QUIC connection ids: what a configuration may say, and that as many as an instance
 * can have find room in the map.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/config.h"
#include "maps/hash.h"
#include "maps/instance.h"
#include "maps/text.h"
#include "tests/support/store.h"

static struct config *cfg;
static struct config_service *svc;

/* Three backends with ids 1, 2 and 3. */
static void setup(void)
{
	cfg = config_new();
	svc = store_add_service(cfg, "q", 1, 0, 3);
	store_listen(cfg, svc, "192.0.2.1:443/udp");
	svc->conf.quic = 1;
	for (__u32 m = 0; m < 3; m++)
		svc->member[m].conf.server_id = m + 1;
}

static void teardown(void)
{
	config_free(cfg);
}

TestSuite(server_ids, .init = setup, .fini = teardown);

static const char *fault(void)
{
	static char text[1024];
	struct poise_error err = {0};

	return config_validate(cfg, &err) ? poise_error_text(&err, text, sizeof(text)) : NULL;
}

static void expect_fault(const char *words)
{
	const char *said = fault();

	cr_expect(said && strstr(said, words), "\"%s\" is not in: %s", words, said ? said : "-");
}

Test(server_ids, are_unique_in_the_service)
{
	struct config_service *other = store_add_service(cfg, "r", 2, 10, 1);

	store_listen(cfg, other, "192.0.2.2:443/udp");
	other->member[0].conf.server_id = 3;
	cr_expect(!fault(), "%s", fault());
	svc->member[2].conf.server_id = 1;
	expect_fault("has server-id 1 too");
	svc->member[0].conf.server_id = 0;
	cr_expect(!fault(), "%s", fault());
	svc->member[1].conf.server_id = 0;
	cr_expect(!fault(), "two without: %s", fault());
}

Test(server_ids, of_a_leaver_is_free)
{
	svc->member[2].conf.server_id = 1;
	svc->member[0].conf.r.state = POISE_REC_LEAVING;
	cr_expect(!fault(), "%s", fault());
}

Test(server_ids, fit_their_length)
{
	svc->conf.quic_length = 1;
	svc->member[2].conf.server_id = 255;
	cr_expect(!fault(), "%s", fault());
	svc->member[2].conf.server_id = 256;
	expect_fault("server-id 256 has no room in 1 bytes: at most 255");
	svc->conf.quic = 0;
	cr_expect(!fault(), "nobody reads it: %s", fault());
	svc->conf.quic = 1;
	svc->conf.quic_length = 4;
	svc->member[2].conf.server_id = 0xffffffff;
	cr_expect(!fault(), "%s", fault());
}

Test(server_ids, lie_within_a_connection_id)
{
	svc->conf.quic_offset = 16;
	svc->conf.quic_length = 4;
	cr_expect(!fault(), "%s", fault());
	svc->conf.quic_offset = 17;
	expect_fault("at most 20 bytes");
}

/* ---- room -------------------------------------------------------------------------------------*/

/* How full the fullest bucket gets when every id of an instance of so many is put in the emptier of
 * its two, as maps/server_ids.c does. */
static unsigned int fullest(__u32 members, __u32 services, __u32 step)
{
	__u32 buckets = poise_server_id_buckets(members);
	__u8 *used = calloc(buckets, 1);
	unsigned int most = 0;

	cr_assert(used);
	for (__u32 n = 1; n < members; n++) {
		__u64 key = POISE_ID_KEY(POISE_ID_WORD(n * step, 1 + n % services, 0));
		__u32 one = poise_server_id_bucket(key, 0, buckets);
		__u32 two = poise_server_id_bucket(key, 1, buckets);
		__u8 *bucket = &used[used[two] < used[one] ? two : one];

		cr_assert(one < buckets && two < buckets && one != two);
		if (++*bucket > most)
			most = *bucket;
	}
	free(used);
	return most;
}

Test(server_ids, as_many_as_there_are_backends_find_room)
{
	static const __u32 services[] = {1, 2, 3, 100, 4096};
	static const __u32 steps[] = {1, 2, 256, 257, 65536, 0x9e3779b1};

	for (__u32 members = 2; members <= 65536;
	     members = members < 64 ? members + 1 : members * 2)
		for (size_t s = 0; s < 5; s++)
			for (size_t k = 0; k < 6; k++) {
				unsigned int n = fullest(members, services[s], steps[k]);

				cr_expect_leq(
					n, POISE_SERVER_ID_WORDS,
					"%u members in %u services, ids by %u: %u in a bucket",
					members, services[s], steps[k], n);
			}
}

static void many(struct config *all, unsigned long argument)
{
	struct config_service *big = store_add_service(all, "big", 1, 0, 0);
	char address[32];

	store_listen(all, big, "192.0.2.1:443/udp");
	big->conf.quic = 1;
	for (unsigned int n = 1; n <= argument; n++) {
		snprintf(address, sizeof(address), "10.4.%u.%u", n >> 8, n & 0xff);
		store_add_member(big, address);
	}
	for (size_t m = 0; m < big->members; m++)
		big->member[m].conf.server_id = (__u32)m + 1;
}

Test(server_ids, of_all_backends_at_once)
{
	struct config_limits limits = {.services = 4,
				       .backends = 4096,
				       .listeners = 16,
				       .flow_slots = 1024,
				       .table_slots = 1 << 19,
				       .paths = 4};
	struct instance *i = instance_anonymous(&limits);

	store_change(i, many, 4000);
	store_check(i, "4000 server ids");
	instance_close(i);
}
