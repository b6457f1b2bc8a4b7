/* paths.h - the file names that a model writes. */
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

#endif
