#!/bin/sh
# run.sh - the README's two commands on a Debian 12 that has nothing else.
# SPDX-License-Identifier: MIT
#
# tests/fresh/run.sh root|user [COMMAND...]   as root, on Debian
#
# Makes a minimal Debian 12 with debootstrap (kept in $FRESH, so that the next
# run starts at once), puts a layer over it that is thrown away, clones HEAD
# into it, and runs the commands there, by default ./scripts/demo and
# ./scripts/check: in a root of its own (pivot_root, since bubblewrap refuses
# a mere chroot), with its own processes and mounts, but this network. user:
# an ordinary one that may sudo. Not part of scripts/check: it downloads a lot.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
base=${FRESH:-/var/tmp/dcode-fresh}

if [ "${1:-}" = inside ]; then # second step: own mounts and processes
	root=$2
	who=$3
	shift 3
	mount --make-rprivate /
	mount -t overlay overlay -o \
		"lowerdir=$base,upperdir=$root/up,workdir=$root/work" \
		"$root/top"
	cd "$root/top"
	mount -t proc proc proc
	mount --rbind /sys sys
	mount -t tmpfs -o mode=755 tmpfs dev
	mkdir dev/pts dev/shm
	for d in null zero full random urandom tty fuse; do
		[ -e /dev/$d ] || continue
		: >dev/$d
		mount --bind /dev/$d dev/$d
	done
	mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
	ln -s pts/ptmx dev/ptmx
	ln -s /proc/self/fd dev/fd
	mount -t tmpfs tmpfs dev/shm
	mount -t tmpfs tmpfs run
	mkdir -p old
	pivot_root . old
	umount -l /old
	cd /
	home=/root
	if [ "$who" = user ]; then
		apt-get update -q && apt-get install -q -y sudo
		useradd -m -s /bin/bash tester
		echo 'tester ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/tester
		home=/home/tester
		mv /root/dcode $home/dcode
		chown -R tester:tester $home
	fi
	for command in "$@"; do
		echo "==== $command (as $who)"
		began=$(date +%s)
		status=0
		if [ "$who" = user ]; then
			su - tester -c "cd dcode && $command" || status=$?
		else
			env -i HOME=/root TERM=dumb PATH="$PATH" \
				sh -c "cd /root/dcode && $command" || status=$?
		fi
		echo "==== $command: status $status," \
			"$(($(date +%s) - began)) s"
		[ $status -eq 0 ] || exit $status
	done
	exit 0
fi

who=${1:?root or user}
shift
[ $# -gt 0 ] || set -- ./scripts/demo ./scripts/check
if [ ! -e "$base/etc/debian_version" ]; then
	# shellcheck disable=SC2016 # apt's own variables
	mirror=$(apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' | head -n 1)
	debootstrap --variant=minbase bookworm "$base" "$mirror"
fi
root=$(mktemp -d /var/tmp/dcode-fresh.XXXXXX)
trap 'rm -rf "$root"' EXIT
mkdir "$root/up" "$root/work" "$root/top"
mkdir -p "$root/up/root" "$root/up/etc"
chmod 700 "$root/up/root"
cp /etc/resolv.conf /etc/hosts "$root/up/etc/"
git clone -q "$top" "$root/up/root/dcode"
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
FRESH=$base unshare --mount --pid --ipc --uts --fork --kill-child \
	"$0" inside "$root" "$who" "$@"
