/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "burst.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <stddef.h>
#include <string.h>

#include "tests/lab/flood.skel.h"

#define BATCH 64 /* frames handed over at once; a veth's ring holds 256 */

static __u16 ip_checksum(const struct iphdr *ip)
{
	const __u16 *word = (const __u16 *)ip;
	__u32 sum = 0;

	for (size_t i = 0; i < sizeof(*ip) / 2; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static void write_template(const struct burst *b, struct flood_template *t)
{
	const struct sockaddr_in *to = (const struct sockaddr_in *)&b->target.addr;
	struct ethhdr eth = {.h_source = {0x02, 0, 0xf1, 0x00, 0xd, 0}, .h_proto = htons(ETH_P_IP)};
	struct iphdr ip = {.version = 4,
			   .ihl = 5,
			   .ttl = 64,
			   .protocol = IPPROTO_UDP,
			   .id = htons((__u16)(b->sources - 1)),
			   .saddr = b->source.s_addr,
			   .daddr = to->sin_addr.s_addr,
			   .tot_len = htons(FLOOD_FRAME - ETH_HLEN)};
	struct udphdr udp = {.dest = to->sin_port,
			     .len = htons(FLOOD_FRAME - ETH_HLEN - sizeof(ip))};

	memcpy(eth.h_dest, b->mac, ETH_ALEN);
	ip.check = ip_checksum(&ip);
	memcpy(t->byte, &eth, sizeof(eth));
	memcpy(t->byte + sizeof(eth), &ip, sizeof(ip));
	memcpy(t->byte + sizeof(eth) + sizeof(ip), &udp, sizeof(udp));
}

void burst_prepare(const struct burst *b, struct flood *skel)
{
	write_template(b, (struct flood_template *)&skel->rodata->template);
	skel->rodata->flows = (__u16)b->flows;
	skel->rodata->first_port = BURST_FIRST_PORT;
	skel->rodata->sources = b->sources;
}

int burst_send(const struct burst *b, struct flood *skel, unsigned int frames)
{
	char frame[FLOOD_FRAME] = {};
	struct xdp_md ctx = {.data_end = sizeof(frame), .ingress_ifindex = b->ifindex};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof(frame),
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = frames,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);

	return bpf_prog_test_run_opts(bpf_program__fd(skel->progs.flood_send), &run);
}
