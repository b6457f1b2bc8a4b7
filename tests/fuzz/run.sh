#!/bin/sh
# run.sh DIR SECONDS [SEED INPUTS] - runs each fuzzer of DIR; ends with counts.
# SPDX-License-Identifier: MIT
#
# Each runs for SECONDS. With SEED and INPUTS it ends after so many inputs, and
# tries the same ones each time: what a push tries does not depend on chance or
# on the speed of the machine, so a commit that passed here passes elsewhere.
# Starts from tests/fuzz/corpus/NAME (seeds are read, never written). What
# makes a fuzzer fail is kept in build/fuzz-found/.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=${1:?the folder of the built fuzzers}
seconds=${2:?seconds for each}
if [ $# -ge 4 ]; then
	repeat="-seed=$3 -runs=$4"
else
	repeat=
fi
found=$PWD/build/fuzz-found
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$found"

one() { # FUZZER: leaves its result in $tmp/NAME.ok or .bad
	name=$(basename "$1" _fuzz)
	mkdir "$tmp/$name"
	seeds=tests/fuzz/corpus/$name
	[ -d "$seeds" ] || seeds=
	dict=tests/fuzz/$name.dict
	[ -f "$dict" ] || dict=
	# shellcheck disable=SC2086 # two words
	if "$1" "$tmp/$name" ${seeds:+"$seeds"} ${dict:+-dict="$dict"} \
		$repeat \
		-max_total_time="$seconds" -timeout=25 -rss_limit_mb=1024 \
		-artifact_prefix="$found/$name-" -print_final_stats=1 \
		>"$tmp/$name.log" 2>&1; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' \
			"$tmp/$name.log")
		echo "fuzz $name: ok, ${runs:-0} inputs"
		: >"$tmp/$name.ok"
	else
		tail -n 40 "$tmp/$name.log"
		echo "fuzz $name: FAILED, input kept in build/fuzz-found/"
		: >"$tmp/$name.bad"
	fi
}

# As many at once as there are cores.
cores=$(getconf _NPROCESSORS_ONLN)
running=0
for fuzzer in "$dir"/*_fuzz; do
	[ -x "$fuzzer" ] || continue
	if [ "$running" -ge "$cores" ]; then
		wait
		running=0
	fi
	one "$fuzzer" &
	running=$((running + 1))
done
wait
passed=$(find "$tmp" -name '*.ok' | wc -l)
failed=$(find "$tmp" -name '*.bad' | wc -l)
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
