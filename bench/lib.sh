# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the benches with real clients and servers share: a lab of their own, removed when they end, a
# balancer in it, and programs in the background. Sourced from the root of the tree. Progress goes to
# stderr, results to stdout.

B=${B:-build}
# shellcheck source=bench/others.sh
. bench/others.sh
# shellcheck disable=SC2034 # used by who sources this
vip=192.0.2.10 # the virtual address of every lab
lab=bench$$
work=$(mktemp -d /tmp/poise-bench.XXXXXX)
servers=()
started="" poised_pid="" from=""
backends="1 2 3 4"
cpus=$(getconf _NPROCESSORS_ONLN) # nproc tells those that this shell may use: apart leaves some
# The generator goes before the servers, and these before whatever else wants the CPU, where the
# kernel lets them.
ask_first=(chrt -f 2) serve_first=(chrt -f 1)
"${ask_first[@]}" true 2>/dev/null || ask_first=() serve_first=()
# The last CPU is the generator's, the others take what everybody else does: a generator that waits
# for a system call of poised is late. Set by apart, for who wants to know about latency.
ask_cpu="" serve_cpus="" awake=""

say() {
	printf '%(%H:%M:%S)T  %s\n' -1 "$*" >&2
}

die() {
	say "bench: $*"
	exit 1
}

on() { # NODE CMD...
	POISE_BUILD=$PWD/$B tests/lab/lab exec --name "$lab" "$@"
}

# Not by `on`: in the background its pid must be the program's own.
start() { # NODE FILE CMD...: its output goes to the file; $started is its pid
	local node=$1 file=$2
	shift 2
	POISE_BUILD=$PWD/$B exec_lab "$node" "$@" >"$file" 2>&1 &
	started=$!
}

exec_lab() {
	[ -z "$awake" ] || exec {awake}>&-
	exec tests/lab/lab exec --name "$lab" "$@"
}

until_true() { # SECONDS CMD...
	local deadline=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

lab_up() { # OPTION...
	[ "$(id -u)" = 0 ] || die "needs root: it makes network namespaces"
	POISE_BUILD=$PWD/$B tests/lab/lab up --name "$lab" --owner $$ "$@"
}

balancer_start() {
	start lb1 "$work/poised" poised
	poised_pid=$started
	until_true 20 on lb1 poise status || die "poised does not start: $(cat "$work/poised")"
	on lb1 poise -q attach eth0 >/dev/null
}

lab_down() {
	if [ "$poised_pid" ]; then
		kill "$poised_pid" 2>/dev/null || true
		wait "$poised_pid" 2>/dev/null || true
		poised_pid=""
	fi
	tests/lab/lab down --name "$lab"
}

# ---- a client, a balancer, four servers -----------------------------------------------------------

own() { # MODE SERVER: its own address
	echo "10.0.$([ "$1" = nat ] && echo 0 || echo 1).$2"
}

mode_known() { # MODE
	on lb1 poise service add mode "$vip:1" forward "$1" >"$work/said" 2>&1 || return 1
	on lb1 poise -q service del mode --now >/dev/null
}

# Before anything is started: this shell and all that it starts leave the generator's CPU, which only
# ask_first goes back to; so does, until we end, what else runs on this machine, unless ALONE=0. With one
# CPU nothing is apart.
apart() {
	local last=$((cpus - 1))
	stay_awake
	[ "$last" -gt 0 ] || return 0
	ask_cpu=$last serve_cpus=0-$((last - 1))
	ask_first=(taskset -c "$ask_cpu" "${ask_first[@]}")
	taskset -pc "$serve_cpus" $$ >/dev/null
	[ "${ALONE:-1}" = 0 ] || others_leave
}

# A CPU that halts may, if it is a virtual one, have to wait a millisecond until its host runs it again.
# As long as this file is open with a 0 in it, CPUs with nothing to do spin; the kernel takes that back
# with the descriptor, whatever ends us.
stay_awake() {
	local latency=/dev/cpu_dma_latency
	[ ! -w $latency ] || { exec {awake}>$latency && printf '\0\0\0\0' >&"$awake"; }
}

# After the balancer is started. A ring of its cable is emptied by whichever CPU put something into it
# while it was empty, and by that until it is empty again: a generator's packet may make it carry hundreds
# of others' for milliseconds. So threads of the kernel on the other CPUs empty them.
cable_apart() {
	local before pid
	[ "$ask_cpu" ] || return 0
	before=$(ring_threads)
	ring_by_thread lb1 eth0
	ring_by_thread router lb1-eth0
	for pid in $(comm -13 <(echo "$before") <(ring_threads)); do
		taskset -pc "$serve_cpus" "$pid" >/dev/null
		[ "${#serve_first[@]}" = 0 ] || chrt -f -p 2 "$pid"
	done
}

# /sys in a node shows the machine's devices; its own are seen by a sysfs of its own.
ring_by_thread() { # NODE DEV
	# shellcheck disable=SC2016 # the node's shell expands it
	on "$1" sh -ec 'mount -t sysfs sysfs /sys; trap "umount /sys" EXIT
		echo 1 >"/sys/class/net/$1/threaded"' sh "$2" || say "$2: the kernel knows no threads for its rings"
}

ring_threads() {
	pgrep '^napi/' | sort || true
}

# The client closes first (load --client-closes). What rests for a minute after that is buried by the
# thousand every two seconds (the timer wheel's grain), in a softirq of 5 ms in which nothing else goes
# on; so few, in less than 0.2 ms.
rest_at_most=256
few_rest() {
	on c1 sysctl -qw "net.ipv4.tcp_max_tw_buckets=$rest_at_most"
}

# What nat sends from: ports enough that none is used again while its last flow rests, a minute.
groups=32 sources=$(echo 10.0.0.{101,103,104,105,106,107,108,109})

# False: this poise has no such mode; that is said. $from: addresses that c1 may ask from.
site_up() { # MODE
	local n
	lab_up --mode "$([ "$1" = nat ] && echo l2 || echo "$1")" --backends 4
	# Ports of one address are not enough for a minute of connections.
	from=""
	for n in 11 12 13 14; do
		on c1 ip address add "198.51.100.$n/24" dev eth0
		from+=${from:+,}198.51.100.$n:0
	done
	on lb1 sh -c "echo 'limits: { nat-groups: $groups }' >/etc/poise/poise.yaml"
	for n in $sources; do
		[ "$n" = 10.0.0.101 ] || on lb1 ip address add "$n/24" dev eth0
	done
	balancer_start
	cable_apart
	if ! mode_known "$1"; then
		say "mode $1 is left out: $(head -n 1 "$work/said")" 2>&1 | tee -a "$work/left-out" >&2
		lab_down
		return 1
	fi
	[ "$1" = nat ] || for n in $backends; do
		on "b$n" poise -q decap attach eth0 "$vip" >/dev/null
	done
}

site_down() {
	servers_stop
	lab_down
}

server_start() { # MODE SERVER PORT OPTION...: what it prints is in $work/bN
	local mode=$1 n=$2 port=$3
	shift 3
	start "b$n" "$work/b$n" "${serve_first[@]}" echod "b$n" "$vip:$port" "$(own "$mode" "$n"):$port" "$@"
	servers+=("$started")
}

servers_ready() {
	local n
	for n in $backends; do
		until_true 10 grep -q ready "$work/b$n" || die "echod on b$n: $(cat "$work/b$n")"
	done
}

stop_all() { # NAME of an array of process numbers, empty afterwards
	local -n pids=$1
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	pids=()
}

servers_stop() {
	stop_all servers
}

service_add() { # MODE PORT KEY VALUE...: TCP and UDP, and waits until it serves
	local mode=$1 port=$2 n addresses=()
	shift 2
	for n in $backends; do
		addresses+=("$(own "$mode" "$n")")
	done
	{
		on lb1 poise -q service add "on-$port" "$vip:$port" "$vip:$port/udp" forward "$mode" "$@"
		[ "$mode" != nat ] || on lb1 poise -q service set "on-$port" source "${sources// /,}"
		on lb1 poise -q backend add "on-$port" "${addresses[@]}"
	} >/dev/null
	until_true 20 all_up "on-$port" || die "backends do not come up: $(on lb1 poise show)"
	until_true 20 answers "$port" || die "no answer: $(on lb1 poise stats "on-$port")"
}

all_up() { # SERVICE
	on lb1 poise show "$1" --json | grep -q '"backends_up":4,'
}

answers() { # PORT
	on c1 load tcp "$vip:$1" --count 16 --timeout 0.3 --group "${group:-0}"
}

service_del() { # PORT
	on lb1 poise -q service del "on-$1" --now >/dev/null
}

# ---- what is said ---------------------------------------------------------------------------------

left_out() { # modes that this poise does not have, as a list
	[ ! -e "$work/left-out" ] || sed 's/^[^ ]* */- /' "$work/left-out"
}

machine() { # one line
	printf '%s CPUs (%s), Linux %s' "$cpus" \
		"$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)" "$(uname -r)"
}

# As SVG and PNG, if gnuplot is there.
plot() { # BENCH REPORT CSV NAME
	local to
	if ! command -v gnuplot >/dev/null; then
		say "no gnuplot, so no plot: make deps-bench installs it"
		return 0
	fi
	"$2" plot "$3" >"$work/plot"
	for to in svg png; do
		gnuplot -e "data='$work/plot'; terminal='$to'; out='$4.$to'" "bench/$1/plot.gp"
	done
}

at_end() { :; } # for who sources this, to put back what it changed

bench_leave() {
	local rc=$?
	trap - EXIT
	at_end
	servers_stop
	lab_down >/dev/null 2>&1 || true
	others_return
	rm -rf "$work"
	exit $rc
}
trap bench_leave EXIT
trap 'exit 130' INT TERM
