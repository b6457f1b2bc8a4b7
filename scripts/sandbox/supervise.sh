#!/bin/sh
# supervise.sh - handles one request about a job: start, follow or kill it.
# SPDX-License-Identifier: MIT
#
# A job is a command with a directory of its own (see supervise_lib.sh). Begin
# reading at s_serve() and s_request(). Variables of every request:
#   s_op      start, follow, kill, claim, list or leave
#   s_place   exec or jobs: which directory the jobs are in
#   s_ring    see supervise_lib.sh
#   s_job     name of the job; leave: prefix of the names
#   s_nonce   of the frame
#   s_o, s_e  bytes of output and error output that the reader has; -1: send all
#             that is stored
#   s_hold    hundredths of a second to wait for output
#   s_gather  the same, to wait for more once there is some
#   s_max     maximum bytes of the answer
#   s_at      ".OWNER" if several sandboxes share the machine
#   s_forget  jobs whose output was read completely: delete it
# To start a job: s_limit, s_cap, s_both (see supervise_keep.sh), s_held (1:
# answer only at the end), s_lib and s_keep (the keeper's scripts), s_run (the
# command, as a script), text() and s_b64 (its input). To list or leave: s_jobs.
#
# The answer is one frame: output, then error output. Its status is "WORD CODE
# FROM LEN FROM LEN", with FROM and LEN of each stream in bytes. For a list the
# output consists of its lines (supervise_list.sh).
# shellcheck disable=SC2015,SC2154,SC2317

# Sets s_dir to the directory of the job. False: there is none.
s_search() {
	for s_base in "/tmp/$s_name" "/tmp/$s_name.$s_uid" \
		"${HOME:-/tmp}/$s_name" "$PWD/$s_name"; do
		s_dir=$s_base/$s_job
		[ -d "$s_dir" ] && [ -O "$s_dir" ] && return 0
	done
	return 1
}

# Makes the job's directory in the first place where files and pipes can be made
# (a quick start needs no pipes). mkdir is atomic: of several requests with the
# same job, it succeeds for one, and only that one gets 0.
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

# Starts the keeper in the background and in a session of its own. "&" alone
# would make it ignore SIGINT.
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
	# The keeper of an earlier start may be reading these files: replace
	# them by a rename.
	[ -z "$s_again" ] || {
		mv "$s_dir/c$s_again" "$s_dir/c"
		mv "$s_dir/k$s_again" "$s_dir/k"
	}
	# A job that outlives its caller must not be killed with it.
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

# Sets s_word (state), s_code (exit status), s_no and s_ne (bytes that both
# streams have had).
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

# Waits until the job has ended, there are enough bytes, s_gather has passed
# since the first bytes, or s_hold has passed. Looks often at first, then less
# often.
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

# Prints bytes $2 to $2+$3 of stream $1, which has $4 bytes and may still grow.
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

# Records that the reader has $2 bytes of stream $1, and deletes them.
s_ack() {
	echo "$2" >"$s_dir/a.$1"
	s_trim "$1" "$2"
}

# Sets s_from to the position from which stream $1 is sent. $2: the bytes that
# the reader has. If older bytes are missing, the job counts as lost (or full).
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

# Records that the command has not run and will never run.
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

# Deletes output that was read, because other users may enter this sandbox.
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
		# Up to a quarter of the answer is for error output, even if
		# there is more output than fits.
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

# Waits for the end of a job that was killed just now, for 2 s at most.
s_await() {
	s_turn=0
	while [ ! -s "$s_dir/done" ] && [ $s_turn -lt 40 ]; do
		s_turn=$((s_turn + 1))
		s_nap 0.05
	done
}

# Deletes the ended jobs whose names begin with s_job or are in s_jobs, and ends
# the process that would delete their output later.
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
		# That of another dcode is still needed.
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
		# The first start may have been interrupted before the keeper
		# ran.
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
			# The start may arrive later: prevent it.
			if s_make; then
				s_never
			fi
			;;
		*) s_word=gone ;;
		esac
	fi
	[ -z "$s_forget" ] || (s_forget_all)
	[ -z "$s_word" ] || return
	# Only one process can make this directory: the keeper, which then runs
	# the command, or this request, which then prevents that.
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

# Answers from the position of the reader.
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
	# This request runs as a command of the owner: its mark names them.
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
