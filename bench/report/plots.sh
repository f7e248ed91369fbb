# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The report's pictures; without gnuplot there are none. Sourced by run, after tables.sh.
# shellcheck disable=SC2154 # results, tmp, policies

plot() { # NAME: data in $tmp/NAME; a picture, if gnuplot is there and there is something to draw
	[ -s "$tmp/$1" ] && command -v gnuplot >/dev/null || return 0
	gnuplot -e "data='$tmp/$1'; out='$results/$1.svg'" "bench/report/$1.gp" && printf '\n![](%s)\n' "$results/$1.svg"
}

choice_plot() {
	local p s t between=""
	for p in $policies; do
		printf '%s' "$between"
		between=$'\n\n'
		for s in 1 3 8 200; do
			t=$(time_of "choose/$p-$s")
			[ ! "$t" ] || echo "$p $s $t"
		done
	done >"$tmp/choose"
	grep -q . "$tmp/choose" || : >"$tmp/choose"
	plot choose
}

chain_plot() {
	[ ! -s "$results/chain.md" ] || sed -n 's/^| \([a-z][a-z0-9-]*\) | \([0-9]*\) |.*/\1 \2/p' "$results/chain.md" >"$tmp/chain"
	plot chain
}

capacity_plot() {
	local mode first
	[ -s "$results/capacity.csv" ] || return 0
	first=$(awk -F, 'NR == 2 { print $1 }' "$results/capacity.csv")
	# Blocks are separated by two empty lines: gnuplot's index.
	awk -F, 'NR > 1 && !seen[$1]++ { print $1 }' "$results/capacity.csv" | while read -r mode; do
		[ "$mode" = "$first" ] || printf '\n\n'
		awk -F, -v mode="$mode" '$1 == mode && $4 != "void" { print mode, $2, $9 / 1000, $12 / 1000 }' \
			"$results/capacity.csv" | sort -k2n
	done >"$tmp/capacity"
	plot capacity
}
