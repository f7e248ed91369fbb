// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files as a user of the command `poise` has them: saved, compared, applied, kept for the next
 * boot; one that is refused changes nothing.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/host.h"

static struct host h;

static void up(void)
{
	host_up(&h);
}

static void down(void)
{
	host_down(&h);
}

TestSuite(cli_file, .init = up, .fini = down, .timeout = TEST_LONGEST);

Test(cli_file, save_in_a_fresh_instance_saves_the_same)
{
	char *first;

	host_web(&h);
	host_must(&h, "service add dns 192.0.2.53:53/udp '192.0.2.53:*' policy source-hash "
		      "forward ipip source 10.0.0.254 udp 30s table-size 65537");
	host_must(&h, "backend add dns 10.0.0.4 weight 0 name four");
	host_must(&h, "backend add dns 10.0.0.6 forward l2 admin disabled");
	host_must(&h, "backend drain web 10.0.0.2");
	for (int all = 0; all < 2; all++) {
		host_must(&h, "save%s", all ? " --all" : "");
		first = strdup(h.out);
		host_file(&h, "saved.yaml", first);
		host_must(&h, "reset");
		host_must(&h, "apply %s/saved.yaml", h.dir);
		host_must(&h, "save%s", all ? " --all" : "");
		cr_assert_str_eq(h.out, first);
		host_must(&h, "apply %s/saved.yaml", h.dir);
		cr_assert(strstr(h.out, "it is what was in force"), "%s", h.out);
		host_must(&h, "diff %s/saved.yaml", h.dir);
		host_must(&h, "map check");
		free(first);
	}
}

Test(cli_file, apply_and_diff_agree)
{
	host_web(&h);
	host_must(&h, "save > %s/a.yaml", h.dir);
	host_must(&h, "apply %s/a.yaml", h.dir); /* the file owns web now */
	host_must(&h, "service add handy 192.0.2.77:80 forward l2");
	host_run(&h,
		 "sed -e 's/10.0.0.3/10.0.0.4/' -e 's/policy: maglev/policy: source-hash/' "
		 "%s/a.yaml > %s/b.yaml",
		 h.dir, h.dir);
	cr_assert_eq(host_poise(&h, "diff %s/b.yaml", h.dir), 3, "%s", h.err);
	cr_assert(strstr(h.out, "+ backend web 10.0.0.4\n"), "%s", h.out);
	cr_assert(strstr(h.out, "- backend web 10.0.0.3\n"), "%s", h.out);
	cr_assert(strstr(h.out, "~ service web policy maglev -> source-hash\n"), "%s", h.out);
	cr_assert(strstr(h.out, "service handy was made by hand"), "%s", h.out);
	host_must(&h, "apply --dry-run %s/b.yaml", h.dir);
	cr_assert(strstr(h.out, "~ service web policy maglev -> source-hash\n"), "%s", h.out);
	cr_assert(strstr(h.out, "nothing was changed (--dry-run)."), "%s", h.out);
	host_must(&h, "apply --merge %s/b.yaml", h.dir);
	host_must(&h, "show web --no-header --columns backend");
	cr_assert(strstr(h.out, "10.0.0.3") && strstr(h.out, "10.0.0.4"), "%s", h.out);
	host_must(&h, "apply %s/b.yaml", h.dir);
	host_must(&h, "save");
	cr_assert(!strstr(h.out, "10.0.0.3") && strstr(h.out, "handy"), "%s", h.out);
	cr_assert_eq(host_poise(&h, "diff %s/b.yaml --json", h.dir), 3);
	cr_assert(strstr(h.out, "\"differences\":[]"), "only handy: %s", h.out);
	host_must(&h, "service del handy");
	host_must(&h, "diff %s/b.yaml", h.dir);
}

Test(cli_file, apply_attaches_the_file_s_interfaces)
{
	host_file(&h, "f.yaml", "interfaces: [ { device: e0, mode: generic } ]\nservices: []\n");
	host_must(&h, "apply %s/f.yaml", h.dir);
	cr_assert_eq(host_poise(&h, "status"), 3);
	cr_assert(strstr(h.out, "e0, generic mode"), "%s", h.out);
	host_run(&h, "ip link show dev e0");
	cr_assert(strstr(h.out, "xdpgeneric"), "%s", h.out);
	host_must(&h, "detach e0");
	host_run(&h, "ip link show dev e0");
	cr_assert_not(strstr(h.out, "xdp"), "%s", h.out);
}

Test(cli_file, the_boot_file_is_saved_compared_and_taken_by_a_new_instance)
{
	char path[64];

	snprintf(path, sizeof(path), "/etc/poise/%s.yaml", h.instance);
	host_web(&h);
	host_must(&h, "save --boot");
	cr_assert(strstr(h.out, path), "%s", h.out);
	host_run(&h, "stat -c %%a %s", path);
	cr_assert_str_eq(h.out, "600\n", "the hash-key is a secret");
	host_must(&h, "diff -q");
	cr_assert_eq(host_poise(&h, "status"), 3);
	cr_assert_not(strstr(h.out, "differs from the boot file"), "%s", h.out);
	host_must(&h, "backend del web 10.0.0.1 --now");
	cr_assert_eq(host_poise(&h, "status"), 3);
	cr_assert(strstr(h.out, "differs from the boot file"), "%s", h.out);
	host_must(&h, "reset");
	host_must(&h, "attach e0");
	host_must(&h, "show web --no-header --columns backend,state");
	cr_assert_str_eq(h.out, "   10.0.0.1  up unchecked\n   10.0.0.2  up unchecked\n"
				"   10.0.0.3  up unchecked\n");
	host_must(&h, "diff");
	host_run(&h, "rm -f %s; rmdir /etc/poise 2>/dev/null", path);
}

/* A file that cannot be committed leaves also the devices as they were. */
Test(cli_file, a_refused_file_changes_no_device)
{
	host_web(&h);
	host_run(&h,
		 "{ echo 'interfaces: [ { device: e0, mode: generic } ]'; echo services:; "
		 "for i in $(seq 4096); do echo \"- { name: s$i, forward: l2, "
		 "listen: '10.9.$((i / 256)).$((i %% 256)):80' }\"; done; } > %s/many.yaml",
		 h.dir);
	cr_assert_eq(host_poise(&h, "apply %s/many.yaml", h.dir), 1);
	cr_assert(strstr(h.err, "4097 services, and this instance has room for 4096"), "%s", h.err);
	host_must(&h, "save");
	cr_assert(strstr(h.out, "{ device: e0 }"), "%s", h.out);
	host_run(&h, "echo 'interfaces: [ { device: e0, mode: generic } ]' > %s/mode.yaml", h.dir);
	host_must(&h, "apply %s/mode.yaml --allow-empty", h.dir);
	cr_assert(strstr(h.out, "1 device attached or changed"), "%s", h.out);
	host_must(&h, "save");
	cr_assert(strstr(h.out, "{ device: e0, mode: generic }"), "%s", h.out);
}
