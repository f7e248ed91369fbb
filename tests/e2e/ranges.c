// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Source ranges between two real clients: who is admitted and who is denied as the lists say, by
 * the longest match; and that a list may be changed hundreds of times under load, and nobody whom
 * old and new list admit ever notices.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define EDITS 200   /* over IPv4; a third over IPv6, which takes no other way in user space */
#define RATE  "200" /* requests a second while the lists are edited, each a connection */
#define LEAST 100   /* of them, for the test to mean something */

TestSuite(ranges, .timeout = TEST_LONGEST);

/* Client 1 is to be admitted, client 2 denied, all the while. */
struct family {
	const char *vip; /* as in an URL */
	const char *net, *one, *two;
	const char *host; /* length of a host's prefix */
	const char *all;  /* everybody of the family */
	const char *half; /* a prefix that holds both clients */
};

static const struct family four = {SITE_VIP4, "198.51.100.0/24", "198.51.100.1",   "198.51.100.2",
				   "/32",     "0.0.0.0/0",	 "198.51.100.0/30"};
static const struct family six = {
	"[" SITE_VIP6 "]", "2001:db8:c::/64", "2001:db8:c::1", "2001:db8:c::2", "/128", "::/0",
	"2001:db8:c::/126"};

static void reaches(const struct site *s, const struct family *f, const char *client)
{
	lab_must(&s->lab, client, "load http %s:80 --count 4 --timeout 3", f->vip);
	lab_must(&s->lab, client, "load udp %s:9000 --count 4 --timeout 3", f->vip);
}

static void is_denied(const struct site *s, const struct family *f, const char *client)
{
	lab_must(&s->lab, client,
		 "load http %s:80 --count 3 --timeout 0.3 | grep -q '^3 requests, 3 failed'",
		 f->vip);
	lab_must(&s->lab, client,
		 "load udp %s:9000 --count 3 --timeout 0.3 | grep -q '^3 requests, 3 failed'",
		 f->vip);
}

static void set(const struct site *s, const char *allow, const char *deny)
{
	lab_must(&s->lab, "lb1", "poise service set web allow %s deny %s", allow, deny);
}

static void lists(const struct site *s, const struct family *f)
{
	char text[128];

	reaches(s, f, "c2");
	set(s, f->one, "none");
	reaches(s, f, "c1");
	is_denied(s, f, "c2");
	set(s, "none", f->two);
	reaches(s, f, "c1");
	is_denied(s, f, "c2");
	set(s, f->one, f->all); /* a host against everybody */
	reaches(s, f, "c1");
	is_denied(s, f, "c2");
	snprintf(text, sizeof(text), "%s,%s%s", f->all, f->one, f->host);
	set(s, text, f->half); /* one in the other in the other */
	reaches(s, f, "c1");
	is_denied(s, f, "c2");
	set(s, f->net, f->two);
	reaches(s, f, "c1");
	is_denied(s, f, "c2");
}

/* ---- edits under load -------------------------------------------------------------------------*/

/* A shell's list of n more prefixes in which neither client is, of both families. */
#define OTHERS                                                                                     \
	"others() { for n in $(seq $1); do printf ',10.%%d.%%d.0/24,2001:db8:f:%%x::/64' "         \
	"$((k %% 250)) $n $n; done; }; "

/* Always others, from none to a hundred; every second time the other way of saying who is who. */
static void edit_many(const struct site *s, const struct family *f)
{
	lab_must(&s->lab, "lb1",
		 OTHERS "for k in $(seq %d); do "
			"if [ $((k %% 2)) = 1 ]; then allow=%s$(others $((k %% 51))) deny=%s; "
			"else allow=%s deny=%s$(others $((k %% 51))); fi; "
			"poise -q service set web allow $allow deny $deny || exit 1; done",
		 f == &four ? EDITS : EDITS / 3, f->one, f->half, f->all, f->two);
}

static void expect_load(const struct site *s, const char *client, bool all_fail)
{
	unsigned long requests, failed;
	const char *out, *line;

	lab_host(&out, "cat %s.%s", s->lab.log, client);
	line = out;
	cr_assert_eq(sscanf(line, "%lu requests, %lu failed", &requests, &failed), 2, "%s", out);
	cr_assert_gt(requests, all_fail ? 0 : LEAST, "%s: %s", client, out);
	cr_assert_eq(failed, all_fail ? requests : 0, "%s: %s", client, out);
}

static void edits(const struct site *s, const struct family *f)
{
	pid_t admitted, denied;

	set(s, f->one, "none");
	admitted =
		lab_start(&s->lab, "c1", "load http %s:80 --rate " RATE " --seconds 100", f->vip);
	denied = lab_start(&s->lab, "c2", "load http %s:80 --rate 20 --seconds 100 --timeout 0.5",
			   f->vip);
	edit_many(s, f);
	lab_stop(admitted, SIGINT);
	lab_stop(denied, SIGINT);
	expect_load(s, "c1", false);
	expect_load(s, "c2", true);
}

/* What is kept of them: saved, applied, saved again; counted; every map as it should be. */
static void kept(const struct site *s)
{
	const char *out;

	lab_must(&s->lab, "lb1", "poise save > /run/a.yaml && grep -q 'deny: \\[' /run/a.yaml");
	lab_must(&s->lab, "lb1", "poise diff /run/a.yaml");
	lab_must(&s->lab, "lb1", "poise apply /run/a.yaml && poise save | cmp - /run/a.yaml");
	lab_must(&s->lab, "lb1", "poise map check");
	out = lab_must(&s->lab, "lb1", "poise stats web");
	cr_assert(strstr(out, "source-denied"), "%s", out);
}

static void ranges(struct site *s, const struct family *f, const char *vip, int backend_family)
{
	s->backends = 2;
	s->clients = 2;
	site_up(s);
	site_attach(s);
	site_service(s, vip, backend_family);
	lists(s, f);
	edits(s, f);
	kept(s);
	site_down(s);
}

Test(ranges, l2_ipv4)
{
	ranges(&(struct site){}, &four, SITE_VIP4, 4);
}

Test(ranges, ipip_ipv6)
{
	ranges(&(struct site){.ipip = true}, &six, SITE_VIP6, 6);
}
