/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Web servers with TLS on nodes of a lab, their certificates, and the CA of those.
 */
#ifndef TEST_TLS_H
#define TEST_TLS_H

#include "lab.h"

#define TLS_NAME   "www.test"
#define TLS_RIGHT  8443 /* HTTP/1.1 and 2; answers with the protocol that was spoken */
#define TLS_OVER   8444 /* its certificate has expired */
#define TLS_CLIENT 8445 /* wants a client's certificate */
#define TLS_SNI	   8446 /* knows nobody but TLS_NAME */
#define TLS_GRPC   8447 /* passes gRPC on to port 9201 of the node, without TLS */

/* Makes ca.crt, client.crt and client.key, among others, in a directory that all nodes see, whose
 * name it returns. It goes with the lab. */
const char *tls_make(const struct lab *l);
/* Starts the server on a node. */
void tls_serve(const struct lab *l, const char *node);
/* From now on TLS_RIGHT has the certificate that has expired, or its own again. */
void tls_expire(const struct lab *l, const char *node, bool expired);

#endif
