/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * poised: the daemon of one balancer. It starts where things stand: what is pinned goes on, what is
 * attached gets the new program in one step, the file is applied only to new maps. It ends without
 * touching anything: packets are forwarded on.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../maps/clock.h"
#include "caps.h"
#include "net/announce.h"
#include "poised.h"
#include "sole.h"

/* What is freed and not given back to the kernel: configurations of 32768 backends, which are read
 * and freed many times a second while a cluster changes. To have their pages anew was a tenth of
 * poised's CPU time then. */
#define MEMORY_KEPT (32 << 20)

static int check_config(const struct options *o, struct poise_error *err)
{
	struct boot boot;
	int rc = boot_reread(&boot, o, err);

	if (rc == 0)
		rc = config_validate(boot.cfg, err);
	if (rc == 0)
		printf("%s: %zu services, nothing wrong\n", o->config, boot.cfg->services);
	boot_free(&boot);
	return rc;
}

/* Maps, program, and, if it is due, the file. */
static int start_instance(struct poised *p, struct poise_error *err)
{
	struct boot boot;
	bool created;
	int rc;

	boot_read(&boot, &p->options);
	rc = attach_load(&p->instance, &p->options.where, boot.cfg, &created, err);
	if (rc < 0)
		goto out;
	herald_open(&p->herald, p->instance, p->options.notify);
	events_object(p->instance, POISE_EVENT_STARTED, NULL, "version %s, process %d, %s",
		      POISE_VERSION, (int)getpid(),
		      created ? "maps made" : "maps taken over, program replaced");
	if (!boot_is_due(p->instance, created))
		goto out;
	/* A state that cannot be applied is told, here and in status; balancing goes on without. */
	if (boot_apply(p->instance, &boot, &p->options, err) < 0)
		log_error(LOG_LEVEL_ERROR, err);
	devices_take(&p->devices, p->instance, boot.cfg);
out:
	boot_free(&boot);
	return rc;
}

static void say_who(struct instance *i, pid_t pid)
{
	i->meta->daemon_since = pid ? clock_realtime() : 0;
	i->meta->daemon_pid = pid;
	if (!pid)
		i->meta->heartbeat = 0;
}

static void say(const struct poise_error *fault)
{
	log_error(LOG_LEVEL_ERROR, fault);
}

static int run(struct poised *p, struct poise_error *err)
{
	int rc = -1;

	announce_open();
	if (caps_drop(err) < 0)
		return -1;
	p->sole = sole_take(&p->options.where, err);
	if (p->sole < 0)
		return -1;
	if (start_instance(p, err) < 0)
		return -1;
	if (follow_open(&p->follow, p->instance, err) < 0)
		goto close;
	fold_init(&p->fold, p->instance->meta->cpus);
	p->rates = calloc(p->instance->meta->members, sizeof(p->rates[0]));
	if (!p->rates)
		abort();
	if (keeper_start(&p->keeper, &p->options, err) < 0)
		goto close;
	say_who(p->instance, getpid());
	kube_state_clear(p->instance);
	if (checker_start(&p->checker, &p->options.where, say, err) == 0) {
		if (!p->options.kube.on ||
		    kube_start(&p->kube, &p->options.where, &p->options.kube, err) == 0)
			rc = loop_run(p, err);
		kube_stop(p->kube);
		checker_stop(p->checker);
	}
	keeper_stop(&p->keeper);
	say_who(p->instance, 0);
	events_object(p->instance, POISE_EVENT_STOPPED, NULL, "packets are forwarded on");
	herald_close(&p->herald, p->follow.cfg);
	if (p->follow.cfg)
		favour_run(p->instance, p->follow.cfg, 0, false); /* it would be out of date */
close:
	free(p->rates);
	fold_free(&p->fold);
	drained_free(&p->drained);
	settle_close(&p->settle);
	follow_close(&p->follow);
	devices_free(&p->devices);
	instance_close(p->instance);
	return rc;
}

int main(int argc, char **argv)
{
	struct poise_error err = {0};
	struct poised p = {0};
	int rc;

	mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT);
	setvbuf(stdout, NULL, _IOLBF, 0);
	log_open(LOG_LEVEL_INFO);
	if (options_parse(&p.options, argc, argv, &err) < 0) {
		log_error(LOG_LEVEL_ERROR, &err);
		return poise_code_status(err.code);
	}
	log_open(p.options.log_level);
	switch (p.options.what) {
	case OPTIONS_HELP: options_help(); return 0;
	case OPTIONS_VERSION: printf("poised %s (ABI %d)\n", POISE_VERSION, POISE_ABI); return 0;
	case OPTIONS_WITHDRAW: rc = withdraw_detached(&p.options, &err); break;
	case OPTIONS_CHECK: rc = check_config(&p.options, &err); break;
	default: rc = run(&p, &err); break;
	}
	if (rc < 0) {
		log_error(LOG_LEVEL_ERROR, &err);
		return poise_code_status(err.code);
	}
	return 0;
}
