#!/bin/sh
# docker_exec.sh - runs a command, given as arguments, in its directory.
# SPDX-License-Identifier: MIT
# DIR SHELL INPUT COMMAND [PART...]: where PARTs are, COMMAND drops SHELL, INPUT
# and itself, and joins them. SHELL bash: sh where there is none. No variable is
# set: the command would have it in its environment.
cd -- "$1" || exit 126
shift
if [ "$1" = bash ] && ! command -v bash >/dev/null 2>&1; then
	shift
	set -- sh "$@"
fi
if [ "$2" != drain ]; then
	[ $# -gt 3 ] || exec "$1" -c "$3"
	exec "$1" -c "$3" "$@"
fi
# Podman 4.3 loses the output of a command that ends before its input does
# (conmon's socket is reset), so what the command left of it is read here.
if [ $# -gt 3 ]; then
	"$1" -c "$3" "$@"
else
	"$1" -c "$3"
fi
set -- $?
cat >/dev/null 2>&1
exit "$1"
