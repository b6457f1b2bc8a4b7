#!/bin/sh
# upload_stat.sh - examines the targets of an upload.
# SPDX-License-Identifier: MIT
# A kind is d (directory), f (file), l (link), o (anything else) or n (nothing).
LC_ALL=C
export LC_ALL
soh=$(printf '\001')

# Sets h to the SHA-256 of standard input, or to "" if no program computes it.
digest() {
	h=$({ sha256sum || busybox sha256sum; } 2>/dev/null)
	h=${h%% *}
}

# Sets h to the SHA-256 of the target of the link $1.
link() {
	h=$({ readlink -n "$1" || busybox readlink -n "$1"; } |
		{ sha256sum || busybox sha256sum; } 2>/dev/null)
	h=${h%% *}
}

# Prints t (tar), b (busybox tar) or n (no tar).
tar_kind() {
	if command -v tar >/dev/null; then
		echo t
	elif busybox tar --help >/dev/null 2>&1; then
		echo b
	else
		echo n
	fi
}

# target PATH INNER WANTED: the target is INNER if PATH is a directory, else
# PATH. Prints d or n (whether PATH is a directory), the kind of the target with
# links followed and, if WANTED is not empty, the hash of a file.
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

# Sets p to the name in a line, in which the byte 1 stands for a newline.
decode() {
	p=$1
	case $p in
	*"$soh"*)
		p=$(printf '%s.' "$p" | tr '\001' '\n')
		p=${p%.}
		;;
	esac
}

# Reads lines: the absolute path of a directory, then the names in it, then the
# next directory. Prints "LINE KIND HASH" for each name that exists.
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
