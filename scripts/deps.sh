#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Installs what is missing to build, test and demonstrate poise, with apt, on Debian 12+ and
# Ubuntu 24.04+ (22.04 is told that its libbpf is too old). Elsewhere it prints the list and stops.
# Nothing missing: it does nothing. With the argument `build`, only what building takes; with
# `bench`, what benches use besides.
set -euo pipefail

# What is needed: a command, header or file : the package that brings it. One that another package
# brings as well (nginx, say) does not count as missing.
BUILD_NEEDS='
gcc:gcc
/usr/include/stdlib.h:libc6-dev
make:make
pkg-config:pkg-config
clang:clang
llvm-strip:llvm
bpftool:bpftool
/usr/include/bpf/libbpf.h:libbpf-dev
/usr/include/xdp/libxdp.h:libxdp-dev
/usr/include/libelf.h:libelf-dev
/usr/include/zlib.h:zlib1g-dev
/usr/include/yaml.h:libyaml-dev
/usr/include/json-c/json.h:libjson-c-dev
/usr/include/libmnl/libmnl.h:libmnl-dev
/usr/include/sys/capability.h:libcap-dev
/usr/include/systemd/sd-daemon.h:libsystemd-dev
/usr/include/uv.h:libuv1-dev
/usr/include/curl/curl.h:libcurl4-openssl-dev
/usr/include/pcre2.h:libpcre2-dev
/usr/include/microhttpd.h:libmicrohttpd-dev
'
NEEDS='
/usr/include/criterion/criterion.h:libcriterion-dev
nginx:nginx-light
curl:curl
dnsmasq:dnsmasq-base
openssl:openssl
/usr/lib/python3/dist-packages/grpc/__init__.py:python3-grpcio
kubectl:kubernetes-client
/usr/lib/python3/dist-packages/kubernetes/__init__.py:python3-kubernetes
/usr/lib/python3/dist-packages/yaml/__init__.py:python3-yaml
bird:bird2
ip:iproute2
ethtool:ethtool
ping:iputils-ping
tcpdump:tcpdump
nft:nftables
nsenter:util-linux
sysctl:procps
valgrind:valgrind
mandoc:mandoc
qemu-system-x86_64:qemu-system-x86
busybox:busybox-static
cpio:cpio
xz:xz-utils
'
# What only benches use, with the argument `bench`.
BENCH_NEEDS='
gnuplot:gnuplot-nox
perf:linux-perf
haproxy:haproxy
ipvsadm:ipvsadm
/usr/lib/nginx/modules/ngx_stream_module.so:libnginx-mod-stream
'
case ${1:-} in
build) NEEDS=$BUILD_NEEDS ;;
bench) NEEDS=$BUILD_NEEDS$NEEDS$BENCH_NEEDS ;;
*) NEEDS=$BUILD_NEEDS$NEEDS ;;
esac
# Of these the newest thing used decides; older ones fail to compile, not to install.
VERSIONS='libbpf:1.0.0 libxdp:1.2.0 libuv:1.43.0 libcurl:7.85.0'

distribution() # -> debian VERSION, or ubuntu VERSION
{
	[ -r /etc/os-release ] || return 1
	# shellcheck disable=SC1091
	(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-999}") # no VERSION_ID: Debian testing
}

supported()
{
	local id version
	read -r id version < <(distribution) || return 1
	command -v apt-get >/dev/null || return 1
	case $id in
	debian) [ "${version%%.*}" -ge 12 ] ;;
	ubuntu) [ "${version%%.*}" -ge 22 ] ;;
	*) return 1 ;;
	esac
}

# Ubuntu has bpftool in packages named after its kernels; its wrapper is not enough.
there()
{
	case $1 in
	/*) [ -e "$1" ] || compgen -G "/usr/include/*-linux-gnu/${1#/usr/include/}" >/dev/null ;;
	bpftool) compgen -G "/usr/lib/linux-tools-*/bpftool" >/dev/null || bpftool version ;;
	*) PATH=$PATH:/usr/sbin:/sbin command -v "$1" ;;
	esac >/dev/null 2>&1
}

package() # of a need, on this distribution
{
	if [[ $1 =~ ^(bpftool|linux-perf)$ && $(distribution) == ubuntu* ]]; then
		echo linux-tools-common linux-tools-generic
	else
		echo "$1"
	fi
}

missing=()
for need in $NEEDS; do
	# shellcheck disable=SC2207
	there "${need%%:*}" || missing+=($(package "${need##*:}"))
done

if [ ${#missing[@]} -gt 0 ]; then
	if ! supported; then
		echo "poise: packages are missing, and this is neither Debian 12+ nor Ubuntu." >&2
		echo "Install what corresponds to these, then try again:" >&2
		printf '  %s\n' "${missing[@]}" >&2
		exit 1
	fi
	as_root=()
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || {
			echo "poise: root is needed to install: ${missing[*]}" >&2
			exit 1
		}
		as_root=(sudo)
	fi
	echo "poise: installing ${missing[*]}" >&2
	"${as_root[@]}" apt-get -qq update
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y --no-install-recommends install "${missing[@]}" >&2
fi

for v in $VERSIONS; do
	pkg-config --atleast-version="${v#*:}" "${v%:*}" || {
		echo "poise: ${v%:*} is $(pkg-config --modversion "${v%:*}" || true);" \
			"${v#*:} or newer is needed" >&2
		exit 1
	}
done
