/* patch.c - the patch that is saved of a thread. */
/* SPDX-License-Identifier: MIT */
#include "cmd/threads/patch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

char *patch_folder(const struct app *app)
{
	return path_join(settings_dir(app->settings), ".state/patches");
}

char *patch_imported(const struct app *app, const char *id)
{
	char *folder = patch_folder(app);
	char *path = xasprintf("%s/%s-imported.patch", folder, id);

	free(folder);
	return path;
}

/* N of "THREAD-N.patch", or -1. */
static int64_t read_number(const char *name, const char *id)
{
	struct str rest = str_of(name);
	int64_t n;

	if (!str_starts(rest, id) || !str_ends(rest, ".patch"))
		return -1;
	rest = str_skip(rest, strlen(id));
	if (!str_starts(rest, "-"))
		return -1;
	rest = str_skip(rest, 1);
	rest.len -= strlen(".patch");
	return str_to_int(rest, &n) && n >= 0 ? n : -1;
}

char *patch_find(const struct app *app, const char *id)
{
	char *folder = patch_folder(app);
	char *path = patch_imported(app, id);
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int64_t highest = -1;

	if (access(path, F_OK) < 0) {
		free(path);
		path = NULL;
	}
	while (dir && (entry = readdir(dir))) {
		int64_t n = read_number(entry->d_name, id);

		if (n <= highest)
			continue;
		highest = n;
		free(path);
		path = path_join(folder, entry->d_name);
	}
	if (dir)
		closedir(dir);
	free(folder);
	return path;
}
