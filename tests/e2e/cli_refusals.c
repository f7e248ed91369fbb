// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What cannot be done: each with one clear message, what to do about it, the right exit status, and
 * nothing half done. Files that are wrong, tables that are full, no privileges, no bpf file system,
 * no device.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/host.h"

static struct host h;

static void up(void)
{
	host_up(&h);
	host_file(&h, "site.yaml",
		  "limits: { services: 3, backends: 8, listeners: 8, flow-slots: 4k, table-slots: "
		  "16k }\n"
		  "interfaces: [ { device: e0 } ]\n"
		  "services:\n"
		  "  - name: web\n"
		  "    listen: [ '192.0.2.10:80' ]\n"
		  "    forward: l2\n"
		  "    backends: [ { address: 10.0.0.1 }, { address: 10.0.0.2, name: two } ]\n");
	host_must(&h, "apply %s/site.yaml", h.dir);
}

static void down(void)
{
	host_down(&h);
}

TestSuite(refusals, .init = up, .fini = down, .timeout = TEST_LONGEST);

static char *saved(void)
{
	return strdup(host_must(&h, "save"));
}

/* What is in force is still the same, and so are the maps. */
static void unchanged(const char *before)
{
	cr_assert_str_eq(host_must(&h, "save"), before);
	host_must(&h, "map check");
}

/* One line with these words, a remedy on the next if there is one, and no more. */
static void said(const char *words, const char *remedy)
{
	const char *at = strstr(h.err, words), *second = strchr(h.err, '\n');
	bool one = !strncmp(h.err, "poise: ", 7) && second &&
		   (!second[1] || !strchr(second + 1, '\n')[1]);
	bool right = at && at < second && (!remedy || strstr(second, remedy));

	cr_assert(one, "one message: %s", h.err);
	cr_assert(right, "%s, %s\nin: %s", words, remedy ? remedy : "no remedy", h.err);
}

static void refused(int status, const char *words, const char *remedy, const char *before)
{
	cr_assert_eq(h.status, status, "%d: %s%s", h.status, h.out, h.err);
	cr_assert_str_empty(h.out, "%s", h.out);
	said(words, remedy);
	if (before)
		unchanged(before);
}

struct bad_file {
	const char *content;
	const char *words; /* behind the file's name where it has %s */
	const char *remedy;
};

#define HEAD "services:\n  - name: web\n    listen: [ '192.0.2.10:80' ]\n    forward: l2\n"

Test(refusals, files_that_are_wrong)
{
	static const struct bad_file bad[] = {
		{"services: [\n", "(%s:", NULL},
		{"services:\n\t- name: web\n", "(%s:2)", NULL},
		{"just a text", "(%s:1)", NULL},
		{"servces: []\n", "servces", "did you mean services"},
		{HEAD "    polcy: maglev\n", "polcy", "did you mean policy"},
		{HEAD "    policy: maglve\n", "(%s:5)", NULL},
		{HEAD "    backends: [ { adress: 10.0.0.1 } ]\n", "(%s:5)", "did you mean address"},
		{HEAD
		 "    backends:\n      - { address: 10.0.0.1 }\n      - { address: 10.0.0.300 }\n",
		 "service \"web\": backend 10.0.0.300: not an IPv4 or IPv6 address (%s:7)", NULL},
		{HEAD
		 "    backends:\n      - { address: 10.0.0.1 }\n      - { address: 10.0.0.1 }\n",
		 "(%s:7)", NULL},
		{HEAD "  - name: web\n    listen: [ '192.0.2.11:80' ]\n    forward: l2\n", "(%s:5)",
		 NULL},
		{HEAD "  - name: other\n    listen: [ '192.0.2.10:80' ]\n    forward: l2\n",
		 "192.0.2.10:80", NULL},
		{HEAD "    backends: [ { address: www.example.org } ]\n", "www.example.org", NULL},
		{HEAD "    idle: 30\n", "idle 30", NULL},
		{"services:\n  - name: web\n", "has no listener", "ADDR:PORT"},
		{"hash-key: 00000000000000000000000000000001\n" HEAD, "hash-key",
		 "leave hash-key out"},
		{"interfaces: [ { device: nope0 } ]\n" HEAD, "nope0", NULL},
		{"", "lists no service: applying it would remove 1", "--allow-empty"},
	};
	char *before = saved(), words[512];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *path = host_file(&h, "bad.yaml", bad[i].content);

		snprintf(words, sizeof(words), bad[i].words, path);
		host_poise(&h, "apply %s", path);
		refused(1, words, bad[i].remedy, before);
		host_poise(&h, "diff %s", path);
		if (!strstr(bad[i].content, "nope0")) /* that is no fault of the file */
			refused(1, words, bad[i].remedy, NULL);
	}
	host_poise(&h, "apply %s/none.yaml", h.dir);
	refused(1, "none.yaml", NULL, before);
	host_poise(&h, "batch %s/none.txt", h.dir);
	refused(1, "none.txt", NULL, before);
	host_poise(&h, "batch /");
	refused(1, "cannot read /", NULL, before);
	free(before);
}

Test(refusals, json_has_file_and_line)
{
	host_file(&h, "bad.yaml", HEAD "    backends: [ { address: 10.0.0.300 } ]\n");
	cr_assert_eq(host_poise(&h, "--json apply %s/bad.yaml", h.dir), 1);
	cr_assert(strstr(h.err, "bad.yaml\",\"line\":5"), "%s", h.err);
	cr_assert(strstr(h.err, "{\"error\":{\"code\":\"bad-value\","), "%s", h.err);
	cr_assert_str_empty(h.out);
}

Test(refusals, tables_that_are_full)
{
	char *before = saved();

	host_poise(&h, "service add a 192.0.2.11:80 forward l2 table-size 65537");
	refused(1, "table", NULL, before);
	host_poise(&h, "backend add web 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7 10.0.0.8 "
		       "10.0.0.9");
	refused(1, "8", NULL, before);
	host_poise(&h, "service listen web 192.0.2.10:{1000..1063}"); /* and the one it has */
	refused(1, "64", NULL, before);
	host_file(&h, "b.txt",
		  "service add a 192.0.2.11:80 forward l2\n"
		  "service add b 192.0.2.12:80 forward l2\n"
		  "service add c 192.0.2.13:80 forward l2\n");
	host_poise(&h, "batch %s/b.txt", h.dir);
	refused(1, "3", NULL, before);
	free(before);
}

Test(refusals, without_privileges)
{
	char *before = saved();
	static const char *const commands[] = {
		"show",	     "status", "service add a 192.0.2.11:80 forward l2",
		"attach e0", "reset",  "map check",
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		host_run(&h,
			 "p=$(command -v poise); cp $p %s/poise; chmod 755 %s %s/poise; "
			 "setpriv --reuid=65534 --regid=65534 --clear-groups %s/poise --instance "
			 "$I %s",
			 h.dir, h.dir, h.dir, h.dir, commands[i]);
		refused(1, "", "root", before);
	}
	/* root without the capabilities is no better */
	host_run(&h, "capsh --drop=all -- -c 'poise --instance n$I attach e0'");
	refused(1, "", "CAP_BPF", before);
	free(before);
}

Test(refusals, without_a_bpf_file_system)
{
	char *before = saved();

	host_run(&h, "unshare --mount bash -c 'mount --make-rprivate /; umount -l /sys/fs/bpf; "
		     "poise --instance $I show'");
	refused(1, "", "mount -t bpf", before);
	host_run(&h, "unshare --mount bash -c 'mount --make-rprivate /; umount -l /sys/fs/bpf; "
		     "poise --instance $I attach e0'");
	refused(1, "", "mount -t bpf", before);
	host_poise(&h, "show --pin /tmp");
	refused(1, "", NULL, before);
	host_run(&h, "poise show --instance ../$I");
	refused(1, "--instance", NULL, before);
	free(before);
}

Test(refusals, devices_that_cannot)
{
	char *before = saved();

	host_poise(&h, "attach nope0");
	refused(1, "nope0", "ip link", before);
	host_poise(&h, "attach a-name-longer-than-any-device");
	refused(1, "a-name-longer-than-any-device", NULL, before);
	host_poise(&h, "attach lo mode native");
	refused(1, "lo", "generic", before);
	host_poise(&h, "attach p0 mode fast");
	refused(1, "mode fast", NULL, before);
	host_poise(&h, "detach p0");
	refused(1, "p0", NULL, before);
	free(before);
}

Test(refusals, a_file_whose_second_device_cannot_leaves_the_first_alone)
{
	char *before = saved();

	host_file(&h, "f.yaml",
		  "interfaces: [ { device: p0 }, { device: lo, mode: native } ]\n"
		  "services:\n"
		  "  - name: other\n"
		  "    listen: [ '192.0.2.99:80' ]\n"
		  "    forward: l2\n");
	host_poise(&h, "apply %s/f.yaml", h.dir);
	refused(1, "lo", "generic", before);
	host_run(&h, "ip link show dev p0");
	cr_assert_not(strstr(h.out, "xdp"), "%s", h.out);
	free(before);
}

/* A new instance that cannot be what the file says is not left behind. */
Test(refusals, no_instance_is_left_behind)
{
	host_must(&h, "reset");
	host_poise(&h, "attach nope0");
	refused(1, "nope0", "ip link", NULL);
	cr_assert_neq(host_run(&h, "test -e /sys/fs/bpf/poise/$I"), 0);
	host_poise(&h, "attach lo mode native");
	refused(1, "lo", NULL, NULL);
	cr_assert_neq(host_run(&h, "test -e /sys/fs/bpf/poise/$I"), 0);
	host_file(&h, "full.yaml",
		  "limits: { table-slots: 8k, flow-slots: 4k }\nservices:\n"
		  "  - { name: a, listen: [ '192.0.2.1:80' ], forward: l2 }\n"
		  "  - { name: b, listen: [ '192.0.2.2:80' ], forward: l2, table-size: 65537, "
		  "backends: [ { address: 10.0.0.1 } ] }\n");
	host_poise(&h, "apply %s/full.yaml", h.dir);
	refused(1, "table", NULL, NULL);
	cr_assert_neq(host_run(&h, "test -e /sys/fs/bpf/poise/$I"), 0);
}

Test(refusals, a_running_daemon_is_not_reset)
{
	host_run(&h,
		 "poised --instance $I --config %s/site.yaml --state %s/state >%s/log 2>&1 & "
		 "echo $! > %s/pid; "
		 "for n in {1..600}; do poise --instance $I status | grep -q 'poised *running' && "
		 "exit 0; sleep 0.1; done; cat %s/log >&2; exit 1",
		 h.dir, h.dir, h.dir, h.dir, h.dir);
	cr_assert_eq(h.status, 0, "%s", h.err);
	host_poise(&h, "reset");
	refused(1, "poised is running", "systemctl stop poised", NULL);
	host_must(&h, "show");
	host_run(&h,
		 "kill $(cat %s/pid); while kill -0 $(cat %s/pid) 2>/dev/null; do sleep 0.05; "
		 "done",
		 h.dir, h.dir);
}
