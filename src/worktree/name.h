/* name.h - names and directories that git gives power to. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_NAME_H
#define WORKTREE_NAME_H

#include "base/buf.h"
#include "worktree/treefile.h"

/*
 * Why something of this mode must not be written at path, relative to the
 * tree's root; NULL: it may be. Static text that goes on after the path:
 * "is inside .git". Refused are names that leave the tree, .git in any spelling
 * that HFS+ or NTFS take for it, a link named .gitmodules, other modes than
 * the three above (setuid, devices, submodules), and what no file system or
 * listing can hold.
 */
const char *name_refuse(struct str path, unsigned mode);
/* The same for the target of a link at path: it must stay in the tree and
 * outside .git. Dots after a name are refused, too: behind another link they
 * may lead out. */
const char *name_refuse_target(struct str path, struct str target);
/*
 * The names that never come in unasked, whatever brings them (apply, a patch, a
 * copy out of a sandbox): git runs what the config and hooks of a .git say.
 * Returns how many bytes of path end with the first such name, in any spelling
 * that git refuses (".GIT", "git~1", with what HFS+ ignores); 0: none.
 */
size_t name_find_git(struct str path);
/*
 * git takes any directory with HEAD, objects and refs for a bare repository,
 * and reads its config when it is started there: core.fsmonitor and others of
 * its keys are commands. commondir stands for objects, refs and config. So a
 * sandbox that brings such a directory, or the part of one that is missing,
 * would run its commands on the user's machine, and so would a sandbox that
 * changes files of an existing one. A bare repository on the user's machine is
 * not sent either: its objects are compressed, so that no secret is found.
 */
struct bare_repo_part {
	char *directory; /* owned; "" or with a slash at its end */
	unsigned parts;
};

struct bare_repos { /* start from { 0 } */
	struct bare_repo_part *list;
	size_t n;
	size_t sorted; /* so many, from the first: sorted, each once */
};

/* Why a path in one is refused, to follow the path: "is inside ...". */
extern const char bare_repo_refused[];

/* Notes a file or link that is in the tree, or will be. */
void bare_repo_add(struct bare_repos *b, struct str path);
/* How many bytes of path name the directory of the outermost bare repository
 * that it is in, its slash included (0: the root itself); -1 if it is not in
 * one. b: what was added; disk: what is there now. Either may be NULL. */
int bare_repo_find(struct bare_repos *b, struct tree_dir *disk,
		   const char *path);
/* True if the directory of this real path, or one above, is one. */
bool bare_repo_above(const char *directory);
void bare_repo_release(struct bare_repos *b);

struct nested_repo { /* start from { 0 } */
	char *seen;  /* owned: the directory that was looked at last, ... */
	size_t at;   /* ... and what was found of it */
};

/*
 * The length of the topmost directory above path that has a .git of any kind,
 * also of one that git does not follow now: in a sandbox such a directory is
 * another repository. Directories within the first from bytes of path, which
 * are "" or end with a slash, do not count. 0 if there is none. It is fast for
 * the files of one directory in a row.
 */
size_t nested_repo_find(struct nested_repo *n, struct tree_dir *disk,
			const char *path, size_t from);
void nested_repo_release(struct nested_repo *n);

#endif
