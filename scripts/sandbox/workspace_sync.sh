#!/bin/sh
# workspace_sync.sh - applies the user's changes to the tree in the sandbox.
# SPDX-License-Identifier: MIT
# op DIR LIST GZIP REST ROOT FORCE Content and REST are a tar stream as in
# workspace_send.sh. Its entry LIST has a line for each path that the user
# changed: "MODE SHA256 MODE SHA256 PATH", the state before and after; zeros
# mean that there is no file. A file that is still in the state before is
# replaced. Another one stays, unless FORCE is set. ROOT is the hash of the
# listing that both sides have; if it is empty, the listing is neither compared
# nor changed. The body has a line for each path: "t PATH"
# replaced, "k PATH" kept. st is "ok done ROOT" with the new hash, "ok nobase
# STATE", "no_space", or "unpack".
#
# The agent may write a file while it is being replaced. So files get a second
# name (a hard link, link_lines()) before they are compared. Then they are
# replaced, and the second names are compared again (settle()). A file that was
# written meanwhile is put back (give_back()). Few processes are started: the
# files of a directory are hashed and moved together. Begin reading at merge().
# dash and busybox support the test -ef of POSIX.1-2024.
# shellcheck disable=SC2015,SC2034,SC2086,SC2154,SC3013
need mkdir rmdir rm mv ln cat tr cut tail readlink sha256sum find head
tar=$(tool tar)
none=0000000000000000000000000000000000000000000000000000000000000000

# Prints the hashes of the files in $lines, by one sha256sum. It prints none for
# a file that it cannot read. Names with a newline or a backslash, which it
# would quote, are left out: look() hashes them.
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

# Sets ahead to the next line of these.
next_digest() {
	IFS= read -r ahead <&3 || ahead=
}

# True if $1 is a directory without files: a tree does not list it.
only_directories() {
	[ -d "$1" ] && [ -z "$(find "$1" ! -type d | head -n 1)" ]
}

# Sets now to the mode and hash of what is at $1.
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
	elif [ -e "$1" ] && ! only_directories "$1"; then
		now=other
	else
		now="000000 $none"
	fi
}

# Puts the new file at $1. If there is none, removes $1 and the directories that
# become empty.
put_one() {
	if [ "$new" = "000000 $none" ]; then
		rm -f "$1" || return 1
		leave "${1%/*}"
		return 0
	fi
	[ ! -d "$1" ] || [ -L "$1" ] || {
		find "$1" -depth -type d -exec rmdir {} \;
		[ ! -d "$1" ] || return 1
	}
	# If $1 is a link to a directory, mv would move the file into that.
	parents "${1%/*}" && { [ ! -L "$1" ] || rm -f "$1"; } &&
		mv -f "$w/t/$1" "$1"
}

# Removes the directory $1 and those above it, as long as they are empty.
leave() {
	d=$1
	while [ "$d" != . ] && rmdir "$d"; do
		d=${d%/*}
	done
}

# Parses the line $1: sets slot, old, new, p (the path) and f.
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

# True if the change of the line has not been made yet.
undone() {
	[ "$new" = "000000 $none" ] || set -- "$w/t/$1"
	[ -e "$1" ] || [ -L "$1" ]
}

# Adds the line $1 to $lines, with a slot: the directory of $held for the second
# name. Names in one slot are different. Slot 0: no second name is needed.
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

# Makes the second names of the files $names in slot $1.
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

# Makes the second names of all files in $lines.
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

# The same, in a directory where that is possible: the state may be on another
# file system than the tree, so .git is the second choice. If hard links are not
# possible at all, held is empty, and files are replaced one by one.
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

# Sets names to the arguments of rm or mv: files that are still the ones with
# the second name, or that need none.
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

# Puts back the file that the agent wrote at $1 while it was being replaced,
# unless the agent has written to the new one, too.
give_back() {
	look "$1"
	[ "$now" != "$new" ] || mv -f "$held/$slot/${1##*/}" "$1"
	printf 'k %s\n' "$p"
}

# Makes the change of one line at once; look() was just called for f.
replace_one() {
	if { [ "$now" = "$old" ] || [ -n "$force" ]; } && put_one "$f"; then
		taken
	else
		printf 'k %s\n' "$p"
	fi
}

# Reports the result for each line in $moved. A change that was not made in the
# batch is made alone.
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

# Compares the second names of the lines in $moved, by one process.
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

# Makes the waiting changes of one directory, by one process. The directory of
# removed files stays until it is certain that none of them is put back.
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

# Reports the line $1, makes its change, or adds it to the waiting ones. Changes
# stay in order: those of another directory or kind are made first.
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

# A batch is limited, because replaced files need their space until its end.
merge_batch() {
	hold
	digests >"$w/sums"
	merge_lines 3<"$w/sums" || return
	[ -z "$held" ] || rm -rf "$held"
	lines='' used='' n=0 last=1
}

merge() {
	force=$1 shared=$2
	lines='' used='' n=0 last=1 queue='' waiting='' moved=''
	while IFS= read -r line; do
		add_line "$line"
		[ "$n" -lt 256 ] && [ ${#lines} -lt 60000 ] ||
			merge_batch || return
	done <"$w/list"
	merge_batch || return
	st='ok done none'
	[ -n "$shared" ] || return 0
	st=no_space
	# busybox's sort does not report write errors; cat does
	for one in drop add; do
		sort "$w/$one" | cat >"$w/$one.sorted" || return
	done
	only "$s/base" "$w/drop.sorted" | sort -m - "$w/add.sorted" |
		cat >"$w/base" && mv -f "$w/base" "$s/base" || return
	h=$(sha256sum <"$s/base")
	st="ok done ${h%% *}"
}

# Removes files of syncs that were killed, in the tree and in the state.
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
	if [ -n "$5" ] && [ "${h%% *}" != "$5" ]; then
		st="ok nobase $s"
	elif said=$(cd "$w/t" && stream |
		EXTRACT_UNSAFE_SYMLINKS=1 $tar -xpof - 2>&1) &&
		mv "$w/t/$2" "$w/list"; then
		merge "$6" "$5"
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
