/* secret_files.h - files of dcode's own that no reading tool shows. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_SECRET_FILES_H
#define TOOL_SECRET_FILES_H

#include <stdbool.h>

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
