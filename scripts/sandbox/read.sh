#!/bin/sh
# read.sh - prints a small file, or a window of lines of a large one.
# SPDX-License-Identifier: MIT
# op PATH KIND FIRST COUNT WHOLE CLIP EXACT
# KIND is text or binary. FIRST is a line number from 1, COUNT a number of lines
# (0: none). A file of up to WHOLE bytes is printed whole. A window is cut after
# CLIP bytes, and all its line ends are LF. Lines are counted in files of up to
# EXACT bytes.
# st is "ok SIZE whole|window|none|large LINES"; LINES is -1 if not counted.
# shellcheck disable=SC2020,SC2034,SC2154
need ls wc cat head tail sed tr grep
cr=$(printf '\r')

lines() {
	if [ -n "$odd" ]; then
		sed "s/$cr\$//" "$f" | tr '\r' '\n'
	else
		cat "$f"
	fi
}

count() {
	odd=
	grep -q "$cr" "$f" && odd=1
	total=$(($(lines | wc -l) + 0))
	case $(tail -c 1 "$f" | tr '\r\n\0' '   ') in
	' ') ;;
	*) total=$((total + 1)) ;;
	esac
}

window() {
	first=$1
	odd=
	head -n "$((first + $2 - 1))" "$f" | grep -q "$cr" && odd=1
	total=-1
	if [ "$size" -le "$4" ]; then
		was=$odd
		count
		odd=$was
	elif [ "$first" -gt 1 ]; then
		there=$(lines | tail -n "+$first" | head -c 1 | wc -c)
		[ "$there" -gt 0 ] || count
	fi
	lines | tail -n "+$first" | head -n "$2" | head -c "$3"
	st="ok $size window $total"
}

# UTF-16 cannot be split into lines by bytes: such a file is printed whole or
# not at all.
is_utf16() {
	case $(head -c 2 "$f" | tr 'ab\377\376' 'xxab') in
	ab | ba) return 0 ;;
	esac
	return 1
}

op() {
	f=$1
	readable "$f" || return
	if [ "$2" = binary ]; then
		st="ok $size large -1"
		[ "$size" -le "$5" ] || return
	elif [ "$4" -eq 0 ]; then
		st="ok $size none -1"
		return
	elif [ "$size" -gt "$5" ] && ! is_utf16; then
		window "$3" "$4" "$6" "$7"
		return
	elif [ "$size" -gt "$5" ] && [ "$size" -gt "$7" ]; then
		st=not_a_text_file
		return
	fi
	cat "$f" && st="ok $size whole -1"
}
