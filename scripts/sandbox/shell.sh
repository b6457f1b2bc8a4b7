#!/bin/sh
# shell.sh - a terminal that a program in the sandbox makes.
# SPDX-License-Identifier: MIT
#
# $s_do: begin runs $s_command in a terminal of $s_rows and $s_columns, whose
# input is a FIFO; keys writes what the function text prints into it; resize and
# remove do what they say. $s_nonce names the directory of the FIFO.
# Output: of begin, what the terminal shows. Error output: dcode-no-terminal.
# shellcheck disable=SC2154,SC2016
for s_dir in /tmp "$HOME" .; do
	[ -d "$s_dir" ] && [ -w "$s_dir" ] && break
done
s_dir=$s_dir/.dcode-shell.$s_nonce
s_await() { # until the terminal is there; 5 s at most
	s_n=0
	while [ ! -e "$s_dir/ready" ] && [ $s_n -lt 50 ]; do
		sleep 0.1 2>/dev/null || { sleep 1 && s_n=$((s_n + 9)); }
		s_n=$((s_n + 1))
	done
}
case $s_do in
keys)
	s_await
	[ -p "$s_dir/in" ] && text >"$s_dir/in"
	;;
resize)
	s_await
	IFS= read -r s_tty <"$s_dir/tty" &&
		stty rows "$s_rows" cols "$s_columns" <"$s_tty"
	;;
remove) rm -rf "$s_dir" ;;
begin)
	(umask 077 && mkdir "$s_dir" && mkfifo "$s_dir/in") || exit 126
	trap 'rm -rf "$s_dir"' EXIT
	# Both ends are open, so that the FIFO never ends.
	exec 3<>"$s_dir/in"
	export s_dir s_rows s_columns s_command
	# Runs in the terminal. script(1) starts $SHELL, which may be any shell.
	s_inner='
[ -z "${s_shell+x}" ] && unset SHELL || SHELL=$s_shell
stty sane rows "$s_rows" cols "$s_columns" 2>/dev/null
tty >"$s_dir/tty" 2>/dev/null || rm -f "$s_dir/tty" # no name: no resize
: >"$s_dir/ready"
s_c=$s_command s_d=$s_dir
unset s_dir s_rows s_columns s_command s_shell
(eval "$s_c")
echo "$?" >"$s_d/status"'
	[ -z "${SHELL+x}" ] || export s_shell="$SHELL"
	if command -v script >/dev/null 2>&1; then
		SHELL=/bin/sh script -q -c "$s_inner" /dev/null <&3 3<&-
	elif command -v python3 >/dev/null 2>&1; then
		python3 -c 'import pty, sys
pty.spawn(["/bin/sh", "-c", sys.argv[1]])' "$s_inner" <&3 3<&-
	else
		echo dcode-no-terminal >&2
		exit 125
	fi
	IFS= read -r s_status <"$s_dir/status" || s_status=129
	exit "$s_status"
	;;
esac
