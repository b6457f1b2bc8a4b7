/* entry_points.h - the entry points of installed Python packages. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_ENTRY_POINTS_H
#define PROVIDERS_EXTERNAL_ENTRY_POINTS_H

#include "base/str.h"

/*
 * "*.dist-info/entry_points.txt" (and "*.egg-info/...") as the Python packaging
 * guide specifies it (packaging.python.org, entry points specification, read
 * 2026-11), read by ourselves: no Python is started.
 */
struct entry_point { /* borrowed for the call */
	struct str name;
	struct str object; /* "module.path:Class", without extras */
	const char *package;
};

/* Those of a group in one file's text, which is package's. */
void entry_points_parse(struct str text, const char *group, const char *package,
			void (*each)(void *arg, const struct entry_point *e),
			void *arg);
/* Those of all packages in a directory. */
void entry_points_read(const char *dir, const char *group,
		       void (*each)(void *arg, const struct entry_point *e),
		       void *arg);
/* True for "module.path:Class" and nothing else. */
bool class_path_ok(struct str s);

#endif
