# private_dir.sh - makes a private directory in a place where others may write.
# SPDX-License-Identifier: MIT
# Sent before the scripts that need it. All directories that dcode has in /tmp,
# /var/tmp or a home on a machine with several users are made by private_dir().
# shellcheck disable=SC2034

# ".LABEL" of this sandbox if several share the machine, else empty.
of_label=${DCODE_EXEC-}
of_label=${of_label#"${of_label%%.*}"}

# Makes the directory $1 with mode 700, or uses an existing one if it belongs to
# this user and is not a link. False: another user has the name.
private_dir() {
	(umask 077 && mkdir -p "$1") 2>/dev/null
	[ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && [ -w "$1" ] &&
		chmod 700 "$1" 2>/dev/null
}
