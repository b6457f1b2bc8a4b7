#!/bin/sh
# workspace_state.sh - the directory with the listing of the tree that was sent.
# SPDX-License-Identifier: MIT
# Sent before the other workspace scripts; needs private_dir.sh.
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

# Sets s to the state directory: the first one that can be private to this user
# and is not in the tree $1.
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

# both A B: prints lines that are in both sorted lists. only A B: prints lines
# that are only in A; B must be a file, because it is read twice.
both() {
	sort -m "$1" "$2" | uniq -d
}

only() {
	sort -m "$1" "$2" "$2" | uniq -u
}

# Sets f to the path in the line $1.
name_of() {
	f=./$1
	case $1 in
	*"$soh"*)
		f=$(printf '%sx' "$f" | tr '\1' '\n')
		f=${f%x}
		;;
	esac
}

# Prints the tar stream: content, then the file $rest if there is one.
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
