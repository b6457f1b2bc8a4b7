#!/bin/sh
# slurm_batch.sh - the batch script of a job that is a sandbox.
# SPDX-License-Identifier: MIT
#
# Runs on the node until the job is ended. Then it deletes the sandbox's
# processes and directories, also if the cluster does not track processes with
# control groups. Begin reading below the functions. Variables:
#   b_label        label of the sandbox
#   b_root         the directory in which that of the sandbox is made
#   b_image        an Apptainer image, or empty
#   b_loop         the script that serves one connection (held.sh); its argument
#                  is the connection's name
#   s_lib, s_kill  functions that kill processes
# A connection is made by slurm_step.sh through pipes in b_control.
# shellcheck disable=SC2015,SC2034,SC2088,SC2154,SC2317

# Kills the sandbox's commands with all their processes, their keepers, and the
# connections.
b_kill() {
	eval "$s_lib"
	s_mark() {
		s_marked=
		# shellcheck disable=SC2013 # names without white space
		for s_p in $(grep -Els "DCODE_EXEC=[a-z2-7]*[.]$b_label|\
dcode-(exec|jobs)[.]$b_label|/tmp/[.]$b_label/" \
			/proc/[0-9]*/environ /proc/[0-9]*/cmdline); do
			# Another user may have such an argument.
			[ "${s_p%/cmdline}" = "$s_p" ] ||
				[ -O "${s_p%/*}" ] || continue
			s_p=${s_p#/proc/}
			s_marked="$s_marked ${s_p%%/*}"
		done
	}
	s_sessions=
	s_all=
	s_nl='
'
	b_turn=0
	while [ $b_turn -lt 250 ] && s_kill_once; do
		[ $b_turn -lt 20 ] || s_nap 0.02
		b_turn=$((b_turn + 1))
	done
}

# Removes all of the sandbox b_label: processes, b_work and b_control.
b_remove() {
	(b_kill) 2>/dev/null
	cd /
	chmod -R u+rwx "$b_work" 2>/dev/null
	rm -rf "$b_work" "$b_control" "$HOME/.dcode-env.$b_label"
	for b_kind in exec jobs; do
		rm -rf "/tmp/.dcode-$b_kind.$b_label" \
			"/tmp/.dcode-$b_kind.$b_label".* \
			"$HOME/.dcode-$b_kind.$b_label"
	done
	private_remove
	rmdir "${b_work%/*}" 2>/dev/null
}

b_end() {
	trap '' TERM INT HUP
	for b_pid in $b_keeper $b_guard $b_sweeper; do
		kill -KILL "$b_pid"
	done 2>/dev/null
	b_remove
	exit 0
}

# Removes what is left of sandboxes whose batch script died with the node.
b_sweep() {
	eval "$s_lib"
	for b_control in /tmp/.dcode-*; do
		b_label=${b_control#/tmp/.}
		case ${b_label#dcode-} in
		*[!a-z0-9]*) continue ;;
		esac
		[ -O "$b_control" ] && [ ! -L "$b_control" ] || continue
		b_pid=
		b_work=
		{
			read -r b_pid b_since <"$b_control/batch"
			read -r b_work <"$b_control/work"
		} 2>/dev/null
		[ -n "$b_pid" ] && s_begun "$b_pid"
		[ -n "$b_pid" ] && [ "$s_since" != "$b_since" ] || continue
		[ "${b_work##*/}" = "$b_label" ] && b_remove
	done
}

# Leaves an error message for steps that connect within a minute, then ends.
b_fail() {
	echo "$1" >"$b_control/failed"
	sleep 60 &
	b_keeper=$!
	wait $b_keeper
	b_end
}

# Cleans up if this script is killed and the cluster does not track processes.
# Only this script has the other end of the pipe `alive`: the kernel closes it
# when the script dies.
b_watch() {
	trap '' TERM INT HUP
	sh -c 'echo $PPID' >"$b_control/guard"
	read -r b_line <"$b_control/alive"
	b_keeper=
	b_guard=
	b_end
}

# Reads the pipe `door`. Each line is the name of a new connection: of two pipes
# whose other ends a step has.
b_keep() {
	while read -r b_name <&7; do
		case $b_name in
		'' | *[!a-z0-9]*) continue ;;
		esac
		(
			exec 7<&-
			exec <"$b_control/$b_name.in" >"$b_control/$b_name.out"
			rm -f "$b_control/$b_name.in" "$b_control/$b_name.out"
			cd "$b_work" || exit
			if [ -n "$b_image" ]; then
				exec apptainer exec --bind "$b_control" \
					--bind "$b_work" --pwd "$b_work" \
					"$b_image" sh "$b_control/loop" \
					"$b_name"
			fi
			exec $b_set sh "$b_control/loop" "$b_name"
		) &
	done
}

umask 077
b_guard=
b_keeper=
b_sweeper=
case $b_root in
"~" | "~/"*) b_root=$HOME${b_root#"~"} ;;
esac
b_work=$b_root/$b_label
b_control=/tmp/.$b_label
# It may exist from a run before the job was requeued.
[ ! -O "$b_control" ] || rm -rf "$b_control"
mkdir "$b_control" || exit 1
trap b_end TERM INT HUP
mkdir -p "$b_work" || b_fail "cannot make the directory $b_work"
b_work=$(cd "$b_work" && pwd -P) && [ -n "$b_work" ] ||
	b_fail "cannot enter the directory $b_root/$b_label"
[ -z "$b_image" ] || command -v apptainer >/dev/null ||
	b_fail "apptainer is not installed on this node"
b_set=
for b_tool in setsid "busybox setsid"; do
	command -v ${b_tool%% *} >/dev/null && b_set=$b_tool && break
done
printf '%s\n' "$b_loop" >"$b_control/loop" &&
	printf '%s\n' "$b_work" >"$b_control/work" &&
	(eval "$s_lib"; s_begun $$; echo "$$ $s_since") \
		>"$b_control/batch" &&
	mkfifo "$b_control/guard" "$b_control/alive" "$b_control/door" ||
	b_fail "cannot write in /tmp"
(b_watch &)
read -r b_guard <"$b_control/guard"
exec 9>"$b_control/alive" 7<>"$b_control/door"
b_keep 9>&- &
b_keeper=$!
(b_sweep) 9>&- 7<&- &
b_sweeper=$!
wait $b_keeper
b_end
