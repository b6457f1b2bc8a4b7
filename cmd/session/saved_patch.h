/* saved_patch.h - the patch that is saved of a thread. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SAVED_PATCH_H
#define CMD_SESSION_SAVED_PATCH_H

#include "base/buf.h"
#include "base/str.h"
#include "cmd/app.h"

/* ~/.deepagents/.state/patches; owned by the caller. app_settings() first. */
char *saved_patch_folder(const struct app *app);
/* The path of the newest patch of the thread with this id, else of the one that
 * came with its import; NULL when there is none. Owned by the caller. */
char *saved_patch_find(const struct app *app, const char *id);
/* The lines of a patch's head that name what it does not have: "Left: a.iso
 * (2.0 GB) is larger than it may be". Foreign text. */
void saved_patch_each_missing(const char *path,
			      void (*each)(void *arg, struct str line),
			      void *arg);
/* Whether a patch is of the sandbox with this label, as its head says. */
bool saved_patch_is_of(const char *path, const char *label);
/* Of the directory that the head of a patch names only the last part stays:
 * where a tree is on this machine is nothing for others. patch has the file's
 * beginning, with the whole head. */
void saved_patch_hide_tree(struct buf *patch);
/* Where the patch of an imported thread goes: under a name that is not taken
 * for one of dcode's own. Owned by the caller. */
char *saved_patch_imported(const struct app *app, const char *id);

#endif
