#!/bin/sh
# glob.sh - names of files below a directory, for matching on the other side.
# SPDX-License-Identifier: MIT
# op ROOT TEST PATTERN PRUNE LIMIT WORKDIR ALL: TEST is -name or -path, PATTERN
# finds too much rather than too little, PRUNE skips hidden directories, at most
# LIMIT bytes (0: any number); ALL: what git ignores, too.
# The first line is "LEFT HOW": how many files of this PATTERN were left out
# since git ignores them; HOW: g git was asked for tracked ones, p it could not
# be, n nothing is left out; "!" behind it: see below. Each record starts with
# ".//./", which no path contains, and ends with a newline. A last line "//"
# says that something could not be read.
# shellcheck disable=SC1007,SC2016,SC2034,SC2086,SC2089,SC2090,SC2154
need find head ls
seconds=3 # of the 5 that files_glob() gives
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
