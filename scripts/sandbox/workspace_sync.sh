#!/bin/sh
# workspace_sync.sh - takes over what changed on the user's side.
# SPDX-License-Identifier: MIT
# op DIR LIST GZIP REST ROOT FORCE: content and REST are a tar stream as for
# workspace_send.sh. Its entry LIST has a line for each path that changed there:
# "MODE SHA256 MODE SHA256 PATH", before and after, zeros where there is none.
# A file that is as it was before is replaced; one that is not stays, unless
# FORCE. ROOT is the hash of the listing that both sides share.
# The body has a line for each: t PATH taken over, k PATH kept. st: "ok done
# ROOT" with the new hash, "ok nobase STATE", "no_space", or "unpack".
# dash and busybox have the -ef of the newest POSIX.
# shellcheck disable=SC2015,SC2034,SC2086,SC2154,SC3013
need mkdir rmdir rm mv ln cat tr cut tail readlink sha256sum
tar=$(tool tar)
none=0000000000000000000000000000000000000000000000000000000000000000

# The hashes of the files that the lines in $lines name, as sha256sum prints
# them: one process for all. It quotes names with a newline or a backslash in
# ways of its own: they have none here, nor does what cannot be read.
digests() {
	set --
	IFS=$nl
	for line in $lines; do
		unset IFS
		p=${line#* * * * * }
		case $p in
		*"$soh"* | *\\*) continue ;;
		esac
		[ -L "./$p" ] || [ ! -f "./$p" ] || set -- "$@" "./$p"
	done
	[ $# -eq 0 ] || sha256sum "$@"
}

# The next of those, in ahead.
next_digest() {
	IFS= read -r ahead <&3 || ahead=
}

# What is at $1, as in a listing.
look() {
	h=
	if [ "${ahead#*  }" = "$1" ]; then
		h=${ahead%% *}
		next_digest
	fi
	if [ -L "$1" ]; then
		h=$(readlink -n "$1" | sha256sum)
		now="120000 ${h%% *}"
	elif [ -f "$1" ]; then
		[ -n "$h" ] || h=$(sha256sum <"$1")
		now="100644 ${h%% *}"
		[ ! -x "$1" ] || now="100755 ${h%% *}"
	elif [ -e "$1" ]; then
		now=other
	else
		now="000000 $none"
	fi
}

# Puts the new one at $1, or removes it with the directories that it leaves
# empty.
put_one() {
	if [ "$new" = "000000 $none" ]; then
		rm -f "$1" || return 1
		leave "${1%/*}"
		return 0
	fi
	[ ! -d "$1" ] || [ -L "$1" ] || return 1
	# mv would put it into the directory that a link leads to.
	parents "${1%/*}" && { [ ! -L "$1" ] || rm -f "$1"; } &&
		mv -f "$w/t/$1" "$1"
}

# Removes the directory $1 where it is empty, and those above it.
leave() {
	d=$1
	while [ "$d" != . ] && rmdir "$d"; do
		d=${d%/*}
	done
}

# What line $1 says: slot, old, new, p, and its name in f.
parse() {
	p=${1#* * * * * }
	set -- ${1%"$p"}
	slot=$1 old="$2 $3" new="$4 $5"
	name_of "$p"
}

taken() {
	printf 't %s\n' "$p"
	[ "$old" = "000000 $none" ] ||
		printf '%s %s\n' "$old" "$p" >>"$w/drop" || return
	[ "$new" = "000000 $none" ] ||
		printf '%s %s\n' "$new" "$p" >>"$w/add"
}

# Whether put_one has yet to do what the line says.
undone() {
	[ "$new" = "000000 $none" ] || set -- "$w/t/$1"
	[ -e "$1" ] || [ -L "$1" ]
}

# Adds the line $1. No two names are alike in a slot, a directory of $held;
# what needs no second name has slot 0.
add_line() {
	n=$((n + 1)) p=${1#* * * * }
	case ${force:+000000}$1 in
	000000* | *"$soh"*)
		lines="${lines}0 $1$nl"
		return
		;;
	esac
	case $nl$used in
	*"$nl${p##*/}$nl"*) last=$((last + 1)) used='' ;;
	esac
	used=$used${p##*/}$nl
	lines="$lines$last $1$nl"
}

# Gives $names, which are to be in slot $1, their second names.
link_names() {
	[ -n "$names" ] && [ -n "$held" ] || return 0
	IFS=$nl
	ln $names "$held/$1/"
	for one in $names; do
		[ -z "$linked" ] || break
		[ ! "$one" -ef "$held/$1/${one##*/}" ] || linked=1
	done
	unset IFS
}

# Gives the files of the lines second names: what the agent writes to one after
# it was looked at is found there when the file is replaced.
link_lines() {
	names='' k=0
	while [ "$k" -lt "$last" ]; do
		k=$((k + 1))
		names=$names$held/$k$nl
	done
	IFS=$nl
	mkdir -p $names
	names='' k=0
	for line in $lines; do
		unset IFS
		parse "$line"
		[ "$slot" -gt 0 ] && [ ! -L "$f" ] && [ -f "$f" ] || continue
		[ "$slot" = "$k" ] || {
			link_names "$k"
			names='' k=$slot
		}
		names=$names$f$nl
	done
	link_names "$k"
}

# The state may be on another file system than the tree. Without hard links
# $held gets empty, and files are replaced one at a time.
hold() {
	[ "$held" ] || return 0
	link_lines
	[ -z "$linked" ] && [ -n "$names" ] || return 0
	rm -rf "$held"
	case $held in
	"$w"/*) [ -L .git ] || [ ! -d .git ] || {
		held=.git/dcode-${w##*/}
		hold
		return
	} ;;
	esac
	held=
}

# Those that are still the files that have a second name, or need none: what rm
# or mv is to get.
choose() {
	names=
	IFS=$nl
	for line in $waiting; do
		unset IFS
		parse "$line"
		case $way$force in
		rm | mv) is_held || continue ;;
		esac
		[ "$way" = rm ] || f=$w/t/$f
		names=$names$f$nl
	done
}

is_held() {
	[ -n "$held" ] && [ "$f" -ef "$held/$slot/${f##*/}" ]
}

# Puts back what the agent wrote to $1 while it was replaced, unless it did so
# once more.
give_back() {
	look "$1"
	[ "$now" != "$new" ] || mv -f "$held/$slot/${1##*/}" "$1"
	printf 'k %s\n' "$p"
}

# What the line says, at once: f was just looked at.
replace_one() {
	if { [ "$now" = "$old" ] || [ -n "$force" ]; } && put_one "$f"; then
		taken
	else
		printf 'k %s\n' "$p"
	fi
}

# What became of those in $moved; one at a time what is left of them.
finish() {
	next_digest
	IFS=$nl
	for line in $moved; do
		unset IFS
		parse "$line"
		if undone "$f"; then
			look "$f"
			replace_one || return
			continue
		fi
		now=$old
		[ "$slot" = 0 ] || [ -z "$held" ] ||
			look "$held/$slot/${f##*/}"
		if [ "$now" = "$old" ]; then
			taken || return
		else
			give_back "$f"
		fi
	done
	moved=
}

# Looks at the second names of those in $moved, by one process.
settle() {
	[ -n "$moved" ] || return 0
	next=$ahead sums=
	IFS=$nl
	for line in $moved; do
		unset IFS
		parse "$line"
		case $slot$p in
		0* | *\\*) ;;
		*) undone "$f" || sums=$sums$held/$slot/${f##*/}$nl ;;
		esac
	done
	: >"$w/held.sums"
	IFS=$nl
	[ -z "$sums" ] || sha256sum $sums >"$w/held.sums"
	unset IFS
	finish 3<"$w/held.sums" || return
	ahead=$next
}

# Those of one directory that wait, by one process. The directory of a file that
# is removed stays until it is sure that the file is not given back.
flush() {
	[ -n "$waiting" ] || return 0
	way=${queue%% *} dir=${queue#* }
	choose
	IFS=$nl
	[ -z "$names" ] || case $way in
	rm) rm -f $names ;;
	mv) mv -f $names "$dir/" ;;
	add) mv -n $names "$dir/" ;;
	esac
	unset IFS
	moved=$moved$waiting waiting=
	[ "$way" != rm ] || { settle && leave "$dir"; }
}

# Line $1: told, done, or added to those that wait. The order stays: what came
# before in another directory, or goes another way, is done first.
merge_one() {
	parse "$1"
	way=mv
	if [ "$new" = "000000 $none" ]; then
		way=rm
	elif [ "$old$force" = "000000 $none" ]; then
		way=add
	fi
	to="$way ${f%/*}"
	[ "$to" = "$queue" ] || { flush && parse "$1"; } || return
	queue=$to
	look "$f"
	if [ "$now" = "$new" ]; then
		taken
	elif [ "$now" != "$old" ] && [ -z "$force" ]; then
		printf 'k %s\n' "$p"
	elif [ "$now" = other ] || [ -L "$f" ] || [ "${f#*"$nl"}" != "$f" ] ||
		! undone "$f" || ! parents "${f%/*}"; then
		replace_one
	else
		waiting=$waiting$1$nl
	fi
}

merge_lines() {
	next_digest
	IFS=$nl
	for one in $lines; do
		unset IFS
		merge_one "$one" || return
	done
	flush && settle
}

# Some at a time: what is replaced takes its space until they are done.
merge_batch() {
	hold
	digests >"$w/sums"
	merge_lines 3<"$w/sums" || return
	[ -z "$held" ] || rm -rf "$held"
	lines='' used='' n=0 last=1
}

merge() {
	force=$1 lines='' used='' n=0 last=1 queue='' waiting='' moved=''
	while IFS= read -r line; do
		add_line "$line"
		[ "$n" -lt 256 ] && [ ${#lines} -lt 60000 ] ||
			merge_batch || return
	done <"$w/list"
	merge_batch || return
	# busybox's sort says nothing when it cannot write, its cat does.
	for one in drop add; do
		sort "$w/$one" | cat >"$w/$one.sorted" || return
	done
	only "$s/base" "$w/drop.sorted" | sort -m - "$w/add.sorted" |
		cat >"$w/base" && mv -f "$w/base" "$s/base" || return
	h=$(sha256sum <"$s/base")
	st="ok done ${h%% *}"
}

# Removes what syncs that were killed have left, here or in the state.
sweep() {
	set +f
	for old in "$s"/sync-* .git/dcode-sync-*; do
		pid=${old##*sync-}
		pid=${pid%%-*}
		[ -d "$old" ] && [ ! -L "$old" ] && [ ! -L .git ] || continue
		[ "$pid" != $$ ] && kill -0 "$pid" || rm -rf "$old"
	done
	set -f
}

op() {
	gzip=$3 rest=$4 linked=
	umask 022
	enter "$1" || return
	tree=$(pwd -P)
	state_of "$tree" || return
	sweep
	w=$s/sync-$$-$nonce held=$s/sync-$$-$nonce/held
	st=no_space
	mkdir -p "$w/t" && : >"$w/drop" && : >"$w/add" || {
		rm -rf "$w"
		return
	}
	h=none
	[ ! -f "$s/base" ] || h=$(sha256sum <"$s/base")
	unset TAR_OPTIONS POSIXLY_CORRECT
	if [ "${h%% *}" != "$5" ]; then
		st="ok nobase $s"
	elif said=$(cd "$w/t" && stream |
		EXTRACT_UNSAFE_SYMLINKS=1 $tar -xpof - 2>&1) &&
		mv "$w/t/$2" "$w/list"; then
		merge "$6"
	else
		printf '%s\n' "$said" | tail -n 3 | head -c 600
		st=unpack
	fi
	rm -rf "$w"
	[ -z "$held" ] || rm -rf "$held"
	[ -z "$rest" ] || rm -f "$rest"
	case $src in
	/*) rm -f "$src" ;;
	esac
}
