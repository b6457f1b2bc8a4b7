#!/bin/sh
# workspace_scan.sh - what differs from the tree that was sent, and its files.
# SPDX-License-Identifier: MIT
# op DIR ROOT FILE TOTAL INLINE NAMES: DIR is the tree, ROOT the hash of the
# listing that both sides share (the file "base" of the state directory), FILE
# and TOTAL the most bytes of one file and of all, INLINE those of an answer
# that needs no download. NAMES: 1 leaves it to the caller which new files are
# ignored. Content: patterns as in git's info/exclude. ROOT "pack": nothing is
# compared; the files that the content names.
#
# Lines are of paths in which a newline is the byte 1. The body is a report,
# then tar archives in a row. Records of the report:
#   c PATH  a changed file         n PATH  a new one     (both are in the tar)
#   d PATH  one that is gone       ? PATH  a new one, when NAMES or without git
#   u PATH  it cannot be read      b SIZE PATH  it is larger than FILE
#   s PATH  no file, no link       r PATH  another repository
#   x PATH  its name has a byte 1  i N     N new files are ignored
#   i N PATH  one of these, or with a slash a directory that has N of them
#   e N M   the last one: N lines were compared or asked for, M are before it
# A report without its last record is not whole: a disk may be full.
# st: "ok same"; "ok nobase STATE"; "ok inline REPORT TAR" with the sizes of
# both in bytes; "ok file REPORT TAR PATH": the body is in that file.
# shellcheck disable=SC2034,SC2086,SC2154
sha=$(tool sha256sum)
tar=$(tool tar)
need find xargs sort uniq sed tr cut head ls cat wc mkdir rm id readlink
need sha256sum mv env cp grep
# Of ls -ln on a file, to its time: the size is the group.
fields_of='^-[^ ]* *[^ ]* *[^ ]* *[^ ]* *\([0-9]\{1,\}\) *[^ ]* *[^ ]* *[^ ]*'

# Sorted lines of what find's expression matches, but for .git.
list() {
	(cd "$tree" && find . -name .git -prune -o ! -path "*$soh*" "$@" \
		-print0) | tr '\n\0' '\1\n' | sed 's:^\./::' | sort
}

# Lines of files in the file $2, to lines of a listing with the mode $1.
# sha256sum quotes names with a newline or a backslash in ways of its own.
digest() {
	(
		cd "$tree" || exit
		sed "/[\\\\$soh]/d; s:^:./:" "$w/$2" | tr '\n' '\0' |
			xargs -0 $sha |
			sed -n "s:^\([0-9a-f]\{64\}\)  \./:$1 \1 :p"
		sed "/[\\\\$soh]/!d" "$w/$2" | while IFS= read -r p; do
			name_of "$p"
			h=$($sha <"$f") && [ -n "$h" ] &&
				printf '%s %s %s\n' "$1" "${h%% *}" "$p"
		done
	)
}

digest_links() {
	(
		cd "$tree" || exit
		while IFS= read -r p; do
			name_of "$p"
			h=$(readlink -n "$f" | sha256sum) &&
				printf '120000 %s %s\n' "${h%% *}" "$p"
		done
	)
}

# Each line after the record's letter.
tell() {
	sed "s:^:$1 :" >>report
}

# Whether a directory above $1 is a link now.
below_link() {
	d=${1%/*}
	while [ "$d" != . ]; do
		[ ! -L "$d" ] || return 0
		d=${d%/*}
	done
	return 1
}

# Why a path of the base has no hash now.
missing() {
	(
		cd "$tree" || exit
		while IFS= read -r p; do
			name_of "$p"
			what=d
			if below_link "$f"; then
				:
			elif [ -f "$f" ] || [ -L "$f" ]; then
				what=u
			elif [ -e "$f" ] && ! [ -d "$f" ]; then
				what=s
			elif ! [ -e "$f" ]; then
				absent "$tree/${f#./}" gone
				[ "$st" = gone ] || what=u
			fi
			printf '%s %s\n' $what "$p"
		done
	)
}

# Directories in which a .git of any kind is, though git may not follow it.
repositories() {
	(cd "$tree" && find . -name .git -prune -print0) |
		tr '\n\0' '\1\n' | sed -n 's:^\./\(.*\)/\.git$:\1:p'
}

# The files in those that the file "repos" lists.
in_repositories() {
	(
		cd "$tree" || exit
		while IFS= read -r p; do
			name_of "$p"
			find "$f" ! -type d -print0
		done <"$w/repos"
	) | tr '\n\0' '\1\n' | sed 's:^\./::' | sort -u
}

# git in a repository of its own, on the tree: nothing of the tree's .git.
own_git() {
	(
		for v in $(env | sed -n 's/^\(GIT_[A-Z_0-9]*\)=.*/\1/p'); do
			unset "$v"
		done
		GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
		GIT_CONFIG_SYSTEM=/dev/null GIT_DIR=$w/git
		export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM
		export GIT_DIR
		[ "$1" = init ] || {
			GIT_WORK_TREE=$tree
			export GIT_WORK_TREE
			cd "$tree" || exit
		}
		exec git -c core.fsmonitor=false -c core.bare=false \
			-c core.excludesFile=/dev/null "$@"
	)
}

# New files as git sees them. What is ignored there stays behind.
ask_git() {
	[ -z "$names" ] && command -v git >/dev/null || return 1
	own_git init -q --bare "$w/git" && mkdir -p "$w/git/info" &&
		cat exclude >git/info/exclude &&
		own_git ls-files -z -o --exclude-standard >raw || return
	tr '\n\0' '\1\n' <raw | sort >other &&
		{
			repositories
			sed -n 's:/$::p' other
		} | sort -u >repos && tell r <repos &&
		in_repositories >inside &&
		sed '/\/$/d' other | both - all | only - paths |
		only - inside >new &&
		only all paths | only - new | only - inside >ignored
}

# The first of what is ignored, directories as one. git also lists what is in a
# directory that no pattern names, after it.
name_ignored() {
	own_git ls-files -z -o -i --exclude-standard --directory |
		tr '\n\0' '\1\n' | head -n 5000 | {
		above=/
		k=0
		while [ $k -lt 100 ] && IFS= read -r p; do
			q=$(printf %s "$p" | sed 's:[][\.*^$]:\\&:g')
			case $p in
			"$above"*) continue ;;
			*/) above=$p ;;
			*) q=$q\$ ;;
			esac
			n=$(grep -c -e "^$q" ignored)
			[ "$n" -eq 0 ] || printf 'i %s %s\n' "$n" "$p"
			k=$((k + 1))
		done
	} >>report
}

types() {
	list -type f -perm -100 >programs &&
		list -type f ! -perm -100 >files &&
		list -type l >links &&
		sort -m programs files links >all
}

# The lines of the file $1 were compared or asked for.
finish_report() {
	n=$(wc -l <"$1") && m=$(wc -l <report) &&
		printf 'e %s %s\n' $((n)) $((m)) >>report
}

# A record with the size for each line of "big": plain names all at once.
tell_sizes() {
	(
		cd "$tree" || exit
		sed '/[^ -~]/d; s:^:./:' "$w/big" | tr '\n' '\0' |
			xargs -0 ls -ldn |
			sed -n "s:$fields_of \./:b \1 :p"
		sed '/[^ -~]/!d' "$w/big" | while IFS= read -r p; do
			name_of "$p"
			fields=$(ls -ldn "$f")
			size_of $fields
			printf 'b %s %s\n' "$size" "$p"
		done
	)
}

# Leaves out of the list "pack" what is too large, and makes the archive. The
# report is on the lines of the file $1.
archive() {
	list -type f -size "+${most}c" | both - pack >big &&
		tell_sizes >>report || return
	only pack big >in && finish_report "$1" || return
	unset TAR_OPTIONS POSIXLY_CORRECT
	# Only GNU's reads "\n" in a name as a line end.
	case $($tar --version) in
	*GNU*) tar="$tar --no-unquote" ;;
	esac
	report=$(($(wc -c <report) + 0))
	mv report answer || return
	if [ -s in ]; then
		sed 's:^:./:' in | tr '\n\1' '\0\n' |
			(cd "$tree" && xargs -0 $tar -cf -) |
			head -c $((total + 1)) >>answer || return
	fi
	packed=$(($(wc -c <answer) - report))
	if [ $((report + packed)) -le "$inline" ]; then
		cat answer
		st="ok inline $report $packed"
	else
		st=failed
		mv answer "$s/answer" &&
			st="ok file $report $packed $s/answer"
	fi
}

# Lines of what the base has, to "now" as lines of a listing.
hash_base() {
	both paths programs >old_programs &&
		both paths files >old_files &&
		both paths links >old_links || return
	{
		digest 100755 old_programs
		digest 100644 old_files
		digest_links <old_links
	} | sort >now
}

# All new names, and the repositories among them.
tell_undecided() {
	: >new && : >ignored || return
	only all paths | tell '?' && repositories | tell r
}

tell_differences() {
	[ ! -s ignored ] || {
		printf 'i %s\n' $(($(wc -l <ignored))) >>report &&
			name_ignored || return
	}
	only now "$s/base" | cut -b 73- | sort >pack &&
		tell c <pack &&
		tell n <new &&
		cut -b 73- now | sort >hashed &&
		only paths hashed | missing | cat >>report &&
		list ! -type d ! -type f ! -type l | only - paths |
		head -n 100 | tell s &&
		sort -m pack new >in &&
		mv in pack
}

# Fails when what it keeps could not be written.
compare() {
	if ! [ -f "$s/base" ] || h=$(sha256sum <"$s/base") &&
		[ "${h%% *}" != "$1" ]; then
		st="ok nobase $s"
		return
	fi
	cut -b 73- "$s/base" | sort >paths || return
	(cd "$tree" && find . -name .git -prune -o -path "*$soh*" -print0) |
		tr '\n\0' '\1\n' | sed 's:^\./::' | head -n 100 | tell x ||
		return
	hash_base || return
	ask_git || tell_undecided || return
	h=$(sha256sum <now)
	[ "${h%% *}" != "$1" ] || [ -s new ] || [ -s report ] ||
		[ -s ignored ] || {
		st='ok same'
		return
	}
	tell_differences && archive paths
}

op() {
	tree=$1 most=$3 total=$4 inline=$5 names=$6
	umask 077
	enter "$1" || return
	tree=$(pwd -P)
	state_of "$tree" || return
	rm -rf "$s/answer"
	w=$s/scan-$nonce
	st=no_space
	trap 'rm -rf "$w"' EXIT
	mkdir "$w" && cd "$w" && : >report && types || return
	if [ "$2" = pack ]; then
		content | sort >asked && cp asked pack && archive asked
	else
		content >exclude && compare "$2"
	fi
	rm -rf "$w"
}
