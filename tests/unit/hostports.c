// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ports that the host uses, from what the kernel says; and that mode nat leaves them alone. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/net/hostports.h"
#include "maps/ports.h"
#include "tests/support/native.h"

static __u64 used[POISE_PORT_WORDS];

static bool has(unsigned int port)
{
	return used[port / 64] >> (port % 64) & 1;
}

static unsigned int count(void)
{
	unsigned int n = 0;

	for (unsigned int port = 0; port < POISE_PORTS; port++)
		n += has(port);
	return n;
}

Test(hostports, lists_of_reserved_ports)
{
	host_ports_reserved(used, "\n");
	cr_assert_eq(count(), 0);
	host_ports_reserved(used, "8080,9148-9150,65535\n");
	cr_assert_eq(count(), 5);
	cr_assert(has(8080) && has(9148) && has(9149) && has(9150) && has(65535));
	host_ports_reserved(used, "70000-70010,12-x");
	cr_assert_eq(count(), 5, "what is no port is none");
}

Test(hostports, lines_of_sockets)
{
	const char *listens = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000";
	const char *talks = "   1: 0100007F:1F91 0100007F:0016 01 00000000:00000000 00:00000000";
	const char *six = "   2: 00000000000000000000000000000000:0035 "
			  "00000000000000000000000000000000:0000 07 00000000:00000000";

	host_ports_socket(used, "  sl  local_address rem_address   st tx_queue rx_queue", true);
	cr_assert_eq(count(), 0);
	host_ports_socket(used, listens, true);
	host_ports_socket(used, talks, true);
	cr_assert(has(8080) && !has(8081));
	host_ports_socket(used, six, false);
	cr_assert(has(53) && count() == 2);
}

/* A port that somebody listens on here. */
static unsigned int listener(int *fd)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t size = sizeof(at);

	*fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(*fd >= 0 && !bind(*fd, (struct sockaddr *)&at, sizeof(at)) && !listen(*fd, 1) &&
		  !getsockname(*fd, (struct sockaddr *)&at, &size));
	return ntohs(at.sin_port);
}

Test(hostports, of_this_host)
{
	int fd;
	unsigned int port = listener(&fd);

	host_ports(used);
	cr_assert(has(port), "port %u", port);
	cr_assert_gt(count(), 1000, "its own range is not there");
	close(fd);
}

static const char yaml[] = "services:\n"
			   "  - name: web\n"
			   "    listen: [ '10.2.0.1:20003' ]\n"
			   "    forward: nat\n"
			   "    backends: [ 10.3.0.1 ]\n";

static __u32 port_of(struct native *n, int client)
{
	static const __u8 client_address[4] = {10, 1, 0, 9};
	struct frame f;
	char words[100];

	snprintf(words, sizeof(words), "ip4 10.1.0.9 > 10.2.0.1 | tcp %d > 20003 S", client);
	/* What goes back to the client is a refusal. */
	return native_send(n, &f, words) == XDP_TX && memcmp(&f.byte[30], client_address, 4) != 0
		       ? f.byte[34] << 8 | f.byte[35]
		       : 0;
}

Test(hostports, are_left_alone_and_given_back)
{
	struct native n;

	used[20000 / 64] = 1ull << (20000 % 64);
	used[20001 / 64] |= 1ull << (20001 % 64);
	native_open(&n, yaml, 1024);
	cr_assert_eq(instance_ports_free(n.i), 999, "all but the listener's");
	instance_host_ports(n.i, used);
	cr_assert_eq(instance_ports_free(n.i), 997);
	cr_assert_eq(port_of(&n, 1000), 20002);
	cr_assert_eq(port_of(&n, 1001), 20004, "20003 is a listener's");
	used[20001 / 64] = 0;
	used[20000 / 64] = 1ull << (20004 % 64);
	instance_host_ports(n.i, used);
	cr_assert_eq(instance_check(n.i, NULL, NULL, NULL), 0);
	cr_assert_eq(port_of(&n, 1001), 20004, "a flow keeps its port");
	for (int k = 0; k < 997; k++)
		cr_assert_neq(port_of(&n, 2000 + k), 0, "flow %d", k);
	cr_assert_eq(port_of(&n, 5000), 0, "there are no more");
	native_close(&n);
}

static void expect_use(const struct native *n, __u32 used, __u32 resting, __u64 refused)
{
	struct port_use use = instance_port_use(n->i, 0);

	cr_assert(use.used == used && use.resting == resting && use.refused == refused,
		  "%u used, %u rest, %llu refused", use.used, use.resting, use.refused);
}

Test(hostports, how_they_are_used)
{
	struct frame f;
	struct native n;

	native_open(&n, yaml, 1024);
	expect_use(&n, 0, 0, 0);
	for (int k = 0; k < 1000; k++)
		port_of(&n, 1000 + k);
	expect_use(&n, 999, 0, 1); /* one is the listener's */
	port_of(&n, 3000);
	expect_use(&n, 999, 0, 2);
	cr_assert_eq(native_send(&n, &f, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1000 > 20003 R"), XDP_TX);
	cr_assert_eq(native_send(&n, &f, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1001 > 20003 FA"), XDP_TX);
	expect_use(&n, 998, 1, 2);
	cr_assert_eq(native_send(&n, &f, "ip4 10.3.0.1 > 10.3.0.254 | tcp 20003 > 20001 FA"),
		     XDP_TX);
	expect_use(&n, 997, 2, 2);
	native_close(&n);
}
