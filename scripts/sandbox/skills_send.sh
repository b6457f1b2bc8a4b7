#!/bin/sh
# skills_send.sh - puts skills where the system text says that they are.
# SPDX-License-Identifier: MIT
# op ROOT: content is a gzipped tar stream of directories, each of which takes
# the place of the one of its name in ROOT. A staged stream is removed.
# st: "ok", "link_loop" (ROOT is a link: it could lead into the user's own
# files), "permission_denied", "no_base64", or "unpack" with what tar said as
# the body.
# shellcheck disable=SC2034,SC2154
need tar gzip rm mv mkdir rmdir tail head

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
	st=permission_denied
	mkdir -p "$root" && [ -d "$root" ] && [ ! -L "$root" ] || return
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
