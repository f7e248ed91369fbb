// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Gratuitous ARP and unsolicited neighbour advertisements; see announce.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip6.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../maps/text.h"
#include "announce.h"

struct advertisement {
	struct ether_header eth;
	struct ip6_hdr ip;
	struct nd_neighbor_advert na;
	struct nd_opt_hdr option;
	__u8 mac[ETH_ALEN];
} __attribute__((packed));

struct request {
	struct ether_header eth;
	struct ether_arp arp;
} __attribute__((packed));

/* Everybody's cache: sender and target are both the address (RFC 5227, section 3). */
static size_t make_request(struct request *r, const union poise_addr *addr, const __u8 *mac)
{
	memset(r, 0, sizeof(*r));
	memset(r->eth.ether_dhost, 0xff, ETH_ALEN);
	memcpy(r->eth.ether_shost, mac, ETH_ALEN);
	r->eth.ether_type = htons(ETHERTYPE_ARP);
	r->arp.arp_hrd = htons(ARPHRD_ETHER);
	r->arp.arp_pro = htons(ETHERTYPE_IP);
	r->arp.arp_hln = ETH_ALEN;
	r->arp.arp_pln = sizeof(addr->w[3]);
	r->arp.arp_op = htons(ARPOP_REQUEST);
	memcpy(r->arp.arp_sha, mac, ETH_ALEN);
	memcpy(r->arp.arp_spa, &addr->w[3], sizeof(addr->w[3]));
	memcpy(r->arp.arp_tpa, &addr->w[3], sizeof(addr->w[3]));
	return sizeof(*r);
}

/* Of the pseudo header (RFC 8200, 8.1) and what follows the IPv6 header. */
static __u16 checksum6(const struct advertisement *a)
{
	const __u8 *bytes = (const __u8 *)&a->ip.ip6_src;
	size_t length = sizeof(*a) - offsetof(struct advertisement, ip.ip6_src);
	__u32 sum = IPPROTO_ICMPV6 + ntohs(a->ip.ip6_plen);

	for (size_t k = 0; k < length; k += 2)
		sum += (__u32)bytes[k] << 8 | bytes[k + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return htons((__u16) ~(sum + (sum >> 16)));
}

/* To all nodes, with override (RFC 4861, 7.2.6). */
static size_t make_advertisement(struct advertisement *a, const union poise_addr *addr,
				 const __u8 *mac)
{
	static const __u8 all_nodes[] = {0x33, 0x33, 0, 0, 0, 1};

	memset(a, 0, sizeof(*a));
	memcpy(a->eth.ether_dhost, all_nodes, ETH_ALEN);
	memcpy(a->eth.ether_shost, mac, ETH_ALEN);
	a->eth.ether_type = htons(ETHERTYPE_IPV6);
	a->ip.ip6_vfc = 6 << 4;
	a->ip.ip6_plen = htons(sizeof(*a) - offsetof(struct advertisement, na));
	a->ip.ip6_nxt = IPPROTO_ICMPV6;
	a->ip.ip6_hlim = 255;
	memcpy(&a->ip.ip6_src, addr, sizeof(*addr));
	a->ip.ip6_dst.s6_addr[0] = 0xff;
	a->ip.ip6_dst.s6_addr[1] = 0x02;
	a->ip.ip6_dst.s6_addr[15] = 1;
	a->na.nd_na_type = ND_NEIGHBOR_ADVERT;
	a->na.nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE;
	memcpy(&a->na.nd_na_target, addr, sizeof(*addr));
	a->option.nd_opt_type = ND_OPT_TARGET_LINKADDR;
	a->option.nd_opt_len = 1; /* in 8 bytes */
	memcpy(a->mac, mac, ETH_ALEN);
	a->na.nd_na_cksum = checksum6(a);
	return sizeof(*a);
}

/* For the life of the process: to close a packet socket takes a grace period of some 15 ms, and a
 * file may claim hundreds of addresses. */
static int packets = -1;

void announce_open(void)
{
	if (packets < 0)
		packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
}

/* 1: sent, 0: the device has no neighbours that would want it, -1: not permitted or failed. */
static int send_one(const union poise_addr *addr, unsigned int ifindex, const char *device)
{
	union {
		struct request request;
		struct advertisement advertisement;
	} frame;
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)ifindex};
	struct ifreq ifr = {0};
	const __u8 *mac = (const __u8 *)ifr.ifr_hwaddr.sa_data;
	size_t length;
	ssize_t sent;

	announce_open();
	if (packets < 0)
		return -1;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", device);
	if (ioctl(packets, SIOCGIFHWADDR, &ifr))
		return -1;
	if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return 0;
	length = poise_addr_is4(addr) ? make_request(&frame.request, addr, mac)
				      : make_advertisement(&frame.advertisement, addr, mac);
	sent = sendto(packets, &frame, length, 0, (const struct sockaddr *)&to, sizeof(to));
	return sent < 0 ? -1 : 1;
}

/* ---- the kernel's own word --------------------------------------------------------------------*/

/* To the kernel any number but 0 means yes; this one says that it was us. */
#define NOTIFY_OURS "2"

static int notify_open(const char *device, bool v4, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", v4 ? "ipv4" : "ipv6", device,
		 v4 ? "arp_notify" : "ndisc_notify");
	return open(path, flags | O_CLOEXEC);
}

/* Its first digit; 0 where there is none to be read. */
static char notify_now(const char *device, bool v4)
{
	int fd = notify_open(device, v4, O_RDONLY);
	char digit;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, &digit, 1);
	close(fd);
	return n == 1 ? digit : 0;
}

static bool notify_set(const char *device, bool v4, const char *value)
{
	int fd = notify_open(device, v4, O_WRONLY);
	bool set = fd >= 0 && write(fd, value, 1) == 1;

	if (fd >= 0)
		close(fd);
	return set;
}

/* False if the kernel will not be told. A kernel may take no other number than 1. */
static bool notify_on_up(const char *device, bool v4)
{
	char now = notify_now(device, v4);

	if (now && now != '0')
		return true;
	return now && (notify_set(device, v4, NOTIFY_OURS) || notify_set(device, v4, "1"));
}

void announce_end(const char *device, bool v4)
{
	if (notify_now(device, v4) == NOTIFY_OURS[0])
		notify_set(device, v4, "0");
}

void announce(const union poise_addr *addr, unsigned int ifindex, const char *device,
	      char how[ANNOUNCE_TEXT])
{
	int sent = send_one(addr, ifindex, device);
	bool told = sent && notify_on_up(device, poise_addr_is4(addr));

	how[0] = '\0';
	if (sent)
		snprintf(how, ANNOUNCE_TEXT, "%s%s",
			 sent > 0 ? ", announced" : ", not announced (lacks cap_net_raw)",
			 told ? ", again when its link comes up" : "");
}
