#!/bin/sh
# setup_put.sh - a setup script's directory, and its text where no file goes in.
# SPDX-License-Identifier: MIT
# Given: name, of the directory to make; dir, where it is, once that is known;
# text(), a piece of the script in base64, each symbol added to that of the pad
# modulo 64; want, how many random bytes the next pad has. Answers DIR, the
# script's size so far and the pad. The pad leaves the sandbox as output and is
# never an argument: whoever sees all argument lists learns nothing of the text.
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
