/* project.h - decides which files above the working directory are trusted. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_PROJECT_H
#define BASE_PROJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * All files that dcode looks for in the working directory and above it (.git,
 * .env, AGENTS.md, skills, subagents, hooks, MCP servers) are found only with
 * these functions. Attack: on a shared machine another user creates /tmp/.git
 * or /tmp/AGENTS.md and waits for a user who works in /tmp/mine. dcode would
 * send that tree or those instructions to a model.
 *
 * A file is trusted if its owner is the user, root or the owner of the working
 * directory. The third is for containers in which the checkout belongs to
 * another uid; git requires safe.directory there. The walk up stops below a
 * directory that belongs to anyone else, and below one that every user can
 * write to, sticky or not. The working directory itself may be such a
 * directory.
 *
 * All directories must be real paths.
 */

/* Returns the owner of the working directory, or the current user if it cannot
 * be determined. */
uid_t project_owner(const char *cwd);
/* True if a file with this status is trusted. For a link, the status must be
 * that of the link itself. */
bool project_trusts(const struct stat *st, uid_t owner);
/* True if dcode may follow a .git file to this git directory and to the
 * repository's common one: both are directories, not links, and trusted. */
bool project_trusts_git(const char *git_dir, const char *common, uid_t owner);
/* Sets *len, the length of a directory's name at the start of cwd, to that of
 * its parent. False, with *len unchanged, at the end of the walk. */
bool project_go_up(const char *cwd, size_t *len, uid_t owner);
/* Walks up from cwd to the nearest directory with a trusted .git. Returns the
 * length of its name, or that of cwd if there is none. *is_repository, unless
 * NULL: whether there is one. */
size_t project_root(const char *cwd, uid_t owner, bool *is_repository);
/*
 * Checks path, which must begin with the directory dir: every directory below
 * dir, the file, and the targets of links among them. Returns 0 if all are
 * trusted; 1 if path does not exist; -1 with ERR_CONFIG if one belongs to
 * another user. A file could be exchanged after this check, so check it again
 * with project_trusts() after opening it.
 */
int project_check(const char *dir, const char *path, uid_t owner,
		  struct error *err);
/* Appends the file if it is trusted and a regular file. Returns 1 if it does
 * not exist; -1 with ERR_CONFIG or an error of path_read(). */
int project_read(const char *dir, const char *path, uid_t owner,
		 struct buf *out, struct error *err);
/* If there is a .git nearer to cwd than project_root() that is not trusted,
 * returns one line that says why, and what to type; else NULL. Owned. */
char *project_ignored_git(const char *cwd);

#endif
