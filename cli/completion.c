// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise completion SHELL, and the hidden `poise complete -- WORD...` that the scripts call: it
 * prints what may stand in place of the last WORD, one a line, with a tab and a sentence. All that
 * is known about commands stays in this program's tables; the scripts only ask.
 */
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "transact.h"

/* Asks the shell for its own completion of file names. */
#define FILES ":files"

static const char bash_script[] =
	"# bash completion for poise\n"
	"_poise()\n"
	"{\n"
	"	local line=${COMP_LINE:0:COMP_POINT} words cur strip word\n"
	"	read -ra words <<<\"$line\"\n"
	"	[[ $line == *[[:space:]] ]] && words+=(\"\")\n"
	"	cur=${words[${#words[@]} - 1]}\n"
	"	# bash splits at : and =, and wants only what follows the last of them.\n"
	"	strip=${cur%\"${cur##*[:=]}\"}\n"
	"	COMPREPLY=()\n"
	"	while IFS=$'\\t' read -r word _; do\n"
	"		if [[ $word == " FILES " ]]; then\n"
	"			mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"		else\n"
	"			COMPREPLY+=(\"${word#\"$strip\"}\")\n"
	"		fi\n"
	"	done < <(\"${words[0]}\" complete -- \"${words[@]:1}\" 2>/dev/null)\n"
	"}\n"
	"complete -F _poise poise\n";

static const char zsh_script[] =
	"#compdef poise\n"
	"_poise()\n"
	"{\n"
	"	local -a items\n"
	"	local word help\n"
	"	while IFS=$'\\t' read -r word help; do\n"
	"		if [[ $word == " FILES " ]]; then\n"
	"			_files\n"
	"		else\n"
	"			items+=(\"${word//:/\\\\:}:$help\")\n"
	"		fi\n"
	"	done < <(\"${words[1]}\" complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
	"	_describe poise items\n"
	"}\n"
	"# Sourced, or loaded by compinit as the function of this name.\n"
	"if [[ $funcstack[1] == _poise ]]; then\n"
	"	_poise\n"
	"else\n"
	"	compdef _poise poise\n"
	"fi\n";

static const char fish_script[] =
	"# fish completion for poise\n"
	"function __poise_complete\n"
	"	set -l words (commandline -opc)\n"
	"	$words[1] complete -- $words[2..-1] (commandline -ct) 2>/dev/null\n"
	"end\n"
	"complete -c poise -f -a '(__poise_complete | string match -v " FILES ")'\n"
	"complete -c poise -n '__poise_complete | string match -q " FILES "' -F\n";

static const struct {
	const char *name, *script;
} shells[] = {
	{"bash", bash_script},
	{"zsh", zsh_script},
	{"fish", fish_script},
};

#define SHELLS (sizeof(shells) / sizeof(shells[0]))

int cmd_completion(struct cli *c)
{
	const char *names[SHELLS], *word = cli_need(c, "the shell");
	int k;

	for (size_t i = 0; i < SHELLS; i++)
		names[i] = shells[i].name;
	if (!word || cli_no_more(c))
		return -1;
	k = args_match("shell", word, names, SHELLS, c->abbreviate, &c->error);
	if (k < 0)
		return -1;
	fputs(shells[k].script, c->out);
	return CLI_OK;
}

/* ---- what may stand here ------------------------------------------------------------------*/

struct completing {
	struct cli *c;
	const char *prefix; /* what has been typed of the word */
};

static void offer(const struct completing *t, const char *word, const char *help)
{
	if (!strncmp(word, t->prefix, strlen(t->prefix)))
		fprintf(t->c->out, "%s\t%s\n", word, help);
}

/* Whether an earlier command begins with the same word. */
static bool offered(size_t i, size_t len)
{
	for (size_t k = 0; k < i; k++) {
		const char *name = cli_commands[k].name;

		if (!strncmp(name, cli_commands[i].name, len) && (name[len] == ' ' || !name[len]))
			return true;
	}
	return false;
}

/* First words of commands, or second ones behind `first`. */
static void offer_commands(const struct completing *t, const char *first)
{
	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *cmd = &cli_commands[i];
		const char *space = strchr(cmd->name, ' ');
		size_t len = space ? (size_t)(space - cmd->name) : strlen(cmd->name);
		char word[32];

		if (cmd->flags & CLI_HIDDEN)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)len, cmd->name);
		if (first && space && !strcmp(word, first))
			offer(t, space + 1, cmd->help);
		else if (!first && !offered(i, len))
			offer(t, word, space ? "" : cmd->help);
	}
}

static void offer_options(const struct completing *t, unsigned int mask)
{
	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		char text[40];

		snprintf(text, sizeof(text), "--%s", cli_options[i].name);
		if (mask & 1u << i)
			offer(t, text, cli_options[i].help);
	}
}

static void offer_keys(const struct completing *t, int scope)
{
	for (size_t i = 0; i < poise_options_count; i++) {
		if ((int)poise_options[i].scope == scope)
			offer(t, poise_options[i].key, poise_options[i].help);
	}
}

static void offer_values(const struct completing *t, const struct option *o)
{
	const struct option *what = o->type == OPTION_OWN ? option_owned(o) : o;

	for (const struct option_word *w = what->words; w && w->word; w++) {
		if (!w->alias)
			offer(t, w->word, "");
	}
	if (what->type == OPTION_BOOL) {
		offer(t, "yes", "");
		offer(t, "no", "");
	}
	if (o->fallback)
		offer(t, "default", o->fallback);
}

static void offer_services(const struct completing *t)
{
	if (cli_read(t->c))
		return;
	for (size_t i = 0; i < t->c->config->services; i++)
		offer(t, t->c->config->service[i]->conf.name, "");
}

static void offer_backends(const struct completing *t, const char *service)
{
	const struct config_service *svc;

	if (!service || cli_read(t->c))
		return;
	svc = config_service_find(t->c->config, service, NULL);
	for (size_t i = 0; svc && i < svc->members; i++) {
		const struct poise_member_conf *m = &svc->member[i].conf;
		char text[POISE_ENDPOINT_TEXT];

		offer(t, poise_format_endpoint(&m->addr, m->port, text, sizeof(text)), m->name);
		if (m->name[0])
			offer(t, m->name, text);
	}
}

static void offer_addresses(const struct completing *t)
{
	char text[POISE_ADDR_TEXT];

	if (cli_read(t->c))
		return;
	for (size_t i = 0; i < t->c->config->addresses; i++) {
		const struct poise_address_conf *a = &t->c->config->address[i].conf;

		offer(t, poise_format_addr(&a->addr, text, sizeof(text)), a->device);
	}
}

/* Addresses that services listen on and nobody has claimed. */
static void offer_unclaimed(const struct completing *t)
{
	const struct config *cfg = t->c->config;
	char text[POISE_ADDR_TEXT];

	for (size_t s = 0; cfg && s < cfg->services; s++) {
		const struct poise_service_conf *conf = &cfg->service[s]->conf;

		for (size_t l = 0; l < conf->listeners; l++)
			if (!config_address_at(cfg, &conf->listener[l].addr))
				offer(t,
				      poise_format_addr(&conf->listener[l].addr, text,
							sizeof(text)),
				      conf->name);
	}
}

static void offer_devices(const struct completing *t)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i && i->if_name; i++)
		offer(t, i->if_name, "");
	if (all)
		if_freenameindex(all);
}

static void offer_kind(const struct completing *t, const struct cli_command *cmd, char kind,
		       const struct cli_args *before)
{
	static const char *const map_names[] = {
#define MAP_NAME(name) #name,
		POISE_MAPS(MAP_NAME)};
	size_t first = before->next;

	switch (kind) {
	case 's': offer_services(t); break;
	case 'b': offer_backends(t, first < before->words ? before->word[first] : NULL); break;
	case 'd': offer_devices(t); break;
	case 'a': offer_addresses(t); break;
	case 'v':
		offer_addresses(t);
		offer_unclaimed(t);
		break;
	case 'f': fprintf(t->c->out, "%s\n", FILES); break;
	case 'k': offer_keys(t, cmd->keys); break;
	case 'm':
		for (size_t i = 0; i < sizeof(map_names) / sizeof(map_names[0]); i++)
			offer(t, map_names[i], "");
		break;
	case 'h':
		for (size_t i = 0; i < SHELLS; i++)
			offer(t, shells[i].name, "");
		break;
	case 'c': offer_commands(t, first < before->words ? before->word[first] : NULL); break;
	default: break;
	}
}

/* The last kinds of a command's `complete` stand for all words that follow: "sbk" is a service,
 * then backends and keys in any number. */
static void offer_words(const struct completing *t, const struct cli_command *cmd,
			const struct cli_args *before)
{
	const char *last = before->words > before->next ? before->word[before->words - 1] : NULL;
	const struct option *key = NULL;
	size_t at = before->words - before->next, kinds = strlen(cmd->complete);

	if (cmd->keys != CLI_NO_KEYS && last && at > 1)
		key = option_find((enum option_scope)cmd->keys, last);
	if (key) {
		offer_values(t, key);
		return;
	}
	if (!kinds)
		return;
	offer_kind(t, cmd, cmd->complete[at < kinds ? at : kinds - 1], before);
	if (at >= 2 && kinds >= 3 && at >= kinds - 1)
		offer_kind(t, cmd, cmd->complete[kinds - 2], before);
}

/* Words of the line so far, without the one being typed, which is the last. */
int cmd_complete(struct cli *c)
{
	struct completing t = {.c = c, .prefix = ""};
	struct cli_args before = {0};
	const struct cli_command *cmd = NULL;
	int n = (int)args_left(&c->args);

	if (n)
		t.prefix = c->args.word[c->args.words - 1];
	if (args_parse(&before, n ? n - 1 : 0, c->args.word + c->args.next, false, NULL))
		goto out; /* the value of an option: nothing we know */
	c->where.name = before.value[OPT_INSTANCE];
	c->where.root = before.value[OPT_PIN];
	if (before.words)
		cmd = cli_find(&before, false, NULL);
	if (t.prefix[0] == '-')
		offer_options(&t, CLI_OPTIONS_COMMON | (cmd ? cmd->options : 0));
	else if (cmd)
		offer_words(&t, cmd, &before);
	else
		offer_commands(&t, before.words ? before.word[0] : NULL);
	if (cmd && before.next == before.words && !strchr(cmd->name, ' ') && t.prefix[0] != '-')
		offer_commands(&t, cmd->name); /* `flows drop` beside `flows` */
out:
	args_free(&before);
	return CLI_OK;
}
