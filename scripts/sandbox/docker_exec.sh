#!/bin/sh
# docker_exec.sh - runs a command, given as arguments, in its directory.
# SPDX-License-Identifier: MIT
# Arguments: DIR SHELL INPUT COMMAND [PART...]. A command that is too long for
# one argument comes in PARTs; COMMAND then shifts SHELL, INPUT and itself away
# and joins the parts. If SHELL is bash and is missing, sh is used. This script
# sets no variables, because the command would see them in its environment.
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
# Podman 4.3 loses the output of a command that ends before its input has been
# read (conmon's socket is reset). So the rest of the input is read here.
if [ $# -gt 3 ]; then
	"$1" -c "$3" "$@"
else
	"$1" -c "$3"
fi
set -- $?
cat >/dev/null 2>&1
exit "$1"
