#!/bin/sh
# skills_send.sh - puts skills where the system text says that they are.
# SPDX-License-Identifier: MIT
# op ROOT: content is a gzipped tar stream of directories, each of which takes
# the place of the one of its name in ROOT. A staged stream is removed.
# private_dir.sh goes before it. What is in ROOT/.of is the label of the sandbox
# that it belongs to. st: "ok", "link_loop" (ROOT is a link: it could lead into
# the user's own files), "not_own" (somebody else has it, or its name),
# "permission_denied", "no_base64", or "unpack" with what tar said as the body.
# shellcheck disable=SC2034,SC2154
need tar gzip rm mv mkdir rmdir chmod tail head

op() {
	root=$1
	umask 022
	if [ "$src" = text ] && [ "$enc" = b ] &&
		[ "$(printf YQ== | base64 -d)" != a ]; then
		st=no_base64
		return
	fi
	st=link_loop
	[ ! -L "$root" ] || return
	st=not_own
	private_dir "$root" || return
	st=permission_denied
	[ -z "$of_label" ] || echo "${of_label#.}" >"$root/.of" || return
	new=$root/.new-$nonce
	mkdir "$new" || return
	unset TAR_OPTIONS POSIXLY_CORRECT
	if said=$(content | gzip -dc | tar -xof - -C "$new" 2>&1); then
		replace
	else
		st=unpack
		printf '%s\n' "$said" | tail -n 3 | head -c 600
	fi
	rm -rf "$new"
	case $src in
	/*) rm -f "$src" ;;
	esac
}

replace() {
	st=ok
	set +f
	for d in "$new"/*; do
		[ -d "$d" ] || continue
		rm -rf "${root:?}/${d##*/}"
		mv "$d" "$root/${d##*/}" || st=permission_denied
	done
	set -f
}
