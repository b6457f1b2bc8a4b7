/* saved_patch.h - finds and reads the patches saved for a thread. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SAVED_PATCH_H
#define CMD_SESSION_SAVED_PATCH_H

#include "base/buf.h"
#include "base/str.h"
#include "cmd/app.h"

/* Returns ~/.deepagents/.state/patches. Owned by the caller. Call
 * app_settings() first. */
char *saved_patch_folder(const struct app *app);
/* Returns the path of the thread's newest patch, or of the patch imported with
 * it; NULL if there is none. Owned by the caller. */
char *saved_patch_find(const struct app *app, const char *id);
/* Calls each for the header lines that name missing files: "Left: a.iso (2.0
 * GB) is larger than it may be". The text is untrusted. */
void saved_patch_each_missing(const char *path,
			      void (*each)(void *arg, struct str line),
			      void *arg);
/* True if the patch's header names the sandbox with this label. */
bool saved_patch_is_of(const char *path, const char *label);
/* Shortens the directory in the patch's header to its last component, because
 * the path on this machine is private. patch must contain the whole header. */
void saved_patch_hide_tree(struct buf *patch);
/* Returns the path for the patch of an imported thread. It cannot be confused
 * with one of dcode's own patches. Owned by the caller. */
char *saved_patch_imported(const struct app *app, const char *id);

#endif
