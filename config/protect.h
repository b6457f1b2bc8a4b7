/* protect.h - names of files that can make programs run on the user's
 * machine. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_PROTECT_H
#define CONFIG_PROTECT_H

#include "config/settings.h"

/*
 * The setting `protect`: names of files that editors, shells, git hooks and
 * agents execute or obey. A model with write access to the tree must not write
 * them. A pattern matches one path component; "*" stands for any characters.
 */
struct protect {
	const char *const *patterns; /* borrowed from settings */
	size_t n;
};

/* Loads the patterns from `protect` of [sandboxes.providers.local.params]. If
 * that is not set, from the top-level setting `protect` or its default.
 * ERR_CONFIG if a pattern is not a file name. */
int protect_load(struct protect *p, const struct settings *set,
		 struct error *err);
/*
 * True if the name of one path component matches a pattern. Compares as
 * tolerantly as any file system does: ignores case, invisible characters,
 * trailing dots and blanks, and recognises short names of FAT and NTFS
 * (VSCODE~1).
 */
bool protect_matches(const struct protect *p, struct str name);
/* True for ".git" in any spelling that protect_matches() would accept. */
bool protect_is_git(struct str name);
/* Returns the first component of path that is .git or protected; "" if there is
 * none. */
struct str protect_find(const struct protect *p, struct str path);
/* True if the pattern has no "*". */
bool protect_is_plain(const char *pattern);

#endif
