#!/bin/sh
# glob.sh - prints the names of files below a directory. dcode matches them.
# SPDX-License-Identifier: MIT
# op ROOT TEST PATTERN PRUNE LIMIT WORKDIR ALL
# TEST is -name or -path. PATTERN may match more than the user's pattern, never
# less. PRUNE, if not empty, skips hidden directories. LIMIT is the maximum of
# bytes (0: none). ALL, if not empty, includes files that git ignores.
# The first line is "LEFT HOW". LEFT is the number of matching files that were
# left out because git ignores them. HOW is g (git said which of them are
# tracked), p (git could not say), s (matching patterns took more than $seconds:
# later files were not left out), or n (nothing is left out); a "!" after it
# means that the time was not enough or something could not be read. Each record
# starts with ".//./", which no path contains, and ends with a newline. A last
# line "//" means that something could not be read.
# shellcheck disable=SC1007,SC2016,SC2034,SC2086,SC2089,SC2090,SC2154
need find head ls
# files_glob() waits 5
seconds=3
links='-o -type l "$is" "$like" -exec sh -c '\''
	for f; do
		[ -f "$f" ] || continue
		to=$(readlink -f "$f" || busybox readlink -f "$f")
		case $to in
		"${here%/}"/*) printf "%s\n" "$f" ;;
		esac
	done'\'' sh {} +'

op() {
	enter "$1" || return
	find_awk
	form=
	export here
	if [ "$5" -eq 0 ]; then
		search_files '' "$6" "$7" "$2" "$3" "$4" "$links"
	else
		search_files '' "$6" "$7" "$2" "$3" "$4" "$links" | head -c "$5"
	fi
	st=ok
}
