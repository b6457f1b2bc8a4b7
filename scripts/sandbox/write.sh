#!/bin/sh
# write.sh - writes a file, or the part between its head and its tail.
# SPDX-License-Identifier: MIT
# op PATH HEAD TAIL LEN MARK MOST: see put.sh. An uploaded source is removed.
# shellcheck disable=SC2154
op() {
	put "$@"
	case $src in
	/*) rm -f "$src" ;;
	esac
}
