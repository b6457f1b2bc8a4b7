#!/bin/sh
# counts.sh - the counts in a log of tests, as "PASSED FAILED".
# SPDX-License-Identifier: MIT
#
# From the last line of LOG that counts. Skips are failures, but for those that
# say that a file beside the checkout is not there (a sum of two tries has left
# them out).
exec awk '
/[0-9] (passed|failed|skipped|errors?)/ { last = $0 }
/^SKIPPED .* \.\.\/shared\// {
	gsub(/[^0-9]/, "", $2)
	beside += $2
}
END {
	if (last ~ /skipped/)
		bad -= beside
	gsub(/[^a-z0-9 ]/, "", last)
	n = split(last, w, " ")
	for (i = 2; i <= n; i++) {
		if (w[i] == "passed" || w[i] == "xfailed")
			ok += w[i - 1]
		else if (w[i] ~ /^(failed|skipped|errors?|xpassed)$/)
			bad += w[i - 1]
	}
	print ok + 0, bad + 0
}' "$1"
