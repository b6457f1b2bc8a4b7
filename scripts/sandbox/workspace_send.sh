#!/bin/sh
# workspace_send.sh - unpacks a tree into the working directory.
# SPDX-License-Identifier: MIT
# op DIR LIST GZIP REST BRANCH MESSAGE: content, then the file REST, if named,
# are a tar stream, gzipped or not, whose last entry LIST is the listing of the
# tree; both are removed. Where git is, the tree becomes a repository with one
# commit on BRANCH. The body names what was in DIR before, a line each.
# st: "ok git", "ok plain" (no git, or a repository was there), "ok failed"
# (git did not work, and no repository is left), "no_space", or "unpack" with
# what tar said as the body.
# shellcheck disable=SC2012,SC2015,SC2034,SC2086,SC2154
need mkdir rm mv cat ls tr cut head tail env sed
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

# All blobs into one pack that is not compressed takes a third of the time that
# a file for each does. update-index before 2.37 makes a pack of each.
fast_settings() {
	v=$(git version)
	v=${v#git version }
	minor=${v#*.}
	minor=${minor%%.*}
	fast=
	if [ "${v%%.*}" -gt 2 ] || [ "$minor" -ge 37 ]; then
		fast='-c core.compression=0 -c core.bigFileThreshold=1'
	fi
}

commit() {
	command -v git >/dev/null || return 0
	[ ! -e .git ] && [ ! -L .git ] || return 0
	st='ok failed'
	fast_settings
	(
		for v in $(env | sed -n 's/^\(GIT_[A-Z_0-9]*\)=.*/\1/p'); do
			unset "$v"
		done
		GIT_TERMINAL_PROMPT=0
		export GIT_TERMINAL_PROMPT
		git init -q . &&
			git symbolic-ref HEAD "refs/heads/$1" || exit 1
		git config user.name >/dev/null ||
			git config user.name dcode
		git config user.email >/dev/null ||
			git config user.email dcode@localhost
		cut -b 73- "$s/base" | tr '\n\1' '\0\n' |
			git -c core.autocrlf=false $fast update-index --add \
				-z --stdin &&
			git -c core.hooksPath=/dev/null -c gc.auto=0 \
				-c commit.gpgSign=false commit -q \
				--allow-empty --no-verify -m "$2"
	) >/dev/null && st='ok git' || rm -rf .git
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
		commit "$5" "$6"
		head -n 1000 "$s/before"
	fi
	rm -f "$s/before" "./$2"
	drop_stream
}
