#!/bin/sh
# run-units.sh - runs each cmocka program; ends with "N passed, N failed".
# SPDX-License-Identifier: MIT
#
# More run at once than there are cores, because they mostly wait (under ASan
# they take 537 s, and 191 s of a processor). The longest start first. A skipped
# test counts as failed. If at most 25 programs fail, they run once more,
# alone. A program that passes then is listed as unsteady and counts as failed,
# unless tests/unsteady names it. A sanitizer's finding gets no second try; a
# leak of a failed test is not a finding.
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
failures_in() { # LOG: their names, at its end
	sed -n 's/^\[  FAILED  \] \([^0-9]\)/\1/p' "$1" | sort -u
}
try_again() { # PROGRAM LOG: 0 if that one counts
	sh "$0" --one "$1" "$2.again"
	bad_in "$2.again" && return 1
	names=$(failures_in "$2" | sed "s,^,tests/unit/$(basename "$1"):,")
	echo "$names" | sed 's/^/UNSTEADY: /'
	[ "$names" = "$(echo "$names" | sh "${0%/*}/unsteady.sh")" ]
}

for t in "$@"; do
	printf '%s\n%s\n' "$t" "$(log_of "$t")"
done | xargs -n 2 -P $(($(getconf _NPROCESSORS_ONLN) * 2 + 1)) sh "$0" --one
broken=0
for t in "$@"; do
	! bad_in "$(log_of "$t")" || broken=$((broken + 1))
done
for t in "$@"; do
	log=$(log_of "$t")
	borne=0 # its unsteady tests
	if bad_in "$log"; then
		cat "$log"
		echo "FAILED: $t (status and seconds: $(cat "$log.end"))"
		if [ $broken -le 25 ] && grep -q '^\[  FAILED' "$log" &&
			! grep -qE "$finding" "$log" &&
			try_again "$t" "$log"; then
			borne=$(failures_in "$log" | wc -l)
			log=$log.again
		fi
	fi
	ok=$(grep -c '^\[       OK \]' "$log")
	bad=$(failures_in "$log" | wc -l)
	# The end of a log names them again.
	skipped=$(grep '^\[  SKIPPED \] [^0-9]' "$log" | sort -u)
	if [ -n "$skipped" ]; then
		grep -B 1 '^\[  SKIPPED \] [^0-9]' "$log"
		bad=$((bad + $(echo "$skipped" | wc -l)))
	fi
	bad_in "$log" && [ "$bad" -eq 0 ] && bad=1
	passed=$((passed + ok - borne))
	failed=$((failed + bad))
done
echo "slowest:"
for t in "$@"; do
	read -r _ took <"$(log_of "$t").end"
	echo "$took s $(basename "$t")"
done | sort -rn | head -n 8
echo "units: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
