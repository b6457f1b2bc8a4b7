#!/bin/sh
# grep.sh - lines that contain a literal text, in a file or below a directory.
# SPDX-License-Identifier: MIT
# op ROOT TEXT TEST PATTERN PRUNE LINES LIMIT: TEST PATTERN PRUNE as in glob.sh;
# at most LINES lines and LIMIT bytes (0: any number); TEXT starts with "=".
# The first byte says what the records are. f: "N:line"; n: "path NUL N:line";
# c: "path:N:line", where a path that would make this ambiguous starts with NUL
# and has the form of n. Paths start with ".//./".
# shellcheck disable=SC2016,SC2034,SC2086,SC2154
grep='grep'
command -v grep >/dev/null || grep='busybox grep'
export grep
need grep head cut find

# Are there names ended by NUL, and does cut keep NUL?
null() {
	printf 'x\0y\n' | cut -b 3 | grep -aZq y
}

# Runs "$@", of its output LINES lines and LIMIT bytes.
clip() {
	if [ "$lines" -gt 0 ]; then
		"$@" | head -n "$lines" | head -c "$bytes"
	elif [ "$bytes" -gt 0 ]; then
		"$@" | head -c "$bytes"
	else
		"$@"
	fi
}

short() {
	cut -b 1-24200
}

search() {
	if [ "$form" = f ]; then
		grep -nF $a -e "$text" "$1" | short
		return
	fi
	if [ "$form" = n ]; then
		find "$@" -exec $grep -HnFaZ -e "$text" {} + | short
		return
	fi
	find "$@" ! -path '*:[0-9]*' -exec $grep -HnF $a -e "$text" {} + | short
	find "$@" -path '*:[0-9]*' -exec sh -c '
		for f; do
			$grep -nF $a -e "$text" "$f" | while IFS= read -r l; do
				printf "\0%s\0%s\n" "$f" "$l"
			done
		done' sh {} +
}

op() {
	text=${2#=}
	form=c
	a=
	export text a
	if null; then
		form=n
		a=-a
	elif printf 'a\n' | grep -aq a; then
		a=-a
	fi
	if [ -f "$1" ]; then
		readable "$1" || return
		form=f
	else
		enter "$1" || return
	fi
	printf %s "$form"
	st=ok
	# A newline is never part of a line; grep would see two patterns.
	case $text in
	*"$nl"*) return ;;
	esac
	lines=$6 bytes=$7
	if [ "$form" = f ]; then
		clip search "$1"
		return
	fi
	test=$3 like=$4
	set -- .//. ${5:+-name .?* -prune -o} -type f
	[ -z "$test" ] || set -- "$@" "$test" "$like"
	clip search "$@"
}
