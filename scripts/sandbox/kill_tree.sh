#!/bin/sh
# kill_tree.sh - ends every process that belongs to one command of ours.
# SPDX-License-Identifier: MIT
#
# $1 is the value of DCODE_EXEC in the command's environment. Killed are the
# processes that carry it, those of their sessions, and their descendants, so
# that clearing the environment or setsid alone does not hide one. Repeats
# until a look finds nobody: what forks faster than it is killed is stopped
# first. Prints one line at the end; 1 when something does not die.

# Sets pid, parent and session of the process at /proc/$1.
look() {
	line=
	{ read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
	# shellcheck disable=SC2086 # words are wanted
	set -- "$1" ${line##*) }
	pid=$1 state=$2 parent=$3 session=$5
	[ "$state" != Z ] && [ "$state" != X ]
}

# Whether the word $1 is in the list $2.
among() {
	case " $2 " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

tag=DCODE_EXEC=$1
sessions=
look self || exit 1
mine=$session
look 1 || exit 1
first=$session
round=0
while [ $round -lt 200 ]; do
	round=$((round + 1))
	found=
	# shellcheck disable=SC2013 # names without white space
	for file in $(grep -ls "$tag" /proc/[0-9]*/environ 2>/dev/null); do
		pid=${file#/proc/}
		pid=${pid%/environ}
		look "$pid" || continue
		[ "$session" = "$mine" ] && continue
		found="$found $pid"
		if [ "$session" != 0 ] && [ "$session" != "$first" ] &&
			! among "$session" "$sessions"; then
			sessions="$sessions $session"
		fi
	done
	before=-
	while [ "$before" != "$found" ]; do
		before=$found
		for file in /proc/[0-9]*; do
			look "${file#/proc/}" || continue
			[ "$pid" = 1 ] && continue
			[ "$session" = "$mine" ] && continue
			among "$pid" "$found" && continue
			if among "$parent" "$found" ||
				among "$session" "$sessions"; then
				found="$found $pid"
			fi
		done
	done
	if [ -z "$found" ]; then
		echo gone
		exit 0
	fi
	# shellcheck disable=SC2086 # a list of numbers
	kill -STOP $found 2>/dev/null
	# shellcheck disable=SC2086
	kill -KILL $found 2>/dev/null
	[ $round -gt 20 ] && sleep 0.05
done
echo left
exit 1
