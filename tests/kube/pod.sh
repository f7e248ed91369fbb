#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# pod.sh NODE STATE ADDR PORT [OPTION...]: poised as the DaemonSet of deploy/kubernetes runs it on NODE, in a
# lab whose API server (tests/kube/apiserver) has its state in STATE and listens on ADDR:PORT: three
# capabilities, a root that is read-only, and of the host bpffs and a directory for the last good state.
set -e
node=$1 state=$2 addr=$3 port=$4
shift 4
account=/run/secrets/kubernetes.io/serviceaccount
mkdir -p "$account" /run/poise

export STATE="$state" ACCOUNT="$account" STATE_DIRECTORY=/run/poise NODE_NAME="$node"
export KUBERNETES_SERVICE_HOST="$addr" KUBERNETES_SERVICE_PORT="$port"
# shellcheck disable=SC2016 # its own variables
exec unshare --mount --propagation private sh -ec '
	mount --bind "$STATE/serviceaccount" "$ACCOUNT"
	mount --bind /run/poise /run/poise
	mount -o remount,bind,ro /
	mount -o remount,bind,ro /run
	for place in / /run /etc /var /root; do
		if touch "$place/written" 2>/dev/null; then
			echo "$place can be written to" >&2
			exit 1
		fi
	done
	exec setpriv --bounding-set=-all,+bpf,+net_admin,+perfmon --no-new-privs poised "$@"' pod "$@"
