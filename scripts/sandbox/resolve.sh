#!/bin/sh
# resolve.sh - where an operation on a path acts, with every link resolved.
# SPDX-License-Identifier: MIT
# op PATH WORKDIR SELF LIMIT: of a link its target, with SELF the link itself.
# Body: the real path and the real WORKDIR, each ended by NUL, then up to LIMIT
# bytes of the names below a directory (0: none).
# st: ok KIND LINKS GIT: KIND is none, file, dir, link or other, LINKS how many
# names the file has, GIT 1 within a repository's own files, else 0.
# shellcheck disable=SC2034,SC2086,SC2154
need ls readlink find head

# Is a directory from $1 up to $2 one that git keeps its data in, whatever its
# name? (A .git may be a link, or a file that names another directory.)
is_git() {
	g=$1
	while :; do
		if [ -e "$g/HEAD" ]; then
			[ -d "$g/objects" ] && [ -d "$g/refs" ] && return 0
			[ -e "$g/commondir" ] && return 0
		fi
		case $g in
		"$2" | '') return 1 ;;
		esac
		g=${g%/*}
	done
}

kind_of() {
	links=1
	if [ -L "$1" ]; then
		kind=link
	elif [ -d "$1" ]; then
		kind=dir
	elif [ -f "$1" ]; then
		kind=file
		fields=$(ls -ldn "$1")
		size_of $fields
	elif [ -e "$1" ]; then
		kind=other
	else
		kind=none
	fi
}

# The directory $1 without links, in real, which then ends in "/".
real_dir() {
	cd -P "$1" || return 1
	real=$(pwd -P && printf x) || return 1
	real=${real%x}
	real=${real%"$nl"}
	real=${real%/}/
}

op() {
	f=$1
	[ -n "$3" ] || follow "$f"
	if [ -z "$3" ] && [ -L "$f" ]; then
		st=link_loop
		return
	fi
	st=permission_denied
	real_dir "$2" || return
	work=$real
	up=${f%/*}
	while ! [ -d "${up:-/}" ]; do
		if [ -e "$up" ] || [ -L "$up" ]; then
			st=not_a_directory
			return
		fi
		up=${up%/*}
	done
	real_dir "${up:-/}" || return
	git=0
	is_git "${real%/}" "${work%/}" && git=1
	kind_of "$f"
	[ "$kind" != dir ] || ! is_git "$f" "$f" || git=1
	printf '%s%s\0%s\0' "$real" "${f#"$up"/}" "$work"
	if [ "$4" -gt 0 ] && [ "$kind" = dir ]; then
		cd -P "$f" && find . | head -c "$4"
	fi
	st="ok $kind $links $git"
}
