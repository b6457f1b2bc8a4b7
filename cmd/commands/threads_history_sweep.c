/* threads_history_sweep.c - files of threads go with them. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/threads_history_sweep.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "session/thread.h"

/* True when the database says so, not when it cannot be read. */
static bool is_gone(struct store *s, const char *id)
{
	struct thread t = { 0 };
	struct error why = { 0 };

	if (thread_find(s, id, NULL, &t, &why) == 0) {
		thread_release(&t);
		return false;
	}
	return why.code == ERR_NOT_FOUND;
}

static void sweep(struct app *app, const char *folder, const char *ending)
{
	struct error ignored = { 0 };
	char *directory = app_state_path(app, folder, &ignored);
	DIR *d = directory ? opendir(directory) : NULL;
	struct dirent *entry;
	struct store *s = NULL;

	while (d && (entry = readdir(d))) {
		struct str name = str_of(entry->d_name);
		char *id;
		char *file;

		if (!str_ends(name, ending) || app_store(app, &s, &ignored) < 0)
			continue;
		id = xstrndup(name.ptr, name.len - strlen(ending));
		file = path_join(directory, entry->d_name);
		if (is_gone(s, id))
			(void)unlink(file);
		free(id);
		free(file);
	}
	if (d)
		closedir(d);
	free(directory);
}

void history_sweep(struct app *app)
{
	sweep(app, "conversation_history", ".md");
	sweep(app, "transcripts", ".jsonl");
}
