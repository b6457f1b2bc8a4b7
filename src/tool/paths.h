/* paths.h - the file names that a model writes, and files it never sees. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_PATHS_H
#define TOOL_PATHS_H

#include "base/buf.h"

enum { PATHS_BYTES = 4095 }; /* Linux: PATH_MAX without the NUL */

/*
 * The absolute path of what was written, relative ones below workdir; "." and
 * empty components are dropped, every other byte is kept (a backslash is an
 * ordinary character). Owned in *path, NULL on failure. ERR_USAGE with the
 * whole result text for a component "..", a leading "~", a drive letter, and
 * a path beyond PATHS_BYTES: not to confine the model, which has a shell, but
 * because those are mistakes that it can correct.
 */
int paths_resolve(const char *workdir, const char *written, char **path,
		  struct error *err);
/* Whether inner is outer or lies below it; both from paths_resolve(). */
bool paths_contain(const char *outer, const char *inner);

/*
 * On the user's machine: ~/.deepagents/.state, which has stored keys and
 * threads, and the .env files under ~/.deepagents. Not what a shell command
 * reads: that is approved by itself.
 */
struct secret_files { /* from { 0 } */
	char *dir;    /* owned; ~/.deepagents without links, or NULL */
	char *state;  /* owned; its .state, or NULL */
};

void secret_files_open(struct secret_files *s, const char *config_dir);
void secret_files_release(struct secret_files *s);
/* By its name alone; real has no links. s may be NULL. */
bool secret_files_name(const struct secret_files *s, const char *real);
/* The same, and also under another name: a mount elsewhere, a hard link. */
bool secret_files_hold(const struct secret_files *s, const char *real);

#endif
