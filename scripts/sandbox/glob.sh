#!/bin/sh
# glob.sh - names of files below a directory, for matching on the other side.
# SPDX-License-Identifier: MIT
# op ROOT TEST PATTERN PRUNE LIMIT: TEST is -name or -path, PATTERN finds too
# much rather than too little, PRUNE skips hidden directories, at most LIMIT
# bytes (0: any number). Each record starts with ".//./", which no path
# contains, and ends with a newline. A last line "//" says that something could
# not be read.
# shellcheck disable=SC2016,SC2034,SC2086,SC2154
need find head
walk() {
	bad=
	find .//. $prune -type f "$1" "$2" -print || bad=1
	find .//. $prune -type l "$1" "$2" -exec sh -c '
		for f; do
			[ -f "$f" ] || continue
			to=$(readlink -f "$f" || busybox readlink -f "$f")
			case $to in
			"${root%/}"/*) printf "%s\n" "$f" ;;
			esac
		done' sh {} + || bad=1
	[ -z "$bad" ] || printf '//\n'
}

op() {
	enter "$1" || return
	root=$(pwd -P)
	export root
	prune=
	[ -z "$4" ] || prune='-name .?* -prune -o'
	if [ "$5" -eq 0 ]; then
		walk "$2" "$3"
	else
		walk "$2" "$3" | head -c "$5"
	fi
	st=ok
}
