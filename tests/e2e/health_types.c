// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Each type of check against a real server of its kind, over IPv4 and IPv6 at once: one right
 * answer and several wrong ones, by `poise health test`, which asks as poised does; directly, since
 * the way is none of their business.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/lab.h"
#include "tests/support/tls.h"

static struct lab lab;

static void up(void)
{
	lab_up(&lab, "--backends 1");
	lab_must(&lab, "lb1", "poise attach eth0");
	lab_must(&lab, "lb1", "poise service add web 192.0.2.10:80 forward l2");
	lab_must(&lab, "lb1", "poise backend add web 10.0.0.1 2001:db8:5::1");
}

static void down(void)
{
	lab_down(&lab);
}

TestSuite(health_types, .init = up, .fini = down, .timeout = TEST_LONGEST);

/* Both backends are found to be so, in these words. */
static void __attribute__((format(printf, 3, 4)))
expect(bool good, const char *words, const char *fmt, ...)
{
	char keys[512];
	const char *out;
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(keys, sizeof(keys), fmt, ap);
	va_end(ap);
	status = lab_run(
		&lab, "lb1", &out,
		"poise -q health off web && poise -q health set web %s via direct || exit 98; "
		"poise health test web > /run/found; status=$?; "
		"sed 's/  */ /g' /run/found; "
		"grep -c '%s' /run/found | grep -qx 2 || exit 99; exit $status",
		keys, words);
	cr_assert_eq(status, good ? 0 : 3, "%s: %s", keys, out);
}

/* ---- tcp, http, udp, icmp ---------------------------------------------------------------------*/

/* The two backends, or rather the ways to them: gone, and back. */
#define CUT                                                                                        \
	"ip route add unreachable 10.0.0.1 metric 1; "                                             \
	"ip -6 route add unreachable 2001:db8:5::1 metric 1"
#define UNCUT                                                                                      \
	"ip route del unreachable 10.0.0.1 metric 1; "                                             \
	"ip -6 route del unreachable 2001:db8:5::1 metric 1"

static void check_tcp(void)
{
	expect(true, "good *tcp connected", "tcp port 9100");
	expect(false, "bad *connect: refused", "tcp port 9101");
	lab_must(&lab, "lb1", CUT);
	expect(false, "bad *connect: no route to the host", "tcp port 9100");
	lab_must(&lab, "lb1", UNCUT);
	lab_must(&lab, "router", "ip link set b1-eth0 down");
	expect(false, "bad *connect: timed out after 200ms", "tcp port 9100 timeout 200ms");
	lab_must(&lab, "router", "ip link set b1-eth0 up");
}

static void check_http(void)
{
	lab_must(&lab, "b1", "nginx");
	expect(true, "good *http 200", "http port 80 path /x host y body b1");
	expect(true, "good *http 200", "http port 80 method HEAD");
	expect(true, "good *http 200", "http port 80 body-regex ^b[0-9]$");
	expect(false, "bad *http 200, wanted 404", "http port 80 status 404");
	expect(false, "bad *http 200, but not with the body wanted", "http port 80 body b2");
	expect(false, "bad *http 200, but not with the body wanted", "http port 80 body-regex ^1");
	expect(false, "bad *connect: refused", "http port 81");
	expect(false, "bad ", "http port 80 http2 yes"); /* which it does not speak without TLS */
	lab_must(&lab, "b1", "nginx -s stop");
}

static void check_udp(void)
{
	expect(true, "good *udp answered", "udp port 9100 send HELLO expect HELLO");
	expect(false, "bad .* is not what is expected", "udp port 9100 send HELLO expect GOODBYE");
	expect(false, "bad *answer: refused", "udp port 9101 send HELLO");
	lab_must(&lab, "router", "ip link set b1-eth0 down");
	expect(false, "bad *answer: timed out after 200ms",
	       "udp port 9100 send HELLO timeout 200ms");
	lab_must(&lab, "router", "ip link set b1-eth0 up");
}

static void check_icmp(void)
{
	lab_must(&lab, "lb1", "sysctl -qw net.ipv4.ping_group_range='1 0'");
	expect(false, "bad *ping socket: not permitted; set net.ipv4.ping_group_range", "icmp");
	lab_must(&lab, "lb1", "sysctl -qw net.ipv4.ping_group_range='0 0'");
	expect(true, "good *echo answered", "icmp");
	lab_must(&lab, "lb1", CUT);
	expect(false, "bad *connect: no route to the host", "icmp");
	lab_must(&lab, "lb1", UNCUT);
	lab_must(&lab, "b1",
		 "sysctl -qw net.ipv4.icmp_echo_ignore_all=1 net.ipv6.icmp.echo_ignore_all=1");
	expect(false, "bad *echo: timed out after 200ms", "icmp timeout 200ms");
}

static void check_exec(void)
{
	expect(true, "good *exec 0: 1",
	       "exec command \"grep -cE POISE_ADDRESS=(10.0.0.1|2001:db8:5::1) "
	       "/proc/self/environ\"");
	expect(false, "bad *exec 3: no", "exec command 'sh -c \"echo no; exit 3\"'");
	expect(false, "bad *exec 127: ", "exec command /nonexistent");
	expect(false, "bad *exec: timed out after 200ms", "exec command 'sleep 9' timeout 200ms");
}

/* One lab for all of them. */
Test(health_types, tcp_http_udp_icmp_exec)
{
	lab_serve(&lab, "b1", "serve b1 10.0.0.1:9100 [2001:db8:5::1]:9100");
	check_tcp();
	check_http();
	check_udp();
	check_icmp();
	check_exec();
}

/* ---- https ------------------------------------------------------------------------------------*/

Test(health_types, https)
{
	const char *dir = tls_make(&lab);

	tls_serve(&lab, "b1");
	expect(true, "good *http 200", "https host www.test ca %s/ca.crt port 8443", dir);
	expect(true, "good *http 200", "https host www.test ca %s/ca.crt port 8443 body HTTP/1.1",
	       dir);
	expect(true, "good *http 200",
	       "https host www.test ca %s/ca.crt port 8443 http2 yes body HTTP/2", dir);
	expect(true, "good *http 200", "https verify no port 8443");
	expect(false, "bad .*[cC]ertificate", "https host www.test port 8443");
	expect(false, "bad .*[cC]ertificate", "https host other.test ca %s/ca.crt port 8443", dir);
	expect(false, "bad .*[cC]ertificate has expired",
	       "https host www.test ca %s/ca.crt port 8444", dir);
	expect(false, "bad *http 400", "https host www.test ca %s/ca.crt port 8445", dir);
	expect(true, "good *http 200",
	       "https host www.test ca %s/ca.crt port 8445 cert %s/client.crt key %s/client.key",
	       dir, dir, dir);
	expect(true, "good *http 200", "https host www.test ca %s/ca.crt port 8446 body www.test",
	       dir);
	expect(false, "bad .*unrecognized name", "https host other.test verify no port 8446");
	expect(false, "bad .*unrecognized name", "https verify no port 8446");
	expect(false, "bad *connect: refused", "https verify no port 22"); /* nobody listens */
}

/* ---- grpc -------------------------------------------------------------------------------------*/

Test(health_types, grpc)
{
	pid_t server =
		lab_serve(&lab, "b1", "tests/lab/grpc-health 9201 =1 shop.Cart=2 shop.Odd=9");

	const char *dir = tls_make(&lab);

	lab_must(&lab, "b1", "nginx");
	tls_serve(&lab, "b1");
	expect(true, "good *grpc SERVING", "grpc tls yes host www.test ca %s/ca.crt port 8447",
	       dir);
	expect(false, "bad .*[cC]ertificate", "grpc tls yes host www.test port 8447");
	expect(false, "bad ", "grpc tls yes verify no port 9201"); /* without TLS */
	expect(true, "good *grpc SERVING", "grpc port 9201");
	expect(false, "bad *grpc NOT_SERVING", "grpc port 9201 query shop.Cart");
	expect(false, "bad *grpc status 5", "grpc port 9201 query shop.None");
	expect(false, "bad *grpc answer is no health", "grpc port 9201 query shop.Odd");
	expect(false, "bad *connect: refused", "grpc port 9202");
	expect(false, "bad ", "grpc port 80"); /* HTTP/1.1 */
	lab_stop(server, SIGTERM);
}

/* ---- dns --------------------------------------------------------------------------------------*/

Test(health_types, dns)
{
	lab_must(&lab, "b1",
		 "dnsmasq --conf-file=/dev/null --port=5300 --no-resolv --no-hosts --local=/test/ "
		 "--host-record=good.test,192.0.2.1 --pid-file=/run/dnsmasq.pid --user=root");
	expect(true, "good *dns NOERROR", "dns query good.test port 5300");
	expect(false, "bad *dns no record", "dns query good.test query-type AAAA port 5300");
	expect(false, "bad *dns NXDOMAIN", "dns query bad.test port 5300");
	expect(false, "bad *dns REFUSED", "dns query example.org port 5300");
	expect(false, "bad *answer: refused", "dns query good.test port 5301");
	lab_must(&lab, "b1", "kill $(cat /run/dnsmasq.pid)");
}
