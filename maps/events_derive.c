// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which of what a transaction has done is an event: by what was in force before it and what is in
 * force now. Told as the transaction is derived, so that whoever finishes another's tells it too.
 */
#include <stdio.h>
#include <string.h>

#include "derive.h"
#include "events.h"
#include "text.h"

static void tell_member(struct instance *i, enum poise_event_kind kind,
			const struct poise_member_conf *m, const char *words)
{
	struct poise_event e = {.kind = (__u8)kind};

	events_name_backend(i, &e, m);
	snprintf(e.words, sizeof(e.words), "%s", words);
	events_put(i, &e);
}

static void tell_admin(struct instance *i, const struct poise_member_conf *was,
		       const struct poise_member_conf *is)
{
	static const enum poise_event_kind told[] = {
		[POISE_ENABLED] = POISE_EVENT_ENABLED,
		[POISE_DRAINING] = POISE_EVENT_DRAINING,
		[POISE_DISABLED] = POISE_EVENT_DISABLED,
	};

	if (is->r.state != was->r.state)
		tell_member(i,
			    is->r.state == POISE_REC_LEAVING ? POISE_EVENT_LEAVING
							     : POISE_EVENT_ENABLED,
			    is, "");
	else if (is->admin != was->admin && is->admin <= POISE_DISABLED)
		tell_member(i, told[is->admin], is, "");
	else if (is->admin == POISE_DRAINING && is->deadline != was->deadline &&
		 is->deadline == DERIVE_ENDED)
		tell_member(i, POISE_EVENT_DRAINED, is, "its deadline has passed");
}

/* A result that came meanwhile and says the opposite is not the reason. */
static void tell_health(struct instance *i, __u16 id, const struct poise_member_conf *was,
			const struct poise_member_conf *is)
{
	bool up = is->health == POISE_HEALTH_UP, down = is->health == POISE_HEALTH_DOWN;
	struct poise_check_result r;

	if (is->health == was->health)
		return;
	if (!up && !down) {
		if (was->health == POISE_HEALTH_DOWN)
			tell_member(i, POISE_EVENT_UP, is, "it is not checked any more");
		return;
	}
	instance_check_result(i, id, &r);
	tell_member(i, up ? POISE_EVENT_UP : POISE_EVENT_DOWN, is,
		    r.at && r.good == up ? r.words : "");
}

static void tell_ejection(struct instance *i, const struct poise_member_conf *was,
			  const struct poise_member_conf *is)
{
	char why[CONFIG_EJECT_TEXT], time[POISE_WORD_TEXT], words[POISE_EVENT_WORDS];

	if (!is->ejected == !was->ejected)
		return;
	poise_format_duration(was->ejected ? was->eject_time : is->eject_time, time, sizeof(time));
	if (is->ejected)
		snprintf(words, sizeof(words), "for %s, %s", time,
			 config_eject_words(is, why, sizeof(why)));
	else
		snprintf(words, sizeof(words), "it was ejected for %s", time);
	tell_member(i, is->ejected ? POISE_EVENT_EJECTED : POISE_EVENT_READMITTED, is, words);
}

static bool same_backend(const struct poise_member_conf *a, const struct poise_member_conf *b)
{
	return a->service == b->service && a->port == b->port &&
	       !memcmp(&a->addr, &b->addr, sizeof(a->addr));
}

void events_of_member(struct instance *i, __u16 id, const struct poise_member_conf *before)
{
	struct poise_member_conf was = *before, is = *store_member(i, id);

	if (!store_is_member(&was))
		return;
	if (!store_is_member(&is)) {
		/* With its service it goes without further words. */
		if (store_service(i, was.service)->r.state == POISE_REC_USED)
			tell_member(i, POISE_EVENT_GONE, &was, "");
		return;
	}
	if (!same_backend(&was, &is))
		return;
	tell_admin(i, &was, &is);
	tell_health(i, id, &was, &is);
	tell_ejection(i, &was, &is);
}

static void tell_service(struct instance *i, __u16 id, enum poise_event_kind kind,
			 const struct poise_service_rec *was, const struct ladder *ladder)
{
	struct poise_event e = {.kind = (__u8)kind, .rung_was = was->rung};
	char buf[POISE_EVENT_WORDS];
	const char *words = ladder_says(ladder, buf, sizeof(buf));

	e.rung = (__u8)ladder_rung(ladder);
	snprintf(e.service, sizeof(e.service), "%s", store_service(i, id)->name);
	snprintf(e.words, sizeof(e.words), "%s", words);
	events_put(i, &e);
}

void events_of_service(struct instance *i, __u16 id, const struct poise_service_rec *before,
		       const struct ladder *ladder)
{
	struct poise_service_rec was = *before;
	enum poise_rank rung = ladder_rung(ladder);
	__u8 stands = ladder_standing(ladder), turned = stands ^ was.standing;

	if (!(was.flags & POISE_S_PUBLISHED))
		return;
	if (turned & POISE_STANDS_PANIC)
		tell_service(i, id,
			     stands & POISE_STANDS_PANIC ? POISE_EVENT_PANIC
							 : POISE_EVENT_PANIC_OVER,
			     &was, ladder);
	if (turned & POISE_STANDS_BELOW)
		tell_service(i, id,
			     stands & POISE_STANDS_BELOW ? POISE_EVENT_BELOW_MIN
			     : ladder_enough(ladder)	 ? POISE_EVENT_AT_MIN
							 : POISE_EVENT_NO_MIN,
			     &was, ladder);
	if (rung != was.rung)
		tell_service(i, id, rung > was.rung ? POISE_EVENT_RUNG_WORSE : POISE_EVENT_RUNG,
			     &was, ladder);
}

/* ---- addresses --------------------------------------------------------------------------------*/

static void tell_address(struct instance *i, enum poise_event_kind kind,
			 const struct poise_address_conf *a, const char *words)
{
	char text[POISE_ADDR_TEXT];

	events_object(i, kind, poise_format_addr(&a->addr, text, sizeof(text)), "%s%s%s", a->device,
		      words[0] ? ": " : "", words);
}

static bool is_claimed(const struct poise_address_conf *a)
{
	return a->r.state == POISE_REC_USED && a->device[0];
}

void events_of_address(struct instance *i, __u32 slot)
{
	const struct poise_address_conf *was = store_address_before(i, slot);
	const struct poise_address_conf *is = store_address(i, slot);
	bool same = !poise_addr_cmp(&was->addr, &is->addr);
	__u8 before = same && is_claimed(was) ? was->announced : POISE_UNJUDGED;

	if (is->r.generation <= i->meta->applied)
		return;
	if (is_claimed(was) && !(same && is_claimed(is)))
		tell_address(i, POISE_EVENT_RELEASED, was, "");
	if (!is_claimed(is))
		return;
	if (!(same && is_claimed(was) && !strcmp(was->device, is->device)))
		tell_address(i, POISE_EVENT_CLAIMED, is, "");
	if (is->announced == POISE_ANNOUNCED && before != POISE_ANNOUNCED)
		tell_address(i, POISE_EVENT_ANNOUNCED, is, "");
	else if (is->announced >= POISE_WITHDRAWN && before == POISE_ANNOUNCED)
		tell_address(i, POISE_EVENT_WITHDRAWN, is, config_address_why(is->announced));
}
