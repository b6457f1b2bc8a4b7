#!/bin/sh
# run-units.sh - runs each cmocka program; ends with "N passed, N failed".
# SPDX-License-Identifier: MIT
passed=0
failed=0
for t in "$@"; do
	out=$("$t" 2>&1)
	rc=$?
	ok=$(printf '%s\n' "$out" | grep -c '^\[       OK \]')
	printf '%s\n' "$out" | grep -B 1 '^\[  SKIPPED \] [^0-9]'
	bad=$(printf '%s\n' "$out" | grep -c '^\[  FAILED  \] [^0-9]')
	if [ $rc -ne 0 ] || [ "$ok" -eq 0 ]; then
		printf '%s\n' "$out"
		echo "FAILED: $t (status $rc)"
		[ "$bad" -eq 0 ] && bad=1
	fi
	passed=$((passed + ok))
	failed=$((failed + bad))
done
echo "units: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
