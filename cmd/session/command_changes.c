/* command_changes.c - names the files that a command has changed. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/command_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "markup/diff.h"

enum {
	MOST_NAMES = 5,
	MOST_CHARS = 80, /* characters of a name */
};

struct changed_names {
	struct buf *out;
	size_t n; /* changed files */
	size_t added, removed;
	bool counted; /* a text file was compared */
};

/* Appends a name without control characters, and its end if it is long. */
static void add_name(struct changed_names *l, const char *path)
{
	struct buf name = BUF_INIT(1 << 16);
	struct str shown;
	size_t chars = 0;

	sanitize_line(str_of(path), &name);
	shown = buf_str(&name);
	for (size_t i = 0; i < shown.len; i++)
		chars += ((unsigned char)shown.ptr[i] & 0xC0) != 0x80;
	if (chars > MOST_CHARS) {
		buf_adds(l->out, "...");
		shown = str_skip(shown,
				 str_char_offset(shown, chars - MOST_CHARS));
	}
	buf_addstr(l->out, shown);
	buf_release(&name);
}

static bool is_binary(struct str text)
{
	return text.len && memchr(text.ptr, 0, text.len);
}

static void add_change(void *arg, const struct tree_watch_change *c)
{
	struct changed_names *l = arg;
	size_t added;
	size_t removed;

	if (l->n++ < MOST_NAMES) {
		buf_adds(l->out, l->n > 1 ? ", " : "");
		add_name(l, c->path);
	}
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
	struct changed_names l = { .out = changed };
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
	if (l.n > MOST_NAMES)
		buf_addf(changed, " and %zu more", l.n - MOST_NAMES);
	if (l.counted)
		buf_addf(changed, " (+%zu \xE2\x88\x92%zu)", l.added,
			 l.removed);
}

void command_changes_close(struct command_changes *c)
{
	tree_watch_close(&c->watch);
}
