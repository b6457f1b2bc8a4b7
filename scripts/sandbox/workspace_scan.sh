#!/bin/sh
# workspace_scan.sh - finds what differs from the tree that was sent.
# SPDX-License-Identifier: MIT
# op DIR ROOT FILE TOTAL INLINE NAMES
# DIR is the tree. ROOT is the hash of the listing of the tree that was sent,
# which both sides have (the file "base" in the state directory). FILE and TOTAL
# are the maximum bytes of one file and of all. An answer of up to INLINE bytes
# is printed, a larger one must be downloaded. NAMES 1: only names of new files
# are sent, and dcode decides which are ignored. The content has patterns as in
# git's info/exclude. If ROOT is "pack", nothing is compared: the content names
# the files to send.
#
# In lists, the byte 1 stands for a newline in a path. The body is a report,
# then one or more tar archives. Records of the report:
#   c PATH    a changed file; it is in an archive
#   n PATH    a new file; it is in an archive
#   d PATH    a deleted file
#   ? PATH    a new file, with NAMES or without git
#   u PATH    cannot be read
#   b SIZE PATH  larger than FILE
#   s PATH    neither a file, a link nor a directory
#   r PATH    another repository
#   x PATH    has a byte 1 in its name
#   i N       N new files are ignored
#   i N PATH  an ignored file or, with a slash, a directory with N of them
#   e N M     the last record: N paths were compared or named, M records precede
# A report without the record e is incomplete: the disk may be full.
# st is "ok same", "ok nobase STATE", "ok inline REPORT TAR" (sizes of both in
# bytes), or "ok file REPORT TAR PATH" (PATH contains the body).
# shellcheck disable=SC2034,SC2086,SC2154
sha=$(tool sha256sum)
tar=$(tool tar)
need find xargs sort uniq sed tr cut head ls cat wc mkdir rm id readlink
need sha256sum mv env cp grep
# Matches the fields of ls -ln before the name; the group is the size.
fields_of='^-[^ ]* *[^ ]* *[^ ]* *[^ ]* *\([0-9]\{1,\}\) *[^ ]* *[^ ]* *[^ ]*'

# Prints sorted paths that match a find expression, without .git.
list() {
	(cd "$tree" && find . -name .git -prune -o ! -path "*$soh*" "$@" \
		-print0) | tr '\n\0' '\1\n' | sed 's:^\./::' | sort
}

# Prints "MODE HASH PATH" for the paths in the file $2; $1 is the mode. Names
# with a newline or a backslash are done one by one, because sha256sum quotes
# them.
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

# Appends each line as a record with the letter $1.
tell() {
	sed "s:^:$1 :" >>report
}

# True if a directory above $1 has become a link.
below_link() {
	d=${1%/*}
	while [ "$d" != . ]; do
		[ ! -L "$d" ] || return 0
		d=${d%/*}
	done
	return 1
}

# Prints a record for each path of the base that could not be hashed.
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

# Prints directories that have a .git of any kind, even one that git ignores.
repositories() {
	(cd "$tree" && find . -name .git -prune -print0) |
		tr '\n\0' '\1\n' | sed -n 's:^\./\(.*\)/\.git$:\1:p'
}

# Prints the files in these directories (listed in the file "repos").
in_repositories() {
	(
		cd "$tree" || exit
		while IFS= read -r p; do
			name_of "$p"
			find "$f" ! -type d -print0
		done <"$w/repos"
	) | tr '\n\0' '\1\n' | sed 's:^\./::' | sort -u
}

# Runs git with an empty repository on the tree. Attack: settings in the tree's
# .git name programs to run.
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

# Lists new files in "new" and ignored ones in "ignored", according to git.
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

# Appends records for the first 100 ignored files and directories. git lists a
# directory and then, if no pattern names it, also its contents: skip these.
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

# Appends the last record. The file $1 lists the paths that were compared or
# named.
finish_report() {
	n=$(wc -l <"$1") && m=$(wc -l <report) &&
		printf 'e %s %s\n' $((n)) $((m)) >>report
}

# Prints a record with the size for each path in "big". Names of printable ASCII
# are passed to one ls.
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

# Archives the files in "pack", except those that are too large, and completes
# the report. $1: see finish_report().
archive() {
	list -type f -size "+${most}c" | both - pack >big &&
		tell_sizes >>report || return
	only pack big >in && finish_report "$1" || return
	unset TAR_OPTIONS POSIXLY_CORRECT
	# Only GNU tar takes "\n" in a name for a newline.
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

# Writes the present listing of the base's paths to "now".
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

# Reports all new names and repositories: the caller decides.
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

# Compares the tree with the base. Fails if a temporary file cannot be written.
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
