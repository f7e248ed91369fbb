/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is not for a service reaches the host as if poise were not there. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/site.h"

#define OWN4 "10.0.0.101"
/* Not the one it asks for neighbours from: no host answers an ARP request from an address of its
 * own, and a backend has the service's. */
#define SHARED4 "10.0.0.150"
#define OWN6	"2001:db8:5::101"

TestSuite(pass, .timeout = TEST_LONGEST);

Test(pass, the_balancer_is_still_a_host)
{
	struct site s = {.backends = 1};

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);

	lab_must(&s.lab, "c1", "ping -q -c 5 -i 0.01 -W 1 " OWN4);
	lab_must(&s.lab, "c1", "ping -q -c 5 -i 0.01 -W 1 " OWN6);
	/* Larger than the link: fragments, for the stack to put together. */
	lab_must(&s.lab, "c1", "ping -q -c 5 -i 0.01 -W 1 -s 4000 " OWN4);
	lab_must(&s.lab, "c1", "ping -q -c 5 -i 0.01 -W 1 -s 4000 " OWN6);

	/* Connections to the host's own services, such as ssh. */
	lab_serve(&s.lab, "lb1", "serve host " OWN4 ":22 [" OWN6 "]:22");
	lab_must(&s.lab, "c1", "bulk " OWN4 ":22 1000000");
	lab_must(&s.lab, "c1", "bulk [" OWN6 "]:22 1000000");
	lab_must(&s.lab, "c1", "load udp " OWN4 ":22 --count 100");

	/* ARP and neighbour discovery, asked anew. */
	lab_must(&s.lab, "router", "ip neigh flush to " OWN4 " && ip neigh flush to " OWN6);
	lab_must(&s.lab, "c1", "ping -q -c 1 -W 1 " OWN4);
	lab_must(&s.lab, "c1", "ping -q -c 1 -W 1 " OWN6);
	lab_must(&s.lab, "router", "ip neigh show to " OWN4 " | grep -q 02:00:0a:00:00:65");

	/* And the other way: what the host itself begins. */
	lab_must(&s.lab, "lb1", "ping -q -c 3 -i 0.01 -W 1 198.51.100.1");
	lab_serve(&s.lab, "c1", "serve away 198.51.100.1:7000");
	lab_must(&s.lab, "lb1", "bulk 198.51.100.1:7000 1000000");
	site_down(&s);
}

Test(pass, other_ports_of_a_host_address_that_has_a_service)
{
	struct site s = {.backends = 1};

	site_up(&s);
	site_attach(&s);
	lab_must(&s.lab, "lb1", "ip address add " SHARED4 "/24 dev eth0");
	lab_must(&s.lab, "b1", "ip address add " SHARED4 "/32 dev lo");
	lab_must(&s.lab, "lb1", "poise service add web " SHARED4 ":80 forward l2");
	lab_must(&s.lab, "lb1", "poise backend add web 10.0.0.1");
	lab_until(&s.lab, "c1", LAB_SOON, "load http " SHARED4 ":80 --count 10 --timeout 0.5");
	cr_assert(strstr(lab_must(&s.lab, "c1", "load http " SHARED4 ":80 --count 10"), "b1"));

	lab_serve(&s.lab, "lb1", "serve host " SHARED4 ":22");
	cr_assert(strstr(lab_must(&s.lab, "c1", "bulk " SHARED4 ":22 100000"), "host"));
	lab_must(&s.lab, "c1", "ping -q -c 3 -i 0.01 -W 1 " SHARED4);
	site_down(&s);
}
