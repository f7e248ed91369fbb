# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What ends a ramp: the first step that was not served, once more, under a profile, and a name for what it
# met with. Sourced by bench/capacity/run, after usage.sh.
# shellcheck disable=SC2154 # work, serve_cpus, cpus, ask_cpu, think, first, first_verdict, pick, by_name

can_profile() {
	command -v perf >/dev/null && perf record -q -a -g -F 199 -o "$work/perf" true >/dev/null 2>&1
}

# Whose the samples are that were taken where servers, cables and balancer run: what the kernel does for
# packets on its own account (softirqs, threads of rings) apart from whom it interrupted; lines SHARE WHOSE.
samples() {
	perf report -i "$work/perf" --stdio --no-children -g none -t '|' ${serve_cpus:+-C "$serve_cpus"} \
		--percentage relative --sort comm,parent --parent '(handle|__do)_softirq' 2>/dev/null |
		awk -F'|' '
		/^ *[0-9.]+/ {
			gsub(/ /, "", $2)
			if ($3 ~ /softirq/ || $2 ~ /^(ksoftirqd|napi)\//) whose = "network"
			else if ($2 == "echod") whose = "servers"
			else if ($2 == "load") whose = "generator"
			else if ($2 == "poised") whose = "poised"
			else if ($2 == "swapper") whose = "idle"
			else whose = "others"
			sum[whose] += $1; all += $1
		}
		END { for (whose in sum) printf "%.1f %s\n", 100 * sum[whose] / all, whose }' | sort -rn
}

# Of the same, what programs took on a packet's way: the balancer's, and those that open tunnels.
samples_of_programs() {
	perf report -i "$work/perf" --stdio --no-children -g none -t '|' ${serve_cpus:+-C "$serve_cpus"} \
		--percentage relative --sort comm,parent,sym --parent '(handle|__do)_softirq' 2>/dev/null |
		awk -F'|' '/^ *[0-9.]+/ { all += $1 } ($2 ~ /napi\// || $3 ~ /softirq/) && $4 ~ /bpf_prog_/ { sum += $1 }
			END { printf "%.1f", all ? 100 * sum / all : 0 }'
}

# Without a profile: by the kernel's counts, which say less.
counted() {
	last_row | awk -F, -v cpus="$cpus" -v alone="$ask_cpu" "$by_name"'
	NR == 2 {
		part = alone == "" ? 1 : cpus / (cpus - 1)
		printf "%.1f servers\n%.1f poised\n%.1f network\n%.1f idle\n", of("cpu_servers") * part / 10,
			of("cpu_poised") * part / 10, of("cpu_rest") * part / 10, of("idle_others") / 10
	}' | sort -rn
}

# What a request costs, where the CPUs that it wants are used up.
share_of_balancer() {
	last_row | awk -F, -v cpus="$cpus" -v alone="$ask_cpu" -v think="$think" "$by_name"'
	NR == 2 {
		others = alone == "" ? cpus : cpus - 1
		rate = of("clients") * 1000 / think
		busy = (1000 - of("idle_others")) * others * 1000 / rate
		ours = (of("cpu_poised") + of("cpu_program")) * cpus * 1000 / rate
		printf "A request takes %.0f us of them, of which the balancer (program and poised) takes %.1f.\n",
			busy, ours
	}'
}

name_limit() { # the largest user of the CPUs that are not the generator's
	last_row | awk -F, -v most="$1" -v was="$first_verdict" "$by_name"'
	NR != 2 { next }
	{
		late = sprintf("up to %.1f ms, %d times", of("lag_max_us") / 1000, of("lag_over"))
		free = of("idle_others") / 10
	}
	of("verdict") == "void" {
		print "The limit is the generator: it was late " late "."
		next
	}
	of("verdict") == "served" {
		print "This time all were served" (was == "void" ? ", and the generator was in time" : "") \
			": what ended the ramp was an exception of this machine."
		next
	}
	free < 10 {
		printf "The limit is the CPU: servers, cables, router and balancer leave %.0f %% of what they have" \
			" to share. Most of it goes to: %s.\n", free, most
		next
	}
	of("succeeded") < of("sent") { print "Requests failed while CPUs were idle."; next }
	{ printf "The limit is latency: CPUs were idle (%.0f %%), but some client waited %.1f ms.\n", free,
		of("worst_client_p99_us") / 1000 }'
}

limit() { # MODE
	local profile="" most
	! can_profile || profile=1
	step "$1" "$first"
	printf '\n### Mode %s: what ends it at %s clients\n\n' "$1" "$first"
	if [ "$profile" ]; then samples; else counted; fi >"$work/samples"
	most=$(awk '$2 != "idle" { print $2; exit }' "$work/samples")
	name_limit "$most"
	share_of_balancer
	[ -z "$("$pick" failed <"$work/json" | tr -d '{} ')" ] || echo "Failed: $("$pick" failed <"$work/json")."
	printf '\nOf the CPUs that servers, cables, router and balancer share, by %s: ' \
		"$([ "$profile" ] && echo samples || echo "the kernel's counts")"
	awk '{ printf "%s%s %s %%", (NR > 1 ? ", " : ""), $2, $1 } END { print "." }' "$work/samples"
	[ "$profile" ] || return 0
	echo "Programs on packets' way have $(samples_of_programs) % of it."
	printf '\n```text\n'
	perf report -i "$work/perf" --stdio --no-children -g none ${serve_cpus:+-C "$serve_cpus"} \
		--sort comm,sym 2>/dev/null | sed -n 's/[[:space:]]*$//; /^ *[0-9]/p' | sed -n 1,15p
	printf '```\n'
}
