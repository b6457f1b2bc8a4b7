#!/bin/sh
# held.sh - serves many requests over one connection to a host, in parallel.
# SPDX-License-Identifier: MIT
#
# Variable: held_nonce. A request on standard input is a line "ID KIND BYTES
# LINES", followed by that many lines of shell text. KIND is
#   t  run the text; its output is the answer
#   j  run the text; it calls "held_answer COMMAND", whose output is the answer
#   l  evaluate the text in this shell, for later requests; there is no answer
# t and j run in subshells, so that the next request need not wait. An answer is
# the line "@held:ID:begin", the output, and the line "@held:ID:end". A user's
# command cannot know the ID, so it cannot forge an answer. Descriptor 8 is the
# lock of standard output: a pipe that contains one line while it is free.
# shellcheck disable=SC2015,SC2034,SC2154

# Checks for the programs that the loop and the supervisor need, so that the
# error names the missing program.
held_check() {
	for held_tool in cat date dd grep head mkdir mkfifo mv rm sleep \
		tail wc; do
		command -v $held_tool >/dev/null && continue
		printf '\n@held:%s:lacks-%s\n' "$held_nonce" $held_tool
		return 1
	done
	for held_tool in base64 od hexdump; do
		command -v $held_tool >/dev/null && return 0
	done
	printf '\n@held:%s:lacks-base64\n' "$held_nonce"
	return 1
}

# If HOME is not an absolute path, sets it to that of the user database.
held_home() {
	case ${HOME-} in
	/*) return ;;
	esac
	held_user=$(id -un 2>/dev/null)
	case $held_user in
	'' | *[!A-Za-z0-9._-]*) return ;;
	esac
	eval "HOME=~$held_user"
	export HOME
}

# Makes the lock in the first directory where a pipe can be made. The name is
# removed at once; the descriptor stays open.
held_lock() {
	for held_dir in /tmp "${HOME:-/tmp}" /dev/shm /run/user/* "$PWD"; do
		held_pipe=$held_dir/.dcode-held.$held_nonce
		(umask 077 && mkfifo "$held_pipe") || continue
		exec 8<>"$held_pipe"
		rm -f "$held_pipe"
		echo >&8
		return 0
	done 2>/dev/null
	return 1
}

# Prints one answer while it has the lock. SIGPIPE is ignored: if nobody reads
# any more, the lock must still be released for the subshells that wait for it.
held_answer() {
	trap '' PIPE
	read -r held_ <&8
	printf '\n@held:%s:begin\n' "$held_id"
	"$@"
	printf '\n@held:%s:end\n' "$held_id"
	echo >&8
}

# Reads the text of a request. The builtin read is slow (one byte at a time), so
# long texts are read by dd, if dd can read an exact number of bytes.
held_read() {
	held_text=
	if [ "$held_bytes" -gt 2048 ] && [ "$held_dd" = ab ]; then
		held_text=$(dd bs="$held_bytes" count=1 iflag=fullblock \
			2>/dev/null)
		return
	fi
	while [ "$held_lines" -gt 0 ]; do
		IFS= read -r held_line || return 1
		held_text="$held_text$held_line
"
		held_lines=$((held_lines - 1))
	done
}

held_handle() {
	if [ "$held_kind" = j ]; then
		# s_serve removes this trap. If the text was damaged in transit
		# and does not get that far, the answer is empty.
		trap 'held_answer :' EXIT
		eval "$held_text"
	else
		held_out=$(eval "$held_text" 2>&1)
		held_answer printf %s "$held_out"
	fi
}

held_loop() {
	# With SHLVL below 2 Debian's bash assumes that sshd started it and
	# reads ~/.bashrc, at every command.
	export SHLVL=1
	held_check || return 1
	held_home
	held_dd=$( (printf a && sleep 0 && printf b) |
		dd bs=2 count=1 iflag=fullblock 2>/dev/null)
	held_lock || {
		printf '\n@held:%s:nowhere\n' "$held_nonce"
		return 1
	}
	printf '\n@held:%s:ready\n' "$held_nonce"
	while read -r held_id held_kind held_bytes held_lines; do
		held_read || return
		if [ "$held_kind" = l ]; then
			eval "$held_text"
		else
			held_handle </dev/null &
		fi
	done
}
