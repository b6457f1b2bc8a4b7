#!/bin/sh
# upload.sh - receives a file in pieces; the last piece moves it into place.
# SPDX-License-Identifier: MIT
# op PATH OFFSET LEN TOTAL MODE ID
# Pieces are collected in a file that is named by ID. LEN -1 deletes that file;
# LEN -2 only prints its name, for a provider that fills it in another way. MODE
# is the mode of a new file, in octal.
# shellcheck disable=SC2034,SC2086,SC2154
need cat ls rm mv chmod

gather() {
	mask=$(umask)
	umask 077
	if [ "$1" -eq 0 ]; then
		rm -f "$part"
		content >"$part"
	else
		fields=$(ls -ldn "$part")
		size_of $fields
		[ "$size" = "$1" ] && content >>"$part"
	fi
	umask "$mask"
	t=$part want=$(($1 + $2))
	filled || return 1
	t=
}

# Prints the name for the pieces, if the file f may be written.
begin() {
	st=permission_denied
	if [ -L "$f" ]; then
		st=link_loop
	elif [ -e "$f" ] && ! [ -f "$f" ]; then
		st=not_a_file
	elif [ -w "$f" ] || { ! [ -e "$f" ] && [ -w "${f%/*}/" ]; }; then
		st=ok
		printf %s "$part"
	fi
}

op() {
	path=$1 len=$3 total=$4 put_id=$6
	follow "$path"
	dir=${f%/*}
	if [ -d "$f" ]; then
		st=is_directory
		return
	fi
	parents "${dir:-/}" || return
	[ -w "${dir:-/}" ] || dir=${TMPDIR:-/tmp}
	part=${dir%/}/.dcode-$put_id
	if [ "$len" -eq -2 ]; then
		begin
		return
	fi
	if [ "$len" -lt 0 ]; then
		rm -f "$part"
		return
	fi
	new=
	[ -e "$f" ] || new=1
	if [ "$len" -eq "$total" ]; then
		put "$path" 0 0 "$total" ''
	else
		gather "$2" "$len" || return
		st=ok
		[ "$want" -eq "$total" ] || return
		src=$part
		st=permission_denied
		if [ -n "$new" ] && mv -f "$part" "$f"; then
			st=ok
		else
			put_id=
			put "$path" 0 0 "$total" ''
			rm -f "$part"
		fi
	fi
	if [ -n "$new" ] && [ "$st" = ok ]; then
		chmod "$5" "$f" || st=permission_denied
	fi
}
