#!/bin/sh
# workspace_state.sh - where a sandbox keeps what was sent; goes before others.
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2154
need id mkdir chmod sort uniq tr
soh=$(printf '\001')

tool() {
	if command -v "$1" >/dev/null; then
		printf %s "$1"
	else
		printf 'busybox %s' "$1"
	fi
}

# The first directory that can be ours alone and is not in the tree $1.
state_of() {
	user=$(id -u) || user=0
	for s in "$HOME/.dcode/workspace$of_label" \
		"/var/tmp/.dcode-$user$of_label" "/tmp/.dcode-$user$of_label"
	do
		case $s/ in
		"$1"/* | /.dcode/*) continue ;;
		"$HOME"/*) [ -d "$HOME" ] || continue ;;
		esac
		private_dir "$s" && return 0
	done
	st=no_state
	return 1
}

# The lines of two sorted lists that are in both, and those of the first alone;
# its second list is a file, since it is read twice.
both() {
	sort -m "$1" "$2" | uniq -d
}

only() {
	sort -m "$1" "$2" "$2" | uniq -u
}

# The name of line $1, in f.
name_of() {
	f=./$1
	case $1 in
	*"$soh"*)
		f=$(printf '%sx' "$f" | tr '\1' '\n')
		f=${f%x}
		;;
	esac
}

# The tar stream that came: content, and the file $rest, if any.
stream() {
	if [ -n "$gzip" ]; then
		both_parts | $(tool gzip) -dc
	else
		both_parts
	fi
}

both_parts() {
	content
	[ -z "$rest" ] || cat "$rest"
}
