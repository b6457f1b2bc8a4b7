# private_dir.sh - a directory of ours where others may write; before others.
# SPDX-License-Identifier: MIT
# Every name that dcode has in /tmp, /var/tmp or a home on a machine of several
# users is made by this function.
# shellcheck disable=SC2034

# Whose sandbox this is, where several share a machine: ".LABEL", else nothing.
of_label=${DCODE_EXEC-}
of_label=${of_label#"${of_label%%.*}"}

# Makes the directory $1, or takes the one that is there: ours, no link, and
# from then on readable and writable by us alone. False: somebody else has the
# name.
private_dir() {
	(umask 077 && mkdir -p "$1") 2>/dev/null
	[ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && [ -w "$1" ] &&
		chmod 700 "$1" 2>/dev/null
}
