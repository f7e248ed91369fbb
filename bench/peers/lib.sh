# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A site on which balancers of several kinds stand side by side, each with a virtual address of its
# own, before the same four servers: what is measured of them is measured in the same lab, with the
# same load, in the same run. Sourced after bench/lib.sh.
#
#   lb1 192.0.2.11 poise    lb2 a no-op XDP_TX    lb3, lb4 192.0.2.13, .14 nftables, by turns and by
#   hash    lb5 192.0.2.15 HAProxy    lb6 192.0.2.16 nginx
#
# Ports: 9001 of all. poise's are a mode each: 9001 l2, 9002 ipip, 9003 nat, 9004 gue. HAProxy's and
# nginx's 9002 is their second setting.
# shellcheck disable=SC2154 # work, backends: bench/lib.sh

site_modes="l2 ipip nat gue"
peers=() # pids of what is started here
site_route() { # BALANCER: its virtual address leads to it
	on router ip route replace "192.0.2.1$1/32" via "10.0.0.10$1"
}

mode_port() { # MODE
	case $1 in l2) echo 9001 ;; ipip) echo 9002 ;; nat) echo 9003 ;; gue) echo 9004 ;; esac
}

# One-armed routers, as a balancer by nftables is; their cables take frames that came by no stack.
peer_forwards() { # NODE
	on "$1" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 \
		net.ipv4.conf.eth0.send_redirects=0
	on "$1" ethtool -K eth0 gro on
}

nft_start() {
	local n
	for n in 3 4; do
		site_route $n
		peer_forwards lb$n
	done
	on lb3 nft -f bench/peers/nft-numgen.nft
	on lb4 nft -f bench/peers/nft-vmap.nft
}

poise_start() { # LISTENERS, an option of service add: udp or tcp
	local mode n addresses=()
	site_route 1
	balancer_start
	for n in $backends; do
		addresses+=("10.0.0.$n")
	done
	for mode in $site_modes; do
		[ "$mode" != gue ] || [ "$1" = udp ] || continue
		on lb1 poise -q service add "$mode" "192.0.2.11:$(mode_port "$mode")/$1" forward "$mode"
		on lb1 poise -q backend add "$mode" "${addresses[@]}"
		until_true 20 all_up "$mode" || die "backends do not come up: $(on lb1 poise show)"
	done
}

# What ends a connection and begins another, on lb5 or lb6.
proxy_site() { # BALANCER
	site_route "$1"
	on "lb$1" ip address add "192.0.2.1$1/32" dev lo
	peer_forwards "lb$1"
}

proxy_start() { # BALANCER FILE-OF-OUTPUT PROGRAM...
	local node=lb$1 file=$work/$2
	shift 2
	start "$node" "$file" "$@"
	peers+=("$started")
}

haproxy_start() {
	local n
	proxy_site 5
	for n in 1 2; do
		proxy_start 5 haproxy-$n haproxy -db -f bench/peers/haproxy-$n.cfg
	done
}

nginx_start() {
	local n
	proxy_site 6
	for n in 1 2; do
		proxy_start 6 nginx-$n nginx -c "$PWD/bench/peers/nginx-$n.conf" -e stderr
	done
}

peers_stop() {
	stop_all peers
}

has() { # COMMAND
	PATH=$PATH:/usr/sbin command -v "$1" >/dev/null || {
		say "no $1, so it is left out: make deps-bench installs it"
		return 1
	}
}
