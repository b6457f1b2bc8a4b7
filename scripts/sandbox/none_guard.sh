#!/bin/sh
# none_guard.sh - ends the commands on this machine whose dcode was killed.
# SPDX-License-Identifier: MIT
#
# $1: what the marks of the commands begin with; KILL: supervise_kill.sh and
# supervise_kill_tree.sh. Standard input is a pipe of which dcode alone has the
# other end: a line "+N" says that command N begins, "=N PID" that it is the
# process PID, which leads a session (a command can clear its environment, and
# its mark with it), "-N" that it has ended. At the end of the input all that
# still run are killed. A dcode that ends by itself leaves none.
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
