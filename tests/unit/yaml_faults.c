// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is said of a file that is wrong: every fault, with its place. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/parsed.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define WEB	   "services:\n  - name: web\n    forward: l2\n    listen: 192.0.2.1:80\n"
#define BACKENDS   WEB "    backends:\n"
#define NOT_YET	   "not in this version"
#define NO_ADDRESS "not an IPv4 or IPv6 address"

static const struct fault {
	const char *text;
	enum poise_code code;
	const char *error, *remedy;
} faults[] = {
	/* not YAML */
	{"a: [b\n", POISE_E_SYNTAX,
	 "not YAML: while parsing a flow sequence, did not find expected ',' or ']' (web.yaml:2)",
	 ""},
	{"services:\n\t- name: web\n", POISE_E_SYNTAX,
	 "not YAML: while scanning for the next token, found character that cannot start any token "
	 "(web.yaml:2)",
	 "indent with spaces: YAML takes no tabs"},
	{"# \xff\n", POISE_E_SYNTAX, "invalid leading UTF-8 octet (byte 0xff) (web.yaml:1)", ""},
	{"a: b\nc: \x01\n", POISE_E_SYNTAX,
	 "control characters are not allowed (byte 0x01) (web.yaml:2)", ""},
	{"hash-key: \"a\\0b\"\n", POISE_E_SYNTAX, "a text with a NUL character (web.yaml:1)", ""},
	{"services: []\n---\nservices: []\n", POISE_E_SYNTAX,
	 "a second document: one file, one document (web.yaml:2)", ""},
	{"services: *pool\n", POISE_E_SYNTAX, "no anchor &pool ends before this line (web.yaml:1)",
	 ""},
	{"services: &me [ *me ]\n", POISE_E_SYNTAX,
	 "no anchor &me ends before this line (web.yaml:1)", ""},
	{"[[[[[[[[[[[[[[[[[[", POISE_E_SYNTAX, "nested too deep (web.yaml:1)", ""},
	{"? [a]\n: b\n", POISE_E_SYNTAX, "a key must be a word (web.yaml:1)", ""},
	{"a:\n  <<: 7\n", POISE_E_SYNTAX, "<< takes a mapping or a list of mappings (web.yaml:2)",
	 ""},
	{WEB "    idle: 1h\n    policy: sh\n    idle: 2h\n", POISE_E_EXISTS,
	 "idle: the key is in line 5 already (web.yaml:7)", ""},
	/* the top */
	{"- web\n", POISE_E_BAD_VALUE, "the file: must be a mapping, not a list (web.yaml:1)", ""},
	{"hello\n", POISE_E_BAD_VALUE, "the file: must be a mapping, not a value (web.yaml:1)", ""},
	{"\nservice: []\n", POISE_E_UNKNOWN_KEY, "service: no such key of the file (web.yaml:2)",
	 "did you mean services?"},
	{"color: red\n", POISE_E_UNKNOWN_KEY, "color: no such key of the file (web.yaml:1)",
	 "its keys are hash-key, limits, interfaces, addresses, defaults and services"},
	{"services: { name: web }\n", POISE_E_BAD_VALUE,
	 "services: must be a list, not a mapping (web.yaml:1)", ""},
	/* addresses */
	{"addresses: [ { address: 192.0.2.1 } ]\n", POISE_E_BAD_VALUE,
	 "addresses: 192.0.2.1: claim is missing (web.yaml:1)",
	 "claim: lo, or the device it is to be on"},
	{"addresses: [ { claim: lo } ]\n", POISE_E_BAD_VALUE,
	 "addresses: the address is missing (web.yaml:1)", ""},
	{"addresses:\n  - { address: 192.0.2.1, claim: lo }\n  - { address: 192.0.2.1, claim: e0 "
	 "}\n",
	 POISE_E_EXISTS, "addresses: 192.0.2.1 is listed twice (web.yaml:3)", ""},
	{"addresses: [ { address: 192.0.2.1, clame: lo } ]\n", POISE_E_UNKNOWN_KEY,
	 "addresses: clame: no such address key (web.yaml:1)", "did you mean claim?"},
	{"addresses:\n  - address: 192.0.2.1\n    ping: usabel\n", POISE_E_BAD_VALUE,
	 "addresses: ping usabel: not one of: yes, no, usable (web.yaml:3)",
	 "did you mean usable?"},
	{"addresses: [ { addres: 192.0.2.1, ping: no } ]\n", POISE_E_UNKNOWN_KEY,
	 "addresses: addres: no such address key (web.yaml:1)", "did you mean address?"},
	{"addresses: [ { address: 192.0.2.1, claim: \"\" } ]\n", POISE_E_BAD_VALUE,
	 "addresses: device \"\": not a name of a device (web.yaml:1)", ""},
	{"addresses: [ { address: 224.0.0.1, claim: lo } ]\n", POISE_E_BAD_VALUE,
	 "addresses: 224.0.0.1: a multicast address (web.yaml:1)", ""},
	{"addresses: [ { address: 192.0.2.1, claim: a/b } ]\n", POISE_E_BAD_VALUE,
	 "addresses: device a/b: not a name of a device (web.yaml:1)", ""},
	{"addresses: lo\n", POISE_E_BAD_VALUE,
	 "addresses: must be a list, not a value (web.yaml:1)", ""},
	{"hash-key: 0f1e\n", POISE_E_BAD_VALUE, "hash-key: must be 32 hex digits (web.yaml:1)", ""},
	{"hash-key: 0f1e2d3c4b5a69788796a5b4c3d2e1fg\n", POISE_E_BAD_VALUE,
	 "hash-key: must be 32 hex digits (web.yaml:1)", ""},
	{"hash-key: [ 0 ]\n", POISE_E_BAD_VALUE,
	 "hash-key: must be a value, not a list (web.yaml:1)", ""},
	{"hash-key:\n", POISE_E_BAD_VALUE, "hash-key: has no value (web.yaml:1)", ""},
	/* limits, interfaces, defaults */
	{"limits:\n  services: none\n", POISE_E_BAD_VALUE,
	 "limits: services none: not a whole number (web.yaml:2)", ""},
	{"limits:\n  flowslots: 4M\n", POISE_E_UNKNOWN_KEY,
	 "limits: flowslots: no such limits key (web.yaml:2)", "did you mean flow-slots?"},
	{"limits: 7\n", POISE_E_BAD_VALUE, "limits: must be a mapping, not a value (web.yaml:1)",
	 ""},
	{"interfaces:\n  - eth0\n  - { device: eth0 }\n", POISE_E_EXISTS,
	 "interfaces: device eth0 is listed twice (web.yaml:3)", ""},
	{"interfaces: [ { mode: auto } ]\n", POISE_E_BAD_VALUE,
	 "interfaces: the device is missing (web.yaml:1)", ""},
	{"interfaces: [ { devise: eth0 } ]\n", POISE_E_UNKNOWN_KEY,
	 "interfaces: devise: no such interface key (web.yaml:1)", "did you mean device?"},
	{"interfaces: [ a/b ]\n", POISE_E_BAD_VALUE,
	 "interfaces: device a/b: not a name of a device (web.yaml:1)", ""},
	{"interfaces: [ averylongdevice1 ]\n", POISE_E_BAD_VALUE,
	 "interfaces: device averylongdevice1: not a name of a device (web.yaml:1)", ""},
	{"interfaces:\n  - { device: eth0, mode: fast }\n", POISE_E_BAD_VALUE,
	 "interfaces: mode fast: not one of: auto, native, generic, inside (web.yaml:2)", ""},
	{"defaults: { weight: 2 }\n", POISE_E_UNKNOWN_KEY,
	 "defaults: weight: no such service key (web.yaml:1)", ""},
	{"defaults:\n  idle: 5\n", POISE_E_BAD_VALUE,
	 "defaults: idle 5: a duration needs a unit (web.yaml:2)",
	 "write 5s for seconds, 5m for minutes"},
	/* services */
	{"services:\n  - listen: 192.0.2.1:80\n", POISE_E_BAD_VALUE,
	 "a service without a name (web.yaml:2)", ""},
	{"services: [ web ]\n", POISE_E_BAD_VALUE,
	 "a service: must be a mapping, not a value (web.yaml:1)", ""},
	{"services:\n  - name: [ web ]\n", POISE_E_BAD_VALUE,
	 "service: name: must be a value, not a list (web.yaml:2)", ""},
	{"services:\n  - name: all\n", POISE_E_BAD_VALUE,
	 "service all: a word commands use: no name (web.yaml:2)", ""},
	{"services:\n  - name: \"we\\nb\"\n", POISE_E_BAD_VALUE,
	 "service \"we\\x0ab\": a name is letters, digits, '.', '_' and '-', and begins with a "
	 "letter "
	 "or digit (web.yaml:2)",
	 ""},
	{WEB "  - name: web\n", POISE_E_EXISTS,
	 "service \"web\": line 2 has a service of this name already (web.yaml:5)", ""},
	{"services:\n  - name: web\n    forward: l2\n", POISE_E_BAD_VALUE,
	 "service \"web\": has no listener (web.yaml:2)", "give it at least one ADDR:PORT"},
	{WEB "    polcy: maglev\n", POISE_E_UNKNOWN_KEY,
	 "service \"web\": polcy: no such service key (web.yaml:5)", "did you mean policy?"},
	{WEB "    backend: []\n", POISE_E_UNKNOWN_KEY,
	 "service \"web\": backend: no such service key (web.yaml:5)", "did you mean backends?"},
	{BACKENDS "      - { address: 10.0.0.1, forward: nat }\n", POISE_E_CONFLICT,
	 "service \"web\": backend 10.0.0.1: forward nat beside the service's forward l2 "
	 "(web.yaml:6)",
	 "nat and local are for all backends of a service or for none"},
	{WEB "    policy:\n      - maglev\n", POISE_E_BAD_VALUE,
	 "service \"web\": policy: must be a value, not a list (web.yaml:6)", ""},
	{WEB "    policy:\n", POISE_E_BAD_VALUE,
	 "service \"web\": policy: has no value (web.yaml:5)", ""},
	{WEB "    policy: null\n", POISE_E_BAD_VALUE,
	 "service \"web\": policy: has no value (web.yaml:5)", ""},
	{WEB "    health: { type: tcp, path: /healthz }\n", POISE_E_CONFLICT,
	 "service \"web\": health: path says nothing to a check of type tcp (web.yaml:5)", ""},
	{WEB "    health: { type: none, path: /healthz }\n", POISE_E_CONFLICT,
	 "service \"web\": health: path says nothing to a check of type none (web.yaml:5)", ""},
	{WEB "    health: { path: /healthz }\n", POISE_E_BAD_VALUE,
	 "service \"web\": health without a type (web.yaml:5)", ""},
	{WEB "    health: htpp\n", POISE_E_BAD_VALUE,
	 "service \"web\": health type htpp: not one of: auto, none, tcp, http, https, udp, dns, "
	 "icmp, grpc, exec (web.yaml:5)",
	 "did you mean http?"},
	{WEB "    health: { type: http, pth: /healthz }\n", POISE_E_UNKNOWN_KEY,
	 "service \"web\": health pth: no such health key (web.yaml:5)", "did you mean path?"},
	{WEB "    health: { type: http, status: 20x }\n", POISE_E_BAD_VALUE,
	 "service \"web\": health: 20x: no list of statuses, like 200-399,404 (web.yaml:5)", ""},
	{WEB "    health: { type: http, body-regex: \"a(\" }\n", POISE_E_BAD_VALUE,
	 "service \"web\": health: body-regex a(: missing closing parenthesis (web.yaml:5)", ""},
	{WEB "    health: { type: http, body-regex: 'a)|b' }\n", POISE_E_BAD_VALUE,
	 "service \"web\": health: body-regex a)|b: unmatched closing parenthesis (web.yaml:5)",
	 ""},
	{WEB "    health: { type: http, body-regex: '(a*)\\1' }\n", POISE_E_BAD_VALUE,
	 "service \"web\": health: body-regex \"(a*)\\\\1\": it refers back, looks around or keeps "
	 "what it has, which may take for ever "
	 "(web.yaml:5)",
	 ""},
	{WEB "    health: { type: http, path: /a b }\n", POISE_E_BAD_VALUE,
	 "service \"web\": health: \"/a b\": no path: write a space as %20, # as %23 (web.yaml:5)",
	 ""},
	{WEB "    health: { type: http, host: 'www.test:8080' }\n", POISE_E_BAD_VALUE,
	 "service \"web\": health: www.test:8080: no name of a host (web.yaml:5)",
	 "write the name alone; the port is a key of its own"},
	{WEB "    health: { type: http, host: '[::1' }\n", POISE_E_BAD_VALUE,
	 "service \"web\": health: [::1: no name of a host (web.yaml:5)",
	 "write the name alone; the port is a key of its own"},
	{WEB "    health: { type: exec }\n", POISE_E_CONFLICT,
	 "service \"web\": health: a check of type exec needs command (web.yaml:5)", ""},
	{WEB "    health: { type: tcp, timeout: 3s }\n", POISE_E_CONFLICT,
	 "service \"web\": health: timeout 3s is longer than interval 2s (web.yaml:5)", ""},
	{WEB "    hash: source\n", POISE_E_UNSUPPORTED,
	 "service \"web\": hash: " NOT_YET " (web.yaml:5)", ""},
	{WEB "    passive: perhaps\n", POISE_E_BAD_VALUE,
	 "service \"web\": passive perhaps: not yes or no (web.yaml:5)", ""},
	{WEB "    eject-time: 10m\n", POISE_E_CONFLICT,
	 "service \"web\": eject-time 10m is longer than eject-time-max 5m (web.yaml:2)", ""},
	/* listeners */
	{"services:\n  - name: web\n    listen: [ 192.0.2.1 ]\n", POISE_E_BAD_VALUE,
	 "service \"web\": listener 192.0.2.1: a listener needs a port (web.yaml:3)",
	 "write 192.0.2.1:80, or 192.0.2.1:0 for every port"},
	{"services:\n  - name: web\n    listen: { a: b }\n", POISE_E_BAD_VALUE,
	 "service \"web\": listen: must be a list, not a mapping (web.yaml:3)", ""},
	{"services:\n  - name: web\n    listen:\n", POISE_E_BAD_VALUE,
	 "service \"web\": listen: has no value (web.yaml:3)", ""},
	{"services:\n  - name: web\n    listen:\n      - 192.0.2.1:80\n      - 192.0.2.1:80/tcp\n",
	 POISE_E_EXISTS,
	 "service \"web\": listener 192.0.2.1:80/tcp: service \"web\" has it in line 4 "
	 "(web.yaml:5)",
	 ""},
	{WEB "  - name: www\n    listen: [ \"192.0.2.1:80\" ]\n", POISE_E_EXISTS,
	 "service \"www\": listener 192.0.2.1:80: service \"web\" has it in line 4 (web.yaml:6)",
	 ""},
	/* backends */
	{WEB "    backends: 10.0.0.1\n", POISE_E_BAD_VALUE,
	 "service \"web\": backends: must be a list, not a value (web.yaml:5)", ""},
	{BACKENDS "      - { weight: 1 }\n", POISE_E_BAD_VALUE,
	 "service \"web\": a backend without an address (web.yaml:6)", ""},
	{BACKENDS "      - { address: 10.0.0.300 }\n", POISE_E_BAD_VALUE,
	 "service \"web\": backend 10.0.0.300: " NO_ADDRESS " (web.yaml:6)", ""},
	{BACKENDS "      - { address: [ 10.0.0.1 ] }\n", POISE_E_BAD_VALUE,
	 "service \"web\": backend: address: must be a value, not a list (web.yaml:6)", ""},
	{BACKENDS "      - [ 10.0.0.1 ]\n", POISE_E_BAD_VALUE,
	 "service \"web\": backend: address: must be a value, not a list (web.yaml:6)", ""},
	{BACKENDS "      - { address: 10.0.0.1, weigth: 1 }\n", POISE_E_UNKNOWN_KEY,
	 "service \"web\": backend 10.0.0.1: weigth: no such backend key (web.yaml:6)",
	 "did you mean weight?"},
	{BACKENDS "      - { adress: 10.0.0.1 }\n", POISE_E_UNKNOWN_KEY,
	 "service \"web\": adress: no such backend key (web.yaml:6)", "did you mean address?"},
	{"services:\n  - listen: 192.0.2.1:80\n    nam: web\n", POISE_E_UNKNOWN_KEY,
	 "nam: no such service key (web.yaml:3)", "did you mean name?"},
	{BACKENDS "      - address: 10.0.0.1\n        weight: many\n", POISE_E_BAD_VALUE,
	 "service \"web\": backend 10.0.0.1: weight many: not a whole number (web.yaml:7)", ""},
	{BACKENDS "      - { address: 10.0.0.1, port: http }\n", POISE_E_BAD_VALUE,
	 "service \"web\": port http: not a port (0..65535) (web.yaml:6)", ""},
	{BACKENDS "      - { address: 10.0.0.1:80, port: 80 }\n", POISE_E_CONFLICT,
	 "service \"web\": backend 10.0.0.1:80: has its port in the address too (web.yaml:6)", ""},
	{BACKENDS "      - address: 10.0.0.1\n        port: 8080\n", POISE_E_CONFLICT,
	 "service \"web\": backend 10.0.0.1:8080: port 8080 is not that of listener 192.0.2.1:80, "
	 "and "
	 "forward l2 changes no ports (web.yaml:6)",
	 "leave the port out: the backend gets the packet's own"},
	{BACKENDS "      - 10.0.0.1\n      - { address: 10.0.0.1 }\n", POISE_E_EXISTS,
	 "service \"web\": backend 10.0.0.1: is in line 6 already (web.yaml:7)", ""},
	{BACKENDS
	 "      - { address: 10.0.0.2, name: a }\n      - { address: 10.0.0.1, name: a }\n",
	 POISE_E_EXISTS,
	 "service \"web\": backend 10.0.0.1: backend 10.0.0.2 is named \"a\" too (web.yaml:7)", ""},
	{BACKENDS "      - { address: 10.0.0.1, health: tcp }\n", POISE_E_UNKNOWN_KEY,
	 "service \"web\": backend 10.0.0.1: health: no such backend key (web.yaml:6)",
	 "did you mean health-type?"},
};

Test(yaml_faults, every_fault_has_its_place_and_words)
{
	for (size_t i = 0; i < COUNT(faults); i++) {
		const struct fault *f = &faults[i];
		struct poise_error err = {0};

		cr_expect_null(config_parse("web.yaml", f->text, strlen(f->text), &err), "%s",
			       f->text);
		cr_expect_str_eq(said(&err), f->error);
		cr_expect_str_eq(err.remedy, f->remedy);
		cr_expect_eq(err.code, f->code, "%s: %s", f->error, poise_code_word(err.code));
	}
}

/* The secret must not come back in a message. */
Test(yaml_faults, a_wrong_hash_key_is_not_repeated)
{
	static const char text[] = "hash-key: 5ec2e7\n";
	struct poise_error err = {0};

	cr_assert_null(config_parse("web.yaml", text, strlen(text), &err));
	cr_assert_null(strstr(said(&err), "5ec2e7"));
}

Test(yaml_faults, success_leaves_the_error_alone)
{
	struct poise_error err = {0};
	struct config *cfg = config_parse("web.yaml", WEB, strlen(WEB), &err);

	cr_assert_not_null(cfg);
	poise_fail(&err, POISE_E_BUSY, "later");
	cr_expect_str_eq(said(&err), "later");
	config_free(cfg);
}

Test(yaml_faults, embedded_nul)
{
	static const char text[] = "services: []\n\0# hidden\n";
	struct poise_error err = {0};

	cr_assert_null(config_parse("web.yaml", text, sizeof(text) - 1, &err));
	cr_expect_str_eq(said(&err), "control characters are not allowed (byte 0x00) (web.yaml:2)");
}
