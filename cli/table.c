// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of commands. Dispatch, help, manual and completion are generated from it: a command is
 * an entry here and a function, nothing else.
 */
#include "cli.h"

#define LOOK   .section = "Look"
#define CHANGE .section = "Change", .flags = CLI_CHANGE
#define DEVICE .section = "Change"
#define FILES  .section = "File"
#define BEHIND .section = "Backend side"
#define ALSO   .section = "Also"

#define TAKES(...) .options = (__VA_ARGS__)
#define NO_KEYS	   .keys = CLI_NO_KEYS

const struct cli_command cli_commands[] = {
	{LOOK, .name = "status", .run = cmd_status, .usage = "", .complete = "", NO_KEYS,
	 TAKES(OPT_BIT(EXACT)),
	 .help = "Program, devices, daemon, how full it is, the boot file; healthy or degraded.",
	 .about =
		 "Exit status 3 if degraded: poised does not run, nothing is attached, a service "
		 "has no backend that is up, the boot file cannot be applied, or a limit is near."},
	{LOOK, .name = "show", .run = cmd_show, .usage = "[SERVICE]", .complete = "s", NO_KEYS,
	 TAKES(OPT_BIT(WATCH) | OPT_BIT(COLUMNS) | OPT_BIT(NO_HEADER) | OPT_BIT(EXACT)),
	 .help = "Services and their backends: state, share of new flows, flows, rates.",
	 .about = "\"-\" is not known: rates need poised, and flows are counted only where every "
		  "flow is recorded (track always)."},
	{LOOK, .name = "stats", .run = cmd_stats, .usage = "[SERVICE [BACKEND]]", .complete = "sb",
	 NO_KEYS, TAKES(OPT_BIT(EXACT)),
	 .help = "Counters, and packets that were not forwarded, by reason."},
	{LOOK, .name = "flows", .run = cmd_flows,
	 .usage = "[SERVICE [BACKEND]] [state STATE] [idle DURATION] [source ADDR[:PORT]]",
	 .complete = "sb", NO_KEYS, TAKES(OPT_BIT(COUNT) | OPT_BIT(NO_HEADER)),
	 .help = "Recorded flows: their service, backend, state, and how long they were silent.",
	 .about = "STATE is new, pickup, established, closing, reset or affinity; idle shows those "
		  "silent for at least DURATION. Of modes nat and local also the client, the "
		  "address that it asks, and by which address and port its backend knows it; "
		  "source shows whom a backend means by those. With track auto a service records "
		  "only flows that its table does not answer alone; who does is said on standard "
		  "error."},
	{LOOK, .name = "flows client", .run = cmd_flows_client, .usage = "ADDR [SERVICE]",
	 .complete = "-s", NO_KEYS, TAKES(OPT_BIT(NO_HEADER)),
	 .help = "A client's recorded flows: its ports, and where each goes.",
	 .about = "Recorded flows have no addresses: every port that the client can have is tried "
		  "with every listener. One search in several thousand may show a flow that is "
		  "another client's. SERVICE can be a listener, or a port of a listener of every "
		  "port: of those, flows are searched only if they are few or the port is said."},
	{LOOK, .name = "events", .run = cmd_events, .usage = "[SERVICE] [since DURATION] [last N]",
	 .complete = "s", NO_KEYS, TAKES(OPT_BIT(FOLLOW)),
	 .help = "What changed and when: states of backends and services, next hops, addresses, "
		 "devices, commands.",
	 .about = "The last 4096 are kept with the instance, whether poised runs or not. since "
		  "shows those of the last DURATION, last the last N; with --follow these come "
		  "first, else only what is new. With --follow --json each is an object on a line "
		  "of its own. Who reads too slowly is told how many were missed."},
	{LOOK, .name = "service list", .run = cmd_service_list, .usage = "", .complete = "",
	 NO_KEYS, TAKES(OPT_BIT(NO_HEADER)),
	 .help = "Services, who owns them, and their listeners."},
	{LOOK, .name = "address list", .run = cmd_address_list, .usage = "", .complete = "",
	 NO_KEYS, TAKES(OPT_BIT(NO_HEADER)),
	 .help = "Claimed addresses, the devices they are on, who owns the claim, and their keys.",
	 .about = "Addresses that are set but not claimed are listed too, as unclaimed."},
	{LOOK, .name = "health test", .run = cmd_health_test, .usage = "SERVICE [BACKEND]",
	 .complete = "sb", NO_KEYS,
	 .help = "Checks backends once, from here and now, and says what was found.",
	 .about = "Changes nothing. Exit status 3 if a backend is not good."},
	{LOOK, .name = "map list", .run = cmd_map_list, .usage = "", .complete = "", NO_KEYS,
	 TAKES(OPT_BIT(NO_HEADER)), .help = "The instance's maps, their size and use."},
	{LOOK, .name = "map show", .run = cmd_map_show, .usage = "NAME [KEY]", .complete = "m-",
	 NO_KEYS, TAKES(OPT_BIT(RAW)),
	 .help = "Entries of a map: the one of KEY, or every one in use.",
	 .about = "table takes a service as KEY: its slots, with the backend each leads to."},
	{LOOK, .name = "map check", .run = cmd_map_check, .usage = "", .complete = "", NO_KEYS,
	 .help = "Compares every map with what the configuration asks for.",
	 .about = "Exit status 3 if there is a difference; each is printed."},

	{DEVICE, .name = "attach", .run = cmd_attach,
	 .usage = "DEV [mode auto|native|generic] [shared] [inside]", .complete = "dk",
	 .keys = OPTION_INTERFACE,
	 .help = "Balances what comes in on a device; makes the instance if there is none."},
	{DEVICE, .name = "detach", .run = cmd_detach, .usage = "DEV", .complete = "d", NO_KEYS,
	 .help = "Leaves a device: what comes in there goes to the host as before."},
	{CHANGE, .name = "service add", .run = cmd_service_add,
	 .usage = "NAME LISTENER... [KEY VALUE]...", .complete = "--k", .keys = OPTION_SERVICE,
	 .help = "Adds a service; LISTENER is ADDR:PORT[/tcp|/udp], port 0 or * is every port."},
	{CHANGE, .name = "service set", .run = cmd_service_set, .usage = "SERVICE KEY VALUE...",
	 .complete = "sk", .keys = OPTION_SERVICE,
	 .help = "Changes a service; established flows stay where they are."},
	{CHANGE, .name = "service listen", .run = cmd_service_listen,
	 .usage = "SERVICE LISTENER...", .complete = "s-", NO_KEYS,
	 .help = "Adds listeners to a service."},
	{CHANGE, .name = "service unlisten", .run = cmd_service_unlisten,
	 .usage = "SERVICE LISTENER...", .complete = "s-", NO_KEYS,
	 .help = "Takes listeners from a service."},
	{CHANGE, .name = "service rename", .run = cmd_service_rename, .usage = "SERVICE NEW",
	 .complete = "s-", NO_KEYS, .help = "Gives a service another name."},
	{CHANGE, .name = "service drain", .run = cmd_service_drain,
	 .usage = "SERVICE [deadline DURATION]", .complete = "s-", NO_KEYS, TAKES(OPT_BIT(WAIT)),
	 .help = "Drains every backend of a service."},
	{CHANGE, .name = "service del", .run = cmd_service_del, .usage = "SERVICE", .complete = "s",
	 NO_KEYS, TAKES(OPT_BIT(NOW)),
	 .help = "Deletes a service; refused while it has live flows, unless --now."},
	{CHANGE, .name = "backend add", .run = cmd_backend_add,
	 .usage = "SERVICE ADDR[:PORT]... [KEY VALUE]...", .complete = "s-k",
	 .keys = OPTION_BACKEND, .help = "Adds backends to a service, all with the same keys."},
	{CHANGE, .name = "backend set", .run = cmd_backend_set,
	 .usage = "SERVICE BACKEND... KEY VALUE...", .complete = "sbk", .keys = OPTION_BACKEND,
	 .help = "Changes backends; established flows stay where they are."},
	{CHANGE, .name = "backend drain", .run = cmd_backend_drain,
	 .usage = "SERVICE|all BACKEND... [deadline DURATION]", .complete = "sb", NO_KEYS,
	 TAKES(OPT_BIT(WAIT)),
	 .help = "No new flows for backends; those they have go on, until the deadline.",
	 .about = "The deadline is the service's drain-timeout if none is said. With --wait the "
		  "command returns when the backends are drained, or down. While nothing else of "
		  "the service is usable, draining backends go on serving."},
	{CHANGE, .name = "backend enable", .run = cmd_backend_enable,
	 .usage = "SERVICE|all BACKEND...", .complete = "sb", NO_KEYS, TAKES(OPT_BIT(WAIT)),
	 .help = "Takes drained or disabled backends back."},
	{CHANGE, .name = "backend disable", .run = cmd_backend_disable,
	 .usage = "SERVICE|all BACKEND...", .complete = "sb", NO_KEYS,
	 .help = "Stops using backends at once, also for the flows they have."},
	{CHANGE, .name = "backend del", .run = cmd_backend_del, .usage = "SERVICE BACKEND...",
	 .complete = "sb", NO_KEYS, TAKES(OPT_BIT(NOW) | OPT_BIT(WAIT)),
	 .help = "Deletes backends: no new flows at once, gone when idle; --now cuts.",
	 .about = "Until it is idle, or the service's drain-timeout has passed, a backend is shown "
		  "as "
		  "leaving."},
	{CHANGE, .name = "health set", .run = cmd_health_set,
	 .usage = "SERVICE TYPE [KEY VALUE]...", .complete = "s-k", .keys = OPTION_HEALTH,
	 .help = "Checks the backends of a service; TYPE is auto, tcp, http, https, udp, dns, "
		 "icmp, grpc or exec.",
	 .about = "Keys that are not said stay as they are, unless TYPE changes. Backends stay as "
		  "they are until the first result. poised checks: without it they stay so."},
	{CHANGE, .name = "health off", .run = cmd_health_off, .usage = "SERVICE", .complete = "s",
	 NO_KEYS, .help = "Checks the backends of a service no more; all count as up."},
	{CHANGE, .name = "address claim", .run = cmd_address_claim,
	 .usage = "ADDR lo|DEV [KEY VALUE]...", .complete = "-dk", .keys = OPTION_ADDRESS,
	 .help = "Puts an address on a device of this host, and keeps it there.",
	 .about =
		 "As /32 or /128, without duplicate address detection. On an Ethernet device it is "
		 "announced to the neighbours. On lo a router has to lead it here; it stands there "
		 "only "
		 "while a service on it can be served, for a routing daemon to announce, unless "
		 "announce says always. One that is there already stays whose it is."},
	{CHANGE, .name = "address set", .run = cmd_address_set, .usage = "ADDR KEY VALUE...",
	 .complete = "vk", .keys = OPTION_ADDRESS,
	 .help = "Changes when an address is announced, and what becomes of packets that are for "
		 "no service.",
	 .about = "ADDR is claimed, or a service listens on it and it is led here by a router. An "
		  "address "
		  "that the host itself has is answered for by the kernel, whatever is set."},
	{CHANGE, .name = "address release", .run = cmd_address_release, .usage = "ADDR",
	 .complete = "a", NO_KEYS,
	 .help = "Takes an address off its device, if it was poise that put it there.",
	 .about = "What was set for the address is forgotten."},
	{DEVICE, .name = "flows drop", .run = cmd_flows_drop,
	 .usage = "[SERVICE [BACKEND]] [state STATE] [idle DURATION] | all", .complete = "sb",
	 NO_KEYS, .help = "Forgets recorded flows; but for mode nat nobody is reset.",
	 .about = "A flow that goes on is picked up by its next packet, by the service's table, "
		  "maybe for another backend. Of mode nat it is over: its backend knows it by the "
		  "port that it loses, and both ends are refused."},
	{DEVICE, .name = "map resize", .run = cmd_map_resize, .usage = "flows N", .complete = "m-",
	 NO_KEYS, .help = "Another size of the flow table, in slots, while packets run.",
	 .about = "Flows move as their packets come, into a smaller table at once; the old one "
		  "goes once it is empty. Until then another size is possible only back to the old "
		  "one's, or if all flows find room in the smaller of the two. In a "
		  "smaller one flows that find no room go by the service's table. Limits of other "
		  "maps count when they are created."},
	{DEVICE, .name = "batch", .run = cmd_batch, .usage = "FILE|-", .complete = "f", NO_KEYS,
	 .help = "Commands from a file, one a line, as one transaction: all or nothing.",
	 .about =
		 "Every service, backend and address command that changes something can stand in a "
		 "batch, "
		 "with or without \"poise\" in front. # begins a comment; quotes keep blanks."},

	{FILES, .name = "apply", .run = cmd_apply, .usage = "FILE|-", .complete = "f", NO_KEYS,
	 TAKES(OPT_BIT(DRY_RUN) | OPT_BIT(MERGE) | OPT_BIT(ALLOW_EMPTY)),
	 .help = "Makes a file the configuration, in one transaction; touches only differences.",
	 .about = "Replaces what came from a file and touches nothing that was made by hand. Makes "
		  "the instance if there is none, and attaches to the interfaces in the file."},
	{FILES, .name = "diff", .run = cmd_diff, .usage = "[FILE]", .complete = "f", NO_KEYS,
	 .help = "What applying a file (the boot file) would change; exit status 3 if anything."},
	{FILES, .name = "save", .run = cmd_save, .usage = "", .complete = "", NO_KEYS,
	 TAKES(OPT_BIT(BOOT) | OPT_BIT(ALL) | OPT_BIT(NO_SECRETS)),
	 .help = "Prints the configuration as a file that apply turns back into it."},

	{BEHIND, .name = "decap attach", .run = cmd_decap_attach,
	 .usage = "DEV ADDR... [gue-port PORT]...", .complete = "d-", NO_KEYS,
	 .help = "Unwraps encapsulated packets for these virtual addresses, on a backend.",
	 .about = "Of mode ipip always, of mode gue at the ports that are said; 6080 is that of a "
		  "service if its gue-port says no other."},
	{BEHIND, .name = "decap detach", .run = cmd_decap_detach, .usage = "DEV", .complete = "d",
	 NO_KEYS, .help = "Stops unwrapping on a device."},
	{BEHIND, .name = "decap show", .run = cmd_decap_show, .usage = "", .complete = "", NO_KEYS,
	 TAKES(OPT_BIT(NO_HEADER)), .help = "Where packets are unwrapped, and how many were."},
	{BEHIND, .name = "decap check", .run = cmd_decap_check, .usage = "[DEV ADDR...]",
	 .complete = "d-", NO_KEYS,
	 .help = "What this host lacks to answer clients directly, and the command that mends it.",
	 .about = "Without words it checks the devices where packets are unwrapped, for their "
		  "addresses; behind l2 name the device and the service's addresses. Exit status "
		  "3 if anything is lacking."},

	{ALSO, .name = "reset", .run = cmd_reset, .usage = "", .complete = "", NO_KEYS,
	 .help = "Removes everything of an instance: services, flows, programs, maps."},
	{ALSO, .name = "help", .run = cmd_help, .usage = "[COMMAND]", .complete = "c", NO_KEYS,
	 .help = "What a command does and takes."},
	{ALSO, .name = "version", .run = cmd_version, .usage = "", .complete = "", NO_KEYS,
	 .help = "Version of poise and of its kernel interface."},
	{ALSO, .name = "completion", .run = cmd_completion, .usage = "bash|zsh|fish",
	 .complete = "h", NO_KEYS, .help = "A completion script for a shell, on standard output.",
	 .about = "For bash: poise completion bash > /etc/bash_completion.d/poise"},
	{ALSO, .name = "complete", .run = cmd_complete, .usage = "WORD...", .complete = "", NO_KEYS,
	 .flags = CLI_HIDDEN, .help = "What may stand in place of the last WORD."},
};

const size_t cli_command_count = sizeof(cli_commands) / sizeof(cli_commands[0]);
