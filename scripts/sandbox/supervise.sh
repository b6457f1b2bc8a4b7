#!/bin/sh
# supervise.sh - one request about a job: start it, follow it, end it.
# SPDX-License-Identifier: MIT
#
# Given: s_op (start, follow, kill, claim, list, leave), s_place (the folder
# that jobs are in), s_ring (supervise_lib.sh), s_job (to leave: what the names
# begin with), s_nonce, s_o and s_e (bytes of both streams that the reader has;
# -1: all that is kept), s_hold and s_gather (hundredths of a second to wait for
# news, and for more of it), s_max (bytes of the answer). To start: s_limit,
# s_cap, s_held (1: answer at the end only),
# s_both (set: both streams in one pipe, o), s_lib and s_keep (the keeper),
# s_run (the command as a script), text() and s_b64 (its input), s_forget (jobs
# whose output was read and goes). s_at: whose jobs these are, where several
# share a machine. Answers one frame: output, then error output; its status is
# "WORD CODE FROM LEN FROM LEN". Of a list (supervise_list.sh, s_jobs) the
# output is its lines.
# shellcheck disable=SC2015,SC2154,SC2317

# The job's directory, if there is one.
s_search() {
	for s_base in "/tmp/$s_name" "/tmp/$s_name.$s_uid" \
		"${HOME:-/tmp}/$s_name" "$PWD/$s_name"; do
		s_dir=$s_base/$s_job
		[ -d "$s_dir" ] && [ -O "$s_dir" ] && return 0
	done
	return 1
}

# Makes it, in the first place that takes files and, but for a quick start,
# pipes: 0 to whom the job belongs.
s_make() {
	for s_base in "/tmp/$s_name" "/tmp/$s_name.$s_uid" \
		"${HOME:-/tmp}/$s_name" "$PWD/$s_name"; do
		s_dir=$s_base/$s_job
		[ -d "$s_base" ] || mkdir "$s_base"
		[ -d "$s_base" ] && [ ! -L "$s_base" ] && [ -O "$s_base" ] ||
			continue
		if mkdir "$s_dir"; then
			s_clock
			s_when=
			[ "$s_ring" = 0 ] || s_when=$(date +%s)
			echo "$s_now $s_when" >"$s_dir/born" && {
				[ -n "$s_quick" ] ||
					mkfifo "$s_dir/p.o" "$s_dir/p.e"
			} && return 0
			rm -rf "$s_dir"
		fi
		[ -d "$s_dir" ] && return 1
	done
	s_word=nowhere
	return 1
}

# In the background, in a session of its own, with SIGINT as it was: "&" alone
# would ignore it.
s_launch() {
	s_set=
	for s_tool in setsid "busybox setsid"; do
		command -v ${s_tool%% *} >/dev/null && s_set=$s_tool && break
	done
	{
		echo "umask $s_umask"
		echo "s_dir=\${0%/c}"
		printf '%s\n' "$s_run"
	} >"$s_dir/c$s_again" &&
		{
			echo "s_job=$s_job s_limit=$s_limit s_cap=$s_cap"
			echo "s_set='$s_set' s_at=$s_at s_ring=$s_ring"
			echo "s_both=$s_both"
			echo "s_dir=\${0%/k}"
			printf '%s\n' "$s_lib" "$s_keep"
		} >"$s_dir/k$s_again" || {
		s_word=nowhere
		return
	}
	# A keeper of an earlier start may be reading them.
	[ -z "$s_again" ] || {
		mv "$s_dir/c$s_again" "$s_dir/c"
		mv "$s_dir/k$s_again" "$s_dir/k"
	}
	# It is no part of what started it, which may be killed.
	[ "$s_ring" = 0 ] || unset DCODE_EXEC
	[ -z "$s_b64" ] || text >"$s_dir/i"
	if [ -n "$s_set" ] &&
		$s_set -f sh "$s_dir/k" </dev/null >/dev/null 8>&-; then
		return
	fi
	if ! start-stop-daemon -S -b -n "$s_job" -a "$(command -v sh)" -- \
		"$s_dir/k" </dev/null >/dev/null 8>&-; then
		$s_set sh "$s_dir/k" </dev/null >/dev/null 8>&- &
	fi
}

# What there is: s_word, s_code, s_no, s_ne (ends of both streams).
s_news() {
	s_word=run
	s_code=-1
	s_ne=
	if [ -s "$s_dir/done" ]; then
		# shellcheck disable=SC2034
		read -r s_code s_no s_ne s_ <"$s_dir/done"
	fi
	if [ -z "$s_ne" ]; then
		s_sizes
		return
	fi
	s_word=end
	for s_n in nocwd full late killed never; do
		[ ! -e "$s_dir/$s_n" ] || s_word=$s_n
	done
}

# Until the end, enough bytes, or some and then s_gather, or s_hold.
s_follow() {
	s_clock
	echo "$s_now" >"$s_dir/asked"
	s_end=$((s_now + s_hold))
	s_some=
	s_turn=0
	while :; do
		s_news
		s_n=$((s_no - s_o + s_ne - s_e))
		[ "$s_word" = run ] || break
		[ "$s_n" -lt "$s_raw" ] || [ "${s_held:-0}" = 1 ] || break
		s_clock
		[ "$s_now" -lt "$s_end" ] || break
		if [ "$s_n" -gt 0 ]; then
			s_some=${s_some:-$s_now}
			[ $((s_now - s_some)) -lt "$s_gather" ] ||
				[ -e "$s_dir/ended" ] || break
		fi
		s_turn=$((s_turn + 1))
		if [ $s_turn -le 6 ]; then
			s_nap 0.004
		elif [ $s_turn -le 12 ] || [ -e "$s_dir/ended" ]; then
			s_nap 0.01
		elif [ -n "$s_some" ] || [ $((s_end - s_now)) -lt 50 ]; then
			s_nap 0.03
		elif [ $s_turn -le 30 ]; then
			s_nap 0.05
		elif [ $s_turn -le 80 ]; then
			s_nap 0.2
		else
			s_nap 0.4
		fi
		[ $((s_turn % 16)) = 0 ] || continue
		echo "$s_now" >"$s_dir/asked"
		s_orphan
	done
}

# Bytes $2 to $2+$3 of stream $1, which has $4. One that goes on grows.
s_part() {
	if [ "$2" = 0 ] && [ "$3" = "$4" ] && [ "$4" -lt 1048576 ] &&
		[ -e "$s_dir/done" ]; then
		[ "$4" = 0 ] || cat "$s_dir/$1.0"
		return
	fi
	s_from=$2
	s_left=$3
	while [ "$s_left" -gt 0 ]; do
		s_find "$1" "$s_from"
		[ "$s_piece" -ge 0 ] || return
		s_file=$s_dir/$1.$s_piece
		s_n=$((s_piece + $(wc -c <"$s_file") - s_from))
		[ "$s_n" -gt 0 ] || return
		[ "$s_n" -lt "$s_left" ] || s_n=$s_left
		tail -c +$((s_from - s_piece + 1)) "$s_file" | head -c "$s_n"
		s_from=$((s_from + s_n))
		s_left=$((s_left - s_n))
	done
}

# The reader has $2 bytes of stream $1.
s_ack() {
	echo "$2" >"$s_dir/a.$1"
	s_trim "$1" "$2"
}

# From where stream $1 is read, given $2: s_from.
s_start() {
	s_find "$1" 9000000000000000
	[ "$s_first" -ge 0 ] || s_first=0
	s_from=$2
	if [ "$s_ring" -gt 0 ] && [ "$2" -ge "$s_first" ]; then
		:
	elif [ "$2" -lt 0 ] || [ "$s_ring" -gt 0 ]; then
		s_from=$s_first
	elif [ "$2" -lt "$s_first" ]; then
		s_word=lost
		[ ! -e "$s_dir/full" ] || s_word=full
	else
		s_ack "$1" "$2"
	fi
}

# It has not run, and will not.
s_never() {
	if [ "$s_op" = kill ]; then
		: >"$s_dir/killed"
	else
		: >"$s_dir/never"
	fi
	s_no=0
	s_ne=0
	s_done 137
}

# What commands print is theirs who asked: others come to this sandbox.
s_forget_all() {
	for s_job in $s_forget; do
		s_search && s_news && [ "$s_no$s_ne" != 00 ] && s_clear
	done
}

s_encode() {
	if [ $s_enc = b ]; then
		base64
	else
		od -An -v -tx1 || hexdump -v -e '1/1 "%02x"'
	fi
}

s_answer() {
	s_lo=${#s_text}
	s_le=0
	if [ -n "$s_text" ]; then
		s_lo=$((s_lo + s_more))
	elif [ -n "$s_ne" ]; then
		s_lo=$((s_no - s_o))
		s_le=$((s_ne - s_e))
		# A quarter for errors, however much output there is.
		s_n=$s_le
		[ $s_n -le $((s_raw / 4)) ] || s_n=$((s_raw / 4))
		[ $s_lo -le $((s_raw - s_n)) ] || s_lo=$((s_raw - s_n))
		[ $((s_lo + s_le)) -le $s_raw ] || s_le=$((s_raw - s_lo))
		[ $((s_o + s_lo)) -lt "$s_no" ] ||
			[ $((s_e + s_le)) -lt "$s_ne" ] && s_word=run
	fi
	printf '\n@dcode:%s:%s\n' "$s_nonce" $s_enc
	[ $((s_lo + s_le)) = 0 ] || {
		printf %s "$s_text"
		s_part o "$s_o" $((s_lo - ${#s_text})) "$s_no"
		s_part e "$s_e" $s_le "$s_ne"
	} | s_encode
	printf '\n@dcode:%s=%s\n' "$s_nonce" \
		"$s_word $s_code $s_o $s_lo $s_e $s_le"
}

# Waits for the end of a job that was killed just now.
s_await() {
	s_turn=0
	while [ ! -s "$s_dir/done" ] && [ $s_turn -lt 40 ]; do
		s_turn=$((s_turn + 1))
		s_nap 0.05
	done
}

# Of the jobs whose names begin with s_job, or are in s_jobs, those that have
# ended go with all that is left of them, and who looks after their output.
s_leave() {
	for s_base in "/tmp/$s_name" "/tmp/$s_name.$s_uid" \
		"${HOME:-/tmp}/$s_name" "$PWD/$s_name"; do
		[ -d "$s_base" ] && [ ! -L "$s_base" ] && [ -O "$s_base" ] ||
			continue
		s_more=
		for s_dir in "$s_base"/*/; do
			s_dir=${s_dir%/}
			case " $s_jobs" in
			*" ${s_dir##*/} "*)
				s_await
				[ ! -s "$s_dir/done" ] ||
					[ -e "$s_dir/never" ] ||
					rm -rf "$s_dir"
				;;
			esac
			case ${s_dir##*/} in
			"$s_job"*) [ ! -s "$s_dir/done" ] || rm -rf "$s_dir" ;;
			esac
			[ ! -d "$s_dir" ] || s_more=1
		done
		s_pid=
		{ read -r s_pid <"$s_base/reaper"; } 2>/dev/null
		# Another dcode's stays for the output of its own commands.
		s_file=/proc/$s_pid/cmdline
		if [ -n "$s_pid" ] && grep -qs dcode-exec "$s_file" &&
			{ [ -z "$s_more" ] || grep -qs "$s_job" "$s_file"; }
		then
			kill "$s_pid"
			rm -f "$s_base/reaper"
		fi
		[ -n "$s_more" ] || {
			rm -f "$s_base/reaper"
			rmdir "$s_base"
		}
	done
	s_word=end
	s_code=0
	s_o=0
	s_e=0
	s_no=0
	s_ne=0
}

s_request() {
	s_word=
	if [ "$s_op" = leave ]; then
		s_leave
		return
	fi
	if [ "$s_b64" = 1 ] && [ $s_enc = x ]; then
		s_word=nobase64
		return
	fi
	if [ "$s_op" = list ]; then
		s_list
		return
	fi
	s_again=
	if s_search; then
		# Its start may have been cut off before the keeper began.
		if [ "$s_op" = start ] && [ "$s_ring" -gt 0 ] &&
			[ ! -e "$s_dir/run" ] && [ ! -e "$s_dir/done" ]; then
			s_again=.$$
			s_launch
		fi
	else
		case $s_op in
		start)
			if [ -n "$s_wrap" ] && [ "$s_ring" = 0 ]; then
				s_quick_start
			elif s_make; then
				s_launch
			fi
			;;
		kill | claim)
			# It may still be on its way here.
			if s_make; then
				s_never
			fi
			;;
		*) s_word=gone ;;
		esac
	fi
	[ -z "$s_forget" ] || (s_forget_all)
	[ -z "$s_word" ] || return
	# Who makes this directory decides whether the command runs.
	if [ "$s_ring" -gt 0 ] && [ "$s_op" != start ] &&
		[ ! -e "$s_dir/done" ] && mkdir "$s_dir/run"; then
		s_never
	fi
	if [ "$s_op" = kill ] && [ ! -e "$s_dir/done" ]; then
		: >"$s_dir/killed"
		s_kill
	fi
	s_tell
}

# From where the reader is.
s_tell() {
	s_start o "$s_o"
	s_o=$s_from
	s_start e "$s_e"
	s_e=$s_from
	[ -n "$s_word" ] || s_follow
}

s_serve() {
	trap - EXIT
	set +efu
	unset IFS
	s_umask=${s_umask:-$(umask)}
	umask 077
	[ -c /dev/null ] && exec 2>/dev/null
	s_uid=
	# What asks about a job is itself a command of its owner.
	[ "$s_place" = exec ] || case ${DCODE_EXEC-} in
	*.*) s_at=.${DCODE_EXEC#*.} ;;
	esac
	s_name=.dcode-$s_place$s_at
	[ ! -e "/tmp/$s_name" ] || [ -O "/tmp/$s_name" ] || s_uid=$(id -u)
	s_text=
	s_quick=
	s_code=-1
	s_ne=
	s_enc=x
	s_raw=$((s_max * 3 / 10))
	if [ "${s_base64:-$(printf a | base64)}" = YQ== ]; then
		s_enc=b
		s_raw=$((s_max * 7 / 10))
	fi
	s_request
	${s_wrap:-eval} s_answer
	exit 0
}

[ -n "$s_only" ] || s_serve
