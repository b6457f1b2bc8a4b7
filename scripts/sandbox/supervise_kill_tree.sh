#!/bin/sh
# supervise_kill_tree.sh - ends one command of ours, asked for from outside.
# SPDX-License-Identifier: MIT
#
# After supervise_kill.sh. $1 is the value of DCODE_EXEC in the command's
# environment, $2 its session, if that is known. Looks until nobody is found:
# what forks faster than it is killed is stopped first. Prints one line at the
# end; 1 when something does not die.
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
