#!/bin/sh
# tree_changes.sh - runs a command, then names the files that it changed, and
# the ports on which something listens.
# SPDX-License-Identifier: MIT
#
# Given: d_dir (the tree; "": do not list), d_nonce, d_command, d_most (lines of
# a listing), d_ports ("": no ports; first: also those before the command),
# d_shared (yes: also name the user, who is one of many).
# Lists the tree before and after the command, compares size and time, and
# prints an aside (frame.h) "COUNT\nNAME\nNAME..." with the first names. Nothing
# if the tree has too many files or a listing takes too long. Files that git
# ignores are not named. If git push has asked for a branch
# (workspace_commit.sh), "push BRANCH\n" is before the count, which may be 0.
# Before that, if any: "user UID\n", "before LIST\n" and "listens LIST\n". A
# LIST has "ADDRESS:PORT UID " for each listener, as in /proc/net/tcp.
# shellcheck disable=SC2034,SC2154

# Lists the files. The last line is the exit status; without it, the list is not
# complete.
d_list() {
	{
		cd -- "$d_dir" && timeout "$d_seconds" find . \
			\( -name .git -o -name node_modules -o -name .venv \
			-o -name __pycache__ \) -prune \
			-o \( -type f -o -type l \) "$@"
		echo "=$?"
	} | head -n "$d_most"
}

d_gnu() {
	d_seconds=0.5
	d_list -printf '%T@|%s|%p\n'
}

# For busybox: its find has no -printf, its timeout no fractions.
d_busybox() {
	d_seconds=1
	d_list -exec stat -c '%y|%s|%n' {} +
}

# find fails if it may not read a directory, but lists the rest.
d_is_complete() {
	case $1 in
	'=0' | *'
=0' | *'
=1') return 0 ;;
	esac
	return 1
}

# Removes the names that git ignores, if there is a git.
d_tracked() {
	d_all=$(head -n 1000)
	d_checked=$(cd -- "$d_dir" && printf '%s\n' "$d_all" |
		timeout 1 git -c core.quotePath=off check-ignore -v -n --stdin)
	case $? in
	0 | 1)
		# A pattern that begins with "!" includes the file.
		d_tab=$(printf '\t')
		printf '%s\n' "$d_checked" | sed -n -e "s/^::$d_tab//p" \
			-e "s/^[^$d_tab]*:[0-9]*:![^$d_tab]*$d_tab//p"
		;;
	*) printf '%s\n' "$d_all" ;;
	esac
}

d_report() {
	export LC_ALL=C
	d_names=$(printf '%s\n' "$d_before" "$d_after" | sort | uniq -u |
		cut -d'|' -f3- | sed -n 's,^\./,,p' | sort -u | d_tracked)
	if [ -z "$d_names" ]; then
		echo 0
		return
	fi
	printf '%s\n' "$d_names" | wc -l
	printf '%s\n' "$d_names" | head -n 5 | head -c 3000 | tr -d '\036'
}

# Takes the note of git push.
d_take_push() {
	d_note=$d_dir/.git/dcode-push/request
	[ -f "$d_note" ] || return 0
	d_branch=$(head -n 1 "$d_note" | head -c 250 | tr -d '\036\n')
	printf 'push %s\n.' "$d_branch"
	rm -f "$d_note"
}

# Sets d_list to the listeners, which are the first lines of these files. Starts
# no process: the command's answer waits for it.
d_listeners() {
	d_list=
	for d_file in /proc/net/tcp /proc/net/tcp6; do
		[ -r "$d_file" ] || continue
		d_left=65
		while read -r d_x d_local d_x d_state d_x d_x d_x d_uid d_x; do
			d_left=$((d_left - 1))
			case $d_left$d_state in
			64*) ;;
			0* | *[!A]) break ;;
			*) d_list="$d_list$d_local $d_uid " ;;
			esac
		done <"$d_file"
	done
}

d_shell=${BASH_VERSION:+$BASH}
d_shell=${d_shell:-sh}
[ -c /dev/null ] || exec "$d_shell" -c "$d_command"
# A shell tells its standard error about a command that a signal has killed.
exec 3>&2 2>/dev/null
d_kind=d_gnu
d_before=
[ -z "$d_dir" ] || d_before=$(d_gnu)
[ -z "$d_dir" ] || d_is_complete "$d_before" || {
	d_kind=d_busybox
	d_before=$(d_busybox)
}
d_list=
[ "$d_ports" != first ] || d_listeners
d_listened=$d_list
"$d_shell" -c "$d_command" 2>&3 3>&-
d_status=$?
d_push=
[ -z "$d_dir" ] || d_push=$(d_take_push)
d_push=${d_push%.}
if [ -n "$d_ports" ]; then
	d_listeners
	[ -z "$d_list" ] || d_push="listens $d_list
$d_push"
	[ -z "$d_listened" ] || d_push="before $d_listened
$d_push"
	[ -z "$d_shared" ] || [ -z "$d_push" ] || d_push="user $(id -u)
$d_push"
fi
d_said=0
if d_is_complete "$d_before"; then
	d_after=$($d_kind)
	[ "$d_before" = "$d_after" ] || ! d_is_complete "$d_after" ||
		d_said=$(d_report)
fi
[ "$d_said$d_push" = 0 ] ||
	printf '\036dcode-%s %s%s\n\036' "$d_nonce" "$d_push" "$d_said"
exit $d_status
