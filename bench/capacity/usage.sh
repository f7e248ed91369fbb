# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What a step used: a line of numbers before it and one after, and the line of the CSV that these come to.
# Sourced by bench/capacity/run, after bench/lib.sh.
#
# The time of a softirq is, for the kernel, that of whoever it interrupted: so servers and poised have some
# of what the cables cost, and what nobody had is told as the rest. The program's own time it counts apart
# (bench/stats). limit.sh separates them by a profile.
# shellcheck disable=SC2154 # cpus, ask_cpu, servers, poised_pid, pick, work: bench/lib.sh, run

columns="mode,clients,served,verdict,sent,succeeded,misdirected,p50_us,p99_us,p999_us"
columns+=",connect_p99_us,worst_client_p99_us,lag_max_us,lag_over"
# In thousandths: of all CPUs; then of the generator's own (if it has one), and of the others.
columns+=",cpu_generator,cpu_servers,cpu_poised,cpu_program,cpu_rest,idle_generator,idle_others"
columns+=",program_ns,poised_kb,flow_slots"

# For awk, before what reads the CSV: of("p99_us") is that column's value.
by_name='NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
function of(name) { return $(at[name]) }
'

last_row() { # with the head
	sed -n '1p; $p' "$work/csv"
}

generator_used() { # % of its CPU, in the last row
	last_row | awk -F, -v cpus="$cpus" -v alone="$ask_cpu" "$by_name"'
	NR == 2 { printf "%.0f", of("cpu_generator") * (alone == "" ? 1 : cpus) / 10 }'
}

ticks=$(getconf CLK_TCK)

cpu_of() { # PID...: ms so far
	local pid sum=0 t
	for pid; do
		t=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f12,13)
		sum=$((sum + (${t% *} + ${t#* }) * 1000 / ticks))
	done
	echo $sum
}

cpu_idle() { # ms so far: of the generator's CPU, of all others together
	awk -v own="cpu$ask_cpu" -v ms=$((1000 / ticks)) '
	/^cpu[0-9]/ { idle[$1 == own] += $5 + $6 }
	END { print idle[1] * ms, idle[0] * ms }' /proc/stat
}

program_runs() { # ns so far and packets, of the program on lb1
	local id
	id=$(on lb1 ip -details link show eth0 | sed -n 's/.*prog\/xdp id \([0-9]*\).*/\1/p')
	bpftool prog show id "$id" --json | "$pick" run_time_ns run_cnt | sed 's/-/0/g'
}

usage() { # ms by the clock, and the above: seven numbers on one line
	echo "$((${EPOCHREALTIME/[.,]/} / 1000)) $(cpu_of "${servers[@]}") $(cpu_of "$poised_pid") $(cpu_idle)" \
		"$(program_runs)"
}

# MODE CLIENTS SERVED VERDICT, eleven figures of load's (run, step), usage before and after, KiB, slots.
csv() {
	awk -v OFS=, -v cpus="$cpus" -v alone="$ask_cpu" '{
		wall = $23 > $16 ? $23 - $16 : 1
		all = wall * cpus
		others = alone == "" ? all : all - wall
		generator = $15 * 1000; servers = $24 - $17; poised = $25 - $18
		idle = $26 - $19; idle_others = $27 - $20
		ran = $28 - $21; runs = $29 - $22
		rest = all - generator - servers - poised - idle - idle_others
		print $1, $2, $3, $4, $5, $6, $7 + 0, $8, $9, $10, $11, $12, $13, $14,
			share(generator, all), share(servers, all), share(poised, all), share(ran / 1e6, all),
			share(rest > 0 ? rest : 0, all),
			alone == "" ? share(idle_others, all) : share(idle, wall), share(idle_others, others),
			runs ? int(ran / runs) : 0, $30, $31
	}
	function share(ms, of) { return sprintf("%.1f", 1000 * ms / of) }'
}
