#!/bin/sh
# write.sh - one file, whole or around a kept head and tail.
# SPDX-License-Identifier: MIT
# op PATH HEAD TAIL LEN MARK MOST, see put.sh; an uploaded source is removed.
# shellcheck disable=SC2154
op() {
	put "$@"
	case $src in
	/*) rm -f "$src" ;;
	esac
}
