#!/bin/sh
# edit.sh - prints a file, then receives its change, in one dialog.
# SPDX-License-Identifier: MIT
# op PATH MOST: st is "file SIZE MARK", or "too_large SIZE" for more than MOST
# bytes. With src=dialog dcode answers on standard input: a line "put HEAD TAIL
# LEN" and LEN bytes (see put.sh), or "end".
# shellcheck disable=SC2034,SC2154
need ls wc cat cksum tr

op() {
	anchor_file "$1" && readable "$f" || return
	if [ "$size" -gt "$2" ]; then
		st="too_large $size"
	elif [ "$src" = dialog ]; then
		cat "$f" && st="file $size -"
	else
		seen=$(mark "$f")
		cat "$f" && st="file $size $seen"
	fi
}

change() {
	read -r verb keep_head keep_tail len
	[ "$verb" != put ] || frame put "$1" "$keep_head" "$keep_tail" "$len" ''
}
