/* gitconfig.h - files that a repository's own config makes git use. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOCAL_GITCONFIG_H
#define PROVIDERS_LOCAL_GITCONFIG_H

#include <stdbool.h>

/*
 * core.hooksPath, include.path and the keys that name programs, as far as they
 * lie in root: the user pointed git to a place that the model may write. All
 * paths are relative to root, without "." and "..". Included files count, too.
 */
enum named_kind {
	NAMED_PROGRAM, /* may be a command that is no file */
	NAMED_CONFIG,  /* read like the config, as soon as it is there */
	NAMED_HOOKS,   /* a directory of hooks */
};

void gitconfig_each(const char *root, const char *git_dir,
		    void (*each)(void *arg, const char *path,
				 enum named_kind kind),
		    void *arg);

#endif
