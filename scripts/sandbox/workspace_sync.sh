#!/bin/sh
# workspace_sync.sh - takes over what changed on the user's side.
# SPDX-License-Identifier: MIT
# op DIR LIST GZIP REST ROOT FORCE: content and REST are a tar stream as for
# workspace_send.sh. Its entry LIST has a line for each path that changed there:
# "MODE SHA256 MODE SHA256 PATH", before and after, zeros where there is none.
# A file that is as it was before is replaced; one that is not stays, unless
# FORCE. ROOT is the hash of the listing that both sides share.
# The body has a line for each: t PATH taken over, k PATH kept. st: "ok done
# ROOT" with the new hash, "ok nobase STATE", "no_space", or "unpack".
# shellcheck disable=SC2015,SC2034,SC2154
need mkdir rmdir rm mv cat tr cut tail readlink sha256sum
tar=$(tool tar)
none=0000000000000000000000000000000000000000000000000000000000000000

# What is at $1, as in a listing.
look() {
	if [ -L "$1" ]; then
		h=$(readlink -n "$1" | sha256sum)
		now="120000 ${h%% *}"
	elif [ -f "$1" ]; then
		h=$(sha256sum <"$1")
		now="100644 ${h%% *}"
		[ ! -x "$1" ] || now="100755 ${h%% *}"
	elif [ -e "$1" ]; then
		now=other
	else
		now="000000 $none"
	fi
}

# Puts the new one at $1, or removes it with the directories that it leaves
# empty.
put_one() {
	if [ "$new" = "000000 $none" ]; then
		rm -f "$1" || return 1
		d=${1%/*}
		while [ "$d" != . ] && rmdir "$d"; do
			d=${d%/*}
		done
		return 0
	fi
	[ ! -d "$1" ] || [ -L "$1" ] || return 1
	# mv would put it into the directory that a link leads to.
	parents "${1%/*}" && { [ ! -L "$1" ] || rm -f "$1"; } &&
		mv -f "$w/t/$1" "$1"
}

merge() {
	while IFS= read -r line; do
		old=$(printf %s "$line" | cut -b 1-71)
		new=$(printf %s "$line" | cut -b 73-143)
		p=$(printf %s "$line" | cut -b 145-)
		name_of "$p"
		look "$f"
		if [ "$now" != "$new" ]; then
			if [ "$now" != "$old" ] && [ -z "$1" ] ||
				! put_one "$f"; then
				printf 'k %s\n' "$p"
				continue
			fi
		fi
		printf 't %s\n' "$p"
		[ "$old" = "000000 $none" ] ||
			printf '%s %s\n' "$old" "$p" >>"$w/drop" || return
		[ "$new" = "000000 $none" ] ||
			printf '%s %s\n' "$new" "$p" >>"$w/add" || return
	done <"$w/list"
	# busybox's sort says nothing when it cannot write, its cat does.
	for one in drop add; do
		sort "$w/$one" | cat >"$w/$one.sorted" || return
	done
	only "$s/base" "$w/drop.sorted" | sort -m - "$w/add.sorted" |
		cat >"$w/base" && mv -f "$w/base" "$s/base" || return
	h=$(sha256sum <"$s/base")
	st="ok done ${h%% *}"
}

op() {
	gzip=$3 rest=$4
	umask 022
	enter "$1" || return
	tree=$(pwd -P)
	state_of "$tree" || return
	w=$s/sync-$nonce
	st=no_space
	mkdir -p "$w/t" && : >"$w/drop" && : >"$w/add" || {
		rm -rf "$w"
		return
	}
	h=none
	[ ! -f "$s/base" ] || h=$(sha256sum <"$s/base")
	unset TAR_OPTIONS POSIXLY_CORRECT
	if [ "${h%% *}" != "$5" ]; then
		st="ok nobase $s"
	elif said=$(cd "$w/t" && stream |
		EXTRACT_UNSAFE_SYMLINKS=1 $tar -xpof - 2>&1) &&
		mv "$w/t/$2" "$w/list"; then
		merge "$6"
	else
		printf '%s\n' "$said" | tail -n 3 | head -c 600
		st=unpack
	fi
	rm -rf "$w"
	[ -z "$rest" ] || rm -f "$rest"
	case $src in
	/*) rm -f "$src" ;;
	esac
}
