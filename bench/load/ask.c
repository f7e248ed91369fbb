/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ask.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "answer.h"

#define SPILL 65536 /* bytes of an answer read at once beyond its head */
/* To close is dearer than to hear an answer (a packet is sent), and nobody waits for it: so many
 * are closed when nothing is to be heard, or when too many have gathered. */
#define CLOSE_TURN    8
#define TO_CLOSE_MOST 1024
/* To fetch what is there takes a few us, and no more than this: then it was waited for. */
#define FETCHED_NS 50000

struct ask_request {
	struct ask_request *next;   /* in order of their timeouts */
	struct ask_request *queued; /* behind it at the same client */
	struct ask_conn
		*conn; /* of kind http, tcp, udp: until it is closed; kept: until answered */
	uint64_t due, begun, connected;
	uint64_t unheard; /* ns, at most, that what its socket said waited for us */
	uint32_t client;
	bool done; /* only its connection has yet to end, or it waits to leave the list */
};

struct ask_conn {
	struct ask_conn *next; /* of the spare ones, or of those to be closed */
	struct ask_client *client;
	struct ask_request *request; /* NULL: a kept one with nothing to do */
	enum ask_kind kind;	     /* its client's */
	int fd;
	bool connected, closing;
	size_t put; /* bytes of the question sent */
	struct wire question;
	struct answer answer;
};

static const char *const kinds[ASK_KINDS] = {
	[ASK_HTTP] = "http", [ASK_TCP] = "tcp", [ASK_KEPT] = "kept", [ASK_UDP] = "udp"};

enum ask_kind ask_kind_of(const char *word, size_t len)
{
	enum ask_kind k = 0;

	while (k < ASK_KINDS && (strlen(kinds[k]) != len || memcmp(kinds[k], word, len) != 0))
		k++;
	return k;
}

static struct ask_client *client_of(const struct ask *a, const struct ask_request *r)
{
	return &a->clients[r->client];
}

/* ---- the end of one ---------------------------------------------------------------------------*/

/* Whatever its socket says from here on is not heard. */
static void conn_close(struct ask *a, struct ask_conn *conn)
{
	conn->closing = true;
	conn->request = NULL;
	conn->next = a->closing;
	a->closing = conn;
	a->to_close++;
}

static void close_some(struct ask *a, unsigned int most)
{
	struct ask_conn *conn;

	for (; most && (conn = a->closing); most--) {
		if (conn->fd >= 0)
			close(conn->fd);
		a->closing = conn->next;
		a->to_close--;
		conn->next = a->spare_conns;
		a->spare_conns = conn;
	}
}

static uint32_t microseconds(uint64_t from, uint64_t to)
{
	return to > from ? (uint32_t)((to - from) / 1000) : 0;
}

static void finish(struct ask *a, struct ask_request *r, enum fault fault, int status,
		   const char *who)
{
	uint64_t due = a->begin + r->due;
	uint32_t connect = microseconds(due, r->connected);

	outcomes_add(a->outcomes,
		     (struct outcome){
			     .client = r->client,
			     .lag = microseconds(due, r->begun + r->unheard),
			     .connect = r->connected && !connect ? 1 : connect,
			     .total = microseconds(due, wire_now()),
			     .status = (uint16_t)status,
			     .fault = (uint8_t)fault,
		     },
		     r->due, who);
	r->done = true;
	a->open--;
}

/* The connection is of no more use: to its request, if it has one, because of this. */
static void break_off(struct ask *a, struct ask_conn *conn, enum fault fault)
{
	struct ask_request *r = conn->request;

	if (r)
		r->conn = NULL;
	if (r && !r->done)
		finish(a, r, fault, 0, NULL);
	if (conn->kind == ASK_KEPT)
		conn->client->kept = NULL;
	conn_close(a, conn);
}

/* ---- asking -----------------------------------------------------------------------------------*/

static size_t question_size(const struct ask *a, const struct ask_conn *conn)
{
	return conn->kind == ASK_HTTP ? strlen(a->page) : conn->question.question_bytes;
}

/* What is left of the question, as far as the socket takes it. */
static void put(struct ask *a, struct ask_conn *conn)
{
	static char filling[WIRE_BYTES_MAX];
	size_t size = question_size(a, conn), head = sizeof(conn->question);
	struct iovec parts[2] = {{(void *)a->page, size}, {}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};
	ssize_t n;

	if (conn->kind != ASK_HTTP) {
		parts[0] = (struct iovec){&conn->question, head};
		parts[1] = (struct iovec){filling, size - head};
		message.msg_iovlen = 2;
	}
	for (size_t i = 0, skip = conn->put; i < message.msg_iovlen; i++) {
		size_t here = skip < parts[i].iov_len ? skip : parts[i].iov_len;

		parts[i].iov_base = (char *)parts[i].iov_base + here;
		parts[i].iov_len -= here;
		skip -= here;
	}
	n = sendmsg(conn->fd, &message, MSG_NOSIGNAL);
	if (n >= 0)
		conn->put += (size_t)n;
	else if (errno != EAGAIN && errno != EINTR)
		break_off(a, conn, fault_of(errno));
}

/* So that its ports rest and not ours. */
static bool server_closes(const struct ask *a, const struct ask_conn *conn)
{
	return conn->kind == ASK_TCP && !a->client_closes;
}

static void ask(struct ask *a, struct ask_conn *conn)
{
	conn->put = 0;
	conn->answer.got = 0;
	conn->question = (struct wire){
		.magic = WIRE_MAGIC,
		.question_bytes = a->question_bytes,
		.answer_bytes = a->answer_bytes,
		.group = a->group,
		.flags = server_closes(a, conn) ? WIRE_LAST : 0,
		.id = a->ids++,
		.sent = wire_now(),
	};
	put(a, conn);
}

static int open_socket(struct ask *a, enum ask_kind kind)
{
	int type = kind == ASK_UDP ? SOCK_DGRAM : SOCK_STREAM, on = 1, error;
	int fd = socket(a->target.addr.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const struct endpoint *from = a->froms ? &a->from[a->opened++ % a->froms] : NULL;

	if (fd < 0)
		return -1;
	/* The port is chosen when the other end is known: one may serve many other ends. */
	if (from)
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if ((!from || !bind(fd, (const struct sockaddr *)&from->addr, from->len)) &&
	    (!connect(fd, (const struct sockaddr *)&a->target.addr, a->target.len) ||
	     errno == EINPROGRESS))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static struct ask_conn *new_conn(struct ask *a)
{
	struct ask_conn *conn = a->spare_conns;

	if (conn)
		a->spare_conns = conn->next;
	else
		conn = malloc(sizeof(*conn));
	return conn;
}

static void connect_for(struct ask *a, struct ask_request *r)
{
	struct ask_conn *conn = new_conn(a);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = conn};

	if (!conn) {
		finish(a, r, FAULT_OTHER, 0, NULL);
		return;
	}
	conn->client = client_of(a, r);
	conn->kind = conn->client->kind;
	conn->request = r;
	conn->connected = conn->closing = false;
	conn->fd = open_socket(a, conn->kind);
	r->conn = conn;
	if (conn->kind == ASK_KEPT)
		conn->client->kept = conn;
	if (conn->fd < 0 || epoll_ctl(a->epoll, EPOLL_CTL_ADD, conn->fd, &ev))
		break_off(a, conn, fault_of(errno));
}

/* Lets the client's next request go, if nothing is before it. */
static void go_on(struct ask *a, struct ask_client *client)
{
	struct ask_request *r;

	while ((r = client->queue) && (!client->kept || !client->kept->request)) {
		client->queue = r->queued;
		if (!client->queue)
			client->queue_end = &client->queue;
		if (!client->kept) {
			connect_for(a, r);
			continue;
		}
		r->conn = client->kept;
		r->conn->request = r;
		ask(a, r->conn);
	}
}

bool ask_begin(struct ask *a, uint32_t client, uint64_t due)
{
	struct ask_request *r = a->spare_requests;

	if (r)
		a->spare_requests = r->next;
	else
		r = malloc(sizeof(*r));
	if (!r || !outcomes_expect(a->outcomes, due)) {
		free(r);
		return false;
	}
	*r = (struct ask_request){.client = client, .due = due, .begun = wire_now()};
	*a->newest = r;
	a->newest = &r->next;
	a->open++;
	if (a->clients[client].kind == ASK_KEPT) {
		*a->clients[client].queue_end = r;
		a->clients[client].queue_end = &r->queued;
		go_on(a, &a->clients[client]);
	} else {
		connect_for(a, r);
	}
	return true;
}

/* ---- hearing ----------------------------------------------------------------------------------*/

/* The answer is whole, or as whole as it will be. True: the connection is there still. */
static bool conclude(struct ask *a, struct ask_conn *conn)
{
	struct ask_request *r = conn->request;
	struct ask_client *client = conn->client;
	enum ask_kind kind = conn->kind;
	enum fault fault;
	int status = 0;
	const char *who = NULL;

	if (kind == ASK_HTTP)
		fault = answer_http(&conn->answer, &who, &status);
	else
		fault = answer_wire(&conn->answer, &conn->question, &who);
	finish(a, r, fault, status, who);
	/* That it closes is yet to come. */
	if (server_closes(a, conn) && fault == FAULT_NONE)
		return true;
	if (kind == ASK_KEPT && fault == FAULT_NONE) {
		conn->request = NULL;
		r->conn = NULL;
	} else {
		break_off(a, conn, FAULT_NONE);
	}
	go_on(a, client);
	return kind == ASK_KEPT && client->kept == conn && fault == FAULT_NONE;
}

static void failed(struct ask *a, struct ask_conn *conn, enum fault fault)
{
	struct ask_client *client = conn->client;

	break_off(a, conn, fault);
	go_on(a, client);
}

static bool is_whole(const struct ask_conn *conn)
{
	return conn->kind == ASK_UDP ||
	       (conn->kind != ASK_HTTP && answer_is_whole(&conn->answer, &conn->question));
}

/* The other end closed, in its own time or too early. */
static void ended(struct ask *a, struct ask_conn *conn)
{
	if (conn->kind == ASK_HTTP && conn->answer.got) {
		conclude(a, conn);
		return;
	}
	failed(a, conn, conn->answer.got ? FAULT_CUT_SHORT : FAULT_CLOSED);
}

static void receive(struct ask *a, struct ask_conn *conn)
{
	static char spill[SPILL];

	for (;;) {
		struct answer *answer = &conn->answer;
		size_t room = answer->got < ANSWER_HEAD ? ANSWER_HEAD - answer->got : 0;
		struct iovec parts[2] = {{answer->head + answer->got, room}, {spill, SPILL}};
		struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
		ssize_t n;

		n = recvmsg(conn->fd, &message, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			if (n < 0)
				failed(a, conn, fault_of(errno));
			else
				ended(a, conn);
			return;
		}
		answer->got += (size_t)n;
		if (conn->request && !conn->request->done && is_whole(conn) && !conclude(a, conn))
			return;
	}
}

static void hear(struct ask *a, struct ask_conn *conn, uint32_t events)
{
	struct ask_request *r = conn->request;
	int error = 0;
	socklen_t len = sizeof(error);

	if (conn->closing)
		return;
	if (r)
		r->unheard += wire_now() - a->since;
	if (events & EPOLLERR) {
		getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		failed(a, conn, fault_of(error));
		return;
	}
	if ((events & EPOLLOUT) && !conn->connected && r) {
		conn->connected = true;
		r->connected = conn->kind == ASK_UDP ? 0 : wire_now();
		ask(a, conn);
	} else if ((events & EPOLLOUT) && r && !r->done && conn->put < question_size(a, conn)) {
		put(a, conn);
	}
	if (!conn->closing && conn->connected && (events & (EPOLLIN | EPOLLHUP)))
		receive(a, conn);
}

void ask_wait(struct ask *a, struct timespec wait)
{
	uint64_t from = wire_now(), now;
	struct epoll_event ev[ASK_TURN];
	int n;

	if (a->closing || a->overdue)
		wait = (struct timespec){};
	n = epoll_pwait2(a->epoll, ev, ASK_TURN, &wait, NULL);
	now = wire_now();
	if (now - from > FETCHED_NS)
		a->since = now;
	for (int i = 0; i < n; i++)
		hear(a, ev[i].data.ptr, ev[i].events);
	if (n < ASK_TURN) /* that was all */
		a->since = now;
	if (n < ASK_TURN || a->to_close > TO_CLOSE_MOST)
		close_some(a, CLOSE_TURN);
}

/* ---- timeouts ---------------------------------------------------------------------------------*/

static void expire(struct ask *a, struct ask_request *r)
{
	struct ask_client *client = client_of(a, r);

	if (r->conn) {
		break_off(a, r->conn, r->conn->connected ? FAULT_NO_ANSWER : FAULT_NO_CONNECTION);
	} else if (!r->done) { /* it waited behind others of its client: now it is the first */
		client->queue = r->queued;
		if (!client->queue)
			client->queue_end = &client->queue;
		finish(a, r, FAULT_NO_ANSWER, 0, NULL);
	}
	go_on(a, client);
}

void ask_expire(struct ask *a)
{
	uint64_t now = wire_now();
	struct ask_request *r;
	int met = 0;

	a->overdue = false;
	while ((r = a->oldest)) {
		if (!r->done || r->conn) {
			if (now < a->begin + r->due + a->timeout)
				return;
			a->overdue = met == ASK_TURN;
			if (a->overdue)
				return;
			expire(a, r);
			met++;
		}
		a->oldest = r->next;
		if (!a->oldest)
			a->newest = &a->oldest;
		r->next = a->spare_requests;
		a->spare_requests = r;
	}
}

/* ---- all of them ------------------------------------------------------------------------------*/

bool ask_open(struct ask *a, uint32_t clients)
{
	a->newest = &a->oldest;
	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	a->clients = calloc(clients, sizeof(*a->clients));
	if (a->epoll < 0 || !a->clients)
		return false;
	for (uint32_t c = 0; c < clients; c++)
		a->clients[c].queue_end = &a->clients[c].queue;
	return true;
}

void ask_close(struct ask *a, uint32_t clients)
{
	for (struct ask_request *r = a->oldest, *next; r; r = next) {
		next = r->next;
		if (r->conn && r->conn->kind != ASK_KEPT)
			break_off(a, r->conn, FAULT_NONE);
		free(r);
	}
	for (uint32_t c = 0; c < clients; c++)
		if (a->clients[c].kept)
			conn_close(a, a->clients[c].kept);
	close_some(a, a->to_close);
	for (struct ask_request *r = a->spare_requests, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	for (struct ask_conn *conn = a->spare_conns, *next; conn; conn = next) {
		next = conn->next;
		free(conn);
	}
	free(a->clients);
	close(a->epoll);
}
