#!/bin/sh
# workspace_commit.sh - makes a git repository of the tree that was sent.
# SPDX-License-Identifier: MIT
# op DIR BRANCH MESSAGE COMMITS: does what workspace_send.sh has postponed, with
# its arguments, or nothing. If another process is doing it, waits for that; if
# that process died, begins again. The repository is built beside the tree and
# moved into it when it is complete. If the tree has a .git by then, that stays.
# st is that of workspace_send.sh.
# shellcheck disable=SC2015,SC2034,SC2086,SC2154
need rm mv cat tr cut head tail env sed sort uniq sleep

# Sets fast to options with which git writes all files into one pack without
# compression: a third of the time that loose objects take. Not for git before
# 2.37, whose update-index makes a pack for each file.
fast_settings() {
	v=$(git version)
	v=${v#git version }
	minor=${v#*.}
	minor=${minor%%.*}
	fast=
	if [ "${v%%.*}" -gt 2 ] || [ "$minor" -ge 37 ]; then
		fast='-c core.compression=0 -c core.bigFileThreshold=1'
	fi
}

# Prints the number and the start time of the process $1. Together they are
# unique even if the number is used again.
process() {
	printf '%s-%s' "$1" "$(cut -d ' ' -f 22 "/proc/$1/stat")"
}

unset_git() {
	for v in $(env | sed -n 's/^\(GIT_[A-Z_0-9]*\)=.*/\1/p'); do
		unset "$v"
	done
	GIT_TERMINAL_PROMPT=0
	export GIT_TERMINAL_PROMPT
}

# Makes an empty repository. git init runs beside the tree, so that it tests
# what the tree's file system can do.
start_repository() {
	unset_git
	rm -rf "$beside" "$build"
	git init -q "$beside" && mv "$beside" "$build" || return
	GIT_DIR=$build/.git GIT_WORK_TREE=$tree
	export GIT_DIR GIT_WORK_TREE
	git symbolic-ref HEAD "refs/heads/$1" || return
	git config user.name >/dev/null || git config user.name dcode
	git config user.email >/dev/null ||
		git config user.email dcode@localhost
	add_remote || true
}

# Gives the repository a remote that accepts nothing: its hook notes the branch,
# and dcode asks the user whether to push it (tree_changes.sh).
add_remote() {
	r=$GIT_DIR/dcode-push
	mkdir -p "$r/objects/info" "$r/refs/heads" "$r/hooks" || return
	echo 'ref: refs/heads/none' >"$r/HEAD"
	echo ../../objects >"$r/objects/info/alternates"
	printf '[core]\n\trepositoryformatversion = 0\n\tbare = true\n' \
		>"$r/config"
	cat >"$r/hooks/pre-receive" <<'END'
#!/bin/sh
# Written by dcode. Notes one branch for dcode, and rejects the push.
read -r old new ref
case $new in
*[!0]*) ! read -r more || ref= ;;
*) ref= ;;
esac
case $ref in
refs/heads/*)
	printf '%s\n' "${ref#refs/heads/}" >request
	echo 'dcode: this sandbox has no credentials. In a chat dcode now asks'
	echo 'the user whether to push the branch from their machine, and the'
	echo 'result of this command says what became of it.'
	;;
*) echo 'dcode: push one branch; no tags, no deletion.' ;;
esac
exit 1
END
	chmod 755 "$r/hooks/pre-receive"
	git config remote.origin.url .git/dcode-push
	git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
}

one_commit() {
	start_repository "$1" || return
	fast_settings
	cut -b 73- "$s/base" | tr '\n\1' '\0\n' |
		git -c core.autocrlf=false $fast update-index --add -z \
			--stdin &&
		git -c core.hooksPath=/dev/null -c gc.auto=0 \
			-c commit.gpgSign=false commit -q --allow-empty \
			--no-verify -m "$2"
}

# Makes the repository with the user's commits. A file of the last commit that
# is missing in the tree was deleted by the user, or it was not sent. In the
# second case git must not report it: skip-worktree. busybox's sort does not
# report write errors; cat does.
all_commits() {
	start_repository "$1" || return
	tail -c "+$((${3#*:} + 1))" "$2" | git index-pack --stdin &&
		git -c core.hooksPath=/dev/null update-ref HEAD "${3%%:*}" &&
		git read-tree HEAD || return
	head -c "${3#*:}" "$2" | sort | cat >"$build/deleted" || return
	git ls-files -z -d | tr '\n\0' '\1\n' | sort |
		cat >"$build/lacking" || return
	only "$build/lacking" "$build/deleted" | tr '\n\1' '\0\n' |
		git update-index -z --skip-worktree --stdin || return
	# The status is 1 if a file differs from HEAD, such as an edited one.
	git update-index -q --refresh || true
}

has_repository() {
	[ -e .git ] || [ -L .git ]
}

# Moves the repository into the tree and sets st to $1. If a .git has appeared
# meanwhile, that stays; mv may have moved the repository into it.
place() {
	st='ok failed'
	mv "$build/.git" "$beside" || return
	st='ok plain'
	! has_repository || return
	st='ok failed'
	mv "$beside" .git || return
	if [ -e ".git/$beside" ]; then
		st='ok plain'
		rm -rf ".git/$beside"
	elif (unset_git && git rev-parse -q --verify HEAD) >/dev/null; then
		st=$1
	else
		mv .git "$beside"
	fi
}

commit() {
	! has_repository || return 0
	st='ok nogit'
	command -v git >/dev/null || return 0
	me=$(process "$$")
	build=$s/git.$me
	beside=.dcode-git.$me
	st='ok failed'
	if [ -n "$4" ] && (all_commits "$1" "$3" "$4") >/dev/null; then
		place 'ok history'
	elif (one_commit "$1" "$2") >/dev/null; then
		place 'ok git'
	fi
	rm -rf "$beside" "$build"
}

# Waits for the process $1 that builds the repository, for 300 s, half of the
# caller's time limit. True: it succeeded.
wait_for() {
	pid=${1%%-*}
	n=0
	while [ -d "/proc/$pid" ] && [ "$(process "$pid")" = "$1" ] &&
		[ "$n" -lt 300 ]; do
		[ -f "$s/uncommitted" ] || return 0
		sleep 1
		n=$((n + 1))
	done
	[ ! -f "$s/uncommitted" ]
}

op() {
	umask 022
	enter "$1" || return
	tree=$(pwd -P)
	state_of "$tree" || return
	st='ok plain'
	[ -f "$s/uncommitted" ] || return 0
	builder=$(cat "$s/uncommitted")
	case $builder in
	'' | *[!0-9-]*) ;;
	*)
		wait_for "$builder" && return
		rm -rf "$s/git.$builder" ".dcode-git.$builder"
		;;
	esac
	st=no_space
	me=$(process "$$")
	printf %s "$me" >"$s/uncommitted" || return
	st='ok plain'
	commit "$2" "$3" "$s/history" "$4"
	# Another process that stopped waiting may need these files.
	[ "$(cat "$s/uncommitted")" != "$me" ] ||
		rm -f "$s/history" "$s/uncommitted"
}
