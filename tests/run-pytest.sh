#!/bin/sh
# run-pytest.sh - runs pytest; the last line has the counts.
# SPDX-License-Identifier: MIT
#
# run-pytest.sh LOG ARGUMENTS...   LOG: the log; other files are beside it
#
# If at most 25 tests fail, they run once more, alone. A test that passes then
# is listed as unsteady and counts as failed, unless tests/unsteady names it. A
# sanitizer's finding gets no second try.
set -u
top=$(dirname "$0")
log=$1
shift
cache=$(cd "$(dirname "$log")" && pwd)/$(basename "$log").cache
rm -rf "$cache"

try() { # LOG ARGUMENTS...
	to=$1
	shift
	/usr/bin/python3 -m pytest -q -rsfE --durations=40 \
		--durations-min=3 -o cache_dir="$cache" "$@" \
		>"$to" 2>&1
}
failures_in() { # LOG: their names, from its summary
	sed -nE 's/ - .*//; s/^(FAILED|ERROR) //p' "$1"
}

try "$log" "$@"
first=$?
failures_in "$log" >"$log.bad"
cat "$log"
[ $first -ne 0 ] || exit 0
n=$(wc -l <"$log.bad")
if [ "$n" -eq 0 ] || [ "$n" -gt 25 ] ||
	grep -qE '(Address|Thread|Leak)Sanitizer|runtime error:' "$log"; then
	exit $first
fi
try "$log.again" --lf "$@" -n 0
second=$?
failures_in "$log.again" >"$log.still"
cat "$log.again"
[ $second -eq 0 ] || [ -s "$log.still" ] || exit $second
grep -vxFf "$log.still" "$log.bad" >"$log.passed"
sed 's/^/UNSTEADY: /' "$log.passed"
borne=$(sh "$top/unsteady.sh" <"$log.passed" | wc -l)
# shellcheck disable=SC2046 # two words
set -- $(sh "$top/counts.sh" "$log")
echo "$1 passed, $(($2 - borne)) failed"
[ $(($2 - borne)) -eq 0 ]
