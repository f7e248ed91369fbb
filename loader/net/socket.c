/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Talking to the kernel. A lost event (ENOBUFS) is mended by reading the tables anew; events that
 * were queued before such a dump are taken in after it, and each is followed by its successors, so
 * that the cache ends where the kernel is.
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "../../maps/clock.h"
#include "../../maps/text.h"
#include "socket.h"

#define EVENT_QUEUE_BYTES (8 << 20)  /* some 10,000 events: a burst of routes or neighbours */
#define MESSAGE_BYTES	  (32 << 10) /* the largest the kernel puts into one read of a dump */
#define READS_PER_CALL	  64	     /* then the loop has its turn */
#define DUMP_TRIES	  5	     /* the kernel says when a dump was overtaken by a change */
#define ANSWER_SECONDS	  2	     /* it answers at once; this is against waiting for ever */

static const int groups[] = {
	RTNLGRP_LINK,	     RTNLGRP_NEIGH,	 RTNLGRP_IPV4_IFADDR,
	RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
	RTNLGRP_IPV4_RULE,   RTNLGRP_IPV6_RULE,	 RTNLGRP_NEXTHOP,
};

__u64 net_now(void)
{
	return clock_monotonic();
}

static struct mnl_socket *socket_open(int flags, struct poise_error *err)
{
	struct mnl_socket *s = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | flags);

	if (s && mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) == 0)
		return s;
	poise_fail_errno(err, "cannot open a netlink socket");
	if (s)
		mnl_socket_close(s);
	return NULL;
}

static int subscribe(struct mnl_socket *s, struct poise_error *err)
{
	int bytes = EVENT_QUEUE_BYTES;

	/* Beyond rmem_max, with CAP_NET_ADMIN; without it the default must do. */
	setsockopt(mnl_socket_get_fd(s), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	for (size_t k = 0; k < sizeof(groups) / sizeof(groups[0]); k++)
		if (mnl_socket_setsockopt(s, NETLINK_ADD_MEMBERSHIP, (void *)&groups[k],
					  sizeof(groups[k])) < 0)
			return poise_fail_errno(err, "cannot subscribe to netlink group %d",
						groups[k]);
	return 0;
}

int net_open(struct net **out, struct poise_error *err)
{
	struct timeval patience = {.tv_sec = ANSWER_SECONDS};
	struct net *n = calloc(1, sizeof(*n));

	if (!n)
		abort();
	n->events = socket_open(SOCK_NONBLOCK, err);
	n->asking = socket_open(0, err);
	if (!n->events || !n->asking || subscribe(n->events, err) < 0)
		goto fail;
	setsockopt(mnl_socket_get_fd(n->asking), SOL_SOCKET, SO_RCVTIMEO, &patience,
		   sizeof(patience));
	if (net_dump(n, err) < 0)
		goto fail;
	*out = n;
	return 0;
fail:
	net_close(n);
	return -1;
}

void net_close(struct net *n)
{
	if (!n)
		return;
	if (n->events)
		mnl_socket_close(n->events);
	if (n->asking)
		mnl_socket_close(n->asking);
	net_cache_free(&n->cache);
	free(n);
}

int net_fd(const struct net *n)
{
	return mnl_socket_get_fd(n->events);
}

static int send_request(struct net *n, struct nlmsghdr *h, struct poise_error *err)
{
	h->nlmsg_seq = ++n->seq;
	n->queries++;
	if (mnl_socket_sendto(n->asking, h, h->nlmsg_len) < 0)
		return poise_fail_errno(err, "cannot ask the kernel by netlink");
	return 0;
}

/* The answer to the last request, in buf; NULL with an error if none came. */
static const struct nlmsghdr *receive_answer(struct net *n, char *buf, struct poise_error *err)
{
	ssize_t length;

	for (;;) {
		const struct nlmsghdr *h = (const struct nlmsghdr *)buf;
		int left;

		length = mnl_socket_recvfrom(n->asking, buf, MESSAGE_BYTES);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0) {
			poise_fail_errno(err, "no answer from the kernel by netlink");
			return NULL;
		}
		/* An answer that came too late for its request is not this one's. */
		left = length;
		if (net_message_ok(h, left) && h->nlmsg_seq == n->seq)
			return h;
	}
}

/* Takes in one read of a dump. 1: more to come, 0: complete, -1: failed, with errno. */
static int table_take(struct net *n, const char *buf, int left, net_each one, void *ctx,
		      bool *overtaken)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)buf;

	for (; net_message_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		if (h->nlmsg_seq != n->seq)
			continue;
		if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			*overtaken = true;
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR) {
			errno = EIO;
			return -1;
		}
		one(ctx, h);
	}
	return 1;
}

/* Sends the request for a dump in buf, which the answers then overwrite. */
static int table_read(struct net *n, char *buf, net_each one, void *ctx, bool *overtaken,
		      struct poise_error *err)
{
	ssize_t length;
	int rc;

	if (send_request(n, (struct nlmsghdr *)buf, err) < 0)
		return -1;
	do {
		length = mnl_socket_recvfrom(n->asking, buf, MESSAGE_BYTES);
		rc = length < 0 ? -1 : table_take(n, buf, length, one, ctx, overtaken);
	} while (rc == 1 || (length < 0 && errno == EINTR));
	if (rc < 0)
		return poise_fail_errno(err, "cannot read the kernel's tables by netlink");
	return 0;
}

int net_table(struct net *n, __u16 type, size_t header, net_each one, void *ctx, bool *overtaken,
	      struct poise_error *err)
{
	char buf[MESSAGE_BYTES];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(h, header);
	return table_read(n, buf, one, ctx, overtaken, err);
}

int net_routes(struct net *n, const struct rtmsg *like, net_each one, void *ctx, bool *overtaken,
	       struct poise_error *err)
{
	static const __u8 families[] = {AF_INET, AF_INET6};
	int rc = 0, yes = 1, no = 0;

	/* Only who asks for strict checks is heard about what is wanted. */
	mnl_socket_setsockopt(n->asking, NETLINK_GET_STRICT_CHK, &yes, sizeof(yes));
	for (size_t k = 0; k < sizeof(families) && !rc; k++) {
		char buf[MESSAGE_BYTES];
		struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
		struct rtmsg *rtm = mnl_nlmsg_put_extra_header(h, sizeof(*rtm));

		h->nlmsg_type = RTM_GETROUTE;
		h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		*rtm = *like;
		rtm->rtm_family = families[k];
		rc = table_read(n, buf, one, ctx, overtaken, err);
	}
	mnl_socket_setsockopt(n->asking, NETLINK_GET_STRICT_CHK, &no, sizeof(no));
	return rc;
}

static void into_cache(void *ctx, const struct nlmsghdr *h)
{
	net_cache_message(ctx, h, net_now());
}

int net_dump(struct net *n, struct poise_error *err)
{
	bool overtaken = true;

	n->stale = true;
	for (int tries = 0; overtaken && tries < DUMP_TRIES; tries++) {
		overtaken = false;
		net_cache_forget(&n->cache, net_now());
		if (net_table(n, RTM_GETLINK, sizeof(struct ifinfomsg), into_cache, &n->cache,
			      &overtaken, err) < 0 ||
		    net_table(n, RTM_GETNEIGH, sizeof(struct ndmsg), into_cache, &n->cache,
			      &overtaken, err) < 0)
			return -1;
	}
	/* Still overtaken: the events that follow tell the rest. */
	n->stale = false;
	return 0;
}

int net_read(struct net *n)
{
	char buf[MESSAGE_BYTES];
	int changed = 0;

	for (int reads = 0; reads < READS_PER_CALL; reads++) {
		ssize_t length = mnl_socket_recvfrom(n->events, buf, sizeof(buf));

		if (length > 0) {
			changed += net_cache_feed(&n->cache, buf, length, net_now());
			continue;
		}
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0 && errno != EAGAIN) { /* ENOBUFS: events were lost */
			n->stale = true;
			changed++;
			continue;
		}
		break;
	}
	if (n->stale && net_dump(n, NULL) == 0)
		changed++;
	return changed;
}

static int ask_once(struct net *n, struct net_route *r, const union poise_addr *source,
		    struct poise_error *err)
{
	char query[NET_QUERY_SIZE], buf[MESSAGE_BYTES];
	const struct nlmsghdr *h;

	if (send_request(n, net_route_query(query, &r->dst, source), err) < 0)
		return -1;
	h = receive_answer(n, buf, err);
	if (!h)
		return -1;
	net_route_answer(r, h);
	return 0;
}

int net_ask_route(struct net *n, struct net_route *r, __u64 now, struct poise_error *err)
{
	static const union poise_addr any;

	if (r->known && now - r->asked < NET_ROUTE_AGE)
		return 0;
	if (ask_once(n, r, &r->source, err) < 0)
		return -1;
	/* The kernel looks up only from addresses it has; an outer source may be another one. */
	if (r->error == EINVAL && !poise_addr_is_zero(&r->source) && ask_once(n, r, &any, err) < 0)
		return -1;
	r->known = true;
	r->asked = now;
	return 0;
}

int net_ask(struct net *n, struct nlmsghdr *h, struct poise_error *err)
{
	const struct nlmsgerr *status;
	const struct nlmsghdr *answer;
	char buf[MESSAGE_BYTES];

	if (send_request(n, h, err) < 0)
		return EIO;
	answer = receive_answer(n, buf, err);
	if (!answer)
		return EIO;
	status = mnl_nlmsg_get_payload(answer);
	return answer->nlmsg_type == NLMSG_ERROR &&
			       mnl_nlmsg_get_payload_len(answer) >= sizeof(status->error)
		       ? -status->error
		       : 0;
}

int net_ask_neigh(struct net *n, struct net_neigh *e, bool keep, struct poise_error *err)
{
	char query[NET_QUERY_SIZE];
	struct nlmsghdr *h = mnl_nlmsg_put_header(query);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(h, sizeof(*ndm));
	bool v4 = poise_addr_is4(&e->addr);
	struct poise_error mine = {0};
	int refused;

	h->nlmsg_type = RTM_NEWNEIGH;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE | (keep ? NLM_F_CREATE : 0);
	ndm->ndm_family = v4 ? AF_INET : AF_INET6;
	ndm->ndm_ifindex = e->ifindex;
	/* Resolve now; kernels before 5.16 know only this and ignore the attribute. */
	ndm->ndm_flags = NTF_USE;
	mnl_attr_put(h, NDA_DST, v4 ? 4 : 16, v4 ? (void *)&e->addr.w[3] : e->addr.b);
	if (keep)
		mnl_attr_put_u32(h, NDA_FLAGS_EXT, NTF_EXT_MANAGED);
	e->asked = net_now();
	e->ours = keep;
	refused = net_ask(n, h, &mine);
	if (mine.code) {
		if (err)
			*err = mine;
		return -1;
	}
	e->refused = refused;
	return 0;
}
