/* saved_patch.h - the patch that is saved of a thread. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_THREADS_SAVED_PATCH_H
#define CMD_THREADS_SAVED_PATCH_H

#include "cmd/app.h"

/* ~/.deepagents/.state/patches; owned by the caller. app_settings() first. */
char *saved_patch_folder(const struct app *app);
/* The path of the newest patch of the thread with this id, else of the one that
 * came with its import; NULL when there is none. Owned by the caller. */
char *saved_patch_find(const struct app *app, const char *id);
/* Where the patch of an imported thread goes: under a name that is not taken
 * for one of dcode's own. Owned by the caller. */
char *saved_patch_imported(const struct app *app, const char *id);

#endif
