/* command_changes.c - names the files that a command has changed. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/command_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/diff.h"
#include "base/str.h"
#include "sandbox/changed_files.h"

static bool is_binary(struct str text)
{
	return text.len && memchr(text.ptr, 0, text.len);
}

static void add_change(void *arg, const struct tree_watch_change *c)
{
	struct changed_files *l = arg;
	size_t added;
	size_t removed;

	changed_files_add(l, str_of(c->path));
	if (!c->known || is_binary(c->before) || is_binary(c->after))
		return;
	diff_count(c->before, c->after, &added, &removed);
	l->added += added;
	l->removed += removed;
	l->counted = true;
}

void command_changes_watch(void *arg, struct buf *changed,
			   const struct stop *stop)
{
	struct command_changes *c = arg;
	struct error ignored = { 0 };
	struct changed_files l = { .out = changed };
	char *state;

	if (!changed) {
		state = app_state_path(c->app, "", &ignored);
		if (state)
			tree_watch_begin(&c->watch, state,
					 settings_cwd(c->app->settings),
					 settings_home(c->app->settings), stop);
		free(state);
		return;
	}
	tree_watch_end(&c->watch, add_change, &l, stop);
	changed_files_end(&l);
}

void command_changes_close(struct command_changes *c)
{
	tree_watch_close(&c->watch);
}
