#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For tests/e2e/bench.c: what else runs on this machine leaves all CPUs but the first, and comes back,
# also what was begun meanwhile; what belonged to the first CPU stays there.
set -euo pipefail
. bench/others.sh

sleeper() { # CPUS: it is there, with these
	taskset -c "$1" sleep 60 &
	sleepers+=($!)
	for _ in $(seq 1000); do
		! grep -qs ^sleep "/proc/$!/comm" || return 0
		sleep 0.01
	done
	echo "no sleeper on CPUs $1"
	exit 1
}

# What a shell that keeps to the first CPU begins while others are away.
child() {
	sleep 60 &
	sleepers+=($!)
}

is() { # SLEEPER CPUS WHEN
	local cpus
	cpus=$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/${sleepers[$1]}/status")
	[ "$cpus" = "$2" ] || { echo "$3: sleeper $1 may run on $cpus, should on $2"; exit 1; }
}

sleepers=()
trap 'others_return; kill "${sleepers[@]}"' EXIT
all=$(everywhere)
queues=$(cat $work_queues)
sleeper "$all"
sleeper 0
taskset -pc 0 $$ >/dev/null
others_leave
is 0 0 away
is 1 0 away
[ ! -w $work_queues ] || [ "$(cat $work_queues)" != "$queues" ] || { echo "work queues stay"; exit 1; }
child
others_return
is 0 "$all" back
is 1 0 back
is 2 "$all" back
[ "$(cat $work_queues)" = "$queues" ] || { echo "work queues: $(cat $work_queues), were $queues"; exit 1; }
