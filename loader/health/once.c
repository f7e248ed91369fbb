// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "once.h"

static void on_done(void *ctx, const struct probe_result *result)
{
	*(struct probe_result *)ctx = *result;
}

int probe_once(const struct instance *i, const struct probe_want *want, size_t n,
	       struct probe_result *result)
{
	struct prober *r;
	uv_loop_t loop;
	int rc = -1;

	if (uv_loop_init(&loop))
		return -1;
	r = prober_new(&loop);
	if (!r)
		goto close;
	prober_use(r, i);
	for (size_t k = 0; k < n; k++)
		probe_start(r, &want[k], on_done, &result[k]);
	uv_run(&loop, UV_RUN_DEFAULT); /* until nothing is left to wait for */
	prober_free(r);
	uv_run(&loop, UV_RUN_DEFAULT);
	rc = 0;
close:
	uv_loop_close(&loop);
	return rc;
}
