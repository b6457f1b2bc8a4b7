#!/bin/sh
# resolve.sh - prints the path that an operation acts on, without links.
# SPDX-License-Identifier: MIT
# op PATH WORKDIR SELF LIMIT If PATH is a link, this is about its target or,
# with SELF, about the link. The body is the path and WORKDIR without links,
# each followed by NUL. If the path is a directory, up to LIMIT bytes of names
# below it follow (0: none). st is "ok KIND LINKS GIT". KIND is none, file, dir,
# link or other. LINKS is the number of hard links. GIT is 1 for a file of a git
# directory, else 0.
# shellcheck disable=SC2034,SC2086,SC2154
need ls readlink find head

# True if a directory from $1 up to $2 is a git directory. Its name does not
# matter: .git may be a link, or a file that names another directory.
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

# Sets real to the directory $1 without links, with a "/" at the end.
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
