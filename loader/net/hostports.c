/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "hostports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_LOW  32768 /* ip_local_port_range's default */
#define RANGE_HIGH 60999
#define LISTENING  0x0a	 /* TCP_LISTEN */
#define RESERVED   65536 /* bytes of a list that names every tenth port */

static void use(__u64 used[POISE_PORT_WORDS], unsigned int low, unsigned int high)
{
	for (unsigned int port = low; port <= high && port < POISE_PORTS; port++)
		used[port / 64] |= 1ull << (port % 64);
}

static void add_range(__u64 used[POISE_PORT_WORDS])
{
	unsigned int low = RANGE_LOW, high = RANGE_HIGH;
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");

	if (f) {
		if (fscanf(f, "%u %u", &low, &high) != 2) {
			low = RANGE_LOW;
			high = RANGE_HIGH;
		}
		fclose(f);
	}
	use(used, low, high);
}

void host_ports_reserved(__u64 used[POISE_PORT_WORDS], const char *text)
{
	char *end;

	for (const char *at = text; *at; at = *end ? end + 1 : end) {
		unsigned long low = strtoul(at, &end, 10), high = low;

		if (end == at)
			return;
		if (*end == '-')
			high = strtoul(end + 1, &end, 10);
		if (low < POISE_PORTS)
			use(used, (unsigned int)low, (unsigned int)high);
	}
}

static void add_reserved(__u64 used[POISE_PORT_WORDS])
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_reserved_ports", "re");
	char *text;

	if (!f)
		return;
	text = calloc(1, RESERVED);
	if (text && fgets(text, RESERVED, f))
		host_ports_reserved(used, text);
	free(text);
	fclose(f);
}

/* A line of /proc/net/tcp and the like: "  0: 0100007F:0016 00000000:0000 0A ..." */
void host_ports_socket(__u64 used[POISE_PORT_WORDS], const char *line, bool listening)
{
	unsigned int port, state;

	if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &port, &state) != 2)
		return;
	if (!listening || state == LISTENING)
		use(used, port, port);
}

static void add_sockets(__u64 used[POISE_PORT_WORDS], const char *path, bool listening)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		host_ports_socket(used, line, listening);
	fclose(f);
}

void host_ports(__u64 used[POISE_PORT_WORDS])
{
	memset(used, 0, POISE_PORT_WORDS * sizeof(*used));
	add_range(used);
	add_reserved(used);
	add_sockets(used, "/proc/net/tcp", true);
	add_sockets(used, "/proc/net/tcp6", true);
	add_sockets(used, "/proc/net/udp", false);
	add_sockets(used, "/proc/net/udp6", false);
}

void host_ports_note(struct instance *i, bool soon)
{
	__u64 used[POISE_PORT_WORDS];

	if (!i->meta->groups || (!soon && !i->meta->nat_ports))
		return;
	host_ports(used);
	instance_host_ports(i, used);
}
