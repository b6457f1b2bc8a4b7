#!/bin/sh
# upload_stat.sh - what is at the places that uploads go to.
# SPDX-License-Identifier: MIT
# A kind is d (directory), f (file), l (link), o (anything else) or n (nothing).
LC_ALL=C
export LC_ALL
soh=$(printf '\001')

# Standard input as SHA-256, or nothing where no program computes it.
digest() {
	h=$({ sha256sum || busybox sha256sum; } 2>/dev/null)
	h=${h%% *}
}

# The same of what the link leads to.
link() {
	h=$({ readlink -n "$1" || busybox readlink -n "$1"; } |
		{ sha256sum || busybox sha256sum; } 2>/dev/null)
	h=${h%% *}
}

# How tar is called: t, b (busybox tar) or n.
tar_kind() {
	if command -v tar >/dev/null; then
		echo t
	elif busybox tar --help >/dev/null 2>&1; then
		echo b
	else
		echo n
	fi
}

# PATH INNER WANTED: the target is INNER where PATH is a directory, else PATH.
# "d" or "n" for PATH, the target's kind through links, and the hash of a file
# when that is WANTED.
target() {
	p=$1 i=n k=n h=
	[ ! -d "$p" ] || p=$2 i=d
	if [ -d "$p" ]; then
		k=d
	elif [ -f "$p" ]; then
		k=f
		[ -z "$3" ] || digest <"$p"
	elif [ -e "$p" ] || [ -L "$p" ]; then
		k=o
	fi
	echo "$i $k $h"
}

# A name of a line, in which a newline is the byte 1, in p.
decode() {
	p=$1
	case $p in
	*"$soh"*)
		p=$(printf '%s.' "$p" | tr '\001' '\n')
		p=${p%.}
		;;
	esac
}

# Standard input: a line with a directory's absolute path, then a line for each
# name in it. "LINE KIND HASH" for each name that is there.
entries() {
	n=0
	while IFS= read -r line; do
		n=$((n + 1)) h=
		decode "$line"
		case $line in
		/*)
			base=${p%/}
			continue
			;;
		esac
		p=$base/$p
		if [ -L "$p" ]; then
			k=l
			link "$p"
		elif [ -d "$p" ]; then
			k=d
		elif [ -f "$p" ]; then
			k=f
			digest <"$p"
		elif [ -e "$p" ]; then
			k=o
		else
			continue
		fi
		echo "$n $k $h"
	done
}
