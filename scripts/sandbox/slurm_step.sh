#!/bin/sh
# slurm_step.sh - a step of the job: connects dcode with slurm_batch.sh.
# SPDX-License-Identifier: MIT
#
# Variables: held_nonce, b_control (see slurm_batch.sh). The job may have just
# begun, so this waits for the pipe `door`. Attack: another user makes a pipe of
# that name, to receive the requests; so it must belong to this user. Only the
# last command may read standard input.
# shellcheck disable=SC2154

b_turn=0
while [ ! -p "$b_control/door" ] || [ ! -O "$b_control/door" ]; do
	if [ -s "$b_control/failed" ]; then
		cat "$b_control/failed" >&2
		exit 3
	fi
	if [ $b_turn -ge 300 ]; then
		echo "the batch script has not started" >&2
		exit 3
	fi
	b_turn=$((b_turn + 1))
	sleep 0.1 2>/dev/null || sleep 1
done
umask 077
mkfifo "$b_control/$held_nonce.in" "$b_control/$held_nonce.out" || exit 3
echo "$held_nonce" >"$b_control/door"
cat "$b_control/$held_nonce.out" &
exec cat >"$b_control/$held_nonce.in"
