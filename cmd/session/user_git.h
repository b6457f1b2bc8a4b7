/* user_git.h - writes objects and branches of the user's repository, with none
 * of its settings and hooks. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_USER_GIT_H
#define CMD_SESSION_USER_GIT_H

#include "tree/user_repo.h"
#include "workspace/workspace.h"

/*
 * A git whose GIT_DIR is a directory of dcode's own, made anew each time; in it
 * are links to the user's refs, packed-refs and logs, and its objects are the
 * user's. So git itself locks and writes branches, but what the repository
 * configures, its hooks too, is never read, except for who commits and for line
 * ends, as data. Attributes are those of the working tree.
 */
struct user_git {
	struct user_repo repo;
	struct git git;
	char *dir, *objects; /* owned */
	const char *env[2];
	char *object_env;  /* owned */
	char autocrlf[32]; /* "core.autocrlf=input" */
	char eol[32];
};

/* ERR_USAGE where there is no repository, or one that this cannot write. */
int user_git_open(struct user_git *u, const struct workspace *w,
		  const struct stop *stop, struct error *err);
void user_git_close(struct user_git *u);
/* "Ann <ann@example.org>" as git would have it: GIT_AUTHOR_NAME and
 * GIT_AUTHOR_EMAIL, else user.name and user.email of the repository's own
 * config, without what that includes, else of the user's own. Owned.
 * ERR_CONFIG. */
int user_git_identity(const struct user_git *u, const char *home,
		      char **identity, const struct stop *stop,
		      struct error *err);

#endif
