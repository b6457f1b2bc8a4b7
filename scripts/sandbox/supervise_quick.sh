#!/bin/sh
# supervise_quick.sh - starts a job with as few processes as possible.
# SPDX-License-Identifier: MIT
#
# For a shell that has loaded the supervisor's scripts. Begin reading at
# s_quick_start(). Does the same as supervise_keep.sh, without a separate
# program, named pipes or polling: the command and the two processes that copy
# its output report to the keeper over a pipe (descriptor 4). If the command
# ends within 0.1 s, the keeper answers the request. Otherwise the request
# follows the files as usual, and the keeper continues on its own.
# shellcheck disable=SC2015,SC2034,SC2154

# Runs the command.
s_quick_run() {
	exec 4>&- 5>&- 8>&-
	umask "$s_umask"
	DCODE_EXEC=$s_job$s_at
	export DCODE_EXEC
	eval "$s_run"
}

# Connects the command to the pipes and reports its status ("x N"). A job that
# was killed already is not started.
s_quick_command() {
	if [ -e "$s_dir/killed" ]; then
		echo "x 137" >&4
		return
	fi
	if [ -n "$s_both" ]; then
		(s_quick_run) <"$s_in" 2>&1
	else
		(s_quick_run) <"$s_in" 2>&5
	fi
	echo "x $?" >&4
}

# Reads the reports: the status and the sizes of both streams (s_code, s_no,
# s_ne). 1: the command takes longer than 0.1 s.
s_quick_wait() {
	s_code=
	s_no=
	s_ne=
	while read -r s_what s_n; do
		case $s_what in
		x) s_code=$s_n ;;
		o) s_no=$s_n ;;
		e) s_ne=$s_n ;;
		*) return 1 ;;
		esac
		[ -z "$s_code" ] || [ -z "$s_no" ] || [ -z "$s_ne" ] || break
	done
	return 0
}

# Waits for the end of a longer command. Reports of the two copying processes
# can be ignored: the sizes are in files, too.
s_quick_keep() {
	exec >/dev/null 8>&-
	s_watcher=
	if [ "$s_limit" -gt 0 ]; then
		s_limit=$((s_limit > 10 ? s_limit - 10 : 1))
		s_watch </dev/null &
		s_watcher=$!
	fi
	while [ -z "$s_code" ] && read -r s_what s_n; do
		[ "$s_what" != x ] || s_code=$s_n
	done
	: >"$s_dir/ended"
	s_finish "${s_code:--1}"
	[ -z "$s_watcher" ] || kill "$s_watcher"
}

s_quick_keeper() {
	exec 4>&- 5>&-
	s_answered=
	{ read -r s_pid s_ </proc/self/stat; } 2>/dev/null &&
		echo "$s_pid" >"$s_dir/pid"
	if s_quick_wait && s_done "$s_code"; then
		s_word=end
		for s_n in nocwd full late killed; do
			[ ! -e "$s_dir/$s_n" ] || s_word=$s_n
		done
		s_o=0
		s_e=0
		held_answer s_answer
		exec >/dev/null 8>&-
	else
		(
			exec </dev/null
			s_word=
			s_tell
			held_answer s_answer
		) &
		s_quick_keep
	fi
	[ ! -e "$s_dir/i" ] || rm -f "$s_dir/i" "$s_dir/x"
	[ -z "$s_forget" ] || (s_forget_all)
	[ "$s_no$s_ne" = 00 ] || s_quick_reap
}

# One process for each directory stays and deletes old output until there is
# none left, because the dcode that started the jobs may never come back.
s_quick_reap() {
	s_pid=
	{ read -r s_pid <"$s_base/reaper"; } 2>/dev/null
	[ -z "$s_pid" ] || [ ! -d "/proc/$s_pid" ] || return
	exec $s_set sh -c "s_only=1 s_base=\${0%/*}
$s_lib
$s_keep
s_reap" "$s_base/dcode-exec" "$s_job" </dev/null
}

# Handles a request to start a job; its keeper answers it. 1: the job exists
# already, or there is no place for it.
s_quick_start() {
	s_quick=1
	s_make || return 1
	s_set=
	for s_tool in setsid "busybox setsid"; do
		command -v ${s_tool%% *} >/dev/null && s_set=$s_tool && break
	done
	s_in=/dev/null
	if [ -n "$s_b64" ]; then
		s_in=$s_dir/i
		text >"$s_in"
	fi
	: >"$s_dir/o.0"
	: >"$s_dir/e.0"
	{
		(s_nap 0.1; echo t) >&4 8>&- &
		{
			s_quick_command | s_copy o 5>&- 8>&- >/dev/null &
		} 5>&1 | s_copy e 8>&- >/dev/null &
	} 4>&1 | s_quick_keeper &
	exit 0
}
