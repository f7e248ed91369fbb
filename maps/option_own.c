// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "option_own.h"

#include <stdio.h>
#include <string.h>

#include "pairs.h"

const struct option *option_owned(const struct option *o)
{
	return option_find(OPTION_HEALTH, o->key + strlen("health-"));
}

int option_own_set(const struct option *o, void *at, const char *text, struct poise_error *err)
{
	const struct option *owned = option_owned(o);
	struct poise_health_conf h = {0};
	char canonical[OPTION_TEXT];

	if (text && option_put(owned, &h, text, err))
		return -1;
	if (text)
		option_format(owned, &h, canonical, sizeof(canonical));
	if (pairs_put(at, POISE_CHECK_OWN, owned->key, text ? canonical : NULL))
		return 0;
	poise_fail(err, POISE_E_FULL,
		   "no room: the keys of a backend's own check, with their values, have %d bytes",
		   POISE_CHECK_OWN);
	return poise_error_remedy(err, "give it a service of its own");
}

void option_own_format(const struct option *o, const void *at, char *buf, size_t size)
{
	const char *text = pairs_find(at, POISE_CHECK_OWN, option_owned(o)->key);

	snprintf(buf, size, "%s", text ? text : o->fallback);
}

bool option_own_equal(const struct option *o, const void *a, const void *b)
{
	const char *key = option_owned(o)->key;
	const char *mine = pairs_find(a, POISE_CHECK_OWN, key);
	const char *other = pairs_find(b, POISE_CHECK_OWN, key);

	return mine && other ? !strcmp(mine, other) : mine == other;
}

bool option_own(const struct option *o, const void *obj, struct poise_health_conf *h)
{
	const struct option *owned = option_owned(o);
	const char *at = (const char *)obj + o->offset;
	const char *text = pairs_find(at, POISE_CHECK_OWN, owned->key);

	return text && !option_put(owned, h, text, NULL);
}
