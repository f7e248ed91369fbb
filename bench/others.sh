# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What else runs on this machine, kept off a CPU while that measures latency. Priority is not enough: a
# kernel that does not preempt itself (PREEMPT_NONE) lets anybody's system call, and its own workers, go
# on for a millisecond and more before whoever is due has the CPU. Only threads that may run anywhere
# are moved; when they are sent back, so are the children they had meanwhile.

work_queues=/sys/devices/virtual/workqueue/cpumask
moved_to="" moved_before="" queues_before=""

threads_of_cpus() { # LIST: thread numbers that may run on these CPUs and no others
	{ grep -ls "^Cpus_allowed_list:[[:space:]]*$1\$" /proc/[0-9]*/task/[0-9]*/status || true; } |
		cut -d/ -f5 | sort
}

threads_move() { # LIST: those whose numbers are on stdin; some are gone, some belong to their CPU
	local id
	while read -r id; do
		taskset -pc "$1" "$id" >/dev/null 2>&1 || true
	done
}

# To the CPUs that this shell keeps to itself.
others_leave() {
	moved_to=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/$$/status)
	moved_before=$(threads_of_cpus "$moved_to")
	threads_of_cpus "$(everywhere)" | threads_move "$moved_to"
	[ -w $work_queues ] || return 0
	queues_before=$(cat $work_queues)
	sed -n 's/^Cpus_allowed:\t//p' /proc/$$/status >$work_queues 2>/dev/null || true
}

others_return() {
	[ "$moved_to" ] || return 0
	comm -13 <(echo "$moved_before") <(threads_of_cpus "$moved_to") | threads_move "$(everywhere)"
	[ -z "$queues_before" ] || echo "$queues_before" >$work_queues 2>/dev/null || true
	moved_to=""
}

everywhere() {
	cat /sys/devices/system/cpu/online
}
