#!/bin/sh
# glob.sh - names of files below a directory, for matching on the other side.
# SPDX-License-Identifier: MIT
# op ROOT TEST PATTERN PRUNE LIMIT: TEST is -name or -path, PATTERN finds too
# much rather than too little, PRUNE skips hidden directories, LIMIT bytes at
# most. Each record starts with ".//./", which no path contains, and ends with
# a newline. A last line "//" says that something could not be read.
# shellcheck disable=SC2016,SC2034,SC2086,SC2154
need find head
op() {
	enter "$1" || return
	root=$(pwd -P)
	export root
	prune=
	[ -z "$4" ] || prune='-name .?* -prune -o'
	{
		bad=
		find .//. $prune -type f "$2" "$3" -print || bad=1
		find .//. $prune -type l "$2" "$3" -exec sh -c '
			for f; do
				[ -f "$f" ] || continue
				to=$(readlink -f "$f" || busybox readlink -f "$f")
				case $to in
				"${root%/}"/*) printf "%s\n" "$f" ;;
				esac
			done' sh {} + || bad=1
		[ -z "$bad" ] || printf '//\n'
	} | head -c "$5"
	st=ok
}
