/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Privileges. CAP_BPF: maps and programs. CAP_NET_ADMIN: XDP, neighbours. CAP_PERFMON: pointer
 * arithmetic of the programs. Nothing here needs CAP_SYS_ADMIN once bpffs is mounted, for no object
 * is looked up by id.
 */
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "caps.h"

static const cap_value_t needed[] = {CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON};

#define NEEDED ((int)(sizeof(needed) / sizeof(needed[0])))

static int check_permitted(cap_t have, struct poise_error *err)
{
	for (int k = 0; k < NEEDED; k++) {
		cap_flag_value_t set = CAP_CLEAR;
		char *name;

		if (cap_get_flag(have, needed[k], CAP_PERMITTED, &set) == 0 && set == CAP_SET)
			continue;
		name = cap_to_name(needed[k]);
		poise_fail(err, POISE_E_PERMISSION,
			   "poised needs cap_bpf, cap_net_admin and cap_perfmon, and lacks %s",
			   name ? name : "one of them");
		cap_free(name);
		return poise_error_remedy(err, "start it as root or by systemctl start poised");
	}
	return 0;
}

static bool is_needed(cap_value_t cap)
{
	for (int k = 0; k < NEEDED; k++)
		if (needed[k] == cap)
			return true;
	return false;
}

/* Without CAP_SETPCAP the bounding set stays; no_new_privs then keeps it from mattering. */
static void bound(void)
{
	cap_reset_ambient();
	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (!is_needed(c))
			cap_drop_bound(c);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int caps_drop(struct poise_error *err)
{
	cap_t have = cap_get_proc(), want = cap_init();
	int rc = -1;

	if (!have || !want) {
		poise_fail_errno(err, "cannot read this process's capabilities");
		goto out;
	}
	if (check_permitted(have, err) < 0)
		goto out;
	bound();
	if (cap_set_flag(want, CAP_PERMITTED, NEEDED, needed, CAP_SET) < 0 ||
	    cap_set_flag(want, CAP_EFFECTIVE, NEEDED, needed, CAP_SET) < 0 ||
	    cap_set_proc(want) < 0) {
		poise_fail_errno(err, "cannot give up the privileges poised does not need");
		goto out;
	}
	rc = 0;
out:
	cap_free(have);
	cap_free(want);
	return rc;
}
