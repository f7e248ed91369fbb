// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "slotted.h"

/* As NATTED_YAML has it, or by default. */
#define CLOSING_SECONDS 120
#define SYN_SECONDS	30
#define UDP_SECONDS	20
#define IDLE_SECONDS	300

bool slotted_live(const struct slotted *f)
{
	return f->state == NEW || f->state == PICKUP || f->state == EST;
}

bool slotted_closed(const struct slotted *f)
{
	return f->state == REST || (f->state == FIN_ && f->fin_client && f->fin_server);
}

bool slotted_over(const struct slotted *f, bool udp, __u32 now)
{
	return udp || f->ended || (f->state == RST_ && now - f->stamp >= 2);
}

/* Once both FINs were there. */
static void ending(struct slotted *f, bool fin)
{
	if (f->fin_client && f->fin_server)
		f->ended = !fin;
}

static __u32 timeout(const struct slotted *f, bool udp)
{
	if (slotted_closed(f))
		return POISE_REST_SECONDS;
	if (f->state == FIN_)
		return CLOSING_SECONDS;
	if (f->state == RST_)
		return POISE_RST_SECONDS;
	if (udp)
		return UDP_SECONDS;
	return f->state == EST ? IDLE_SECONDS : SYN_SECONDS;
}

bool slotted_expired(const struct slotted *f, bool udp, __u32 now)
{
	return now - f->stamp > timeout(f, udp);
}

static void move(struct slotted *f, enum slotted_state s, __u32 now)
{
	f->state = s;
	f->stamp = now;
}

bool slotted_client_moves(struct slotted *f, enum natted_kind k, bool udp, __u32 now)
{
	__u32 age = now - f->stamp;

	if ((k == SYN || k == UDP) && slotted_expired(f, udp, now))
		return true;
	if (k == SYN && (f->state >= FIN_ || (f->state != NEW && age >= POISE_REUSE_SECONDS)))
		return true;
	if (f->state == RST_ && f->fin_server)
		return false;
	f->fin_client |= k == FIN;
	ending(f, k == FIN);
	if (k == FIN || (k == RST && f->state < FIN_))
		move(f, k == FIN ? FIN_ : RST_, now);
	else if (k == DATA)
		if (f->state == PICKUP && !age)
			return false;
		else
			move(f, f->state == FIN_ ? FIN_ : EST, now);
	else if (k == SYN && f->state == NEW)
		f->stamp = now;
	else if (k == UDP && (f->state == EST || age))
		move(f, EST, now);
	return false;
}

bool slotted_is_older(const struct slotted *f, enum natted_kind k)
{
	return f->state == NEW && !f->answered && (k == DATA || k == FIN);
}

void slotted_server_moves(struct slotted *f, enum natted_kind k, __u32 now)
{
	if (f->state == RST_)
		return;
	f->fin_server |= k == RST || k == FIN;
	f->answered |= f->state == NEW && k == SYN_ACK;
	ending(f, k == FIN);
	move(f, k == RST ? RST_ : k == FIN ? FIN_ : f->state, now);
}
