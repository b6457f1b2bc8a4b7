#!/bin/sh
# ls.sh - prints the names in a directory, each followed by NUL. Directories end
# in "/".
# SPDX-License-Identifier: MIT
# op PATH
# shellcheck disable=SC2034
op() {
	enter "$1" || return
	set +f
	for e in * .[!.]* ..?*; do
		if [ -d "./$e" ] && ! [ -L "./$e" ]; then
			printf '%s/\0' "$e"
		elif [ -e "./$e" ] || [ -L "./$e" ]; then
			printf '%s\0' "$e"
		fi
	done
	st=ok
}
