#!/bin/sh
# delete.sh - removes a file or a whole tree. The body is the output of rm.
# SPDX-License-Identifier: MIT
# op PATH
# shellcheck disable=SC2034,SC2154
need rm
op() {
	# GNU's rm refuses the root; busybox's does not.
	case $1 in
	*[!/]*) ;;
	*) st=permission_denied && return ;;
	esac
	anchor "$1" || return
	if ! [ -e "$f" ] && ! [ -L "$f" ]; then
		absent "$1" file_not_found
	elif rm -rf "$f" 2>&1; then
		st=ok
	fi
}
