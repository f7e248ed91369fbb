// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From which address a probe by clients' way is sent. The kernel's choice is right, unless it is
 * the virtual address itself, as may be where that stands on the uplink: the backend would take
 * such a packet for one of its own, gone astray.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "maps/text.h"
#include "probe_priv.h"

/* False: it is no IP address. */
static bool addr_of(const struct sockaddr *from, union poise_addr *addr)
{
	if (from && from->sa_family == AF_INET) {
		*addr = (union poise_addr){.h[5] = 0xffff};
		addr->w[3] = ((const struct sockaddr_in *)from)->sin_addr.s_addr;
		return true;
	}
	if (!from || from->sa_family != AF_INET6)
		return false;
	memcpy(addr, &((const struct sockaddr_in6 *)from)->sin6_addr, sizeof(*addr));
	return true;
}

static bool same(const union poise_addr *a, const union poise_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* What the kernel would send from. */
static bool natural(const struct probe_want *want, union poise_addr *source)
{
	struct sockaddr_storage to, from = {0};
	socklen_t size = sizeof(from), length = probe_sockaddr(&want->addr, want->port, &to);
	int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool found;

	if (fd < 0)
		return false;
	/* Nothing is sent by that. */
	found = !connect(fd, (struct sockaddr *)&to, length) &&
		!getsockname(fd, (struct sockaddr *)&from, &size) &&
		addr_of((struct sockaddr *)&from, source);
	close(fd);
	return found;
}

/* Whole networks are what a host lives in; virtual addresses come alone. */
static bool in_a_network(const struct ifaddrs *a)
{
	union poise_addr mask;

	return addr_of(a->ifa_netmask, &mask) && mask.w[3] != 0xffffffff;
}

static bool suits(const struct ifaddrs *a, const struct probe_want *want, union poise_addr *addr)
{
	return addr_of(a->ifa_addr, addr) && a->ifa_flags & IFF_UP &&
	       !(a->ifa_flags & IFF_LOOPBACK) &&
	       poise_addr_is4(addr) == poise_addr_is4(&want->addr) && !same(addr, &want->address) &&
	       (a->ifa_addr->sa_family == AF_INET ||
		!IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)addr));
}

void probe_source(const struct probe_want *want, union poise_addr *source)
{
	union poise_addr kernels, addr;
	struct ifaddrs *all = NULL;
	bool chosen = false;

	memset(source, 0, sizeof(*source));
	if (poise_addr_is4(&want->addr))
		source->h[5] = 0xffff;
	if (!natural(want, &kernels) || !same(&kernels, &want->address) || getifaddrs(&all))
		return;
	for (const struct ifaddrs *a = all; a && !chosen; a = a->ifa_next) {
		if (!suits(a, want, &addr))
			continue;
		*source = addr;
		chosen = in_a_network(a);
	}
	freeifaddrs(all);
}
