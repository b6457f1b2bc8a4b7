/* name.h - refuses paths that are unsafe to write, such as .git/config. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_NAME_H
#define WORKTREE_NAME_H

#include "base/buf.h"
#include "worktree/treefile.h"

/*
 * Returns why a file of this mode must not be written at path, relative to the
 * tree's root; NULL: allowed. Static text that completes "PATH ...": "is inside
 * .git". Refused are names that leave the tree, .git in any spelling that HFS+
 * or NTFS treat as .git, a link named .gitmodules, modes other than those of a
 * file, program or link (setuid, devices, submodules), and names that no file
 * system or listing can contain.
 */
const char *name_refuse(struct str path, unsigned mode);
/* Like name_refuse(), for the target of a link at path: it must stay in the
 * tree and outside .git. ".." after a name is refused too, because that name
 * may be another link. */
const char *name_refuse_target(struct str path, struct str target);
/*
 * Finds names that no source (apply, a patch, a copy out of a sandbox) may
 * write unless the user asks for it: git runs the commands in the config and
 * hooks of any directory named .git. Returns the number of bytes of path up to
 * the end of the first such name, in any spelling that git refuses (".GIT",
 * "git~1", with code points that HFS+ ignores); 0: none.
 */
size_t name_find_git(struct str path);
/*
 * git treats any directory with HEAD, objects and refs as a bare repository,
 * and reads its config when it is started there: core.fsmonitor and other keys
 * are commands. commondir can replace objects, refs and config. So if a sandbox
 * could write such a directory, a missing part of one, or files of an existing
 * one, its commands would run on the user's machine. A bare repository on the
 * user's machine is not sent either: its objects are compressed, so secrets in
 * them cannot be found.
 */
struct bare_repo_part {
	char *directory; /* owned; "" or with a slash at its end */
	unsigned parts;
};

struct bare_repos { /* initialise with { 0 } */
	struct bare_repo_part *list;
	size_t n;
	size_t sorted; /* this many first entries are sorted and unique */
};

/* Reason to refuse a path in a bare repository; completes "PATH ...". */
extern const char bare_repo_refused[];

/* Adds a file or link that is in the tree, or will be. */
void bare_repo_add(struct bare_repos *b, struct str path);
/* Returns the length of the directory of the outermost bare repository that
 * contains path, with its slash (0: the root itself); -1: none. b: the added
 * paths; disk: what exists now. Either may be NULL. */
int bare_repo_find(struct bare_repos *b, struct tree_dir *disk,
		   const char *path);
/* Returns the length of the nearest bare repository's name: directory (a real
 * path), or one above it; 0: none. The walk up ends below a directory that has
 * a .git, because git uses that one: a worktree may be in its bare
 * repository. */
size_t bare_repo_above(const char *directory);
void bare_repo_release(struct bare_repos *b);

struct nested_repo { /* initialise with { 0 } */
	char *seen;  /* owned: the directory that was checked last */
	size_t at;   /* result for that directory */
};

/*
 * Returns the length of the topmost directory above path that has a .git of any
 * kind, even one that git does not follow: in a sandbox such a directory is
 * another repository. The first `from` bytes of path, none or a prefix that
 * ends with a slash, are not searched. 0 if there is none. Consecutive files of
 * one directory are fast.
 */
size_t nested_repo_find(struct nested_repo *n, struct tree_dir *disk,
			const char *path, size_t from);
void nested_repo_release(struct nested_repo *n);

#endif
