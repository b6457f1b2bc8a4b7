#!/bin/sh
# setup_env.sh - makes variables in ~/.bashrc and the like apply to commands.
# SPDX-License-Identifier: MIT
# A setup script may set variables in ~/.bashrc, ~/.profile or ~/.bash_profile.
# Commands run in shells that are not interactive, which do not read these files
# (and Debian's .bashrc returns early in them). So an interactive shell reads
# them once after the setup. Variables that it has and commands do not have, or
# have with another value, are written to ~/.dcode-env, which each command
# reads. Nothing in these files (exit, exec, set -e, a trap, a read, an endless
# loop, a syntax error) may fail the setup or hide the next file. Begin reading
# at keep_env().
# shellcheck disable=SC2016,SC2154,SC2317

# Runs in a shell of its own: dump DIR PREFIX FILE. Writes the variables that
# differ from those in DIR/base. Uses builtins, so that no value is in an
# argument list. Only names are taken from "export -p", because values may have
# several lines.
env_dump='
dcode_dir=$1
dcode_q=$(printf "\047")
[ ! -f "$1/base" ] || . "$1/base"
export -p >"$1/names"
while IFS= read -r dcode_n; do
	case $dcode_n in
	"export "*) dcode_n=${dcode_n#export } ;;
	"declare -x "*) dcode_n=${dcode_n#declare -x } ;;
	*) continue ;;
	esac
	dcode_n=${dcode_n%%=*}
	case $dcode_n in
	"" | [0-9]* | *[!A-Za-z0-9_]*) continue ;;
	_ | PWD | OLDPWD | SHLVL | PS[0-9] | TERM | COLUMNS | LINES) continue ;;
	BASH* | HIST* | PROMPT_* | DCODE_* | dcode_* | __dcode*) continue ;;
	IFS | ENV | UID | EUID | GID | EGID | PPID | SHELLOPTS) continue ;;
	OPT* | LINENO | RANDOM | SRANDOM | SECONDS | EPOCH*) continue ;;
	EDITOR | VISUAL | PAGER | MANPAGER | SYSTEMD_PAGER) continue ;;
	GIT_EDITOR | GIT_SEQUENCE_EDITOR | GIT_PAGER) continue ;;
	GIT_TERMINAL_PROMPT | VIMINIT) continue ;;
	FUNCNAME | GROUPS | DIRSTACK | PIPESTATUS | MAIL*) continue ;;
	esac
	eval "dcode_set=\${$dcode_n+x} dcode_v=\${$dcode_n-}"
	eval "dcode_was=\${dcode_base_$dcode_n+x}\${dcode_base_$dcode_n-}"
	[ -n "$dcode_set" ] && [ "x$dcode_v" != "$dcode_was" ] || continue
	[ "$dcode_n" != PATH ] || command -v sh >/dev/null ||
		dcode_v=$dcode_v:$dcode_base_PATH
	printf "%s%s=%s" "$2" "$dcode_n" "$dcode_q"
	while [ "${dcode_v#*"$dcode_q"}" != "$dcode_v" ]; do
		printf "%s%s" "${dcode_v%%"$dcode_q"*}" \
			"$dcode_q\\$dcode_q$dcode_q"
		dcode_v=${dcode_v#*"$dcode_q"}
	done
	printf "%s%s\n" "$dcode_v" "$dcode_q"
done <"$1/names" >"$1/$3.new"
PATH=${dcode_base_PATH-$PATH}
mv "$dcode_dir/$3.new" "$dcode_dir/$3" ||
	busybox mv "$dcode_dir/$3.new" "$dcode_dir/$3"
'

# Runs in an interactive shell: init DIR SH FILES-ALREADY-READ. Reads the files
# in turn. In bash, a file that was read is not read again if another one
# includes it (.profile includes .bashrc). exec and trap have no effect in these
# files.
env_init='
__dcode_dir=$1 __dcode_sh=$2 __dcode_read=$3 __dcode_home=$HOME __dcode_dot=.
set --
__dcode_dump() {
	unset HISTFILE
	"$__dcode_sh" "$__dcode_dir/dump" "$__dcode_dir" "export " env
}
trap __dcode_dump EXIT
trap exit USR1
if [ -n "${BASH_VERSION-}" ]; then
	set +o posix
	eval "
	.() {
		for __dcode_f in \$__dcode_read; do
			[[ \$1 -ef \$__dcode_home/\$__dcode_f ]] && return 0
		done
		builtin . \"\$@\"
	}
	source() { . \"\$@\"; }
	exec() { :; }
	trap() { :; }
	"
	__dcode_dot="builtin ."
else
	alias exec=: trap=:
fi
for __dcode_file in .bashrc .profile .bash_profile; do
	case " $__dcode_read " in
	*" $__dcode_file "*) continue ;;
	esac
	[ -f "$__dcode_home/$__dcode_file" ] || continue
	__dcode_read="$__dcode_read $__dcode_file"
	printf %s "$__dcode_read" >"$__dcode_dir/read"
	PS1="$ "
	set -a
	$__dcode_dot "$__dcode_home/$__dcode_file"
	set +aefux
	IFS=" "
	__dcode_dump
done
'

# Starts a shell that reads the remaining files. 1: there are none.
env_read() {
	env_done=
	[ ! -f "$env_dir/read" ] || IFS= read -r env_done <"$env_dir/read"
	env_left=
	for env_file in .bashrc .profile .bash_profile; do
		case " $env_done " in
		*" $env_file "*) continue ;;
		esac
		[ ! -f "$HOME/$env_file" ] || env_left=1
	done
	[ -n "$env_left" ] || return 1
	(
		# shellcheck disable=SC1091
		[ ! -f "$env_dir/env" ] || . "$env_dir/env"
		# shellcheck disable=SC2086
		exec $env_set $env_shell -i "$env_dir/init" "$env_dir" \
			"$env_sh" "$env_done"
	) </dev/null >/dev/null 2>&1 &
	env_pid=$!
	env_turn=0
	while kill -0 $env_pid 2>/dev/null && [ $env_turn -lt 100 ]; do
		env_turn=$((env_turn + 1))
		[ $env_turn -gt 5 ] || sleep 0.02 2>/dev/null || sleep 1
		[ $env_turn -le 5 ] || sleep 0.1 2>/dev/null || {
			sleep 1
			env_turn=$((env_turn + 9))
		}
	done
	if [ $env_turn -ge 100 ]; then
		echo "dcode: ~/.bashrc or ~/.profile took more than 10 s to" \
			"read; commands may lack what it sets" >&2
		kill -USR1 $env_pid 2>/dev/null && sleep 1
		kill -9 -$env_pid 2>/dev/null || kill -9 $env_pid 2>/dev/null
	fi
	wait $env_pid 2>/dev/null
	# If the shell died before it began a file, do not start it again.
	IFS= read -r env_now <"$env_dir/read"
	[ "$env_now" != "$env_done" ]
}

# Variable: name, as in setup.sh.
keep_env() {
	[ -n "${HOME-}" ] || return
	# If several sandboxes share a machine, each has a file of its own.
	env_kept=$HOME/.dcode-env${DCODE_EXEC#"${DCODE_EXEC%%.*}"}
	rm -f "$env_kept"
	[ -f "$HOME/.bashrc" ] || [ -f "$HOME/.profile" ] ||
		[ -f "$HOME/.bash_profile" ] || return
	env_dir=$HOME/.dcode-env-$name
	umask 077
	mkdir "$env_dir" || return
	env_sh=$(command -v sh)
	env_shell="$(command -v bash) --norc" || env_shell=$env_sh
	env_set=$(command -v setsid)
	printf '%s' "$env_dump" >"$env_dir/dump"
	printf '%s' "$env_init" >"$env_dir/init"
	"$env_sh" "$env_dir/dump" "$env_dir" dcode_base_ base
	while env_read; do
		:
	done
	[ ! -s "$env_dir/env" ] || cat "$env_dir/env" >"$env_kept"
	rm -rf "$env_dir"
}
