#!/bin/sh
# prelude.sh - frames and functions for every helper script; sent before them.
# SPDX-License-Identifier: MIT
# Variables: nonce; enc (r: raw output, b: base64); src (where content() reads
# from); exact (set: the path is resolved already, follow no link).
# A helper defines op(). It sets st to its result: "ok ...", or an error code
# such as file_not_found.
# shellcheck disable=SC2012,SC2034,SC2086,SC2154
LC_ALL=C
export LC_ALL
unset CDPATH BASH_ENV ENV
# Removes relative directories from PATH. Attack: a helper enters a directory of
# the tree, and a program there has the name of a command.
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

# Defines a function for each program that is not on PATH: busybox runs it.
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

# Runs "$@" and prints its output as one frame (src/sandbox/frame.h).
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

# Sets st for a path $1 that does not exist: to $2, or to permission_denied if a
# directory above it cannot be searched.
absent() {
	st=$2
	d=$1
	while [ -n "$d" ] && ! [ -d "$d" ]; do
		d=${d%/*}
	done
	[ -z "$d" ] || [ -x "$d" ] || st=permission_denied
}

# Enters the directory $1. If that fails, st says why.
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

# True if $1 is a regular file that can be read; sets size (bytes). Otherwise st
# says why.
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
		# Files of /proc have the size 0, but are not empty.
		[ "$size" -gt 0 ] || size=$(($(wc -c <"$1") + 0))
		return 0
	fi
	return 1
}

# Sets f to the file to act on. If exact is set, $1 is a path from resolve.sh.
# Then its directory is entered and compared with that path. Attack: a directory
# of the path is replaced by a link meanwhile.
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

# The same for a file that is read or written: it must not be a link.
anchor_file() {
	anchor "$1" || return 1
	if [ -n "$exact" ] && [ -L "$f" ]; then
		st=path_changed
		return 1
	fi
}

# Sets links, owner and size from the fields that ls -ldn prints.
size_of() {
	links=$2
	owner=$3:$4
	size=$5
}

# Prints a short checksum of a file, to detect that it has changed.
mark() {
	fields=$(cksum <"$1") || fields=$(md5sum <"$1") ||
		fields=$(ls -Lldn "$1" | cut -c 1-60)
	printf %s "$fields" | tr -c 0-9a-zA-Z -
}
