#!/bin/sh
# supervise_keep.sh - the keeper: runs a job's command and stores its output.
# SPDX-License-Identifier: MIT
#
# Begin reading at s_keep_job(). Runs in a session of its own, after the
# libraries. Variables:
#   s_dir    the job's directory
#   s_job    its name
#   s_limit  time limit in hundredths of a second; 0: none
#   s_set    the setsid program, or empty
#   s_cap    maximum bytes of a stream that the reader does not have yet; then
#            the command has to wait
#   s_both   set: both streams are one, o
#   s_ring   see supervise_lib.sh
# shellcheck disable=SC2015,SC2034,SC2154

# Copies standard input to files, the pieces of stream $1. dd writes the bytes
# of each read and reports the number of reads: fewer than 64 mean the end.
s_copy() {
	s_at=0
	s_len=0
	s_eof=
	while :; do
		s_in=$(dd bs=65536 count=64 2>&1 >>"$s_dir/$1.$s_at") ||
			: >"$s_dir/full"
		# The file's size cannot tell the end: when the job has been
		# deleted, it is empty, but a daemon may still write.
		s_n=${s_in%% *}
		case $s_n in
		*[!0-9+]* | +* | *+ | *+*+*) ;;
		*+*) [ $((${s_n%+*} + ${s_n#*+})) -ge 64 ] || s_eof=1 ;;
		esac
		[ -s "$s_dir/$1.$s_at" ] || break
		# Arithmetic on an empty value ends dash. When the job has been
		# deleted, its daemon would then get SIGPIPE.
		s_n=${s_in##*
}
		s_n=${s_n%% *}
		case $s_n in
		'' | *[!0-9]*) s_n=$(wc -c <"$s_dir/$1.$s_at") || s_n=0 ;;
		*) s_n=$((s_len + s_n)) ;;
		esac
		[ "$s_n" -gt "$s_len" ] || break
		s_len=$s_n
		[ -z "$s_eof" ] || break
		[ "$s_ring" -gt 0 ] || s_wait "$1" || break
		# Output of a daemon after the end of the command is dropped.
		[ -e "$s_dir/done" ] && exec cat >/dev/null
		[ "$s_len" -ge 1048576 ] || continue
		s_at=$((s_at + s_len))
		s_len=0
		[ "$s_ring" = 0 ] || s_trim "$1" $((s_at - s_ring))
	done
	echo $((s_at + s_len)) >"$s_dir/$1.eof"
	[ -z "$s_quick" ] || echo "$1 $((s_at + s_len))" >&4
	[ -z "$s_eof" ] || [ -e "$s_dir/full" ] || exit 0
	# The command still writes, but the disk is full, the job was deleted,
	# or nobody reads any more: drop the rest.
	exec cat >/dev/null 4>&-
}

# Waits while the reader is s_cap bytes behind. If nobody has asked for an hour,
# kills the command. Returns 1 if the command was killed or the job deleted.
s_wait() {
	s_gone=0
	while [ $s_gone = 0 ]; do
		s_has=0
		{ read -r s_has <"$s_dir/a.$1"; } 2>/dev/null
		[ $((s_at + s_len - ${s_has:-0})) -ge "$s_cap" ] || break
		[ -e "$s_dir/done" ] && break
		: >"$s_dir/$1.wait"
		if s_is_alone; then
			: >"$s_dir/killed"
			s_kill
		fi
		if [ -e "$s_dir/killed" ] || [ ! -d "$s_dir" ]; then
			s_gone=1
		else
			s_nap 0.1
		fi
	done
	[ ! -e "$s_dir/$1.wait" ] || rm -f "$s_dir/$1.wait"
	return $s_gone
}

# True if the last request about the job was an hour ago. If the clock is behind
# that request, the job was moved to another machine: start anew.
s_is_alone() {
	s_asked=
	{ read -r s_asked <"$s_dir/asked"; } 2>/dev/null
	s_clock
	if [ -z "$s_asked" ] || [ "$s_now" -lt "$s_asked" ]; then
		s_asked=$s_now
		echo "$s_now" >"$s_dir/asked"
	fi
	[ $((s_now - s_asked)) -ge 360000 ]
}

# Records that the command has ended with status $1. A process that it left
# behind may keep its output open. Then the output ends when nothing has come
# for a while (12 rounds of 0.01 s).
s_finish() {
	s_quiet=-4
	s_old=
	while [ "$s_quiet" -lt 12 ]; do
		if [ -s "$s_dir/o.eof" ] && [ -s "$s_dir/e.eof" ]; then
			read -r s_no <"$s_dir/o.eof"
			read -r s_ne <"$s_dir/e.eof"
			break
		fi
		s_quiet=$((s_quiet + 1 + ${s_coarse:-0}))
		if [ $s_quiet -le 0 ]; then
			s_nap 0.004
			continue
		fi
		s_nap 0.01
		s_sizes
		[ "$s_no $s_ne" = "$s_old" ] && [ ! -e "$s_dir/o.wait" ] &&
			[ ! -e "$s_dir/e.wait" ] || s_quiet=0
		s_old="$s_no $s_ne"
	done
	# If the disk is full, deletes the output to make room for the status.
	s_done "$1" || {
		: >"$s_dir/full"
		s_clear
		s_done "$1"
	}
}

# Kills the command at its time limit. Sleeps at most a second, so that this
# process ends soon after the command.
s_watch() {
	s_clock
	s_end=$((s_now + s_limit))
	while [ ! -e "$s_dir/done" ] && [ "$s_now" -lt "$s_end" ]; do
		[ -d "$s_dir" ] || return
		s_left=$((s_end - s_now))
		if [ "$s_left" -ge 100 ]; then
			s_doze 1
		elif [ "$s_left" -ge 10 ]; then
			s_nap "0.$s_left"
		else
			s_nap 0.03
		fi
		s_clock
	done
	# The keeper sends TERM to this shell when the command has ended. Not
	# during the kill: other processes of the job must be found first.
	trap '' TERM
	[ -e "$s_dir/done" ] && return
	: >"$s_dir/late"
	s_kill
}

# Deletes the output of jobs that ended 90 seconds ago, and jobs that ended ten
# minutes ago. Sets s_more if any output is left.
s_sweep() {
	s_time=$(date +%s)
	s_more=
	for s_dir in "$s_base"/*/; do
		s_dir=${s_dir%/}
		s_orphan
		s_when=
		{ read -r s_ s_no s_ne s_when <"$s_dir/done"; } 2>/dev/null
		[ -n "$s_when" ] || continue
		if [ $((s_time - s_when)) -ge 600 ]; then
			rm -rf "$s_dir"
		elif [ $((s_time - s_when)) -ge 90 ]; then
			s_clear
		else
			for s_file in "$s_dir"/[oe].[0-9]*; do
				[ ! -s "$s_file" ] || s_more=1
			done
		fi
	done
}

# One keeper stays and deletes old output until there is none left, because the
# dcode that started the jobs may never come back.
s_reap() {
	s_pid=
	{ read -r s_pid <"$s_base/reaper"; } 2>/dev/null
	if [ -n "$s_pid" ] &&
		grep -qs dcode-exec "/proc/$s_pid/cmdline"; then
		return
	fi
	echo $$ >"$s_base/reaper"
	while s_sweep; [ -n "$s_more" ]; do
		s_doze 10
		[ -d "$s_base" ] || return
	done
	rm -f "$s_base/reaper"
}

s_keep_job() {
	s_base=${s_dir%/*}
	s_err=e
	s_had=
	if [ "$s_ring" -gt 0 ]; then
		mkdir "$s_dir/run" 2>/dev/null || exit 0
		s_line=
		s_begun $$
		s_had=$s_since
	fi
	if [ -n "$s_both" ]; then
		s_err=o
		echo 0 >"$s_dir/e.eof"
	fi
	echo "$$ $s_had" >"$s_dir/pid"
	: >"$s_dir/o.0"
	: >"$s_dir/e.0"
	s_watcher=
	if [ "$s_limit" -gt 0 ]; then
		s_watch &
		s_watcher=$!
	fi
	s_in=$s_dir/i
	[ -e "$s_in" ] || s_in=/dev/null
	s_copy o <"$s_dir/p.o" &
	[ $s_err = o ] || s_copy e <"$s_dir/p.e" &
	if [ -e "$s_dir/killed" ]; then
		: >"$s_dir/p.o" 2>"$s_dir/p.$s_err"
		s_code=137
	else
		# In a subshell, because dash would print "Killed" into the
		# output.
		(
			DCODE_EXEC=$s_job$s_at
			export DCODE_EXEC
			exec $s_set sh "$s_dir/c"
		) <"$s_in" >"$s_dir/p.o" 2>"$s_dir/p.$s_err"
		s_code=$?
	fi
	: >"$s_dir/ended"
	[ -z "$s_watcher" ] || kill "$s_watcher" 2>/dev/null
	s_finish "$s_code"
	rm -f "$s_dir/k" "$s_dir/c" "$s_dir/i" "$s_dir/x"
	[ "$s_ring" -gt 0 ] || s_reap
}

[ -n "$s_only" ] || s_keep_job
