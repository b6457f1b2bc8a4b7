#!/bin/sh
# workspace_send.sh - unpacks a tree into the working directory.
# SPDX-License-Identifier: MIT
# op DIR LIST GZIP REST BRANCH MESSAGE COMMITS: content, then the file REST, if
# named, are a tar stream, gzipped or not, whose last entry LIST is the listing
# of the tree; both are removed. Where git is, the tree becomes a repository on
# BRANCH: with one commit, or, where COMMITS is OID:SIZE, with those up to OID,
# which are a pack in LIST.git behind SIZE bytes that name what the tree lacks
# of them. The body names what was in DIR before, a line each.
# st: "ok git", "ok history", "ok plain" (a repository was there), "ok nogit",
# "ok failed" (git did not work, and no repository is left), "no_space", or
# "unpack" with what tar said as the body.
# shellcheck disable=SC2012,SC2015,SC2034,SC2086,SC2154
need mkdir rm mv cat ls tr cut head tail env sed sort uniq
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

start_repository() {
	for v in $(env | sed -n 's/^\(GIT_[A-Z_0-9]*\)=.*/\1/p'); do
		unset "$v"
	done
	GIT_TERMINAL_PROMPT=0
	export GIT_TERMINAL_PROMPT
	git init -q . && git symbolic-ref HEAD "refs/heads/$1" || return
	git config user.name >/dev/null || git config user.name dcode
	git config user.email >/dev/null ||
		git config user.email dcode@localhost
}

one_commit() {
	start_repository "$1" || return
	fast_settings
	cut -b 73- "$s/base" | tr '\n\1' '\0\n' |
		git -c core.autocrlf=false $fast update-index --add -z \
			--stdin &&
		git -c core.hooksPath=/dev/null -c gc.auto=0 \
			-c commit.gpgSign=false commit -q --allow-empty \
			--no-verify -m "$2"
}

# What the tree lacks of the last commit was deleted, or it was not sent: then
# git is told not to look for it. busybox's sort says nothing when it cannot
# write, its cat does.
all_commits() {
	start_repository "$1" || return
	tail -c "+$((${3#*:} + 1))" "./$2" | git index-pack --stdin &&
		git -c core.hooksPath=/dev/null update-ref HEAD "${3%%:*}" &&
		git read-tree HEAD || return
	head -c "${3#*:}" "./$2" | sort | cat >"$s/deleted" || return
	git ls-files -z -d | tr '\n\0' '\1\n' | sort |
		cat >"$s/lacking" || return
	only "$s/lacking" "$s/deleted" | tr '\n\1' '\0\n' |
		git update-index -z --skip-worktree --stdin || return
	# It ends with 1 where a file differs from HEAD, as the user's edits do.
	git update-index -q --refresh || true
}

commit() {
	[ ! -e .git ] && [ ! -L .git ] || return 0
	st='ok nogit'
	command -v git >/dev/null || return 0
	if [ -n "$4" ]; then
		(all_commits "$1" "$3" "$4") >/dev/null && st='ok history' &&
			return
		rm -rf .git
	fi
	st='ok failed'
	(one_commit "$1" "$2") >/dev/null && st='ok git' || rm -rf .git
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
		commit "$5" "$6" "$2.git" "$7"
		head -n 1000 "$s/before"
	fi
	rm -f "$s/before" "$s/deleted" "$s/lacking" "./$2" "./$2.git"
	drop_stream
}
