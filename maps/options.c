// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of options. A new one is a line here and a field in its structure; the command line,
 * the file, JSON, help, man page and completion have it from here.
 */
#include "config.h"
#include "option.h"
#include "option_words.h"

#define SECONDS(n)	((n)*1000ULL)
#define KEEP_MIN	SECONDS(1)	   /* the clock of flow words ticks in seconds */
#define KEEP_MAX	SECONDS(3600)	   /* a 12-bit stamp in seconds wraps at 4096 */
#define IDLE_MAX	SECONDS(16 * 3600) /* a 12-bit stamp of 16 s wraps at 18 h 12 min */
#define FADE_MAX	SECONDS(86400)	   /* more would be a weight */
#define DRAIN_MAX	SECONDS(7 * 86400) /* a week: whoever needs longer wants no deadline */
#define WITHDRAW_MAX	SECONDS(3600)	   /* who waits longer wants `always` */
#define TABLE_MIN	64		   /* fewer slots cannot even show weights of 1:10 */
#define TABLE_MAX	(1u << 20)	   /* 4 MiB a service; filled in some 10 ms */
#define SERVER_ID_MAX	0xffffffffu	   /* POISE_SERVER_ID_BYTES */
#define RATE_MAX	10000000	   /* the clock of pace.h divides by it to 0.2 % */
#define MAX_CONNS_MAX	(1u << 30)	   /* counts are poise_load, which has a sign */
#define CONFIG_IDS_MAX	65535		   /* ids are 16 bits and 0 is never used */
#define LISTENERS_MAX	(1u << 22)	   /* 64 for each of 65535 services */
#define RANGES_MAX	(1u << 24)	   /* 256 for each of 65535 services */
#define FLOW_SLOTS_MIN	1024
#define CHECK_MIN	10	      /* ms: a hundred checks a second of one backend */
#define CHECK_MAX	SECONDS(3600) /* rarer is no check */
#define HOLD_MAX	SECONDS(86400)
#define WINDOW_MAX	SECONDS(300) /* what counts as soon */
#define RUN_MAX		100	     /* results in a row */
#define JITTER_MAX	50	     /* percent: more is another interval */
#define ANSWERS_MAX	10000000     /* a second: no limit for any flood that could be answered */
#define FLOW_SLOTS_MAX	(1u << 30)   /* 8 GiB */
#define TABLE_SLOTS_MIN 8192	     /* one automatic table and its successor */
#define TABLE_SLOTS_MAX (1u << 30)   /* 4 GiB */

#define SERVICE(field)                                                                             \
	.scope = OPTION_SERVICE, .offset = offsetof(struct config_service, conf.field)
#define SERVICE_LIST(field)                                                                        \
	.scope = OPTION_SERVICE, .offset = offsetof(struct config_service, field)
#define BACKEND(field) .scope = OPTION_BACKEND, .offset = offsetof(struct poise_member_conf, field)
/* A key of health that is its service's unless it says so. */
#define OWN(name, values)                                                                          \
	{                                                                                          \
		BACKEND(check),                                                                    \
			.key = "health-" name, .type = OPTION_OWN, .fallback = "default",          \
			.argument = "default|" values,                                             \
			.help = "As " name                                                         \
				" of health, for this backend alone; the service's by default."    \
	}
#define INTERFACE(field)                                                                           \
	.scope = OPTION_INTERFACE, .offset = offsetof(struct config_interface, field)
#define ADDRESS(field) .scope = OPTION_ADDRESS, .offset = offsetof(struct poise_address_conf, field)
#define HEALTH(field)  .scope = OPTION_HEALTH, .offset = offsetof(struct poise_health_conf, field)
#define HEALTH_TEXT(field)                                                                         \
	HEALTH(field), .type = OPTION_STRING, .fallback = "",                                      \
		       .max = sizeof(((struct poise_health_conf *)0)->field) - 1
#define LIMIT(field) .scope = OPTION_LIMIT, .offset = offsetof(struct config_limits, field)

/* Within a scope in the order in which save, help and the manual show them. */
const struct option poise_options[] = {
	{SERVICE(policy), .key = "policy", .type = OPTION_ENUM, .fallback = "maglev",
	 .always_saved = true, .words = policies,
	 .argument = "maglev|source-hash|round-robin|random|least-conn|p2c|latency-aware",
	 .help = "How a new flow's backend is chosen: by a hash of its 5-tuple, or of its source "
		 "address alone; in turn; by chance; by fewest flows, of all backends or the best "
		 "of a few by chance; by chance, less often the slower. Where latency is "
		 "measured (forward: nat, local) p2c heeds it too."},
	{SERVICE(choices), .key = "choices", .type = OPTION_U8, .fallback = "auto", .zero = "auto",
	 .min = POISE_CHOICES_MIN, .max = POISE_CHOICES_MAX, .argument = "auto|2..64",
	 .help = "How many backends policy p2c draws for a new flow, to take the one of fewest "
		 "flows; "
		 "auto: 4, or all if there are fewer."},
	{SERVICE(forward), .key = "forward", .type = OPTION_ENUM, .fallback = "nat",
	 .always_saved = true, .words = modes, .argument = "nat|local|l2|ipip|gue",
	 .help = "How a packet reaches its backend: from an address of the balancer, through which "
		 "the answer comes back; by this host's own stack, to its containers and sockets; "
		 "or, where the backend answers the client directly, by MAC rewrite on a shared "
		 "network, or encapsulated in IP or in UDP."},
	{SERVICE(table_size), .key = "table-size", .type = OPTION_TABLE_SIZE, .fallback = "auto",
	 .always_saved = true, .min = TABLE_MIN, .max = TABLE_MAX, .argument = "auto|SIZE",
	 .help = "Slots of the service's table; auto goes by the number of its backends."},
	{SERVICE(track), .key = "track", .type = OPTION_ENUM, .fallback = "auto", .words = tracks,
	 .argument = "auto|always|off",
	 .help = "Which flows are recorded: those whose backend a change would move, all, "
		 "or none."},
	{SERVICE(idle), .key = "idle", .type = OPTION_DURATION, .fallback = "2h15m",
	 .min = KEEP_MIN, .max = IDLE_MAX, .step = SECONDS(1), .argument = "DURATION",
	 .help = "How long an established TCP flow may be silent before it is forgotten."},
	{SERVICE(syn), .key = "syn", .type = OPTION_DURATION, .fallback = "30s", .min = KEEP_MIN,
	 .max = KEEP_MAX, .step = SECONDS(1), .argument = "DURATION",
	 .help = "How long a TCP flow may be silent that has sent nothing but its first packet."},
	{SERVICE(closing), .key = "closing", .type = OPTION_DURATION, .fallback = "2m",
	 .min = KEEP_MIN, .max = KEEP_MAX, .step = SECONDS(1), .argument = "DURATION",
	 .help = "How long a TCP flow may be silent after the client's FIN."},
	{SERVICE(udp), .key = "udp", .type = OPTION_DURATION, .fallback = "2m", .min = KEEP_MIN,
	 .max = KEEP_MAX, .step = SECONDS(1), .argument = "DURATION",
	 .help = "How long a UDP flow may be silent."},
	{SERVICE(drain_timeout), .key = "drain-timeout", .type = OPTION_DURATION, .fallback = "5m",
	 .min = SECONDS(1), .max = DRAIN_MAX, .argument = "DURATION",
	 .help = "How long a draining or leaving backend keeps its flows."},
	{SERVICE(source4), .key = "source", .type = OPTION_ADDRS, .fallback = "auto", .min = 4,
	 .argument = "auto|IPV4,...",
	 .help = "Source of packets that are encapsulated or translated to IPv4 backends; auto is "
		 "the balancer's own address towards them. Of up to 8, mode nat uses all, and as "
		 "many times the ports; others the first."},
	{SERVICE(source6), .key = "source6", .type = OPTION_ADDRS, .fallback = "auto", .min = 6,
	 .argument = "auto|IPV6,...",
	 .help = "Source of packets that are encapsulated or translated to IPv6 backends; auto is "
		 "the balancer's own address towards them. Several as in source."},
	{SERVICE(entropy), .key = "entropy", .type = OPTION_BOOL, .fallback = "no",
	 .argument = "yes|no",
	 .help = "Varies the outer source by flow, so that a backend's network card spreads "
		 "encapsulated flows over its queues."},
	{SERVICE(gue_port), .key = "gue-port", .type = OPTION_U16, .fallback = "6080", .min = 1,
	 .max = 65535, .argument = "PORT",
	 .help = "UDP port that backends take packets at in mode gue."},
	{SERVICE(gue_checksum), .key = "gue-checksum", .type = OPTION_BOOL, .fallback = "no",
	 .argument = "yes|no",
	 .help = "Whether the outer UDP header of mode gue has a checksum, over IPv4 and IPv6; "
		 "packets without a TCP or UDP checksum of their own never have."},

	{SERVICE(quic), .key = "quic", .type = OPTION_BOOL, .fallback = "no", .argument = "yes|no",
	 .help = "Whether UDP packets are QUIC and go to the backend whose server-id their "
		 "connection "
		 "id carries, from whatever address the client sends."},
	{SERVICE(quic_offset), .key = "quic-id-offset", .type = OPTION_U8, .fallback = "1",
	 .max = POISE_QUIC_CID_MAX - 1, .argument = "BYTES",
	 .help = "Bytes of a QUIC connection id before the server id. After a first byte of its "
		 "own, "
		 "whose upper three bits are all ones where no server id follows."},
	{SERVICE(quic_length), .key = "quic-id-length", .type = OPTION_U8, .fallback = "2",
	 .min = 1, .max = POISE_SERVER_ID_BYTES, .argument = "BYTES",
	 .help = "Bytes of the server id in a QUIC connection id."},

	{SERVICE(affinity), .key = "affinity", .type = OPTION_BOOL, .fallback = "no",
	 .argument = "yes|no",
	 .help = "Whether a client's new flows go where its last one went; every flow is recorded "
		 "then."},
	{SERVICE(affinity_timeout), .key = "affinity-timeout", .type = OPTION_DURATION,
	 .fallback = "5m", .min = KEEP_MIN, .max = IDLE_MAX, .step = SECONDS(1),
	 .argument = "DURATION",
	 .help = "How long after its last new flow a client is still known by its backend."},
	{SERVICE(affinity_prefix4), .key = "affinity-prefix4", .type = OPTION_U8, .fallback = "32",
	 .min = 1, .max = 32, .argument = "BITS",
	 .help = "Bits of an IPv4 address that make one client."},
	{SERVICE(affinity_prefix6), .key = "affinity-prefix6", .type = OPTION_U8, .fallback = "128",
	 .min = 1, .max = 128, .argument = "BITS",
	 .help = "Bits of an IPv6 address that make one client."},
	{SERVICE_LIST(allow), .key = "allow", .type = OPTION_RANGES, .fallback = "none",
	 .argument = "PREFIX,...",
	 .help = "Who may reach the service: clients in these prefixes, unless a longer one of "
		 "deny "
		 "holds them; with none, everybody but those that deny holds."},
	{SERVICE_LIST(deny), .key = "deny", .type = OPTION_RANGES, .fallback = "none",
	 .argument = "PREFIX,...",
	 .help = "Who may not: clients in these prefixes, unless a longer one of allow holds them. "
		 "Their packets are dropped and counted, not answered."},
	{SERVICE(rate), .key = "rate", .type = OPTION_U32, .fallback = "none", .zero = "none",
	 .min = 1, .max = RATE_MAX, .argument = "none|NUMBER",
	 .help = "New flows that the service takes a second, of all CPUs; the rest is refused. "
		 "Every flow is recorded then."},
	{SERVICE(rate_burst), .key = "rate-burst", .type = OPTION_U32, .fallback = "auto",
	 .zero = "auto", .min = 1, .max = RATE_MAX, .argument = "auto|NUMBER",
	 .help = "New flows that it takes at once after a rest; auto is a tenth of a second's, at "
		 "least 5."},
	{SERVICE(max_conns), .key = "max-conns", .type = OPTION_U32, .fallback = "none",
	 .zero = "none", .min = 1, .max = MAX_CONNS_MAX, .argument = "none|NUMBER",
	 .help = "Live flows that each backend may have; when all have as many, new ones are "
		 "refused. Every flow is recorded then."},

	{SERVICE(fade_in), .key = "fade-in", .type = OPTION_DURATION, .fallback = "auto",
	 .ones = "auto", .max = FADE_MAX, .argument = "auto|DURATION",
	 .help = "How long a backend that comes or comes back while others are up takes a growing "
		 "share of new flows; 0: the whole at once; auto: 10s where load or latency "
		 "decides, else 0."},
	{SERVICE(fade_exponent), .key = "fade-exponent", .type = OPTION_HUNDREDTHS, .fallback = "1",
	 .min = 10, .max = 1000, .argument = "NUMBER",
	 .help = "How the share grows: with this power of the time that has passed; above 1 it "
		 "grows slowly at first, below 1 quickly."},
	{SERVICE(fade_floor), .key = "fade-floor", .type = OPTION_PERCENT, .fallback = "10%",
	 .max = 100, .argument = "PERCENT",
	 .help = "The part of its share that a backend gets at least while it fades in; 0%: it "
		 "begins with next to nothing."},

	{SERVICE(on_down), .key = "on-down", .type = OPTION_ENUM, .fallback = "keep",
	 .words = on_downs, .argument = "keep|move|reset",
	 .help = "What becomes of the TCP flows of a backend that is down or disabled: they stay "
		 "bound to it; their next packet goes to another, which resets them; or it is "
		 "answered with a reset here. Every flow is recorded with reset."},
	{SERVICE(on_down_udp), .key = "on-down-udp", .type = OPTION_ENUM, .fallback = "move",
	 .words = on_downs_udp, .argument = "keep|move",
	 .help = "The same of its UDP flows: their next packet goes to another backend, or they "
		 "stay. Every flow is recorded with keep."},
	{SERVICE(on_none_up), .key = "on-none-up", .type = OPTION_ENUM, .fallback = "try",
	 .words = nones_up, .argument = "try|refuse",
	 .help = "When nobody is left but backends whose check failed: try them all, or refuse "
		 "new flows at once."},
	{SERVICE(on_nobody), .key = "on-nobody", .type = OPTION_ENUM, .fallback = "refuse",
	 .words = nobodies, .argument = "refuse|drop",
	 .help = "When there is nobody who may be chosen: refuse new flows at once, or drop their "
		 "packets, so that clients try elsewhere."},
	{SERVICE(panic), .key = "panic", .type = OPTION_PERCENT, .fallback = "0%", .max = 100,
	 .argument = "PERCENT",
	 .help = "While some backends are up, but fewer than this share of those that would be if "
		 "all their checks were good, checks are not believed and all of these are "
		 "used; 0%: never."},
	{SERVICE(passive), .key = "passive", .type = OPTION_BOOL, .fallback = "yes",
	 .argument = "yes|no",
	 .help = "Whether a backend is ejected, that is, gets no new flows for a while, when far "
		 "more of its flows fail than of the others'. Needs every flow recorded."},
	{SERVICE(passive_window), .key = "passive-window", .type = OPTION_DURATION,
	 .fallback = "5s", .min = SECONDS(1), .max = WINDOW_MAX, .argument = "DURATION",
	 .help = "Flows of so long are compared, and of longer if there are few; twice in a row "
		 "is enough."},
	{SERVICE(max_ejected), .key = "max-ejected", .type = OPTION_PERCENT, .fallback = "1/3",
	 .zero = "1/3", .min = 1, .max = 99, .argument = "1/3|PERCENT",
	 .help = "The most of its backends that may be ejected at once, rounded down; never the "
		 "last that is up."},
	{SERVICE(eject_time), .key = "eject-time", .type = OPTION_DURATION, .fallback = "30s",
	 .min = SECONDS(1), .max = HOLD_MAX, .argument = "DURATION",
	 .help = "How long a backend is ejected; doubles each time, until it was back for ten "
		 "times as long."},
	{SERVICE(eject_max), .key = "eject-time-max", .type = OPTION_DURATION, .fallback = "5m",
	 .min = SECONDS(1), .max = HOLD_MAX, .argument = "DURATION",
	 .help = "The most that doubling leads to."},

	{SERVICE(min_up), .key = "min-up", .type = OPTION_PART, .fallback = "none", .zero = "none",
	 .min = 1, .max = POISE_PART_PERCENT - 1, .argument = "none|NUMBER|PERCENT",
	 .help = "Backends that must be up, or what part of those that would be if all checks were "
		 "good: with fewer the sorry ones serve, if there are any, and its addresses are "
		 "withdrawn."},
	{SERVICE(min_up_margin), .key = "min-up-margin", .type = OPTION_U16, .fallback = "0",
	 .max = POISE_PART_PERCENT - 1, .argument = "NUMBER",
	 .help = "How many more than min-up must be up, or all of them, for that to be over."},
	{SERVICE(notify), .key = "notify", .type = OPTION_STRING, .fallback = "",
	 .max = POISE_NOTIFY - 1, .argument = "COMMAND",
	 .help = "Run by poised, without a shell and without privileges, with each event of the "
		 "service in its environment: POISE_EVENT, POISE_STATE, POISE_BACKEND, "
		 "POISE_REASON and others."},

	{BACKEND(weight), .key = "weight", .type = OPTION_U16, .fallback = "1", .max = 65535,
	 .argument = "0..65535",
	 .help = "Share of new flows relative to the other backends; 0: no new flows."},
	{BACKEND(max_conns), .key = "max-conns", .type = OPTION_U32, .fallback = "default",
	 .zero = "none", .set_offset = offsetof(struct poise_member_conf, max_conns_set), .min = 1,
	 .max = MAX_CONNS_MAX, .argument = "none|NUMBER",
	 .help = "Live flows that this backend may have; as many as the service says by default."},
	{BACKEND(forward), .key = "forward", .type = OPTION_ENUM, .fallback = "default",
	 .set_offset = offsetof(struct poise_member_conf, forward_set), .words = modes,
	 .argument = "nat|local|l2|ipip|gue",
	 .help = "Forward mode of this backend; the service's by default."},
	{BACKEND(admin), .key = "admin", .type = OPTION_ENUM, .fallback = "enabled",
	 .words = admins, .argument = "enabled|draining|disabled",
	 .help = "Whether the backend may be used: fully, for the flows it has, or not at all."},
	{BACKEND(sorry), .key = "sorry", .type = OPTION_BOOL, .fallback = "no",
	 .argument = "yes|no",
	 .help = "Whether it is chosen only while no other backend is up, not yet checked or "
		 "draining."},
	{BACKEND(server_id), .key = "server-id", .type = OPTION_U32, .fallback = "0",
	 .max = SERVER_ID_MAX, .argument = "NUMBER",
	 .help = "The server id, highest byte first, in the QUIC connection ids that this backend "
		 "gives "
		 "out, no other backend's of the service; 0: none."},
	{BACKEND(check_off), .key = "checked", .type = OPTION_ENUM, .fallback = "yes",
	 .words = checked, .argument = "yes|no",
	 .help = "Whether this backend is checked; if not it counts as up."},
	OWN("type", "auto|none|tcp|http|https|udp|dns|icmp|grpc|exec"),
	OWN("port", "auto|PORT"),
	OWN("via", "path|direct"),
	OWN("interval", "DURATION"),
	OWN("fast-interval", "DURATION"),
	OWN("timeout", "DURATION"),
	OWN("rise", "NUMBER"),
	OWN("fall", "NUMBER"),
	OWN("jitter", "PERCENT"),
	OWN("hold-down", "DURATION"),
	OWN("hold-down-max", "DURATION"),
	OWN("method", "GET|HEAD|OPTIONS"),
	OWN("path", "PATH"),
	OWN("host", "NAME"),
	OWN("status", "LIST"),
	OWN("body", "TEXT"),
	OWN("body-regex", "REGEX"),
	OWN("http2", "yes|no"),
	OWN("tls", "yes|no"),
	OWN("verify", "yes|no"),
	OWN("ca", "FILE"),
	OWN("cert", "FILE"),
	OWN("key", "FILE"),
	OWN("send", "TEXT"),
	OWN("expect", "TEXT"),
	OWN("query", "NAME"),
	OWN("query-type", "A|AAAA|NS|SOA"),
	OWN("command", "COMMAND"),
	{BACKEND(name), .key = "name", .type = OPTION_NAME, .fallback = "", .argument = "NAME",
	 .help = "A name that commands take in place of the address."},

	{INTERFACE(mode), .key = "mode", .type = OPTION_ENUM, .fallback = "auto",
	 .words = attach_modes, .argument = "auto|native|generic|inside",
	 .help = "Where the program runs: in the driver, in the network stack, or in the driver if "
		 "it can; inside: in the stack, for containers that are clients of backends on "
		 "this host."},
	{INTERFACE(shared), .key = "shared", .type = OPTION_BOOL, .fallback = "no",
	 .argument = "yes|no",
	 .help = "Attach through libxdp's dispatcher, beside other XDP programs."},

	{ADDRESS(ping), .key = "ping", .type = OPTION_ENUM, .fallback = "yes", .words = pings,
	 .argument = "yes|no|usable",
	 .help = "Whether echo requests are answered: yes, no, or while a service of the address "
		 "has a backend that may be chosen."},
	{ADDRESS(other_ports), .key = "other-ports", .type = OPTION_ENUM, .fallback = "refuse",
	 .words = others, .argument = "refuse|pass",
	 .help = "Whether packets for ports and protocols that no service listens on are refused, "
		 "or go to the host."},
	{ADDRESS(announce), .key = "announce", .type = OPTION_ENUM, .fallback = "auto",
	 .words = announces, .argument = "auto|usable|always",
	 .help = "When a claimed address is on its device, for a routing daemon to announce: "
		 "always, "
		 "or only while a service on it has a backend that may be chosen; auto is usable "
		 "on lo "
		 "and always elsewhere."},
	{ADDRESS(withdraw_grace), .key = "withdraw-grace", .type = OPTION_DURATION,
	 .fallback = "3s", .max = WITHDRAW_MAX, .argument = "DURATION",
	 .help = "How long no such backend is to be had before an address is withdrawn."},

	{HEALTH(type), .key = "type", .type = OPTION_ENUM, .fallback = "auto", .words = checks,
	 .argument = "auto|none|tcp|http|https|udp|dns|icmp|grpc|exec",
	 .help = "What is asked of each backend: that it takes a connection, answers a request, a "
		 "datagram, a query or an echo request, says that it serves, or that a command "
		 "succeeds; auto is tcp at the first listener of TCP, none if there is none."},
	{HEALTH(port), .key = "port", .type = OPTION_U16, .fallback = "auto", .zero = "auto",
	 .min = 1, .max = 65535, .argument = "auto|PORT",
	 .help = "Port that is asked; auto is the backend's, else that of the service's first "
		 "listener."},
	{HEALTH(via), .key = "via", .type = OPTION_ENUM, .fallback = "path", .words = vias,
	 .argument = "path|direct",
	 .help = "How a check gets to its backend: as clients' packets do, in the forward mode and "
		 "to the virtual address; or to the backend's own address, as everything else of "
		 "this host. exec, modes nat and local, and a backend of another family than all "
		 "of its "
		 "service's addresses go directly in any case."},
	{HEALTH(interval), .key = "interval", .type = OPTION_DURATION, .fallback = "2s",
	 .min = CHECK_MIN, .max = CHECK_MAX, .argument = "DURATION",
	 .help = "Time between the beginnings of two checks of a backend."},
	{HEALTH(fast_interval), .key = "fast-interval", .type = OPTION_DURATION,
	 .fallback = "500ms", .min = CHECK_MIN, .max = CHECK_MAX, .argument = "DURATION",
	 .help = "The same while the last results say something else than the backend's state and "
		 "more "
		 "of them may change it."},
	{HEALTH(timeout), .key = "timeout", .type = OPTION_DURATION, .fallback = "1s",
	 .min = CHECK_MIN, .max = CHECK_MAX, .argument = "DURATION",
	 .help = "How long an answer may take; at most interval."},
	{HEALTH(rise), .key = "rise", .type = OPTION_U8, .fallback = "2", .min = 1, .max = RUN_MAX,
	 .argument = "NUMBER", .help = "Good results in a row that bring a backend up."},
	{HEALTH(fall), .key = "fall", .type = OPTION_U8, .fallback = "3", .min = 1, .max = RUN_MAX,
	 .argument = "NUMBER", .help = "Bad results in a row that take a backend down."},
	{HEALTH(jitter), .key = "jitter", .type = OPTION_U8, .fallback = "10", .max = JITTER_MAX,
	 .argument = "PERCENT",
	 .help = "Share of an interval that chance may shorten it by, so that checks spread out."},
	{HEALTH(hold_down), .key = "hold-down", .type = OPTION_DURATION, .fallback = "5s",
	 .max = HOLD_MAX, .argument = "DURATION",
	 .help = "How long a backend that went down stays so at least; doubles each time, until it "
		 "was up without a failure for ten intervals."},
	{HEALTH(hold_max), .key = "hold-down-max", .type = OPTION_DURATION, .fallback = "5m",
	 .max = HOLD_MAX, .argument = "DURATION", .help = "The most that doubling leads to."},
	{HEALTH(method), .key = "method", .type = OPTION_ENUM, .fallback = "GET", .words = methods,
	 .argument = "GET|HEAD|OPTIONS", .help = "The method of an HTTP request."},
	{HEALTH_TEXT(path), .key = "path", .argument = "PATH",
	 .help = "What an HTTP request asks for; / if nothing is said."},
	{HEALTH_TEXT(host), .key = "host", .argument = "NAME",
	 .help = "Name in the Host header and in the TLS handshake; the backend's address if "
		 "nothing is said. It is not resolved."},
	{HEALTH(status), .key = "status", .type = OPTION_STRING, .fallback = "200-399",
	 .max = POISE_CHECK_STATUS - 1, .argument = "LIST",
	 .help = "HTTP statuses that are good: numbers and ranges, with commas."},
	{HEALTH_TEXT(body), .key = "body", .argument = "TEXT",
	 .help = "What the first 64 KiB of an HTTP answer's body must hold."},
	{HEALTH_TEXT(regex), .key = "body-regex", .argument = "REGEX",
	 .help = "Regular expression, as of Perl, that it must match; ^ and $ are a line's ends. "
		 "One "
		 "that takes long to say no is a failure."},
	{HEALTH(http2), .key = "http2", .type = OPTION_BOOL, .fallback = "no", .argument = "yes|no",
	 .help = "HTTP/2 in place of HTTP/1.1; with http, without asking first."},
	{HEALTH(tls), .key = "tls", .type = OPTION_BOOL, .fallback = "no", .argument = "yes|no",
	 .help = "Whether gRPC is spoken over TLS."},
	{HEALTH(verify), .key = "verify", .type = OPTION_BOOL, .fallback = "yes",
	 .argument = "yes|no",
	 .help = "Whether the server's certificate must be valid, and for host."},
	{HEALTH_TEXT(ca), .key = "ca", .argument = "FILE",
	 .help = "Certificates that are trusted, PEM; the system's if nothing is said."},
	{HEALTH_TEXT(cert), .key = "cert", .argument = "FILE",
	 .help = "Certificate that poised shows, PEM."},
	{HEALTH_TEXT(key), .key = "key", .argument = "FILE", .help = "Its key, PEM."},
	{HEALTH_TEXT(send), .key = "send", .argument = "TEXT",
	 .help = "What a UDP check sends, with the escapes of C for bytes."},
	{HEALTH_TEXT(expect), .key = "expect", .argument = "TEXT",
	 .help = "What the answer must hold; any answer is good if nothing is said."},
	{HEALTH_TEXT(query), .key = "query", .argument = "NAME",
	 .help = "The name that a DNS check asks for; of gRPC, the service, all of the server if "
		 "nothing is said."},
	{HEALTH(query_type), .key = "query-type", .type = OPTION_ENUM, .fallback = "A",
	 .words = queries, .argument = "A|AAAA|NS|SOA",
	 .help = "The type of record that a DNS check wants at least one of."},
	{HEALTH_TEXT(command), .key = "command", .argument = "COMMAND",
	 .help = "A program with its arguments, run without a shell and without capabilities, with "
		 "POISE_ADDRESS and POISE_PORT in its environment; status 0 is good."},

	{LIMIT(services), .key = "services", .type = OPTION_U32, .fallback = "4096", .min = 1,
	 .max = CONFIG_IDS_MAX, .argument = "NUMBER", .help = "Most services."},
	{LIMIT(backends), .key = "backends", .type = OPTION_U32, .fallback = "32768", .min = 1,
	 .max = CONFIG_IDS_MAX, .argument = "NUMBER",
	 .help = "Most backends of all services together."},
	{LIMIT(listeners), .key = "listeners", .type = OPTION_U32, .fallback = "65536", .min = 1,
	 .max = LISTENERS_MAX, .argument = "NUMBER",
	 .help = "Most listeners of all services together."},
	{LIMIT(flow_slots), .key = "flow-slots", .type = OPTION_SIZE, .fallback = "4M",
	 .min = FLOW_SLOTS_MIN, .max = FLOW_SLOTS_MAX, .argument = "SIZE",
	 .help = "Room for recorded flows, of 8 bytes each."},
	{LIMIT(table_slots), .key = "table-slots", .type = OPTION_SIZE, .fallback = "32M",
	 .min = TABLE_SLOTS_MIN, .max = TABLE_SLOTS_MAX, .argument = "SIZE",
	 .help = "Room for the tables of all services, of 4 bytes a slot."},
	{LIMIT(paths), .key = "paths", .type = OPTION_U32, .fallback = "1024", .min = 1,
	 .max = CONFIG_IDS_MAX, .argument = "NUMBER",
	 .help = "Most ways out: different devices, source addresses, VLANs and MTUs."},
	{LIMIT(ranges), .key = "source-ranges", .type = OPTION_U32, .fallback = "16384",
	 .max = RANGES_MAX, .argument = "NUMBER",
	 .help = "Most prefixes in allow and deny of all services together."},
	{LIMIT(nat_groups), .key = "nat-groups", .type = OPTION_U32, .fallback = "4",
	 .max = POISE_GROUPS_MAX, .argument = "NUMBER",
	 .help = "Groups of 65,536 ports for mode nat, of 7 MiB each; each backend and source "
		 "address has the ports of one of them. 0: no service can translate."},
	{LIMIT(nat_low), .key = "nat-port-low", .type = OPTION_U32, .fallback = "1024", .min = 1,
	 .max = POISE_PORTS - 1, .argument = "PORT",
	 .help = "The lowest port that packets of mode nat are sent from."},
	{LIMIT(nat_high), .key = "nat-port-high", .type = OPTION_U32, .fallback = "65535", .min = 1,
	 .max = POISE_PORTS - 1, .argument = "PORT",
	 .help = "The highest. Ports in between that services listen on, that health checks are "
		 "sent from "
		 "(61440 to 65535), that the host listens on, reserves or takes for connections of "
		 "its "
		 "own are left alone."},
	{LIMIT(reset_rate), .key = "reset-rate", .type = OPTION_U32, .fallback = "1000", .min = 1,
	 .max = ANSWERS_MAX, .argument = "NUMBER",
	 .help = "TCP resets that refuse connections, a second, of all CPUs; to one source a tenth "
		 "of it."},
	{LIMIT(icmp_rate), .key = "icmp-rate", .type = OPTION_U32, .fallback = "1000", .min = 1,
	 .max = ANSWERS_MAX, .argument = "NUMBER", .help = "The same of ICMP errors."},
};

const size_t poise_options_count = sizeof(poise_options) / sizeof(poise_options[0]);
