#!/bin/sh
# delete.sh - removes a file or a whole tree; what rm says is the body.
# SPDX-License-Identifier: MIT
# op PATH
# shellcheck disable=SC2034
need rm
op() {
	# GNU's rm refuses the root; busybox's does not.
	case $1 in
	*[!/]*) ;;
	*) st=permission_denied && return ;;
	esac
	if ! [ -e "$1" ] && ! [ -L "$1" ]; then
		absent "$1" file_not_found
	elif rm -rf "$1" 2>&1; then
		st=ok
	fi
}
