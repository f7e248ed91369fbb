// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Each type of check against a real server of its kind, over IPv4 and IPv6 at once: one right
 * answer and several wrong ones, by `poise health test`, which asks as poised does.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/lab.h"

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

TestSuite(health_types, .init = up, .fini = down, .timeout = 60);

/* Both backends are found to be so, in these words. */
static void expect(bool good, const char *words, const char *keys)
{
	const char *out;
	int status;

	lab_must(&lab, "lb1", "poise health off web");
	lab_must(&lab, "lb1", "poise health set web %s", keys);
	status = lab_run(&lab, "lb1", &out,
			 "poise health test web > /run/found; status=$?; "
			 "sed 's/  */ /g' /run/found; "
			 "grep -c '%s' /run/found | grep -qx 2 || exit 99; exit $status",
			 words);
	cr_assert_eq(status, good ? 0 : 3, "%s: %s", keys, out);
}

/* ---- https ------------------------------------------------------------------------------------*/

/* A CA, and certificates of it: of www.test, one that is over, one of a client. */
static const char make_certificates[] =
	"mkdir -p /run/tls && cd /run/tls && exec > log 2>&1 && "
	"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
	"-subj /CN=ca -keyout ca.key -out ca.crt && "
	"printf 'subjectAltName=DNS:www.test' > san && "
	"for name in server over client; do "
	"openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
	"-subj /CN=$name -keyout $name.key -out $name.csr && "
	"openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial "
	"-extfile san -days $([ $name = over ] && echo 0 || echo 2) -out $name.crt || exit 1; done";

/* 8443 right, 8444 with the certificate that is over, 8445 wants the client's. */
static const char nginx_conf[] =
	"pid /run/tls.pid; error_log /run/tls.error; events {} http { access_log off; "
	"client_body_temp_path /run/tls.b; proxy_temp_path /run/tls.p; "
	"fastcgi_temp_path /run/tls.f; uwsgi_temp_path /run/tls.u; scgi_temp_path /run/tls.s; "
	"server { listen 8443 ssl http2; listen [::]:8443 ssl http2; "
	"ssl_certificate /run/tls/server.crt; ssl_certificate_key /run/tls/server.key; "
	"location / { return 200 $server_protocol; } } "
	"server { listen 8444 ssl; listen [::]:8444 ssl; "
	"ssl_certificate /run/tls/over.crt; ssl_certificate_key /run/tls/over.key; "
	"location / { return 200 ok; } } "
	"server { listen 8445 ssl; listen [::]:8445 ssl; ssl_verify_client on; "
	"ssl_client_certificate /run/tls/ca.crt; "
	"ssl_certificate /run/tls/server.crt; ssl_certificate_key /run/tls/server.key; "
	"location / { return 200 ok; } } }";

#define TLS "https host www.test ca /run/tls/ca.crt port "

Test(health_types, https)
{
	lab_must(&lab, "b1", "%s", make_certificates);
	lab_must(&lab, "b1", "echo '%s' > /run/tls.conf && nginx -c /run/tls.conf", nginx_conf);
	/* Each node has a /run of its own. */
	lab_must(&lab, "lb1", "mkdir -p /run/tls");
	for (size_t n = 0; n < 3; n++) {
		static const char *const files[] = {"ca.crt", "client.crt", "client.key"};
		char text[4096];

		snprintf(text, sizeof(text), "%s",
			 lab_must(&lab, "b1", "cat /run/tls/%s", files[n]));
		lab_must(&lab, "lb1", "cat > /run/tls/%s <<'END'\n%sEND", files[n], text);
	}
	expect(true, "good *http 200", TLS "8443");
	expect(true, "good *http 200", TLS "8443 body HTTP/1.1");
	expect(true, "good *http 200", TLS "8443 http2 yes body HTTP/2");
	expect(true, "good *http 200", "https verify no port 8443");
	expect(false, "bad .*[cC]ertificate", "https host www.test port 8443");
	expect(false, "bad .*[cC]ertificate", "https host other.test ca /run/tls/ca.crt port 8443");
	expect(false, "bad .*[cC]ertificate has expired", TLS "8444");
	expect(false, "bad *http 400", TLS "8445");
	expect(true, "good *http 200", TLS "8445 cert /run/tls/client.crt key /run/tls/client.key");
	expect(false, "bad ", "https verify no port 22"); /* nobody listens */
}

/* ---- grpc -------------------------------------------------------------------------------------*/

Test(health_types, grpc)
{
	pid_t server =
		lab_serve(&lab, "b1", "tests/lab/grpc-health 9201 =1 shop.Cart=2 shop.Odd=9");

	lab_must(&lab, "b1", "nginx");
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
