#!/bin/sh
# run-units.sh - runs each cmocka program; ends with "N passed, N failed".
# SPDX-License-Identifier: MIT
#
# One more at a time than there are cores, as most of them wait for something;
# those that take longest come first. A skipped test counts as failed.
# One that fails is run once more, alone, when all others are done: if it
# passes then, it is named as unsteady. A sanitizer's finding has no second
# try (what a failed test leaks is none).
set -u
if [ "${1:-}" = --one ]; then # PROGRAM LOG
	began=$(date +%s)
	"$2" >"$3" 2>&1
	echo "$? $(($(date +%s) - began))" >"$3.end"
	exit 0
fi
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
passed=0
failed=0
finding='(: Thread|ERROR: Address)Sanitizer|runtime error:'

log_of() { # PROGRAM
	echo "$logs/$(basename "$1")"
}
bad_in() { # LOG
	read -r rc _ <"$1.end"
	[ "$rc" -ne 0 ] || ! grep -q '^\[       OK \]' "$1"
}

for t in "$@"; do
	printf '%s\n%s\n' "$t" "$(log_of "$t")"
done | xargs -n 2 -P $(($(getconf _NPROCESSORS_ONLN) + 1)) sh "$0" --one
for t in "$@"; do
	log=$(log_of "$t")
	if bad_in "$log"; then
		cat "$log"
		echo "FAILED: $t (status and seconds: $(cat "$log.end"))"
		if grep -q '^\[  FAILED' "$log" &&
			! grep -qE "$finding" "$log"; then
			sh "$0" --one "$t" "$log"
			bad_in "$log" || echo "UNSTEADY: $t: passed alone"
		fi
	fi
	ok=$(grep -c '^\[       OK \]' "$log")
	bad=$(grep -c '^\[  FAILED  \] [^0-9]' "$log")
	# The end of a log names them again.
	skipped=$(grep '^\[  SKIPPED \] [^0-9]' "$log" | sort -u)
	if [ -n "$skipped" ]; then
		grep -B 1 '^\[  SKIPPED \] [^0-9]' "$log"
		bad=$((bad + $(echo "$skipped" | wc -l)))
	fi
	bad_in "$log" && [ "$bad" -eq 0 ] && bad=1
	passed=$((passed + ok))
	failed=$((failed + bad))
done
echo "slowest:"
for t in "$@"; do
	read -r _ took <"$(log_of "$t").end"
	echo "$took s $(basename "$t")"
done | sort -rn | head -n 8
echo "units: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
