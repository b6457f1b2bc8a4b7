/* slash_theme.c - /theme: chooses the colours, from a list or by name. */
/* SPDX-License-Identifier: MIT */
/*
 * While the selection moves in the list, the screen has the colours of the
 * selected theme. Esc gives back the earlier one. Begin reading at
 * slash_cmd_theme_list(). Its callbacks run on the thread that draws, to which
 * the theme belongs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/appearance.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/session/run.h"
#include "markup/diffview.h"

enum {
	LIST_BYTES = 1 << 14,
	SPACED_ROWS = 4, /* with so many rows, the sample has space above it */
};

/* Appends "Theme: deuteranopia (blue and orange for green and red)". */
static void add_chosen_theme(struct run *r, const char *name, struct buf *out)
{
	struct buf list = BUF_INIT(LIST_BYTES);
	struct str rest;
	struct str line;

	appearance_list_themes(r->app, &list);
	rest = buf_str(&list);
	while (str_split(&rest, '\n', &line)) {
		size_t end = str_find(line, '\t');
		struct str note = str_skip(line, end + 1);

		line.len = end;
		if (!str_is(line, name))
			continue;
		buf_addf(out, "Theme: %s", name);
		if (note.len)
			buf_addf(out, " (%.*s)", (int)note.len, note.ptr);
		buf_addc(out, '\n');
	}
	buf_release(&list);
}

void slash_cmd_theme(struct run *r, int n, char **words, size_t columns,
		     struct buf *out)
{
	struct error err = { 0 };

	(void)columns;
	(void)n;
	if (!r->theme)
		buf_adds(out, "Not available: this chat runs line by line, "
			      "without a screen.\n");
	else if (appearance_choose(r->app, r->theme, words[0], &err) < 0)
		(void)app_fail(r->app, &err);
	else
		add_chosen_theme(r, words[0], out);
}

void slash_list_themes(struct run *r, struct buf *out)
{
	appearance_list_themes(r->app, out);
}

/* The list of themes while the user chooses. */
struct theme_choice {
	struct run *run; /* borrowed */
	struct pick pick;
	char *title;         /* owned; of the list */
	struct theme before; /* the theme when the list was opened */
	struct buf texts;    /* the names with their notes */
	struct fuzzy_item *items;
	size_t n;
	size_t tried; /* 1 + index of the theme in use; 0: none of the list */
	struct error err;
};

static void read_themes(struct theme_choice *c)
{
	struct str rest;
	struct str line;

	appearance_list_themes(c->run->app, &c->texts);
	rest = buf_str(&c->texts);
	while (str_split(&rest, '\n', &line)) {
		size_t name = str_find(line, '\t');

		c->items = xrealloc(c->items, c->n + 1, sizeof(*c->items));
		c->items[c->n++] = (struct fuzzy_item){
			.name = { line.ptr, name },
			.summary = str_skip(line, name + 1),
		};
	}
}

/* Notes which item of the list is in use. */
static void find_theme(struct theme_choice *c)
{
	const char *now = c->before.chosen == THEME_AUTO
				  ? theme_name(THEME_AUTO)
				  : appearance_theme(&c->before);

	c->tried = 0;
	for (size_t i = 0; i < c->n; i++)
		if (str_is(c->items[i].name, now))
			c->tried = i + 1;
}

static void add_sample(struct rows *out, enum style_role role, const char *text)
{
	rows_adds(out, (struct style){ 0, role }, text);
}

/* Adds rows in the colours of the theme: a change, and each kind of line. */
static void add_samples(const struct theme *t, size_t columns, struct rows *out)
{
	const struct diffview look = { .theme = t,
				       .columns = columns,
				       .path = STR("greet.py") };

	diffview_render(&look, STR("return \"Hello, \" + name\n"),
			STR("return \"Hello\"  # 1 word\n"), out);
	rows_close(out);
	add_sample(out, STYLE_OK, "done  ");
	add_sample(out, STYLE_WARN, "warning  ");
	add_sample(out, STYLE_ERROR, "error  ");
	add_sample(out, STYLE_LINK, "link  ");
	add_sample(out, STYLE_MUTED, "note");
	rows_end(out);
}

/* Implements list_view.preview_rows. */
static void preview_theme(void *arg, size_t item, size_t columns, size_t rows,
			  struct rows *out)
{
	struct theme_choice *c = arg;
	struct rows all = { 0 };

	if (c->tried != item + 1)
		(void)appearance_try(c->run->app, c->run->theme,
				     c->items[item].name);
	c->tried = item + 1;
	if (rows >= SPACED_ROWS)
		rows_end(&all);
	add_samples(c->run->theme, columns, &all);
	rows_append(out, &all, 0, all.n < rows ? all.n : rows);
	rows_release(&all);
}

/* Implements pick.opens. The theme belongs to this thread: the terminal may
 * have told its background meanwhile. */
static void open_list(void *arg)
{
	struct theme_choice *c = arg;

	c->before = *c->run->theme;
	c->title = xasprintf("The theme is %s%s.",
			     c->before.chosen == THEME_AUTO ? "auto: " : "",
			     appearance_theme(&c->before));
	find_theme(c);
	c->pick.title = c->title;
	c->pick.selected = c->tried ? c->tried - 1 : c->n;
}

/* Implements pick.closed: stores the choice, or restores the earlier theme. */
static void close_list(void *arg, int chosen)
{
	struct theme_choice *c = arg;
	char *name;

	if (chosen < 0 && c->before.chosen == THEME_USER)
		theme_choose_user(c->run->theme, &c->before.user);
	else if (chosen < 0)
		theme_choose(c->run->theme, c->before.chosen);
	if (chosen < 0)
		return;
	name = xstrndup(c->items[chosen].name.ptr, c->items[chosen].name.len);
	(void)appearance_choose(c->run->app, c->run->theme, name, &c->err);
	free(name);
}

/* Prints the outcome. */
static void report_choice(struct theme_choice *c, int chosen)
{
	struct buf text = BUF_INIT(LIST_BYTES);
	char *name;

	if (c->err.code) {
		(void)app_fail(c->run->app, &c->err);
		return;
	}
	name = xstrndup(c->items[chosen].name.ptr, c->items[chosen].name.len);
	add_chosen_theme(c->run, name, &text);
	fputs(text.len ? text.ptr : "", stderr);
	buf_release(&text);
	free(name);
}

bool slash_cmd_theme_list(struct run *r, int n, char **words)
{
	struct theme_choice c = { .run = r, .texts = BUF_INIT(LIST_BYTES) };
	const struct list_view view = { .name = "name",
					.preview_rows = preview_theme,
					.arg = &c };
	int chosen;

	(void)n;
	(void)words;
	read_themes(&c);
	c.pick = (struct pick){ .title = "Theme",
				.items = c.items,
				.n = c.n,
				.view = &view,
				.opens = open_list,
				.closed = close_list };
	chosen = r->pick(r->ui.arg, &c.pick);
	if (chosen >= 0)
		report_choice(&c, chosen);
	free(c.title);
	free(c.items);
	buf_release(&c.texts);
	return true;
}
