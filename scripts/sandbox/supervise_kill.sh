#!/bin/sh
# supervise_kill.sh - ends every process of one job.
# SPDX-License-Identifier: MIT
#
# Those that carry DCODE_EXEC=$s_job in their environment, those of the sessions
# that they lead, and the descendants of all of them: clearing the environment
# or setsid alone hides nobody. Repeats until a look finds no one.
# shellcheck disable=SC2154

# Whether the word $1 is in the list $2.
s_among() {
	case " $2 " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# Every living process as PID:PARENT:SESSION in s_table; those of s_marked in
# s_found, their sessions in s_all. cat, since read takes a byte at a time.
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

# Adds to s_found who belongs to those in it; 1 when there was nobody.
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

# Those that carry the job's name: s_marked.
s_mark() {
	s_marked=
	# shellcheck disable=SC2013 # names without white space
	for s_p in $(grep -ls "DCODE_EXEC=$s_job" /proc/[0-9]*/environ \
		2>/dev/null); do
		s_p=${s_p#/proc/}
		s_marked="$s_marked ${s_p%/environ}"
	done
}

# One look: kills whom it finds; 1 when nobody was there.
s_kill_once() {
	s_mark
	s_look
	# A session that is ours: its leader is, or has ended.
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

# Until nobody is left and the keeper has noticed, for two seconds at most.
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
