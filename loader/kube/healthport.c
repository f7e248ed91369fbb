// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The server: sockets that listen are ours, connections are libmicrohttpd's, which is polled by the
 * same epoll. Two of its daemons: for the kubelet, and for all healthCheckNodePorts together.
 */
#include "healthport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/log.h"
#include "maps/clock.h"
#include "maps/memory.h"
#include "maps/text.h"

#define PROBE_CONNECTIONS 32  /* the kubelet has two at a time */
#define PORT_CONNECTIONS  512 /* of all load balancers in front */
#define SAME_CLIENT	  64  /* ... of one address: nobody has them all */
#define SECONDS		  5   /* that a connection may take */
#define BACKLOG		  64
#define EVENTS		  32
#define TURN_MS		  10000	 /* at most, without anything to do */
#define MEMORY		  4096	 /* bytes of a request: the kubelet's are of 200 */
#define MAPPED		  0xffff /* ::ffff:0:0/96 */
#define RETRY_MS	  1000
#define REST_US		  10000

struct port {
	struct kube_health_port what; /* its texts are ours */
	int fd;			      /* -1: somebody else has the port */
	bool told;		      /* that somebody has */
};

struct kube_health {
	pthread_t thread;
	pthread_mutex_t mutex;
	struct kube_signs signs;
	struct port *port; /* by namespace and name, as they were given */
	size_t ports;
	__u64 again; /* ms: ports that somebody else has are tried */
	bool stop;
	int epoll, wake, probes; /* probes: the socket for the kubelet; -1: none */
	struct MHD_Daemon *probe_daemon, *port_daemon;
};

static __u64 now_ms(void)
{
	return clock_monotonic() / NS_PER_MS;
}

/* ---- sockets ----------------------------------------------------------------------------------*/

static socklen_t endpoint(struct sockaddr_storage *to, const union poise_addr *addr, __u16 port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port};

	*to = (struct sockaddr_storage){0};
	if (addr && poise_addr_is4(addr)) {
		four.sin_addr.s_addr = addr->w[3];
		memcpy(to, &four, sizeof(four));
		return sizeof(four);
	}
	if (addr)
		memcpy(&six.sin6_addr, addr->b, sizeof(addr->b));
	memcpy(to, &six, sizeof(six));
	return sizeof(six);
}

/* addr NULL: every address of both families. port in network order. -1 with errno. */
static int listen_on(const union poise_addr *addr, __u16 port)
{
	const union poise_addr any4 = {.w = {[2] = htonl(MAPPED)}};
	int fd, on = 1, off = 0, kept;
	struct sockaddr_storage at;
	socklen_t length = endpoint(&at, addr, port);

	fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 && !addr && errno == EAFNOSUPPORT)
		return listen_on(&any4, port);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!addr)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, (struct sockaddr *)&at, length) && !listen(fd, BACKLOG))
		return fd;
	kept = errno;
	close(fd);
	errno = kept;
	return -1;
}

static __u16 bound_port(int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t length = sizeof(at);
	struct sockaddr_in in; /* the port is at the same place in both families */

	if (getsockname(fd, (struct sockaddr *)&at, &length))
		return 0;
	memcpy(&in, &at, sizeof(in));
	return ntohs(in.sin_port);
}

static void watch(struct kube_health *h, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* The mutex is held, as in the next one. */
static void port_open(struct kube_health *h, struct port *p)
{
	p->fd = listen_on(NULL, htons(p->what.port));
	if (p->fd >= 0) {
		watch(h, p->fd);
		p->told = false;
	} else if (!p->told) {
		log_line(LOG_LEVEL_WARNING, "healthCheckNodePort %u of Service %s/%s: %s%s",
			 p->what.port, p->what.ns, p->what.name, strerror(errno),
			 errno == EADDRINUSE ? ": kube-proxy serves it, perhaps" : "");
		p->told = true;
	}
}

/* Whether there are ports that somebody else has; they are tried again after a while. */
static bool retry(struct kube_health *h)
{
	bool due = now_ms() >= h->again, lacking = false;

	for (size_t k = 0; k < h->ports; k++) {
		if (h->port[k].fd < 0 && due)
			port_open(h, &h->port[k]);
		lacking |= h->port[k].fd < 0;
	}
	if (due)
		h->again = now_ms() + RETRY_MS;
	return lacking;
}

/* ---- answers ----------------------------------------------------------------------------------*/

static enum MHD_Result reply(struct MHD_Connection *c, const struct kube_reply *r)
{
	struct MHD_Response *answer = MHD_create_response_from_buffer(
		strlen(r->body), (void *)r->body, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result rc;

	if (!answer)
		return MHD_NO;
	MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, r->type);
	MHD_add_response_header(answer, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(answer, MHD_HTTP_HEADER_CONNECTION, "close");
	rc = MHD_queue_response(c, r->status, answer);
	MHD_destroy_response(answer);
	return rc;
}

/* The mutex is held. */
static const struct kube_health_port *port_of(const struct kube_health *h, __u16 number)
{
	for (size_t k = 0; k < h->ports; k++)
		if (h->port[k].what.port == number && h->port[k].fd >= 0)
			return &h->port[k].what;
	return NULL;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **mine)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *of = MHD_get_connection_info(c, MHD_CONNECTION_INFO_DAEMON);
	struct kube_health *h = ctx;
	struct kube_reply r = {.status = MHD_HTTP_METHOD_NOT_ALLOWED, .type = "text/plain"};

	(void)version;
	(void)data;
	if (*size) { /* a body: not of what we answer */
		*size = 0;
		return MHD_YES;
	}
	if (!*mine) { /* headers alone so far; an answer now would leave the body on the way */
		*mine = h;
		return MHD_YES;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return reply(c, &r);
	pthread_mutex_lock(&h->mutex);
	if (of && of->daemon == h->probe_daemon)
		kube_health_reply_probe(&r, path, &h->signs, now_ms());
	else
		kube_health_reply_port(&r, info ? port_of(h, bound_port(info->connect_fd)) : NULL,
				       &h->signs, now_ms());
	pthread_mutex_unlock(&h->mutex);
	return reply(c, &r);
}

static struct MHD_Daemon *daemon_new(struct kube_health *h, unsigned int connections,
				     unsigned int same)
{
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, h,
		MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT, same,
		MHD_OPTION_CONNECTION_TIMEOUT, SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MEMORY, MHD_OPTION_END);

	if (d)
		watch(h, MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
	return d;
}

/* ---- the thread -------------------------------------------------------------------------------*/

/* Whatever is not accepted now makes the socket readable again. */
static void take(struct kube_health *h, int listener)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	int fd = accept4(listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) /* it closes what it does not take */
		MHD_add_connection(listener == h->probes ? h->probe_daemon : h->port_daemon, fd,
				   (struct sockaddr *)&from, length);
	else if (errno != EAGAIN && errno != ECONNABORTED)
		usleep(REST_US); /* no file is left: it stays readable until one is */
}

static int wait_ms(const struct kube_health *h, bool lacking)
{
	MHD_UNSIGNED_LONG_LONG left, least = lacking ? RETRY_MS : TURN_MS;

	if (MHD_get_timeout(h->probe_daemon, &left) == MHD_YES && left < least)
		least = left;
	if (MHD_get_timeout(h->port_daemon, &left) == MHD_YES && left < least)
		least = left;
	return (int)least;
}

static void *serve(void *ctx)
{
	struct kube_health *h = ctx;
	struct epoll_event event[EVENTS];
	bool stop = false, lacking = false;
	__u64 woken;

	while (!stop) {
		int n = epoll_wait(h->epoll, event, EVENTS, wait_ms(h, lacking));

		pthread_mutex_lock(&h->mutex);
		for (int k = 0; k < n; k++) {
			bool ours = event[k].data.fd == h->probes;

			if (event[k].data.fd == h->wake)
				(void)!read(h->wake, &woken, sizeof(woken));
			for (size_t p = 0; p < h->ports && !ours; p++)
				ours = h->port[p].fd == event[k].data.fd;
			if (ours) /* still: else it was closed since */
				take(h, event[k].data.fd);
		}
		lacking = retry(h);
		stop = h->stop;
		pthread_mutex_unlock(&h->mutex);
		MHD_run(h->probe_daemon);
		MHD_run(h->port_daemon);
	}
	return NULL;
}

/* ---- from other threads -----------------------------------------------------------------------*/

/* As many ports as Services: what is allowed is used. */
static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == files.rlim_max)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static int open_probes(struct kube_health *h, const char *address, struct poise_error *err)
{
	union poise_addr addr;
	__u16 port;

	if (poise_parse_endpoint(address, &addr, &port, err))
		return -1;
	h->probes = listen_on(&addr, port);
	if (h->probes < 0)
		return poise_fail_errno(err, "cannot listen on %s", address);
	watch(h, h->probes);
	return 0;
}

static void port_free(struct port *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->what.ns);
	free(p->what.name);
}

static void release(struct kube_health *h)
{
	for (size_t k = 0; k < h->ports; k++)
		port_free(&h->port[k]);
	free(h->port);
	if (h->probe_daemon)
		MHD_stop_daemon(h->probe_daemon);
	if (h->port_daemon)
		MHD_stop_daemon(h->port_daemon);
	if (h->probes >= 0)
		close(h->probes);
	if (h->wake >= 0)
		close(h->wake);
	if (h->epoll >= 0)
		close(h->epoll);
	free(h);
}

struct kube_health *kube_health_open(const char *address, const __u64 *loop,
				     struct poise_error *err)
{
	struct kube_health *h = memory_alloc(sizeof(*h));

	raise_files();
	h->probes = -1;
	h->signs = (struct kube_signs){.loop = loop, .thread = now_ms()};
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (h->epoll < 0 || h->wake < 0) {
		poise_fail_errno(err, "cannot wait for connections");
		goto fail;
	}
	watch(h, h->wake);
	h->probe_daemon = daemon_new(h, PROBE_CONNECTIONS, PROBE_CONNECTIONS);
	h->port_daemon = daemon_new(h, PORT_CONNECTIONS, SAME_CLIENT);
	if (!h->probe_daemon || !h->port_daemon) {
		poise_fail(err, POISE_E_SYSTEM, "libmicrohttpd cannot start");
		goto fail;
	}
	if (address && open_probes(h, address, err))
		goto fail;
	pthread_mutex_init(&h->mutex, NULL);
	errno = pthread_create(&h->thread, NULL, serve, h);
	if (!errno)
		return h;
	poise_fail_errno(err, "cannot start a thread");
fail:
	release(h);
	return NULL;
}

static void wake(struct kube_health *h)
{
	__u64 one = 1;

	(void)!write(h->wake, &one, sizeof(one));
}

void kube_health_close(struct kube_health *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->mutex);
	h->stop = true;
	pthread_mutex_unlock(&h->mutex);
	wake(h);
	pthread_join(h->thread, NULL);
	pthread_mutex_destroy(&h->mutex);
	release(h);
}

void kube_health_beat(struct kube_health *h, bool ready)
{
	pthread_mutex_lock(&h->mutex);
	h->signs.thread = now_ms();
	h->signs.ready = ready;
	pthread_mutex_unlock(&h->mutex);
}

static int port_cmp(const struct kube_health_port *a, const struct kube_health_port *b)
{
	int ns = strcmp(a->ns, b->ns);

	return ns ? ns : strcmp(a->name, b->name);
}

/* One that was served goes on, with what is new of it. */
static struct port port_of_old(struct port *was, const struct kube_health_port *is)
{
	struct port p = *was;

	*was = (struct port){.fd = -1};
	p.what.local = is->local;
	return p;
}

static struct port port_new(const struct kube_health_port *is, bool *fresh)
{
	struct port p = {.what = *is, .fd = -1};

	*fresh = true;
	p.what.ns = memory_text(is->ns);
	p.what.name = memory_text(is->name);
	return p;
}

void kube_health_ports(struct kube_health *h, const struct kube_health_port *port, size_t n)
{
	struct port *list = memory_alloc((n + 1) * sizeof(*list));
	bool fresh = false;
	size_t k = 0;

	pthread_mutex_lock(&h->mutex);
	for (size_t p = 0; p < n; p++) {
		while (k < h->ports && port_cmp(&h->port[k].what, &port[p]) < 0)
			k++;
		if (k < h->ports && !port_cmp(&h->port[k].what, &port[p]) &&
		    h->port[k].what.port == port[p].port)
			list[p] = port_of_old(&h->port[k++], &port[p]);
		else
			list[p] = port_new(&port[p], &fresh);
	}
	for (k = 0; k < h->ports; k++)
		port_free(&h->port[k]); /* before one of them is somebody else's */
	free(h->port);
	h->port = list;
	h->ports = n;
	for (size_t p = 0; p < n && fresh; p++)
		if (list[p].fd < 0 && !list[p].told)
			port_open(h, &list[p]);
	pthread_mutex_unlock(&h->mutex);
	if (fresh)
		wake(h); /* one that could not be had is to be tried again */
}

__u16 kube_health_bound(const struct kube_health *h)
{
	return bound_port(h->probes);
}
