/* project.h - which files count for a directory: whose, and how far upwards. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_PROJECT_H
#define BASE_PROJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Whatever dcode finds in the working directory and above it (.git, .env,
 * AGENTS.md, skills, subagents, hooks, MCP servers) is looked for with these
 * functions alone. Attack: on a shared machine another user makes /tmp/.git or
 * /tmp/AGENTS.md, and waits for somebody who works in /tmp/mine: that tree, or
 * those instructions, would be sent to a model.
 *
 * A file counts when its own owner is the user, root or the owner of the
 * working directory. The last one is what a container needs whose checkout
 * belongs to another uid; git asks for safe.directory there. The walk upwards
 * ends below a directory of anybody else, and below one that every user may
 * write to, sticky or not. The working directory itself may be either.
 *
 * All directories are real paths.
 */

/* The owner of the working directory; ours where that cannot be told. */
uid_t project_owner(const char *cwd);
/* Whether what has this owner counts. Of a link that is the link's own. */
bool project_trusts(const struct stat *st, uid_t owner);
/* Shortens *len, bytes of cwd that name a directory, to its parent's. False,
 * *len unchanged: the walk ends here. */
bool project_go_up(const char *cwd, size_t *len, uid_t owner);
/* Bytes of cwd that name the nearest directory upwards with a .git that counts;
 * all of it where there is none (*is_repository false; may be NULL). */
size_t project_root(const char *cwd, uid_t owner, bool *is_repository);
/*
 * Whether path counts, which begins with the name of the directory dir: each
 * directory below dir, the file, and what the links among them lead to. 1: it
 * does not exist; -1 with ERR_CONFIG: it, or a directory on the way, belongs to
 * somebody else. Asks by name: whoever opens the file next asks
 * project_trusts() about what was opened.
 */
int project_check(const char *dir, const char *path, uid_t owner,
		  struct error *err);
/* Appends the file, where it counts and is a regular one; 1: it does not exist.
 * -1: ERR_CONFIG, or what path_read() says. */
int project_read(const char *dir, const char *path, uid_t owner,
		 struct buf *out, struct error *err);
/* Why a .git that is nearer than project_root() does not count, and what to
 * type, as one line; NULL where there is none. Owned. */
char *project_ignored_git(const char *cwd);

#endif
