/* protect.h - names of files that make programs run on the user's machine. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_PROTECT_H
#define CONFIG_PROTECT_H

#include "config/settings.h"

/*
 * The setting `protect`: editors, shells, git hooks and agents run what files
 * of these names say, so a model that may write the tree must not write them.
 * Patterns are of one path component, "*" stands for any characters.
 */
struct protect {
	const char *const *patterns; /* borrowed from settings */
	size_t n;
};

/* [sandboxes.providers.local.params] protect, else protect, else its default.
 * ERR_CONFIG for a pattern that is no name. */
int protect_load(struct protect *p, const struct settings *set,
		 struct error *err);
/*
 * True when this name of one component matches a pattern. Compared as the most
 * forgiving file system would: without regard to case, invisible characters,
 * trailing dots and blanks, and for short names (VSCODE~1) of FAT and NTFS.
 */
bool protect_matches(const struct protect *p, struct str name);
/* ".git" in any such spelling. */
bool protect_is_git(struct str name);
/* The first component of a path that is .git or protected; "" for none. */
struct str protect_find(const struct protect *p, struct str path);
/* True for one name, false for a pattern of several. */
bool protect_is_plain(const char *pattern);

#endif
