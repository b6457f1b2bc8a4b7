#!/bin/sh
# supervise_lib.sh - functions of the keeper of a job and of requests about it.
# SPDX-License-Identifier: MIT
#
# s_dir is the job's directory. Its files:
#   o.N, e.N      pieces of the output and the error output that begin at byte N
#   a.o, a.e      number of bytes that the reader has confirmed
#   o.eof, e.eof  size of each stream, once it has ended
#   born          time when the directory was made (s_clock)
#   asked         time of the last request about the job
#   pid           process id of the keeper
#   ended         exists once the command has ended
#   done          once all is known: exit status, both sizes, Unix time
#   killed, late, nocwd, full, never   exist if this is why the job ended
#   run           directory made by the keeper that runs the command
#   p.o, p.e      pipes from the command to the keeper
#   c, k, i       the command, the keeper's script, the command's input
# s_ring above 0: the job outlives the dcode that started it. Both streams are
# one, and its last s_ring bytes stay until somebody asks. All names begin with
# s_, so that the command's environment is not changed.
# shellcheck disable=SC2015,SC2034,SC2154

# Sleeps. If sleep accepts no fractions, sleeps a second and sets s_coarse.
# Exits if there is no sleep at all, because a loop would use a whole processor.
s_nap() {
	sleep "$1" 2>/dev/null || {
		s_coarse=8
		sleep 1
		[ $? -ne 127 ] || exit 127
	}
}

# The same for whole seconds. A SIGTERM ends the shell at once, and the sleep
# with it.
s_doze() {
	trap 'kill "$s_sleep" 2>/dev/null; exit 0' TERM
	sleep "$1" &
	s_sleep=$!
	wait "$s_sleep"
}

# Sets s_now: hundredths of a second since boot, else since 1970.
s_clock() {
	s_up=
	{ read -r s_up s_ </proc/uptime; } 2>/dev/null
	case $s_up in
	*.??) s_now=$((${s_up%.*} * 100 + 1${s_up#*.} - 100)) ;;
	*) s_now=$(($(date +%s) * 100)) ;;
	esac
}

# Sets s_piece to the last piece of stream $1 that begins at byte $2 or before,
# or -1, and s_first to the first piece.
s_find() {
	s_piece=-1
	s_first=-1
	for s_file in "$s_dir/$1."[0-9]*; do
		s_n=${s_file##*.}
		case $s_n in
		'' | *[!0-9]*) continue ;;
		esac
		[ "$s_first" -ge 0 ] && [ "$s_n" -ge "$s_first" ] ||
			s_first=$s_n
		[ "$s_n" -gt "$2" ] || [ "$s_n" -le "$s_piece" ] ||
			s_piece=$s_n
	done
}

# Sets s_total to the number of bytes that stream $1 has had.
s_size() {
	s_find "$1" 9000000000000000
	s_total=$s_piece
	[ "$s_piece" -ge 0 ] || s_total=0
	# most streams are empty: save the process for wc
	[ ! -s "$s_dir/$1.$s_piece" ] ||
		s_total=$((s_piece + $(wc -c <"$s_dir/$1.$s_piece")))
}

# Deletes the pieces of stream $1 that end before byte $2.
s_trim() {
	s_find "$1" "$2"
	[ "$s_piece" -gt "$s_first" ] || return
	for s_file in "$s_dir/$1."[0-9]*; do
		[ "${s_file##*.}" -ge "$s_piece" ] || rm -f "$s_file"
	done
}

# Sets s_since to the start time of process $1 and the boot id. A later process
# with the same number has another value.
s_begun() {
	s_since=
	s_boot=
	s_line=
	{
		read -r s_line <"/proc/$1/stat"
		read -r s_boot </proc/sys/kernel/random/boot_id
	} 2>/dev/null
	# dash exits if shift has too few arguments
	[ -n "$s_line" ] || return
	# shellcheck disable=SC2086 # the words after the name
	set -- ${s_line##*) }
	shift 19 2>/dev/null && s_since=$1.$s_boot
}

# Sets s_no and s_ne to the sizes of both streams.
s_sizes() {
	s_size o
	s_no=$s_total
	s_size e
	s_ne=$s_total
}

# Sets s_time to the Unix time. If s_epoch (the time of the boot) is set, this
# starts no process.
s_unix() {
	s_clock
	s_time=$((${s_epoch:-0} + s_now / 100))
	[ -n "$s_epoch" ] || s_time=$(date +%s)
}

s_done() {
	s_unix
	echo "$1 $s_no $s_ne $s_time" >"$s_dir/done"
}

# Deletes the output of a finished job, but not the numbers of its bytes.
s_clear() {
	rm -f "$s_dir"/[oe].[0-9]* "$s_dir/c" "$s_dir/i" "$s_dir/x"
	: >"$s_dir/o.$s_no"
	: >"$s_dir/e.$s_ne"
}

# Records the end of a job whose keeper has died or never started; its exit
# status is unknown (-1). If the clock is behind the job's start, the job was
# moved to another machine.
s_orphan() {
	[ ! -e "$s_dir/done" ] || return
	s_pid=
	s_born=
	s_had=
	{
		read -r s_pid s_had <"$s_dir/pid"
		read -r s_born s_ <"$s_dir/born"
	} 2>/dev/null
	s_clock
	[ -n "$s_born" ] || echo "${s_born:=$s_now}" >"$s_dir/born"
	if [ "$s_now" -ge "$s_born" ]; then
		if [ -z "$s_pid" ]; then
			[ $((s_now - s_born)) -ge 1000 ] || return
			[ "$s_ring" = 0 ] ||
				! mkdir "$s_dir/run" 2>/dev/null ||
				: >"$s_dir/never"
		elif [ ! -d /proc/self ]; then
			return
		elif [ -d "/proc/$s_pid" ]; then
			[ -n "$s_had" ] || return
			s_line=
			s_begun "$s_pid"
			[ "$s_since" != "$s_had" ] || return
		fi
	fi
	[ ! -e "$s_dir/done" ] || return
	s_sizes
	s_done -1
}
