#!/bin/sh
# setup.sh - runs a setup script that contains secrets.
# SPDX-License-Identifier: MIT
# So its text must not be in an argument list, and in no file for longer than
# necessary. Variables:
#   name     a new name for a directory
#   src      path of the script, in a directory of its own; empty: it comes on
#            standard input
#   exports  number of lines before the script that set its environment
#   report   nonce of an aside (src/sandbox/frame.h): if a shell script succeeds
#            and ends in another directory, that is printed as an aside
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

# True if there is a program of this name or path.
runs() {
	case $1 in
	'') return 1 ;;
	*/*) [ -f "$1" ] && [ -x "$1" ] ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

# Prints the first word of "$@" that is neither an option nor NAME=value.
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

# Reads the first line as the kernel does: "#!", a program and one argument. The
# argument of env is split here, because busybox does not know env -S.
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
	# The interpreter is missing. If it was a shell, its short options mean
	# the same to another one.
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

# Removes the name of the file. The interpreter reads it through a descriptor.
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
# A shell runs the script by "." within a line of dcode's, which writes down the
# directory afterwards. A trap does so if the script calls exit.
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
# node would look up the removed name
node | nodejs) set -- "$p" "$@" - ;;
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
	# last, because they may have names that this script uses
	eval "$assign"
	exec "$@"
)
s=$?
# processes that it left running have the file open
: >"$p"
[ "$s" != 0 ] || (keep_env) # of setup_env.sh, which goes before this
end=
[ -z "$where" ] || IFS= read -r end <"$where"
[ "$s" != 0 ] || [ -z "$report" ] || [ "$end" = "$(pwd -P)" ] ||
	! (cd -P "${end:-/dev/null}") 2>/dev/null ||
	printf '\036dcode-%s %s\036' "$report" "$end"
exit "$s"
