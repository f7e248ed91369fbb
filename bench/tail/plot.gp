# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# gnuplot -e "data='FILE'; terminal='svg|png'; out='FILE'" bench/tail/plot.gp
# Bars of p99, a group for each scenario, a panel for each mode.
stats data using 2 nooutput
panels = STATS_blocks
policies = int(system("awk 'NR == 1 { print NF - 1 }' " . data))
set terminal terminal size 1100, 420 * panels font "sans,11"
set output out
set multiplot layout panels, 1
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.85 noborder
set boxwidth 0.9
set logscale y
set grid y
set ylabel "p99, ms (log)"
set key outside right top
set datafile missing "?"
do for [panel = 0:panels-1] {
	mode = system(sprintf("awk -v want=%d 'BEGIN { n = 0; first = 1 } NF == 0 { gap = 1; next } first || gap { if (n++ == want) { print $1; exit } first = 0; gap = 0 }' %s", panel, data))
	set title "latency from the time a request was due, mode " . mode
	plot for [p = 2:policies+1] data index panel using p:xtic(1) title columnheader(p)
}
unset multiplot
