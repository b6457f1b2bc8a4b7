#!/bin/sh
# put.sh - writes a file: a temporary file, a check of its size, a rename.
# SPDX-License-Identifier: MIT
# put PATH HEAD TAIL LEN MARK [MOST [KEEP]]
# The new file consists of the old one's first HEAD bytes, LEN bytes of content
# and the old one's last TAIL bytes. If MARK is not empty, the old file must
# still have this checksum (mark()). With MOST, prints the old file: st is "ok
# was SIZE", "ok new" if there was none, or "ok" if it has more than MOST bytes.
# With KEEP, a file for which is_special() is true is printed and not written:
# st is "ok special SIZE MARK". put_id, if set, names the temporary file.
# shellcheck disable=SC2012,SC2020,SC2034,SC2086,SC2154
put_id=
need cat cp head tail ls mkdir mv rm readlink cksum md5sum cut tr base64 sed wc

content() {
	case $src in
	none) ;;
	stdin) cat ;;
	dialog) [ "$len" -eq 0 ] || head -c "$len" ;;
	text) text ;;
	*) cat "$src" ;;
	esac
}

# Sets f to the target at the end of a chain of links; it need not exist.
follow() {
	f=$1
	hops=0
	while [ -L "$f" ] && [ "$hops" -lt 40 ]; do
		hops=$((hops + 1))
		to=$(readlink "$f" && printf x) || break
		to=${to%x}
		to=${to%"$nl"}
		case $to in
		/*) f=$to ;;
		*) f=${f%/*}/$to ;;
		esac
	done
}

parents() {
	[ -d "$1" ] && return 0
	mkdir -p "$1" && return 0
	up=$1
	while [ -n "$up" ] && ! [ -e "$up" ]; do
		up=${up%/*}
	done
	st=permission_denied
	[ -d "${up:-/}" ] || st=not_a_directory
	return 1
}

# Makes the empty temporary file t, beside the target if possible. Elsewhere
# only this user can read it.
stage() {
	set -C
	for at in "$1" "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm; do
		[ "$at" = "$1" ] || umask 077
		t=${at%/}/.dcode-${put_id:-$nonce}
		true >"$t" && break
		t=
	done
	set +C
	[ -n "$t" ] && return 0
	st=permission_denied
	return 1
}

# True if $t has the size $want; sets owner. Otherwise st says why.
filled() {
	fields=$(ls -ldn "$t")
	size_of $fields
	[ "$size" = "$want" ] && return 0
	st=${why%%"$nl"*}
	st=${st##*: }
	st=${st:-short $size of $want}
	if [ "$src" = text ] && [ "$(printf YQ== | base64 -d)" != a ]; then
		st=no_base64
	fi
	return 1
}

fill() {
	{
		[ "$head" -eq 0 ] || head -c "$head" "$f"
		content
		[ "$tail" -eq 0 ] || tail -c "$tail" "$f"
	} >"$t"
}

# Prints the old file, if $1 (MOST) is given, and sets was for st.
before() {
	if [ -z "$1" ]; then
		was=
	elif ! [ -e "$f" ]; then
		was=' new'
	elif [ "$size" -le "$1" ] && [ -r "$f" ]; then
		head -c "$1" "$f" && was=" was $size"
	fi
}

some() {
	[ "$(($(head -c 1 | wc -c) + 0))" -gt 0 ]
}

# True if $f has a property that must survive when its whole text is replaced: a
# byte order mark, CR, an encoding other than UTF-8, or a last line break unlike
# that of the new text. $1: 1 if the new text ends with a line break, else 0.
is_special() {
	case $(head -c 3 "$f" | tr 'abcde\357\273\277\377\376' 'xxxxxabcde') in
	abc* | de* | ed*) return 0 ;;
	esac
	[ "$(($(tail -c 1 "$f" | wc -l) + 0))" = "$1" ] || return 0
	tr -cd '\r\000' <"$f" | some && return 0
	tr -d '\000-\177' <"$f" | some || return 1
	c=$(printf '[\200-\277]')
	sed "s/[$(printf '\302-\337')]$c//g
		s/[$(printf '\340-\357')]$c$c//g
		s/[$(printf '\360-\364')]$c$c$c//g" "$f" |
		tr -d '\000-\177' | some
}

put() {
	head=$2 tail=$3 len=$4 was=
	want=$((head + tail + len))
	f=$1
	[ -n "$exact" ] || follow "$1"
	dir=${f%/*}
	dir=${dir:-/}
	if [ -d "$f" ]; then
		st=is_directory
		return
	fi
	if [ -L "$f" ]; then
		st=link_loop
		[ -z "$exact" ] || st=path_changed
		return
	fi
	parents "$dir" || return
	if [ -n "$exact" ]; then
		anchor_file "$1" || return
		dir=.
	fi
	here=
	owned=
	if [ -e "$f" ]; then
		if ! [ -f "$f" ]; then
			st=not_a_file
			return
		fi
		if ! [ -w "$f" ]; then
			st=permission_denied
			return
		fi
		if [ -n "$5" ] && [ "$(mark "$f")" != "$5" ]; then
			st=changed
			return
		fi
		fields=$(ls -ldn "$f")
		size_of $fields
		owned=$owner
		[ "$links" -eq 1 ] || here=1
	elif [ -n "$5" ]; then
		st=changed
		return
	fi
	if [ -n "${7-}" ] && [ -s "$f" ] && [ -r "$f" ] &&
		[ "$size" -le 8388608 ] && is_special "$7"; then
		seen=$(mark "$f")
		cat "$f" && st="ok special $size $seen"
		return
	fi
	before "${6-}"
	stage "$dir" || return
	[ "${t%/*}" = "${dir%/}" ] || here=1
	[ -z "$owned" ] || [ -n "$here" ] || cp -p "$f" "$t" || here=1
	# The programs' error messages, for example about a full disk.
	why=$(fill 2>&1)
	filled || return
	[ -z "$owned" ] || [ "$owned" = "$owner" ] || here=1
	st=permission_denied
	if [ -z "$here" ] && mv -f "$t" "$f"; then
		t=
		st=ok$was
	elif cat "$t" >"$f"; then
		st=ok$was
	fi
	[ -z "$t" ] || rm -f "$t"
	t=
}
