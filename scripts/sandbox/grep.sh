#!/bin/sh
# grep.sh - prints lines that contain a literal text, of a file or a directory.
# SPDX-License-Identifier: MIT
# op ROOT TEXT TEST PATTERN PRUNE LINES LIMIT WORKDIR ALL
# TEXT starts with "=". At most LINES lines and LIMIT bytes are printed (0: no
# limit). The other arguments and the first line of the output are those of
# glob.sh. The next byte is the form of the records:
#   f  "N:line"
#   n  "path NUL N:line"
#   c  "path:N:line"; a path that would make this ambiguous is written as in n,
#      with a NUL before it
# Paths start with ".//./". Of a line that is too long, the bytes around its
# first match are printed; "N+:" means that bytes before them are missing.
# shellcheck disable=SC1007,SC2016,SC2034,SC2086,SC2089,SC2090,SC2154
grep=$(path_or_box grep)
export grep
need grep head cut find ls tr
# files_grep() waits 30
seconds=15

# True if grep can end names with NUL, and the program that shortens lines keeps
# NUL.
null() {
	printf 'y\n' | grep -aZq y || return
	[ -n "$awk" ] || printf 'x\0y\n' | cut -b 3 | grep -q y
}

# Runs "$@" and cuts its output to LINES lines and LIMIT bytes.
clip() {
	if [ "$lines" -gt 0 ]; then
		"$@" | head -n "$lines" | head -c "$bytes"
	elif [ "$bytes" -gt 0 ]; then
		"$@" | head -c "$bytes"
	else
		"$@"
	fi
}

# Shortens lines. An awk that cannot handle NUL gets \001 in its place, and the
# other way round.
short_awk='
BEGIN { sep = ENVIRON["sep"] == "0" ? "\000" : "\001" }
length($0) <= 24200 { print; next }
{
	head = ENVIRON["form"] == "n" ? match($0, sep) : 0
	if (ENVIRON["form"] == "c") {
		if (!match($0, /:[0-9]+:/)) { print substr($0, 1, 24200); next }
		head = RSTART
	}
	match(substr($0, head + 1), /^[0-9]*:/)
	line = substr($0, head + RLENGTH + 1)
	head = substr($0, 1, head + RLENGTH)
	at = index(line, ENVIRON["text"])
	if (at > 16000) {
		sub(/:$/, "+:", head)
		line = substr(line, at - 12000)
	}
	print head substr(line, 1, 24000)
}'

short() {
	if [ -n "$whole_awk" ]; then
		sep=0 $awk "$short_awk"
	elif [ -n "$awk" ]; then
		tr '\0\001' '\001\0' | sep=1 $awk "$short_awk" |
			tr '\0\001' '\001\0'
	else
		cut -b 1-24200
	fi
}

act_n='$grep -HnFaZ -e "$text" "$@"'
act_c='n=$#
for f; do
	case $f in
	*:[0-9]*)
		$grep -nF $a -e "$text" "$f" | while IFS= read -r l; do
			printf "\0%s\0%s\n" "$f" "$l"
		done ;;
	*) set -- "$@" "$f" ;;
	esac
done
shift $n
[ $# -eq 0 ] || $grep -HnF $a -e "$text" "$@"'

search() {
	if [ "$form" = f ]; then
		printf '0 n\nf'
		grep -nF $a -e "$text" "$1" | short
		return
	fi
	act=$act_n
	[ "$form" = n ] || act=$act_c
	search_files "$act" "$8" "$9" "$3" "$4" "$5" | short
}

op() {
	text=${2#=}
	form=c
	a=
	find_awk
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
	export text a form
	st=ok
	lines=$6 bytes=$7
	[ "$lines" -eq 0 ] || lines=$((lines + 1))
	# Nothing matches: a line contains no newline, and grep would take it as
	# two patterns.
	case $text in
	*"$nl"*) printf '0 n\n%s' "$form" ;;
	*) clip search "$@" ;;
	esac
}
