/* saved_patch.c - the patch that is saved of a thread. */
/* SPDX-License-Identifier: MIT */
#include "cmd/threads/saved_patch.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "workspace/patch.h"

char *saved_patch_folder(const struct app *app)
{
	return path_join(settings_dir(app->settings), ".state/patches");
}

char *saved_patch_imported(const struct app *app, const char *id)
{
	char *folder = saved_patch_folder(app);
	char *path = xasprintf("%s/%s-imported.patch", folder, id);

	free(folder);
	return path;
}

char *saved_patch_find(const struct app *app, const char *id)
{
	char *folder = saved_patch_folder(app);
	char *path = patch_newest(folder, id);

	free(folder);
	if (path)
		return path;
	path = saved_patch_imported(app, id);
	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return NULL;
}
