#!/bin/sh
# workspace_send.sh - unpacks a tree into the working directory.
# SPDX-License-Identifier: MIT
# op DIR LIST GZIP REST BRANCH MESSAGE COMMITS LATER: content, then the file
# REST, if named, are a tar stream, gzipped or not, whose last entry LIST is the
# listing of the tree; both are removed. Where git is, the tree becomes a
# repository on BRANCH: with one commit, or, where COMMITS is OID:SIZE, with
# those up to OID, which are a pack in LIST.git behind SIZE bytes that name what
# the tree lacks of them. With LATER it is left to workspace_commit.sh, which
# goes before this one. The body names what was in DIR before, a line each.
# st: "ok git", "ok history", "ok plain" (a repository was there), "ok nogit",
# "ok failed" (git did not work, and no repository is left), "ok later",
# "no_space", or "unpack" with what tar said as the body.
# shellcheck disable=SC2012,SC2015,SC2034,SC2086,SC2154
need mkdir rm mv cat ls cut head tail
tar=$(tool tar)

unpack() {
	unset TAR_OPTIONS POSIXLY_CORRECT
	# Not by way of a file: the disk may be full.
	said=$(stream | EXTRACT_UNSAFE_SYMLINKS=1 $tar -xpof - 2>&1) &&
		[ -f "./$1" ] || {
		printf '%s\n' "$said" | tail -n 3 | head -c 600
		st=unpack
		return 1
	}
	mv -f "./$1" "$s/base" && return 0
	rm -f "$s/base"
	return 1
}

# The commit follows by itself, by workspace_commit.sh.
defer() {
	[ ! -e .git ] && [ ! -L .git ] || return 0
	st='ok nogit'
	command -v git >/dev/null || return 0
	st='ok failed'
	rm -f "$s/history"
	[ ! -f "./$1" ] || mv "./$1" "$s/history" || return 0
	printf '' >"$s/uncommitted" && st='ok later'
}

drop_stream() {
	[ -z "$rest" ] || rm -f "$rest"
	case $src in
	/*) rm -f "$src" ;;
	esac
}

op() {
	gzip=$3 rest=$4
	umask 022
	parents "$1"
	enter "$1" || return
	tree=$(pwd -P)
	state_of "$tree" || return
	st=no_space
	ls -A | cat >"$s/before" || return
	if unpack "$2"; then
		st='ok plain'
		drop_stream
		if [ -n "$8" ]; then
			defer "$2.git"
		else
			commit "$5" "$6" "./$2.git" "$7"
		fi
		head -n 1000 "$s/before"
	fi
	rm -f "$s/before" "./$2" "./$2.git"
	drop_stream
}
