#!/bin/sh
# supervise_kill_tree.sh - kills one command of dcode, without its keeper.
# SPDX-License-Identifier: MIT
#
# Needs supervise_kill.sh. $1 is the value of DCODE_EXEC in the command's
# environment, $2 its session, if known. Repeats until no process is found, then
# prints "gone". Prints "left" and exits with 1 if a process does not die.
# shellcheck disable=SC2034 # what supervise_kill.sh reads

s_job=$1
s_sessions=${2-}
s_all=
s_nl='
'
s_round=0
while [ $s_round -lt 200 ]; do
	s_round=$((s_round + 1))
	s_kill_once || {
		echo gone
		exit 0
	}
	[ $s_round -le 20 ] || sleep 0.05
done
echo left
exit 1
