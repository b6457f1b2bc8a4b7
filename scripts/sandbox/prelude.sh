#!/bin/sh
# prelude.sh - framing and applets shared by every helper; goes before them.
# SPDX-License-Identifier: MIT
# Given: nonce, enc (r raw, b base64), src (where content comes from), exact.
# Each op leaves its outcome in st: "ok ..." or a bare code.
# shellcheck disable=SC2012,SC2034,SC2086,SC2154
LC_ALL=C
export LC_ALL
unset CDPATH BASH_ENV ENV
# A helper enters directories of the tree: no program may come from there.
rest=${PATH:-/usr/bin:/bin}:
path=
while [ -n "$rest" ]; do
	case $rest in
	/*) path=$path${path:+:}${rest%%:*} ;;
	esac
	rest=${rest#*:}
done
PATH=$path
[ -c /dev/null ] && exec 2>/dev/null
set -f
nl='
'
t=
trap '[ -z "$t" ] || rm -f "$t"' EXIT
trap 'exit 129' HUP INT TERM

# What is not on PATH is asked of busybox.
need() {
	for a; do
		command -v "$a" >/dev/null ||
			eval "$a() { busybox $a \"\$@\"; }"
	done
}

encode() {
	case $enc in
	b) base64 ;;
	x) od -An -v -tx1 || hexdump -v -e '1/1 "%02x"' ;;
	esac
}

answer() {
	"$@"
	printf %s "$st" >&4
}

# Runs "$@": one frame around its output.
frame() {
	if [ "$enc" = b ]; then
		need base64
		[ "$(printf a | base64)" = YQ== ] || enc=x
		need od hexdump
	fi
	st=failed
	printf '\n@dcode:%s:%s\n' "$nonce" "$enc"
	if [ "$enc" = r ]; then
		"$@"
	else
		{
			st=$({ answer "$@" | encode >&5; } 4>&1)
		} 5>&1
	fi
	printf '\n@dcode:%s=%s\n' "$nonce" "$st"
}

# Why $1 is not there: $2, unless a parent may not be searched.
absent() {
	st=$2
	d=$1
	while [ -n "$d" ] && ! [ -d "$d" ]; do
		d=${d%/*}
	done
	[ -z "$d" ] || [ -x "$d" ] || st=permission_denied
}

# Enters the directory $1.
enter() {
	if ! [ -e "$1" ]; then
		absent "$1" path_not_found
	elif ! [ -d "$1" ]; then
		st=not_a_directory
	elif ! [ -r "$1" ] || ! cd "$1"; then
		st=permission_denied
	else
		return 0
	fi
	return 1
}

# A regular file that can be read; its size in bytes in size.
readable() {
	if ! [ -e "$1" ]; then
		absent "$1" file_not_found
	elif ! [ -f "$1" ]; then
		st=not_a_file
	elif ! [ -r "$1" ]; then
		st=permission_denied
	else
		fields=$(ls -Lldn "$1")
		size_of $fields
		# The files of /proc say 0 and are not empty.
		[ "$size" -gt 0 ] || size=$(($(wc -c <"$1") + 0))
		return 0
	fi
	return 1
}

# The file to act on, in f. With exact set, $1 is a path that resolve.sh gave:
# enters its directory, so that no link that came in its way is followed.
anchor() {
	f=$1
	[ -n "$exact" ] || return 0
	d=${1%/*}
	d=${d:-/}
	if ! [ -d "$d" ]; then
		absent "$1" file_not_found
		return 1
	fi
	st=path_changed
	cd -P "$d" && [ "$(pwd -P && printf x)" = "$d${nl}x" ] || return 1
	st=failed
	f=./${1##*/}
}

# The same for a file that is read or written: not a link.
anchor_file() {
	anchor "$1" || return 1
	if [ -n "$exact" ] && [ -L "$f" ]; then
		st=path_changed
		return 1
	fi
}

# From the fields of ls -ldn.
size_of() {
	links=$2
	owner=$3:$4
	size=$5
}

# A few characters that change when the file does.
mark() {
	fields=$(cksum <"$1") || fields=$(md5sum <"$1") ||
		fields=$(ls -Lldn "$1" | cut -c 1-60)
	printf %s "$fields" | tr -c 0-9a-zA-Z -
}
