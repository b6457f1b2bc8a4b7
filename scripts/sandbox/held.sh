#!/bin/sh
# held.sh - the far end of a held stream: answers requests, one after another
# or many at once.
# SPDX-License-Identifier: MIT
#
# Given: held_nonce. Standard input has requests: a line "ID KIND BYTES LINES"
# and so many lines of text. Kind t: the text's output is the answer. j: the
# text calls "held_answer COMMAND", whose output is. l: the text is kept for the
# following requests, and not answered. Each runs in a subshell, that the next
# one need not wait. Standard output has "@held:ID:begin", the answer, and
# "@held:ID:end", on lines of their own. ID is nothing that a command of the
# user's could know. Descriptor 8 is the lock of standard output: one line that
# waits in a pipe.
# shellcheck disable=SC2015,SC2034,SC2154

# What the loop and the supervisor run: what is missing is named at once, not
# as whatever its absence looks like.
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

# A login without a HOME that is a path has that of the user database.
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

# Makes the lock, in the first place that takes a pipe. Its name is gone at
# once.
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

# Nobody may read any more: who has the lock gives it back all the same, since
# the others wait for it.
held_answer() {
	trap '' PIPE
	read -r held_ <&8
	printf '\n@held:%s:begin\n' "$held_id"
	"$@"
	printf '\n@held:%s:end\n' "$held_id"
	echo >&8
}

# The text of a request: read takes a byte at a time, so that a long one is
# left to dd where that reads exactly so many bytes.
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
		# s_serve takes it back: what was damaged on its way ends here.
		trap 'held_answer :' EXIT
		eval "$held_text"
	else
		held_out=$(eval "$held_text" 2>&1)
		held_answer printf %s "$held_out"
	fi
}

held_loop() {
	# Below SHLVL 2 bash takes itself for the one that sshd began, and reads
	# ~/.bashrc (built so by Debian): at every command.
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
