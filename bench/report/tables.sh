# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The report's tables, out of what the benches left in $results. Sourced by run.
# shellcheck disable=SC2154 # results

part() { # FILE [WHY]: what a bench wrote, one level down; why there may be none
	if [ -s "$results/$1" ]; then
		sed 's/^###* /#&/' "$results/$1"
	else
		echo "Not measured${2:+: $2}."
	fi
}

# datapath.json as lines NAME NS RATIO FLOOR VOID.
packets() {
	[ -s "$results/datapath.json" ] || return 0
	awk -F'[:,]' '
	/"name"/ { gsub(/[" ]/, "", $2); name = $2 }
	/"ratio_median"/ { ratio = $2 } /"ns_median"/ && !/floor|over/ { ns = $2 } /"floor_ns_median"/ { floor = $2 }
	/"void"/ { print name, ns, ratio, floor, $2 }' "$results/datapath.json"
}

packet_table() {
	echo "| packet | ns | times a no-op XDP_TX |"
	echo "|---|--:|--:|"
	packets | awk '$1 !~ /^(choose|established|fading)-/ {
		if ($5 ~ /true/) printf "| `%s` | void | |\n", $1
		else printf "| `%s` | %.1f | %.2f |\n", $1, $2, $3 }'
}

# The same, judged: by the ratio that is required, and by what that left in ns where it was set.
judged_table() {
	local required
	required=$([ ! -x "$B/bench/datapath" ] || "$B/bench/datapath" -l)
	echo "| packet | ns | times a no-op XDP_TX | at most | | ns beyond the no-op | at most | |"
	echo "|---|--:|--:|--:|---|--:|--:|---|"
	{ echo "$required"; echo packets; packets; } | awk '
	function verdict(is, most) { return most == "" ? "" : is <= most ? "reached" : "**not reached**" }
	$1 == "packets" { rows = 1; next }
	!rows { ratio[$1] = $2; ns[$1] = $3; next }
	$1 ~ /^(choose|established|fading|asks)-/ { next }
	$5 ~ /true/ { printf "| `%s` | void | | | | | | |\n", $1; next }
	{
		printf "| `%s` | %.1f | %.2f | %s | %s | %.1f | %s | %s |\n", $1, $2, $3, ratio[$1],
			verdict($3, ratio[$1]), $2 - $4, ns[$1], verdict($2 - $4, ns[$1]) }'
}

count_table() {
	[ -s "$results/quick.csv" ] || { echo "Not measured."; return 0; }
	echo "| packet | instructions | helpers called | look-ups | cache lines |"
	echo "|---|--:|--:|--:|--:|"
	awk -F, '$1 ~ /^packet\// && $1 !~ /\/(choose|established|fading)-/ {
		printf "| `%s` | %s | %s | %s | %s |\n", substr($1, 8), $2, $3, $4, $5 }' "$results/quick.csv"
}

time_of() { # CASE: ns, or nothing
	[ ! -s "$results/times.csv" ] || awk -F, -v want="$1" '$1 == want { print $2 }' "$results/times.csv"
}

policies="maglev source-hash round-robin random p2c least-conn latency-aware"

# us that the lab takes from a client's SYN to the server's answer, by way of mode l2.
connect_us() {
	[ ! -s "$results/peers.csv" ] || awk -F, '$1 == "connections" && $2 == "l2" && $8 == "false" && $11 > 0 {
		print $11 }' "$results/peers.csv" | sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

# Of the lines of a straight line through the larger two sizes: what stays, and what grows.
choice_table() {
	local p s t dearest syn
	[ -s "$results/times.csv" ] || { echo "Not measured."; return 0; }
	syn=$(connect_us)
	echo "| policy | of 1 | of 8 | of 200 | fixed | per extra backend | dearest | share of SYN to SYN-ACK${syn:+ ($syn us)} |"
	echo "|---|--:|--:|--:|--:|--:|--:|--:|"
	for p in $policies; do
		dearest=0
		for s in 1 3 8 200 1-loaded 3-loaded 8-loaded 200-loaded; do
			t=$(time_of "choose/$p-$s")
			dearest=$(echo "$dearest ${t:-0}" | awk '{ print ($1 > $2 ? $1 : $2) }')
		done
		echo "$p $(time_of "choose/$p-1") $(time_of "choose/$p-8") $(time_of "choose/$p-200")" \
			"$dearest ${syn:-0}" | awk 'NF == 6 {
			each = ($4 - $3) / 192
			printf "| `%s` | %.1f | %.1f | %.1f | %.1f | %.2f | %.1f | %s |\n", $1, $2, $3, $4,
				$3 - 8 * each, each, $5, $6 ? sprintf("%.3f %%", $5 / $6 / 10) : "" }'
	done
}

# NAME UNIT SMALL-CASE SIZE LARGE-CASE SIZE: the line through two sizes, whose figures are a unit's.
fixed_row() {
	local small large
	small=$(time_of "$3") large=$(time_of "$5")
	[ "$small" ] && [ "$large" ] || return 0
	awk -v what="$1" -v unit="$2" -v a="$small" -v n="$4" -v b="$large" -v m="$6" 'BEGIN {
		each = (b * m - a * n) / (m - n)
		fixed = a * n - n * each
		printf "| %s | %s | %.3f a %s |\n", what, (fixed > 0 ? sprintf("%.1f", fixed / 1e3) : "none that shows"),
			each / 1e3, unit }'
}

each_row() { # NAME UNIT CASE: known a unit only
	local t
	t=$(time_of "$3")
	[ ! "$t" ] || awk -v what="$1" -v unit="$2" -v t="$t" 'BEGIN {
		printf "| %s | in it | %.3f a %s |\n", what, t / 1e3, unit }'
}

# What must hold of counts and times whatever the machine.
promised() {
	[ ! -s "$results/quick.csv" ] || bench/promises "$results/quick.csv" | sed 's/^/- /; s/NOT reached/**not reached**/' || true
	[ ! -s "$results/times.csv" ] || awk -F, '
	function verdict(holds) { return holds ? "reached" : "**not reached**" }
	$1 == "flow/gauge-pair" {
		printf "- a flow is counted as opened and as closed in 25 ns at most: %s (%.1f)\n", verdict($2 <= 25), $2
		if ($8 != "")
			printf "- on all CPUs at once that takes 1.2 times as long at most: %s (%.2f)\n",
				verdict($8 <= 1.2), $8
	}' "$results/times.csv"
}

cost_table() {
	[ -s "$results/times.csv" ] || { echo "Not measured."; return 0; }
	echo "| what | fixed us | us more |"
	echo "|---|--:|--:|"
	fixed_row "apply of a file" service tables/apply-1 1 tables/apply-4096 4096
	fixed_row "reading a file" service tables/yaml-in-1 1 tables/yaml-in-4096 4096
	fixed_row "writing a file" service tables/yaml-out-1 1 tables/yaml-out-4096 4096
	fixed_row "diff of a file" service tables/diff-1 1 tables/diff-4096 4096
	each_row "a round of checks by connection" probe daemon/probes-2000
	each_row "sweeping the flow table" flow flow/sweep
	each_row "folding members' counters" member daemon/fold-16384
	each_row "JSON of all services" service daemon/json-4096
}
