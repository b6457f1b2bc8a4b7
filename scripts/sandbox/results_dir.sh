# results_dir.sh - prints a private directory for large tool results.
# SPDX-License-Identifier: MIT
# The first candidate that is ours, a real directory and writable: on a shared
# machine somebody else may own the name in /tmp, or have put a link there.
umask 077
name=dcode_large_tool_results
user=$(id -u 2>/dev/null) || user=0
for dir in "/tmp/$name" "/tmp/$name.$user" "${HOME:-/tmp}/.$name" "$PWD/.$name"
do
	mkdir "$dir" 2>/dev/null
	if [ -d "$dir" ] && [ ! -L "$dir" ] && [ -O "$dir" ] && [ -w "$dir" ]
	then
		chmod 700 "$dir" && printf '%s\n' "$dir" && exit 0
	fi
done
exit 1
