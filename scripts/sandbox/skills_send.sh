#!/bin/sh
# skills_send.sh - unpacks skills where the system prompt says that they are.
# SPDX-License-Identifier: MIT
# op ROOT: content is a gzipped tar stream of directories. Each replaces the one
# of its name in ROOT. If the stream was uploaded as a file, that is removed.
# Needs private_dir.sh. ROOT/.of has the label of the sandbox that owns ROOT.
# st is "ok", "link_loop" (ROOT is a link, which may lead into the user's own
# files), "not_own" (ROOT belongs to another user), "permission_denied",
# "no_base64", or "unpack", with tar's messages as the body.
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
