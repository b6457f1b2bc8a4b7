#!/bin/sh
# none_guard.sh - kills commands on this machine if their dcode was killed.
# SPDX-License-Identifier: MIT
#
# $1: prefix of the commands' marks (values of DCODE_EXEC). KILL: the text of
# supervise_kill.sh and supervise_kill_tree.sh. Standard input is a pipe whose
# other end only dcode has. Its lines:
#   +N      command N begins
#   =N PID  command N is the process PID, which leads a session; this is needed
#           because a command can clear its environment, and its mark with it
#   -N      command N has ended
# When the pipe is closed, the commands that still run are killed. A dcode that
# exits normally has ended them before.
trap '' HUP INT QUIT TERM
running=' '
while read -r line pid; do
	number=${line#?}
	case $line in
	+*) running="$running$number: " ;;
	*)
		rest=${running#* "$number":}
		running="${running%% "$number":*} ${rest#* }"
		;;
	esac
	case $line in
	=*) running="$running$number:$pid " ;;
	esac
done
for number in $running; do
	sh -c "$KILL" kill_tree "$1-${number%:*}" "${number#*:}" &
done
wait
