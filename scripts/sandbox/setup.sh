#!/bin/sh
# setup.sh - runs a setup script that no argument list holds and no file keeps.
# SPDX-License-Identifier: MIT
# Given: name, a fresh one for a directory; src, where the script is, in a
# directory of its own, or empty: on standard input; exports: how many lines at
# its beginning are not the script, but assignments for its environment; report:
# the nonce of an aside (src/sandbox/frame.h), which tells in what directory a
# shell's script that succeeded has ended, if it is another one.
# shellcheck disable=SC2016,SC2086,SC2154
for a in cat mkdir rm; do
	command -v "$a" >/dev/null 2>&1 ||
		eval "$a() { busybox $a \"\$@\"; }"
done
mask=$(umask)
umask 077
dir=
where=
trap '[ -z "$dir" ] || rm -rf "$dir"; [ -z "$where" ] || rm -f "$where"' EXIT
trap 'exit 129' HUP INT TERM
if [ -z "$src" ]; then
	for t in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm .; do
		dir=$t/dcode-setup-$name
		mkdir "$dir" 2>/dev/null && break
		dir=
	done
	if [ -z "$dir" ]; then
		echo 'dcode: no directory for the setup script' >&2
		exit 126
	fi
	src=$dir/script
else
	dir=${src%/*}
	exec <"$src"
	rm -f "$src"
	src=$dir/text
fi
assign=
while [ "$exports" -gt 0 ] && IFS= read -r line; do
	assign="$assign$line
"
	exports=$((exports - 1))
done
cat >"$src" || exit 126
exec </dev/null
umask "$mask"

# Is there a program of this name or path?
runs() {
	case $1 in
	'') return 1 ;;
	*/*) [ -f "$1" ] && [ -x "$1" ] ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

# The first word of "$@" that is a program and no option or NAME=value.
target() {
	for w; do
		case $w in
		-* | *=*) ;;
		*)
			printf %s "$w"
			return
			;;
		esac
	done
}

# The shebang, as the kernel reads it: a program and one argument. env's
# argument is split, for -S is unknown to busybox.
set -f
line=
IFS= read -r line <"$src"
wanted=
flags=
case $line in
'#!'*)
	set -- ${line#'#!'}
	wanted=${1-}
	[ $# -eq 0 ] || shift
	case ${wanted##*/} in
	env)
		case ${1-} in
		-S) shift ;;
		-S*)
			w=${1#-S}
			shift
			set -- "$w" "$@"
			;;
		esac
		set -- "$wanted" "$@"
		[ -x "$wanted" ] && shift && wanted=$(target "$@") &&
			set -- env "$@"
		;;
	*)
		flags=$*
		set -- "$wanted" ${flags:+"$flags"}
		;;
	esac
	;;
*)
	set --
	;;
esac
if ! runs "$wanted"; then
	# Short options of a shell mean the same to another one.
	case ${wanted##*/}:$flags in
	*sh:-*[!aefuvx]*) flags= ;;
	*sh:-?*) ;;
	*) flags= ;;
	esac
	wanted=sh
	! runs bash || wanted=bash
	set -- $wanted $flags
fi
set +f

# The name goes, the open file stays: read anew through its descriptor.
exec 3<>"$src"
rm -f "$src"
for p in /dev/fd/3 /proc/self/fd/3; do
	again=
	[ ! -r "$p" ] || IFS= read -r again <"$p" # fails at a line cut short
	if [ -r "$p" ] && [ "$again" = "$line" ]; then
		rm -rf "$dir"
		dir=
		break
	fi
	p=
done
if [ -z "$p" ]; then # no /proc: the file stays until the end
	p=$src
	(umask 077 && cat <&3 >"$src") || exit 126
fi
# Where a shell is when the script ends, also by exit or a trap of its own: it
# reads the script as a part of a line of ours.
case ${wanted##*/} in
sh | bash | dash | ash)
	for t in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm; do
		where=$t/dcode-where-$name
		(umask 077 && set -C && : >"$where") && break
		where=
	done 2>/dev/null
	;;
esac
case ${where:+shell}${wanted##*/} in
node | nodejs) set -- "$p" "$@" - ;; # it looks for the name that is gone
shell*)
	set -- /dev/null "$@" -c '__dcode=$1;shift
trap "pwd -P >\"\$__dcode\"" EXIT
. "$0"
set -- $?
pwd -P >"$__dcode"
exit $1' "$p" "$where"
	;;
*) set -- /dev/null "$@" "$p" ;;
esac
(
	exec <"$1"
	shift
	eval "$assign" # last: these may be names that stand for something here
	exec "$@"
)
s=$?
: >"$p" # for what it has left running, which has the file open
[ "$s" != 0 ] || (keep_env) # of setup_env.sh, which goes before this
end=
[ -z "$where" ] || IFS= read -r end <"$where"
[ "$s" != 0 ] || [ -z "$report" ] || [ "$end" = "$(pwd -P)" ] ||
	! (cd -P "${end:-/dev/null}") 2>/dev/null ||
	printf '\036dcode-%s %s\036' "$report" "$end"
exit "$s"
