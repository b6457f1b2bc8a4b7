#!/bin/sh
# ssh_box.sh - creates, lists and deletes sandboxes of the ssh provider.
# SPDX-License-Identifier: MIT
#
# A sandbox is a record, ~/dcode/.sandboxes/LABEL, and a directory,
# ~/dcode/LABEL or an existing one of the user's. The record is written before
# the directory is made, and deleted after it. Prints lines "@ssh:WORD ...".
# Variables:
#   b_op       create, attach, list, stop, remove or leave
#   b_label    label of the sandbox
#   b_owner    its owner
#   b_dir      an existing directory to work in, or empty
#   b_offline  set: without a network
#   b_need     a program that must be installed, or empty
#   b_jobs     leave: commands that ran on the host without a sandbox
#   s_lib      the supervisor's functions
# shellcheck disable=SC2015,SC2034,SC2154

b_fail() {
	printf '@ssh:fail %s %s\n' "$1" "$2"
	exit 0
}

eval "$s_lib"

# Sets s_marked to the sandbox's processes: its commands and their keepers.
s_mark() {
	s_marked=
	# shellcheck disable=SC2013 # names without white space
	for s_p in $(grep -Els \
		"DCODE_EXEC=[a-z2-7]*[.]$b_label|dcode-(exec|jobs)[.]$b_label" \
		/proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null); do
		# Another user may have such an argument.
		[ "${s_p%/cmdline}" = "$s_p" ] || [ -O "${s_p%/*}" ] || continue
		s_p=${s_p#/proc/}
		s_marked="$s_marked ${s_p%%/*}"
	done
}

# Kills them. 1: a process does not die.
b_kill() {
	[ -r /proc/self/stat ] || return 0
	s_sessions=
	s_all=
	s_nl='
'
	b_round=0
	while s_kill_once; do
		b_round=$((b_round + 1))
		[ $b_round -lt 200 ] || return 1
		[ $b_round -lt 20 ] || s_nap 0.05
	done
	return 0
}

b_read() {
	b_made=
	{
		read -r b_made b_since b_who
		IFS= read -r b_work
	} <"$b_records/$b_label" 2>/dev/null
	[ -n "$b_made" ]
}

b_enter() {
	cd "$b_work" 2>/dev/null || b_fail directory "$b_work"
	printf '@ssh:at %s\n' "$(pwd -P)"
}

b_record() {
	printf '%s %s %s\n%s\n' $b_made "$(date +%s)" "${b_owner:--}" \
		"$b_work"
}

b_create() {
	umask 077
	[ -z "$b_need" ] || command -v "$b_need" >/dev/null ||
		b_fail program "$b_need"
	if [ -n "$b_dir" ]; then
		cd "$b_dir" 2>/dev/null || b_fail directory "$b_dir"
		b_made=0
		b_work=$(pwd -P)
	else
		b_made=1
		b_work=$b_base/$b_label
	fi
	if ! b_why=$( (
		mkdir -p "$b_records" &&
			{ [ "$b_need" != podman ] ||
				: >"$b_records/.podman.$b_label"; } &&
			{ [ -z "$b_offline" ] ||
				: >"$b_records/.offline.$b_label"; } &&
			b_record | cat >"$b_records/.$b_label" &&
			[ -s "$b_records/.$b_label" ] &&
			mv "$b_records/.$b_label" "$b_records/$b_label" &&
			{ [ $b_made = 0 ] || mkdir -p "$b_work"; }
	) 2>&1); then
		b_sweep
		b_fail write "$(printf %s "$b_why" | tail -n 1)"
	fi
	b_enter
}

b_attach() {
	b_read || b_fail none ""
	rm -f "$b_records/.stopped.$b_label"
	[ ! -e "$b_records/.offline.$b_label" ] || echo "@ssh:offline"
	b_enter
}

# Prints each sandbox with its owner, creation time and state.
b_list() {
	for b_file in "$b_records"/*; do
		b_label=${b_file##*/}
		b_read || continue
		b_state=running
		[ ! -e "$b_records/.stopped.$b_label" ] || b_state=stopped
		printf '@ssh:box %s %s %s %s\n' "$b_label" "$b_who" \
			"$b_since" $b_state
	done
}

b_stop() {
	b_read || b_fail none ""
	b_kill || b_fail alive ""
	: >"$b_records/.stopped.$b_label"
	echo "@ssh:done"
}

# Deletes only names that contain the label, whatever the record says.
b_sweep() {
	b_gone=$b_base/$b_label
	if [ "$b_made" = 1 ] && { [ -e "$b_gone" ] || [ -L "$b_gone" ]; }; then
		b_why=$(rm -rf "$b_gone" 2>&1) || {
			[ -L "$b_gone" ] ||
				find "$b_gone" -type d ! -perm -700 \
					-exec chmod u+rwx {} \; 2>/dev/null
			b_why=$(rm -rf "$b_gone" 2>&1)
		} || return 1
	fi
	for b_place in /tmp/.dcode-exec."$b_label" \
		/tmp/.dcode-exec."$b_label".* "$HOME/.dcode-exec.$b_label" \
		/tmp/.dcode-jobs."$b_label" \
		/tmp/.dcode-jobs."$b_label".* "$HOME/.dcode-jobs.$b_label" \
		"$b_base/.tmp.$b_label" "$b_base/.home.$b_label" \
		"$HOME/.dcode-env.$b_label"; do
		[ ! -O "$b_place" ] || rm -rf "$b_place"
	done
	private_remove
	[ "$b_made" != 0 ] || [ -z "$b_work" ] ||
		rm -rf "$b_work/.dcode-exec.$b_label" \
			"$b_work/.dcode-jobs.$b_label"
	# Containers of commands that were killed: podman had no chance to
	# remove them.
	if [ -e "$b_records/.podman.$b_label" ]; then
		for b_place in $(podman ps -aq \
			--filter "label=dcode=$b_label"); do
			podman rm -f -t 0 "$b_place"
		done >/dev/null 2>&1
	fi
	rm -f "$b_records/.stopped.$b_label" "$b_records/.podman.$b_label" \
		"$b_records/.offline.$b_label" "$b_records/.$b_label" \
		"$b_records/$b_label"
	rmdir "$b_records" "$b_base" 2>/dev/null
	return 0
}

b_remove() {
	b_read || {
		[ -e "$b_records/.$b_label" ] || [ -d "$b_base/$b_label" ] ||
			b_fail none ""
		b_made=1
		b_work=
	}
	cd /
	b_kill || b_fail alive ""
	b_sweep || b_fail write "$(printf %s "$b_why" | tail -n 1)"
	# Again, for files that a process wrote while it was being killed.
	b_kill && b_sweep
	echo "@ssh:done"
}

# For a host that is used without a sandbox: deletes only the records of this
# dcode's commands.
b_leave() {
	for b_place in /tmp/.dcode-exec "/tmp/.dcode-exec.$(id -u)" \
		"$HOME/.dcode-exec"; do
		[ -O "$b_place" ] || continue
		for b_job in $b_jobs; do
			[ ! -s "$b_place/$b_job/done" ] ||
				rm -rf "${b_place:?}/$b_job"
		done
		set -- "$b_place"/*/
		[ ! -d "$1" ] || continue
		rm -f "$b_place/reaper"
		rmdir "$b_place"
	done 2>/dev/null
	echo "@ssh:done"
}

b_line='
'
case ${HOME-}$b_dir in
*"$b_line"*) b_fail home "" ;;
/*) ;;
*) b_fail home "" ;;
esac
b_base=$HOME/dcode
b_records=$b_base/.sandboxes
"b_$b_op"
