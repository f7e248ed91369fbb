# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the benches with real clients and servers share: a lab of their own, removed when they end, a
# balancer in it, and programs in the background. Sourced from the root of the tree. Progress goes to
# stderr, results to stdout.

B=${B:-build}
# shellcheck disable=SC2034 # used by who sources this
vip=192.0.2.10 # the virtual address of every lab
lab=bench$$
work=$(mktemp -d /tmp/poise-bench.XXXXXX)
servers=()
started="" poised_pid=""

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

servers_stop() {
	local pid
	for pid in "${servers[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	servers=()
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

machine() { # one line
	printf '%s CPUs (%s), Linux %s' "$(nproc)" \
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

bench_leave() {
	local rc=$?
	trap - EXIT
	servers_stop
	lab_down >/dev/null 2>&1 || true
	rm -rf "$work"
	exit $rc
}
trap bench_leave EXIT
trap 'exit 130' INT TERM
