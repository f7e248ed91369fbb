# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# gnuplot -e "data='FILE'; out='FILE.svg'": blocks of POLICY BACKENDS NS, a line each.
stats data using 3 nooutput
set terminal svg size 900, 420 font "sans,12"
set output out
set logscale xy
set grid
set key outside right top
set xlabel "backends"
set ylabel "ns a choice"
plot for [b = 0:STATS_blocks-1] data index b using 2:3 with linespoints \
	title system(sprintf("awk -v want=%d 'BEGIN { first = 1 } NF == 0 { gap = 1; next } first || gap { if (n++ == want) { print $1; exit } first = 0; gap = 0 }' %s", b, data))
