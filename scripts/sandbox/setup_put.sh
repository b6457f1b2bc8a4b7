#!/bin/sh
# setup_put.sh - sends a setup script into a sandbox as encrypted arguments.
# SPDX-License-Identifier: MIT
# For providers that can send neither a file nor standard input. Argument lists
# may be visible to others, so each piece of the script is encrypted with a
# one-time pad: random bytes that the sandbox has generated and printed for the
# call before. A pad is never in an argument list. Variables: name (of the
# directory to make), dir (its path, once known), want (number of bytes of the
# next pad; 0: none). text() prints a piece of the script in base64, to each
# symbol of which that of the pad was added, modulo 64. Prints the directory,
# the script's size so far, and the next pad.
# shellcheck disable=SC2154
for a in awk base64 cat head mkdir wc; do
	command -v "$a" >/dev/null 2>&1 ||
		eval "$a() { busybox $a \"\$@\"; }"
done
umask 077
if [ -n "$dir" ]; then
	cd "$dir" || exit 1
else
	for t in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm "$PWD"; do
		dir=$t/dcode-setup-$name
		mkdir "$dir" 2>/dev/null && cd "$dir" && break
		dir=
	done
	[ -n "$dir" ] || exit 1
fi
if [ -s pad ]; then
	text | awk '
	BEGIN {
		a = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		a = a "0123456789+/"
		for (i = 1; i <= 64; i++)
			at[substr(a, i, 1)] = i
	}
	{
		getline pad <"pad"
		line = ""
		for (i = 1; i <= length($0); i++) {
			c = substr($0, i, 1)
			p = substr(pad, i, 1)
			if (c in at)
				c = substr(a, (at[c] - at[p] + 64) % 64 + 1, 1)
			line = line c
		}
		print line
	}' | base64 -d >>script || exit 1
	rm -f pad
fi
pwd -P
[ ! -e script ] || wc -c <script
[ "$want" = 0 ] || head -c "$want" /dev/urandom | base64 >pad
[ "$want" = 0 ] || cat pad
