/* patch.h - the patch that is saved of a thread. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_THREADS_PATCH_H
#define CMD_THREADS_PATCH_H

#include "cmd/app.h"

/* ~/.deepagents/.state/patches; owned by the caller. app_settings() first. */
char *patch_folder(const struct app *app);
/* The path of the newest patch of the thread with this id: THREAD-N.patch with
 * the highest N, else what came with its import; NULL when there is none. Owned
 * by the caller. */
char *patch_find(const struct app *app, const char *id);
/* Where the patch of a thread goes that was imported. Owned by the caller. */
char *patch_imported(const struct app *app, const char *id);

#endif
