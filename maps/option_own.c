// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "option_own.h"

#include <stdio.h>
#include <string.h>

#include "pairs.h"

#define PREFIX "health-"

/* Its name among the pairs. Whoever saves, compares or resets backends comes by here for each key
 * of each of them, so nothing is looked up. */
static const char *own_key(const struct option *o)
{
	return o->key + strlen(PREFIX);
}

const struct option *option_owned(const struct option *o)
{
	return option_find(OPTION_HEALTH, own_key(o));
}

static const char *own_text(const struct option *o, const void *at)
{
	return pairs_find(at, POISE_CHECK_OWN, own_key(o));
}

/* The one form in which a value is kept. */
static int canonical(const struct option *owned, const char *text, char buf[OPTION_TEXT],
		     struct poise_error *err)
{
	struct poise_health_conf h = {0};

	if (option_put(owned, &h, text, err))
		return -1;
	option_format(owned, &h, buf, OPTION_TEXT);
	return 0;
}

int option_own_set(const struct option *o, void *at, const char *text, struct poise_error *err)
{
	char kept[OPTION_TEXT];

	if (text && canonical(option_owned(o), text, kept, err))
		return -1;
	if (pairs_put(at, POISE_CHECK_OWN, own_key(o), text ? kept : NULL))
		return 0;
	poise_fail(err, POISE_E_FULL,
		   "no room: the keys of a backend's own check, with their values, have %d bytes",
		   POISE_CHECK_OWN);
	return poise_error_remedy(err, "give it a service of its own");
}

void option_own_format(const struct option *o, const void *at, char *buf, size_t size)
{
	const char *text = own_text(o, at);

	snprintf(buf, size, "%s", text ? text : o->fallback);
}

bool option_own_equal(const struct option *o, const void *a, const void *b)
{
	const char *mine = own_text(o, a), *other = own_text(o, b);

	return mine && other ? !strcmp(mine, other) : mine == other;
}

bool option_own(const struct option *o, const void *obj, struct poise_health_conf *h)
{
	const char *text = own_text(o, (const char *)obj + o->offset);

	return text && !option_put(option_owned(o), h, text, NULL);
}
