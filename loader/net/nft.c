// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of nftables; see nft.h. A request is one batch, which the kernel does whole or not. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "../../maps/instance.h"
#include "cache.h"
#include "nft.h"

#define CHAIN	       "overlay"
#define SRCNAT	       100	  /* the priority that nft calls so: where sources are translated */
#define BATCH_BYTES    4096	  /* all that is ever sent takes 700 */
#define ANSWER_BYTES   (32 << 10) /* the largest the kernel puts into one read of a dump */
#define ANSWER_SECONDS 2	  /* it answers at once; this is against waiting for ever */
#define COMMENT	       "poise"
#define COMMENT_TYPE   0 /* of what nft keeps for itself beside a rule: type, length, text, NUL */

char *nft_table_name(const char *instance, char buf[NFT_TABLE_TEXT])
{
	bool one = !strcmp(instance, POISE_DEFAULT_INSTANCE);

	snprintf(buf, NFT_TABLE_TEXT, "poise%s%s", one ? "" : "-", one ? "" : instance);
	return buf;
}

/* ---- what is asked for ------------------------------------------------------------------------*/

struct batch {
	char bytes[BATCH_BYTES];
	size_t length;
	unsigned int seq; /* of the last message */
};

static struct nlmsghdr *begin(struct batch *b, __u16 type, __u16 flags, __u8 family,
			      __u16 subsystem)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(b->bytes + b->length);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = ++b->seq;
	g->nfgen_family = family;
	g->version = NFNETLINK_V0;
	g->res_id = htons(subsystem);
	return h;
}

static struct nlmsghdr *ask_for(struct batch *b, __u16 type, __u16 flags)
{
	return begin(b, NFNL_SUBSYS_NFTABLES << 8 | type, flags, NFPROTO_INET, 0);
}

static void end(struct batch *b, const struct nlmsghdr *h)
{
	b->length += h->nlmsg_len;
}

static void mark_batch(struct batch *b, __u16 type)
{
	end(b, begin(b, type, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES));
}

static void put_table(struct batch *b, __u16 type, __u16 flags, const char *table)
{
	struct nlmsghdr *h = ask_for(b, type, flags);

	mnl_attr_put_strz(h, NFTA_TABLE_NAME, table);
	end(b, h);
}

static void put_chain(struct batch *b, const char *table)
{
	struct nlmsghdr *h = ask_for(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	struct nlattr *hook;

	mnl_attr_put_strz(h, NFTA_CHAIN_TABLE, table);
	mnl_attr_put_strz(h, NFTA_CHAIN_NAME, CHAIN);
	mnl_attr_put_strz(h, NFTA_CHAIN_TYPE, "nat");
	mnl_attr_put_u32(h, NFTA_CHAIN_POLICY, htonl(NF_ACCEPT));
	hook = mnl_attr_nest_start(h, NFTA_CHAIN_HOOK);
	mnl_attr_put_u32(h, NFTA_HOOK_HOOKNUM, htonl(NF_INET_POST_ROUTING));
	mnl_attr_put_u32(h, NFTA_HOOK_PRIORITY, htonl(SRCNAT));
	mnl_attr_nest_end(h, hook);
	end(b, h);
}

/* An expression's name; what it takes goes between this and expression_end. */
struct expression {
	struct nlattr *element, *data;
};

static struct expression expression(struct nlmsghdr *h, const char *name)
{
	struct expression e = {.element = mnl_attr_nest_start(h, NFTA_LIST_ELEM)};

	mnl_attr_put_strz(h, NFTA_EXPR_NAME, name);
	e.data = mnl_attr_nest_start(h, NFTA_EXPR_DATA);
	return e;
}

static void expression_end(struct nlmsghdr *h, const struct expression *e)
{
	mnl_attr_nest_end(h, e->data);
	mnl_attr_nest_end(h, e->element);
}

/* Registers are in network order, values as the packet has them: marks as this machine does. */
static void put_value(struct nlmsghdr *h, __u16 type, __u32 value)
{
	struct nlattr *nest = mnl_attr_nest_start(h, type);

	mnl_attr_put_u32(h, NFTA_DATA_VALUE, value);
	mnl_attr_nest_end(h, nest);
}

static void put_is_marked(struct nlmsghdr *h)
{
	const __u32 reg = htonl(NFT_REG_1);
	struct expression e = expression(h, "meta");

	mnl_attr_put_u32(h, NFTA_META_DREG, reg);
	mnl_attr_put_u32(h, NFTA_META_KEY, htonl(NFT_META_MARK));
	expression_end(h, &e);
	e = expression(h, "bitwise");
	mnl_attr_put_u32(h, NFTA_BITWISE_SREG, reg);
	mnl_attr_put_u32(h, NFTA_BITWISE_DREG, reg);
	mnl_attr_put_u32(h, NFTA_BITWISE_LEN, htonl(sizeof(__u32)));
	put_value(h, NFTA_BITWISE_MASK, POISE_OVERLAY_MARK);
	put_value(h, NFTA_BITWISE_XOR, 0);
	expression_end(h, &e);
	e = expression(h, "cmp");
	mnl_attr_put_u32(h, NFTA_CMP_SREG, reg);
	mnl_attr_put_u32(h, NFTA_CMP_OP, htonl(NFT_CMP_EQ));
	put_value(h, NFTA_CMP_DATA, POISE_OVERLAY_MARK);
	expression_end(h, &e);
}

static const struct {
	__u8 type, length;
	char text[sizeof(COMMENT)];
} comment = {COMMENT_TYPE, sizeof(COMMENT), COMMENT};

static void put_rule(struct batch *b, const char *table)
{
	struct nlmsghdr *h = ask_for(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK);
	struct nlattr *expressions;
	struct expression e;

	mnl_attr_put_strz(h, NFTA_RULE_TABLE, table);
	mnl_attr_put_strz(h, NFTA_RULE_CHAIN, CHAIN);
	mnl_attr_put(h, NFTA_RULE_USERDATA, sizeof(comment), &comment);
	expressions = mnl_attr_nest_start(h, NFTA_RULE_EXPRESSIONS);
	put_is_marked(h);
	e = expression(h, "masq");
	mnl_attr_put_u32(h, NFTA_MASQ_FLAGS, htonl(NF_NAT_RANGE_PROTO_RANDOM_FULLY));
	expression_end(h, &e);
	mnl_attr_nest_end(h, expressions);
	end(b, h);
}

/* ---- asking -----------------------------------------------------------------------------------*/

static struct mnl_socket *ask(const struct batch *b, struct poise_error *err)
{
	struct timeval patience = {.tv_sec = ANSWER_SECONDS};
	struct mnl_socket *s = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);

	if (s && mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) == 0 &&
	    !setsockopt(mnl_socket_get_fd(s), SOL_SOCKET, SO_RCVTIMEO, &patience,
			sizeof(patience)) &&
	    mnl_socket_sendto(s, b->bytes, b->length) >= 0)
		return s;
	poise_fail_errno(err, "cannot ask the kernel about nftables");
	if (s)
		mnl_socket_close(s);
	return NULL;
}

/* Its next words, in buf; their length, or -1. */
static int hear(struct mnl_socket *s, char buf[ANSWER_BYTES], struct poise_error *err)
{
	ssize_t length;

	do
		length = mnl_socket_recvfrom(s, buf, ANSWER_BYTES);
	while (length < 0 && errno == EINTR);
	return length < 0 ? poise_fail_errno(err, "no answer from the kernel about nftables")
			  : (int)length;
}

/* The kernel's errno to a batch: of the first request that it refused, or 0 once it has done the
 * one with this number, which asked for an answer. -1: neither yet. */
static int verdict(const char *buf, int left, unsigned int seq)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)buf;

	for (; net_message_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);

		if (h->nlmsg_type != NLMSG_ERROR || mnl_nlmsg_get_payload_len(h) < sizeof(e->error))
			continue;
		if (e->error || h->nlmsg_seq == seq)
			return -e->error;
	}
	return -1;
}

/* 0, or the kernel's errno; -1 if it could not be asked. seq: of the request that is answered. */
static int change(struct batch *b, unsigned int seq, struct poise_error *err)
{
	char buf[ANSWER_BYTES];
	struct mnl_socket *s;
	int rc = -1, length;

	mark_batch(b, NFNL_MSG_BATCH_END);
	s = ask(b, err);
	if (!s)
		return -1;
	do {
		length = hear(s, buf, err);
		rc = length < 0 ? -1 : verdict(buf, length, seq);
	} while (length >= 0 && rc < 0);
	mnl_socket_close(s);
	return rc;
}

int nft_table_make(const char *table, struct poise_error *err)
{
	struct batch b = {0};
	int refused;

	mark_batch(&b, NFNL_MSG_BATCH_BEGIN);
	put_table(&b, NFT_MSG_NEWTABLE, NLM_F_CREATE, table); /* so that there is one to remove */
	put_table(&b, NFT_MSG_DELTABLE, 0, table);
	put_table(&b, NFT_MSG_NEWTABLE, NLM_F_CREATE, table);
	put_chain(&b, table);
	put_rule(&b, table);
	refused = change(&b, b.seq, err);
	if (refused <= 0)
		return refused;
	errno = refused;
	poise_fail_errno(err, "the kernel refused table inet %s of nftables", table);
	if (refused == ENOENT || refused == EOPNOTSUPP) /* what it lacks is a module */
		poise_error_remedy(err, "modprobe nft_masq (CONFIG_NF_TABLES_INET, NFT_MASQ)");
	return -1;
}

int nft_table_remove(const char *table, struct poise_error *err)
{
	struct batch b = {0};
	int refused;

	mark_batch(&b, NFNL_MSG_BATCH_BEGIN);
	put_table(&b, NFT_MSG_DELTABLE, NLM_F_ACK, table);
	refused = change(&b, b.seq, err);
	if (refused <= 0 || refused == ENOENT)
		return refused < 0 ? -1 : 0;
	errno = refused;
	return poise_fail_errno(err, "table inet %s of nftables was not removed", table);
}

/* ---- looking ----------------------------------------------------------------------------------*/

/* Is it a rule of ours? Others' in our chain are their own affair. */
static bool is_ours(const struct nlmsghdr *h)
{
	const struct nlattr *tb[NFTA_RULE_USERDATA + 1];

	if (h->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE))
		return false;
	net_attrs(h, sizeof(struct nfgenmsg), tb, NFTA_RULE_USERDATA);
	return tb[NFTA_RULE_USERDATA] &&
	       mnl_attr_get_payload_len(tb[NFTA_RULE_USERDATA]) == sizeof(comment) &&
	       !memcmp(mnl_attr_get_payload(tb[NFTA_RULE_USERDATA]), &comment, sizeof(comment));
}

/* Takes in one read of the dump of rules; true at its end. */
static bool looked(const char *buf, int left, int *there)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)buf;

	for (; net_message_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			return true;
		*there |= is_ours(h);
	}
	return false;
}

int nft_table_look(const char *table, struct poise_error *err)
{
	struct batch b = {0};
	struct nlmsghdr *h = ask_for(&b, NFT_MSG_GETRULE, NLM_F_DUMP);
	char buf[ANSWER_BYTES];
	struct mnl_socket *s;
	int there = 0, length;

	mnl_attr_put_strz(h, NFTA_RULE_TABLE, table);
	mnl_attr_put_strz(h, NFTA_RULE_CHAIN, CHAIN);
	end(&b, h);
	s = ask(&b, err);
	if (!s)
		return -1;
	do
		length = hear(s, buf, err);
	while (length >= 0 && !looked(buf, length, &there));
	mnl_socket_close(s);
	return length < 0 ? -1 : there;
}
