# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# gnuplot -e "data='FILE'; out='FILE.svg'": lines PATH PACKETS, a bar each.
set terminal svg size 900, 360 font "sans,12"
set output out
set style fill solid 0.85 noborder
set style data histograms
set grid y
set yrange [0:*]
set ylabel "million packets a CPU second"
unset key
plot data using ($2 / 1e6):xtic(1) with histograms
