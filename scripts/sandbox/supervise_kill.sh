#!/bin/sh
# supervise_kill.sh - kills every process of one job.
# SPDX-License-Identifier: MIT
#
# These are the processes with DCODE_EXEC=$s_job in their environment, those in
# their sessions, and the descendants of all of them. So a process that clears
# its environment or calls setsid is found, too. Repeats until none is found.
# shellcheck disable=SC2154

# True if the word $1 is in the list $2.
s_among() {
	case " $2 " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# Sets s_table to all living processes (PID:PARENT:SESSION) and s_found to those
# in s_marked; adds their sessions to s_all. Uses cat, because the builtin read
# reads one byte at a time.
s_look() {
	s_lines=$(cat /proc/[0-9]*/stat 2>/dev/null)
	s_table=
	s_found=
	set -f
	IFS=$s_nl
	for s_line in $s_lines; do
		s_p=${s_line%% *}
		s_line=${s_line##*) }
		case $s_line in
		[ZX]*) continue ;;
		esac
		[ "$s_p" != 1 ] || continue
		s_line=${s_line#* }
		s_parent=${s_line%% *}
		s_line=${s_line#* }
		s_line=${s_line#* }
		s_session=${s_line%% *}
		s_table="$s_table $s_p:$s_parent:$s_session"
		s_among "$s_p" "$s_marked" || continue
		s_found="$s_found $s_p"
		s_among "$s_session" "$s_all" || s_all="$s_all $s_session"
	done
	set +f
	unset IFS
}

# Adds to s_found the children and the sessions of the processes in it. 1: there
# were none.
s_grow() {
	s_before=$s_found
	for s_line in $s_table; do
		s_p=${s_line%%:*}
		s_session=${s_line##*:}
		s_parent=${s_line#*:}
		s_among "${s_parent%:*}" "$s_found" ||
			s_among "$s_session" "$s_sessions" || continue
		s_among "$s_p" "$s_found" || s_found="$s_found $s_p"
	done
	[ "$s_before" != "$s_found" ]
}

# Sets s_marked to the processes with the job's name in their environment.
s_mark() {
	s_marked=
	# shellcheck disable=SC2013 # names without white space
	for s_p in $(grep -ls "DCODE_EXEC=$s_job" /proc/[0-9]*/environ \
		2>/dev/null); do
		s_p=${s_p#/proc/}
		s_marked="$s_marked ${s_p%/environ}"
	done
}

# Kills the processes that it finds. 1: there were none. They are stopped first,
# so that they cannot fork meanwhile.
s_kill_once() {
	s_mark
	s_look
	# A session belongs to the job if its leader does, or has ended.
	for s_p in $s_all; do
		s_among "$s_p" "0 $s_sessions" && continue
		if s_among "$s_p" "$s_found" || ! [ -d "/proc/$s_p" ]; then
			s_sessions="$s_sessions $s_p"
		fi
	done
	while s_grow; do
		:
	done
	[ -n "$s_found" ] || return 1
	# shellcheck disable=SC2086 # a list of numbers
	kill -STOP $s_found 2>/dev/null
	# shellcheck disable=SC2086
	kill -KILL $s_found 2>/dev/null
	return 0
}

# Kills until no process is left and the keeper has recorded the end, for at
# most two seconds.
s_kill() {
	s_sessions=
	s_all=
	s_nl='
'
	s_clock
	s_until=$((s_now + 200))
	while [ "$s_now" -lt "$s_until" ]; do
		if ! s_kill_once; then
			[ -e "$s_dir/done" ] && return 0
			s_nap 0.02
		fi
		s_clock
	done
	return 1
}
