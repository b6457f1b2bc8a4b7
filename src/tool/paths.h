/* paths.h - resolves paths given by the model, and protects secret files. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_PATHS_H
#define TOOL_PATHS_H

#include "base/buf.h"

enum { PATHS_BYTES = 4095 }; /* Linux's PATH_MAX without the NUL */

/*
 * Resolves a path given by the model to an absolute one; relative paths are
 * below workdir. Empty components and "." are removed; all other bytes stay (a
 * backslash is an ordinary character). *path is owned, NULL on failure.
 * ERR_USAGE, with the complete result for the model in err->message, for a
 * component "..", a leading "~", a drive letter and a path longer than
 * PATHS_BYTES. These are mistakes that a model can correct; they do not confine
 * it, because it has a shell.
 */
int paths_resolve(const char *workdir, const char *written, char **path,
		  struct error *err);
/* True if inner is outer or below it. Both must come from paths_resolve(). */
bool paths_contain(const char *outer, const char *inner);
/* Returns how a path is shown to the user: relative if it is below workdir
 * (which may be NULL), else unchanged. Attack: a path that looks like another
 * one. So nothing is left out if the rest would look absolute ("//etc/x"), like
 * the home ("~"), or leads out again (".."). Borrowed from path, or static. */
const char *paths_shown(const char *workdir, const char *path);

/*
 * Files on the user's machine that the model must not read:
 * ~/.deepagents/.state, which has stored keys and threads, and the .env files
 * under ~/.deepagents. Shell commands are not covered: they need approval.
 */
struct secret_files { /* initialise with { 0 } */
	char *dir;    /* real path of ~/.deepagents, or NULL; owned */
	char *state;  /* real path of its .state, or NULL; owned */
};

void secret_files_open(struct secret_files *s, const char *config_dir);
void secret_files_release(struct secret_files *s);
/* True if the real path is the path of a secret file; does not look at the
 * file. s may be NULL. */
bool secret_files_name(const struct secret_files *s, const char *real);
/* Like secret_files_name(), but also true if the file is a secret file under
 * another path: through a bind mount or a hard link. */
bool secret_files_hold(const struct secret_files *s, const char *real);

#endif
