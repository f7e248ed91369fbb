/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parsing and help, both from the table below. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../maps/text.h"
#include "kube/desired.h"
#include "kube/pool.h"
#include "options.h"

/* Options without a letter. */
enum {
	KUBERNETES = UCHAR_MAX + 1,
	KUBECONFIG,
	NODE_NAME,
	LB_CLASS,
	TAKE_CLASSLESS,
	NODE_PORTS,
	NO_EXTERNAL_IPS,
	CLAIM,
	ADDRESS_POOL,
	HEALTH,
};

static const struct {
	int letter;
	const char *name;
	const char *argument;
	const char *help;
} table[] = {
	{'c', "config", "FILE",
	 "applied at first and on reload (" POISE_BOOT_DIR "/poise.yaml or NAME.yaml)"},
	{'i', "instance", "NAME", "which balancer of this host (" POISE_DEFAULT_INSTANCE ")"},
	{'p', "pin", "DIR", "where its maps are pinned (" POISE_PIN_ROOT ")"},
	{'s', "state", "DIR", "where the last good state is kept (" POISED_STATE ")"},
	{'l', "log-level", "LEVEL", "error, warning, notice, info or debug (info)"},
	{'N', "notify", "COMMAND", "run with every event, without a shell"},
	{'f', "foreground", NULL, "never fork; this is how poised always runs"},
	{'n', "check-config", NULL, "read the file, say what is wrong with it, and exit"},
	{'w', "withdraw-detached", NULL,
	 "withdraw announced addresses if nothing is attached, and exit"},
	{KUBERNETES, "kubernetes", NULL, "serve the Services of a Kubernetes cluster on its node"},
	{KUBECONFIG, "kubeconfig", "FILE",
	 "where its API server is (a pod: the service account's)"},
	{NODE_NAME, "node-name", "NAME", "this node's name there ($NODE_NAME, else the host's)"},
	{LB_CLASS, "load-balancer-class", "CLASS",
	 "loadBalancerClass that is ours (" KUBE_CLASS ")"},
	{TAKE_CLASSLESS, "take-classless", NULL,
	 "Services of type LoadBalancer without a class are ours, too"},
	{NODE_PORTS, "node-ports", "ADDRESSES",
	 "where NodePorts are served, with commas, or none (the Node's)"},
	{NO_EXTERNAL_IPS, "no-external-ips", NULL, "externalIPs of Services are left alone"},
	{CLAIM, "claim", "DEVICE", "the device that their addresses are put on (none)"},
	{ADDRESS_POOL, "address-pool", "RANGES",
	 "PREFIX or FIRST-LAST, with commas: addresses for Services (none)"},
	{HEALTH, "kubernetes-health", "ADDR:PORT", "answer /livez and /readyz there (nowhere)"},
	{'h', "help", NULL, "this text"},
	{'V', "version", NULL, "print the version and exit"},
};

#define TABLE (sizeof(table) / sizeof(table[0]))

void options_help(void)
{
	char left[48], letter[8];

	printf("poised keeps a balancer of poise going: loads and replaces its program, keeps "
	       "next\n"
	       "hops, loads and rates up to date. Packets are forwarded without it, too.\n\n"
	       "usage: poised [OPTION]...\n\n");
	for (size_t k = 0; k < TABLE; k++) {
		snprintf(letter, sizeof(letter), "   ");
		if (table[k].letter <= UCHAR_MAX)
			snprintf(letter, sizeof(letter), "-%c,", table[k].letter);
		snprintf(left, sizeof(left), "%s --%s%s%s", letter, table[k].name,
			 table[k].argument ? " " : "", table[k].argument ? table[k].argument : "");
		printf("  %-31s %s\n", left, table[k].help);
	}
	printf("\nSIGHUP applies the file again. See poised(8).\n");
}

static int notify_check(const char *command, struct poise_error *err)
{
	if (strlen(command) >= POISE_NOTIFY)
		return poise_fail(err, POISE_E_USAGE, "--notify: longer than %d bytes",
				  POISE_NOTIFY - 1);
	return config_command_check(command, err) ? poise_error_about(err, "--notify") : 0;
}

static int pool_check(const char *ranges, struct poise_error *err)
{
	struct kube_pool pool;

	return kube_pool_parse(&pool, ranges, err) ? poise_error_about(err, "--address-pool") : 0;
}

static int node_ports_check(const char *text, struct poise_error *err)
{
	union poise_addr room[KUBE_ADDRS_MAX];
	struct kube_options options = {0};

	return kube_node_ports(&options, text, room, err) ? poise_error_about(err, "--node-ports")
							  : 0;
}

static int health_check(const char *where, struct poise_error *err)
{
	union poise_addr addr;
	__u16 port;

	if (poise_parse_endpoint(where, &addr, &port, err))
		return poise_error_about(err, "--kubernetes-health");
	if (port)
		return 0;
	poise_fail_text(err, POISE_E_BAD_VALUE, where, "has no port");
	return poise_error_about(err, "--kubernetes-health");
}

/* Those of --kubernetes: one of them alone would do nothing. */
static int check_together(const struct options *o, struct poise_error *err)
{
	const struct kube_settings *k = &o->kube;

	if (k->on || !(k->kubeconfig || k->node || k->lb_class || k->classless || k->node_ports ||
		       k->no_external_ips || k->claim || k->pool || k->health))
		return 0;
	poise_fail(err, POISE_E_USAGE, "options about a Kubernetes cluster without --kubernetes");
	return poise_error_remedy(err, "add --kubernetes, or leave them out");
}

static int option_take(struct options *o, int letter, const char *value, struct poise_error *err)
{
	switch (letter) {
	case 'c':
		o->config = value;
		o->config_given = true;
		break;
	case 'i': o->where.name = value; return poise_check_name(value, err);
	case 'p': o->where.root = value; break;
	case 's': o->state = value; break;
	case 'l':
		o->log_level = log_level_of(value);
		if (o->log_level < 0)
			return poise_fail(
				err, POISE_E_USAGE,
				"--log-level %s: not error, warning, notice, info or debug", value);
		break;
	case 'N': o->notify = value; return notify_check(value, err);
	case 'f': break;
	case 'n': o->what = OPTIONS_CHECK; break;
	case 'w': o->what = OPTIONS_WITHDRAW; break;
	case KUBERNETES: o->kube.on = true; break;
	case KUBECONFIG: o->kube.kubeconfig = value; break;
	case NODE_NAME: o->kube.node = value; break;
	case LB_CLASS: o->kube.lb_class = value; break;
	case TAKE_CLASSLESS: o->kube.classless = true; break;
	case NODE_PORTS: o->kube.node_ports = value; return node_ports_check(value, err);
	case NO_EXTERNAL_IPS: o->kube.no_external_ips = true; break;
	case CLAIM: o->kube.claim = value; break;
	case ADDRESS_POOL: o->kube.pool = value; return pool_check(value, err);
	case HEALTH: o->kube.health = value; return health_check(value, err);
	case 'h': o->what = OPTIONS_HELP; break;
	case 'V': o->what = OPTIONS_VERSION; break;
	}
	return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct poise_error *err)
{
	const char *state = getenv("STATE_DIRECTORY"); /* systemd's StateDirectory= */
	struct option longs[TABLE + 1] = {0};
	char shorts[2 * TABLE + 2] = ":", *at = shorts + 1;
	int letter;

	*o = (struct options){
		.state = state ? state : POISED_STATE,
		.log_level = LOG_LEVEL_INFO,
	};
	for (size_t k = 0; k < TABLE; k++) {
		longs[k].name = table[k].name;
		longs[k].has_arg = table[k].argument ? required_argument : no_argument;
		longs[k].val = table[k].letter;
		if (table[k].letter > UCHAR_MAX)
			continue;
		*at++ = (char)table[k].letter;
		if (table[k].argument)
			*at++ = ':';
	}
	*at = '\0';
	optind = 1;
	while ((letter = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (letter == ':')
			return poise_fail(err, POISE_E_USAGE, "%s needs a value", argv[optind - 1]);
		if (letter == '?')
			return poise_fail(err, POISE_E_USAGE, "unknown option %s",
					  argv[optind - 1]);
		if (option_take(o, letter, optarg, err) < 0) {
			err->code = POISE_E_USAGE;
			return -1;
		}
	}
	if (optind < argc)
		return poise_fail(err, POISE_E_USAGE, "unexpected argument %s", argv[optind]);
	if (check_together(o, err) < 0)
		return -1;
	if (!o->config_given)
		o->config = instance_boot_file(&o->where, o->config_own, sizeof(o->config_own));
	return 0;
}
