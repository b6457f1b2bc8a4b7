#!/bin/sh
# edit.sh - shows a file, then takes what is to be changed, in one dialog.
# SPDX-License-Identifier: MIT
# op PATH MOST: st "file SIZE MARK". With src=dialog a line follows on standard
# input: "put HEAD TAIL LEN" and LEN bytes, or "end".
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
