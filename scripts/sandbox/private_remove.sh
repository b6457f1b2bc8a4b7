# private_remove.sh - removes a sandbox's files outside its directory.
# SPDX-License-Identifier: MIT
# For machines that several sandboxes share. Sent before the script that deletes
# a sandbox.
# shellcheck disable=SC2154,SC2015

# Removes what private_dir() made for the commands of the sandbox b_label.
private_remove() {
	b_uid=$(id -u)
	for b_place in /tmp/dcode-skills.* \
		"/tmp/dcode_large_tool_results.$b_label"* \
		"$HOME/.dcode_large_tool_results.$b_label" \
		"$HOME/.dcode/workspace.$b_label" \
		"/var/tmp/.dcode-$b_uid.$b_label" "/tmp/.dcode-$b_uid.$b_label"
	do
		[ -O "$b_place" ] && [ ! -L "$b_place" ] || continue
		b_of=$b_label
		case $b_place in
		/tmp/dcode-skills.*)
			b_of=
			read -r b_of <"$b_place/.of"
			;;
		esac
		[ "$b_of" != "$b_label" ] || rm -rf "$b_place"
	done
	rmdir "$HOME/.dcode"
} 2>/dev/null
