#!/bin/sh
# unsteady.sh - which of the tests named on standard input may fail at times.
# SPDX-License-Identifier: MIT
#
# Prints those that are in tests/unsteady; says what is wrong in that file.
exec awk '
function may_fail(name, i) {
	for (i = 1; i <= n; i++)
		if (name == listed[i] || (prefix[i] != "" &&
		    index(name, prefix[i]) == 1))
			return 1
	return 0
}
FNR == NR {
	if (/^#/ || /^$/)
		next
	at = index($0, " | ")
	if (!/^20[0-9][0-9]-[01][0-9]-[0-3][0-9] [^ ].* [|] ./) {
		print FILENAME ":" FNR ": not YYYY-MM-DD TEST | REASON" \
			>"/dev/stderr"
		next
	}
	listed[++n] = substr($0, 12, at - 12)
	if (sub(/\*$/, "", listed[n]))
		prefix[n] = listed[n]
	next
}
may_fail($0)' "${UNSTEADY:-$(dirname "$0")/unsteady}" -
