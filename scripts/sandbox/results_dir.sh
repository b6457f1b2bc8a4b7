# results_dir.sh - prints a private directory for large tool results.
# SPDX-License-Identifier: MIT
# private_dir.sh goes before it. Given: keep, the thread that asks; most, bytes
# that there may be. Results of other threads go when they are a day old, then
# the oldest of all.
# shellcheck disable=SC2012,SC2034,SC2154

sweep() {
	find "$1" -type f -mtime +0 ! -name "${keep:-?}-*" -exec rm -f {} +
	sum=0
	# Our names have no blanks.
	ls -lnt "$1" | while read -r mode links owner group size date; do
		[ "$mode" != "${mode#-}" ] || continue
		sum=$((sum + size))
		[ "$sum" -le "$most" ] || rm -f "$1/${date##* }"
	done
} 2>/dev/null

name=dcode_large_tool_results$of_label
user=$(id -u 2>/dev/null) || user=0
for dir in "/tmp/$name" "/tmp/$name.$user" "${HOME:-/tmp}/.$name" "$PWD/.$name"
do
	if private_dir "$dir"; then
		sweep "$dir"
		printf '%s\n' "$dir"
		exit 0
	fi
done
exit 1
