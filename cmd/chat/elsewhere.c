/* elsewhere.c - the user's own editor and pager, in place of the screen. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/elsewhere.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/chat/external.h"
#include "cmd/chat/slash.h"
#include "cmd/pager.h"
#include "term/theme.h"

enum { USAGE_MOST = 1 << 14 };

static struct external leave_screen(struct live *l)
{
	live_leave_screen(l);
	return (struct external){ l->run->app, l->printed.real[0],
				  l->printed.real[1] };
}

void elsewhere_edit(struct live *l)
{
	struct buf draft = BUF_INIT(EXTERNAL_MOST);
	struct buf edited = BUF_INIT(EXTERNAL_MOST);
	struct error err = { 0 };
	struct external x;
	struct str text;

	editor_text(&l->editor, &draft);
	x = leave_screen(l);
	if (external_edit(&x, ".md", buf_str(&draft), &edited, &err) == 0) {
		text = buf_str(&edited);
		text.len -= str_ends(text, "\n"); /* the draft had none */
		editor_set(&l->editor, text);
	}
	screen_resume(&l->screen);
	if (err.code)
		(void)app_fail(l->run->app, &err);
	buf_release(&draft);
	buf_release(&edited);
}

bool elsewhere_edit_text(struct live *l, struct buf *text)
{
	struct external x = leave_screen(l);
	bool changed = external_edit_text(&x, text);

	screen_resume(&l->screen);
	return changed;
}

static void page_rows(struct live *l, const struct rows *rows)
{
	struct buf text = BUF_INIT(ROWS_MAX_BYTES);
	struct theme theme = l->theme;
	struct error err = { 0 };
	struct external x;
	bool colours;
	int status = 0;
	char *line = pager_line("less -R", &colours);
	char *name;

	theme.links = false; /* few pagers know them */
	for (size_t i = 0; i < rows->n; i++) {
		if (colours)
			theme_row(&theme, rows, i, SIZE_MAX, &text);
		else
			buf_addstr(&text, rows_view(rows, i).bytes);
		buf_addc(&text, '\n');
	}
	name = external_file(l->run->app, ".txt", buf_str(&text), &err);
	x = leave_screen(l);
	if (name)
		status = external_run(&x, line ? line : "less", name, &err);
	screen_resume(&l->screen);
	if (status > 0)
		error_set(&err, ERR_REMOTE, "the pager exited with status %d",
			  status);
	if (err.code)
		(void)app_fail(l->run->app, &err);
	if (name)
		(void)unlink(name);
	free(name);
	free(line);
	buf_release(&text);
}

static void show(struct live *l, struct rows *rows)
{
	rows_close(rows);
	if (rows->n > screen_live_rows(&l->screen))
		page_rows(l, rows);
	else
		live_print_rows(l, rows);
}

void elsewhere_show_call(struct live *l)
{
	struct rows rows = { 0 };

	if (transcript_newest(&l->transcript, &rows))
		show(l, &rows);
	rows_release(&rows);
}

void elsewhere_show_page(struct live *l, const struct manual_page *page)
{
	const struct manual_look look = { &l->theme, screen_columns(&l->screen),
					  "/help" };
	struct buf usage = BUF_INIT(USAGE_MOST);
	struct rows rows = { 0 };

	slash_add_usage(page->name, look.columns, &usage);
	rows_add(&rows, (struct style){ 0 }, buf_str(&usage));
	if (usage.len)
		rows_end(&rows);
	manual_render(page, &look, &rows);
	show(l, &rows);
	rows_release(&rows);
	buf_release(&usage);
}
