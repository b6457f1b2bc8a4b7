# results_dir.sh - prints a private directory for large tool results.
# SPDX-License-Identifier: MIT
# Needs private_dir.sh. Variables: keep (id of this thread), most (maximum bytes
# in the directory). Deletes results of other threads that are older than a day,
# then the oldest ones until the rest fits.
# shellcheck disable=SC2012,SC2034,SC2154

sweep() {
	find "$1" -type f -mtime +0 ! -name "${keep:-?}-*" -exec rm -f {} +
	sum=0
	# dcode's file names contain no blanks
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
