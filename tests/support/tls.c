/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tls.h"

#include <stdio.h>

/* In the directory: a CA, and certificates of it: of the server, one that is over, of a client. */
static const char make[] =
	"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
	"-subj /CN=ca -keyout ca.key -out ca.crt && "
	"printf 'subjectAltName=DNS:" TLS_NAME "' > san && "
	"for name in server over client; do "
	"openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
	"-subj /CN=$name -keyout $name.key -out $name.csr && "
	"openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial "
	"-extfile san -days $([ $name = over ] && echo 0 || echo 2) -out $name.crt || exit 1; done";

/* DIR stands for the directory, RIGHT for the name of TLS_RIGHT's certificate. */
static const char conf[] =
	"pid /run/tls.pid; error_log /run/tls.error; events {} http { access_log off; "
	"client_body_temp_path /run/tls.b; proxy_temp_path /run/tls.p; "
	"fastcgi_temp_path /run/tls.f; uwsgi_temp_path /run/tls.u; scgi_temp_path /run/tls.s; "
	"server { listen 8443 ssl http2; listen [::]:8443 ssl http2; "
	"ssl_certificate DIR/RIGHT.crt; ssl_certificate_key DIR/RIGHT.key; "
	"location / { return 200 $server_protocol; } } "
	"server { listen 8444 ssl; listen [::]:8444 ssl; "
	"ssl_certificate DIR/over.crt; ssl_certificate_key DIR/over.key; "
	"location / { return 200 ok; } } "
	"server { listen 8445 ssl; listen [::]:8445 ssl; ssl_verify_client on; "
	"ssl_client_certificate DIR/ca.crt; "
	"ssl_certificate DIR/server.crt; ssl_certificate_key DIR/server.key; "
	"location / { return 200 ok; } } "
	"server { listen 8446 ssl default_server; listen [::]:8446 ssl default_server; "
	"ssl_reject_handshake on; } "
	"server { listen 8446 ssl; listen [::]:8446 ssl; server_name " TLS_NAME "; "
	"ssl_certificate DIR/server.crt; ssl_certificate_key DIR/server.key; "
	"location / { return 200 $ssl_server_name; } } "
	"server { listen 8447 ssl http2; listen [::]:8447 ssl http2; "
	"ssl_certificate DIR/server.crt; ssl_certificate_key DIR/server.key; "
	"location / { grpc_pass grpc://127.0.0.1:9201; } } }";

static const char *directory(const struct lab *l)
{
	static char dir[96];

	snprintf(dir, sizeof(dir), "%s.tls", l->log);
	return dir;
}

const char *tls_make(const struct lab *l)
{
	const char *dir = directory(l);

	lab_must(l, "router", "mkdir -p %s && cd %s && { %s; } > log 2>&1 || { cat log; false; }",
		 dir, dir, make);
	return dir;
}

static void write_conf(const struct lab *l, const char *node, const char *right)
{
	lab_must(l, node, "sed 's|DIR|%s|g; s|RIGHT|%s|g' > /run/tls.conf <<'END'\n%s\nEND",
		 directory(l), right, conf);
}

void tls_serve(const struct lab *l, const char *node)
{
	write_conf(l, node, "server");
	lab_must(l, node, "nginx -c /run/tls.conf");
}

void tls_expire(const struct lab *l, const char *node, bool expired)
{
	write_conf(l, node, expired ? "over" : "server");
	lab_must(l, node, "nginx -c /run/tls.conf -s reload");
}
