/* mounts.h - which files of the user's machine a sandbox can write. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_MOUNTS_H
#define SANDBOX_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

struct sandbox_mount {
	char *inside; /* owned: "/workspace" */
	char *path;   /* owned: "/home/ann/project" */
};

struct sandbox_mounts { /* from { 0 } */
	struct sandbox_mount *list;
	size_t n;
};

/* Once for each place inside. */
void mounts_add(struct sandbox_mounts *m, const char *inside, const char *path);
void mounts_release(struct sandbox_mounts *m);

#endif
