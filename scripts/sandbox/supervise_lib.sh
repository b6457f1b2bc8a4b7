#!/bin/sh
# supervise_lib.sh - what the keeper of a command and its followers share.
# SPDX-License-Identifier: MIT
#
# s_dir is the job's directory. In it: o.N and e.N, pieces of the command's
# output and error output that begin at byte N; a.o and a.e, how many bytes the
# reader has for sure; o.eof and e.eof, their sizes; born, when it was made
# (s_clock); asked, when the last request about it came; pid, the keeper; ended,
# once the command has; done, once all is known: exit code, both sizes, Unix
# time; killed, late, nocwd, full, never: why. s_ring above 0: a job that
# outlives who began it. So many bytes of its output stay for whoever asks, both
# streams in one; run is made by the one keeper that runs it. Names begin with
# s_, so that what the command finds in its environment stays as it was.
# shellcheck disable=SC2015,SC2034,SC2154

# Where sleep takes no fractions, it is a second: s_coarse. Without any, whoever
# waits would take a processor for itself.
s_nap() {
	sleep "$1" 2>/dev/null || {
		s_coarse=8
		sleep 1
		[ $? -ne 127 ] || exit 127
	}
}

# The same for whole seconds, so that a SIGTERM to the shell ends it at once: no
# sleep stays behind.
s_doze() {
	trap 'kill "$s_sleep" 2>/dev/null; exit 0' TERM
	sleep "$1" &
	s_sleep=$!
	wait "$s_sleep"
}

# Hundredths of a second, since whenever.
s_clock() {
	s_up=
	{ read -r s_up s_ </proc/uptime; } 2>/dev/null
	case $s_up in
	*.??) s_now=$((${s_up%.*} * 100 + 1${s_up#*.} - 100)) ;;
	*) s_now=$(($(date +%s) * 100)) ;;
	esac
}

# The last piece of stream $1 that begins at $2 or before: s_piece, or -1.
# The first of all: s_first.
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

# All bytes that stream $1 has had: s_total.
s_size() {
	s_find "$1" 9000000000000000
	s_total=$s_piece
	[ "$s_piece" -ge 0 ] || s_total=0
	# Most are empty: wc is a process.
	[ ! -s "$s_dir/$1.$s_piece" ] ||
		s_total=$((s_piece + $(wc -c <"$s_dir/$1.$s_piece")))
}

# Of stream $1 the pieces go that end before byte $2.
s_trim() {
	s_find "$1" "$2"
	[ "$s_piece" -gt "$s_first" ] || return
	for s_file in "$s_dir/$1."[0-9]*; do
		[ "${s_file##*.}" -ge "$s_piece" ] || rm -f "$s_file"
	done
}

# When process $1 began, and in which run of the machine: s_since. A process
# that has its number later is another one.
s_begun() {
	s_since=
	s_boot=
	s_line=
	{
		read -r s_line <"/proc/$1/stat"
		read -r s_boot </proc/sys/kernel/random/boot_id
	} 2>/dev/null
	# dash ends the shell at a shift of too many.
	[ -n "$s_line" ] || return
	# shellcheck disable=SC2086 # the words after the name
	set -- ${s_line##*) }
	shift 19 2>/dev/null && s_since=$1.$s_boot
}

# Both: s_no, s_ne.
s_sizes() {
	s_size o
	s_no=$s_total
	s_size e
	s_ne=$s_total
}

# Unix time: s_time. With s_epoch, when the machine started, no process is
# needed.
s_unix() {
	s_clock
	s_time=$((${s_epoch:-0} + s_now / 100))
	[ -n "$s_epoch" ] || s_time=$(date +%s)
}

s_done() {
	s_unix
	echo "$1 $s_no $s_ne $s_time" >"$s_dir/done"
}

# Forgets the output of a finished job, but not that there was some.
s_clear() {
	rm -f "$s_dir"/[oe].[0-9]* "$s_dir/c" "$s_dir/i" "$s_dir/x"
	: >"$s_dir/o.$s_no"
	: >"$s_dir/e.$s_ne"
}

# A job whose keeper is gone, or never came, has ended, nobody knows how. A
# clock that went back is another machine's.
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
