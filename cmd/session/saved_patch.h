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
/* Returns the path of the newest patch saved for the thread, or of the patch
 * that was imported with it; NULL if there is none. Owned by the caller. */
char *saved_patch_find(const struct app *app, const char *id);
/* Calls each for the lines in the patch's header that name files which are not
 * in the patch: "Left: a.iso (2.0 GB) is larger than it may be". The text is
 * untrusted. */
void saved_patch_each_missing(const char *path,
			      void (*each)(void *arg, struct str line),
			      void *arg);
/* True if the patch's header names the sandbox with this label. */
bool saved_patch_is_of(const char *path, const char *label);
/* Shortens the path of the user's directory in the patch's header to its last
 * component, because the full path is private. patch must contain the whole
 * header. */
void saved_patch_hide_tree(struct buf *patch);
/* Returns the path for the patch of an imported thread. Its name differs from
 * those of patches that dcode saves. Owned by the caller. */
char *saved_patch_imported(const struct app *app, const char *id);

#endif
