#!/bin/sh
# download.sh - prints a file, or COUNT blocks of 65536 bytes after SKIP blocks.
# SPDX-License-Identifier: MIT
# op PATH SKIP COUNT: st is "ok SIZE". COUNT 0: the whole file.
# shellcheck disable=SC2034,SC2154
need ls wc cat dd
op() {
	if [ -d "$1" ]; then
		st=is_directory
		return
	fi
	readable "$1" || return
	if [ "$3" -eq 0 ]; then
		cat "$1" && st="ok $size"
	else
		dd if="$1" bs=65536 skip="$2" count="$3" && st="ok $size"
	fi
}
