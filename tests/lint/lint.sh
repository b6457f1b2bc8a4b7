#!/bin/sh
# lint.sh - every check of form; one line each, ends with the counts.
# SPDX-License-Identifier: MIT
#
# sh tests/lint/lint.sh [CHECK ...]   all of them, or those named
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
passed=0
failed=0
jobs=$(getconf _NPROCESSORS_ONLN)
python=/usr/bin/python3

for tool in $python gcc clang-format clang-tidy shellcheck; do
	if ! command -v "$tool" >/dev/null; then
		echo "lint: no $tool: run ./scripts/install-deps test" >&2
		exit 1
	fi
done
make -s gen || exit 1
flags=$(make -s flags) || exit 1

sources() { # SUFFIX...: our files, build products left out
	for s in "$@"; do
		find src config providers cmd tests -name node_modules -prune \
			-o -name "*.$s" -print | sort
	done
}
scripts() {
	find scripts tests .ci -type f ! -path '*/data/*' \
		! -path '*/corpus/*' \
		! -path '*/node_modules/*' | sort | while read -r f; do
		case $(head -n 1 "$f" | tr -d '\0') in
		'#!/bin/sh'* | '#!/bin/bash'*) echo "$f" ;;
		'#!/usr/bin/env bash'*) echo "$f" ;;
		esac
	done
}

layers() { $python tests/lint/layers.py; }
calls() { $python tests/lint/calls.py; } # reads the release build
exports() { $python tests/lint/exports.py; }
sizes() { $python tests/lint/limits.py size; }
functions() { $python tests/lint/limits.py functions; }
heads() { $python tests/lint/limits.py heads; }
banned() {
	$python tests/lint/limits.py banned &&
		$python tests/lint/limits.py masks
}
words() { $python tests/lint/limits.py words; }
messages() { $python tests/lint/limits.py messages; }
tags() { $python tests/lint/limits.py tags; }
format() {
	# shellcheck disable=SC2016 # the inner shell's variables
	sources c h | xargs -P "$jobs" -n 25 sh -c '
		clang-format --dry-run -Werror "$@" 2>/dev/null && exit
		for f; do
			clang-format --dry-run -Werror "$f" 2>/dev/null ||
				echo "$f: not formatted: make format"
		done
		exit 1' sh
}
shell() {
	# In the sandbox's scripts words split on purpose, and ls is what
	# busybox has for stat.
	scripts | grep -v '^scripts/sandbox/' | xargs shellcheck -e SC2317 &&
		shellcheck -s sh -e SC2086,SC2012,SC2209,SC3044 \
			scripts/sandbox/*.sh
}
python_() { sources py | xargs $python -m py_compile; }
# $0 of the inner shells: the flags, quoted for a shell; $1: one file.
headers() { # each compiles when it is the only one
	# shellcheck disable=SC2016 # the inner shell's variables
	find src config providers cmd -name '*.h' | sort |
		xargs -P "$jobs" -n 1 sh -c \
			'eval "gcc $0 -fsyntax-only -x c \"$1\""' "$flags"
}
# One file a process: several gave false valist warnings (14.0.6).
tidy_each() { # CHECKS, after those of .clang-tidy; reads the files' names
	# shellcheck disable=SC2016 # the inner shell's variables
	sort | xargs -P "$jobs" -n 1 sh -c '
		run="clang-tidy --quiet --checks=$1 \"$2\" -- $0"
		out=$(eval "$run" 2>&1) || { printf "%s\n" "$out"; exit 1; }' \
		"$(make -s CC=clang flags)" "$1"
}
# One C file of n, chosen by its content: a file that changes is chosen anew,
# and one tree always has the same sample.
c_files() { # N
	find src config providers cmd -name '*.c' | while read -r f; do
		sum=$(cksum <"$f") && sum=${sum%% *}
		[ $((sum % $1)) -ne 0 ] || echo "$f"
	done
}
tidy() { c_files "${TIDY_SAMPLE:-1}" | tidy_each "'-clang-*'"; }
# The analyzer takes 19 of 20 parts of clang-tidy's time.
analyze() {
	c_files "${LINT_SAMPLE:-1}" |
		tidy_each "'-clang-diag*,-bugprone-*,-cert-*,-misc-*,-readab*'"
}

run() { # NAME FUNCTION
	began=$(date +%s)
	if "$2" >"$tmp/out" 2>&1; then
		passed=$((passed + 1))
		echo "lint $1: ok ($(($(date +%s) - began)) s)"
	else
		failed=$((failed + 1))
		cat "$tmp/out"
		echo "lint $1: FAILED"
	fi
}

[ $# -gt 0 ] || set -- layers exports sizes functions heads banned words \
	messages tags format shell python headers calls tidy analyze
for check in "$@"; do
	case $check in
	python) run python python_ ;;
	*) run "$check" "$check" ;;
	esac
done
echo "lint: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
