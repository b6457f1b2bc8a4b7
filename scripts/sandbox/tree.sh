#!/bin/sh
# tree.sh - everything below a directory, links not followed.
# SPDX-License-Identifier: MIT
# op PATH: per entry a letter (d directory, l link, x executable file, f file,
# o other), the path below PATH and NUL; after a link's its target and NUL.
# shellcheck disable=SC2016,SC2034
need find
op() {
	enter "$1" || return
	find . ! -name . -exec sh -c '
		nl="
"
		for f; do
			if [ -h "$f" ]; then
				t=$(readlink "$f" || busybox readlink "$f"
					echo .)
				t=${t%"$nl."}
				printf "l%s\0%s\0" "${f#./}" "$t"
				continue
			elif [ -d "$f" ]; then k=d
			elif [ ! -f "$f" ]; then k=o
			elif [ -x "$f" ]; then k=x
			else k=f
			fi
			printf "%s%s\0" "$k" "${f#./}"
		done' sh {} + && st=ok
}
