#!/bin/sh
# workspace_send.sh - unpacks a tree into the working directory.
# SPDX-License-Identifier: MIT
# op DIR LIST GZIP REST BRANCH MESSAGE COMMITS LATER The content, followed by
# the file REST if that is named, is a tar stream. GZIP not empty: it is
# compressed. Its last entry LIST is the listing of the tree. REST and an
# uploaded content are removed. If git is installed, the tree becomes a
# repository on BRANCH with one commit. If COMMITS is OID:SIZE, it gets the
# commits up to OID: the entry LIST.git has SIZE bytes with the names of files
# that are not in the tree, then a pack. With LATER that is left to
# workspace_commit.sh, which is sent before this script. The body lists what was
# in DIR before. st is "ok git", "ok history", "ok plain" (there was a
# repository), "ok nogit", "ok failed" (git failed; there is no repository), "ok
# later", "no_space", or "unpack", with tar's messages as the body.
# shellcheck disable=SC2012,SC2015,SC2034,SC2086,SC2154
need mkdir rm mv cat ls cut head tail
tar=$(tool tar)

unpack() {
	unset TAR_OPTIONS POSIXLY_CORRECT
	# into a variable, because the disk may be full
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

# Leaves the commit to a later call of workspace_commit.sh.
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
