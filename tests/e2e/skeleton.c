/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The shortest way through everything: commands, maps, program, one web server, one request. */
#include <criterion/criterion.h>

#include "tests/support/site.h"

Test(skeleton, one_request_through_xdp, .timeout = TEST_LONGEST)
{
	struct site s = {.backends = 1};

	site_up(&s);
	site_attach(&s);
	lab_must(&s.lab, "lb1", "poise service add web " SITE_VIP4 ":80 forward l2");
	lab_must(&s.lab, "lb1", "poise backend add web 10.0.0.1");
	lab_until(&s.lab, "c1", LAB_SOON, "load http " SITE_VIP4 ":80 --count 1 --timeout 0.5");
	site_expect(&s, 1, 4, "up", "tcp connected");
	site_expect_shown(&s, " 1/1 ");
	/* It went through the program: the stack of the balancer does not forward. */
	cr_assert_str_eq(lab_must(&s.lab, "lb1", "sysctl -n net.ipv4.ip_forward"), "0\n");
	site_down(&s);
}
