/* live_draw.c - the live part of the chat, and what scrolls away above it. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "cmd/chat/live_impl.h"
#include "term/width.h"
#include "term/wrap.h"

enum {
	MOST_QUEUED = 4,   /* rows for messages that wait */
	LEAST_EDITOR = 3,  /* rows */
	LEAST_AROUND = 16, /* rows, for a question with all that is around it */
	MOVES_MS = 120,    /* between two frames of the sign of waiting */
	MINUTE_MS = 60000,
};

static const struct style muted = { 0, STYLE_MUTED };
static const struct style faint = { ATTR_DIM, STYLE_USER };

void live_print_rows(struct live *l, const struct rows *rows)
{
	struct wrap wrap = { .columns = screen_columns(&l->screen),
			     .words = true };
	struct rows out = { 0 };

	wrap_rows(rows, &wrap, &out);
	screen_print(&l->screen, &out, 0, out.n);
	rows_release(&out);
}

void live_say(struct live *l, struct style style, const char *text)
{
	struct rows rows = { 0 };

	rows_adds(&rows, style, text);
	rows_close(&rows);
	live_print_rows(l, &rows);
	rows_release(&rows);
}

/* Whole lines of what was printed; the last one when it has ended, or all when
 * the terminal is lent. */
static void print_lines(struct live *l, bool all)
{
	struct rows rows = { 0 };
	struct str rest = buf_str(&l->text);
	size_t end = 0;

	for (size_t i = 0; i < rest.len; i++)
		if (rest.ptr[i] == '\n')
			end = i + 1;
	if (all)
		end = rest.len;
	if (!end)
		return;
	rest.len = end;
	rows_add(&rows, muted, rest);
	rows_close(&rows);
	live_print_rows(l, &rows);
	rows_release(&rows);
	buf_consume(&l->text, end);
}

void live_print(struct live *l)
{
	printed_read(&l->printed, &l->text);
	print_lines(l, false);
	if (l->transcript.done.n) {
		screen_print(&l->screen, &l->transcript.done, 0,
			     l->transcript.done.n);
		rows_clear(&l->transcript.done);
	}
}

void live_leave_screen(struct live *l)
{
	printed_read(&l->printed, &l->text);
	print_lines(l, true);
	live_print(l);
	rows_clear(&l->live);
	screen_live(&l->screen, &l->live, SIZE_MAX, 0);
	(void)screen_flush(&l->screen, NULL);
	screen_suspend(&l->screen);
}

void live_suspend(struct live *l)
{
	live_leave_screen(l);
	printed_suspend(&l->printed);
}

void live_resume(struct live *l)
{
	printed_resume(&l->printed);
	screen_resume(&l->screen);
}

/* "x waiting for the model  12 s, Esc stops it" */
static void add_wait(const struct live *l, struct rows *out)
{
	int64_t ms = clock_ms() - l->since;
	char text[160];

	if (l->state == LIVE_IDLE || l->asked)
		return;
	rows_adds(out, (struct style){ 0, STYLE_ACCENT },
		  theme_spinner(&l->theme, (size_t)(ms / MOVES_MS)));
	snprintf(text, sizeof(text), " %s  %" PRId64 " s%s", l->wait, ms / 1000,
		 l->state == LIVE_CLOSING || l->stopping ? ""
							 : ", Esc stops it");
	rows_add(out, muted,
		 (struct str){ text,
			       width_prefix(str_of(text),
					    screen_columns(&l->screen) - 2) });
	rows_end(out);
}

static void add_queue(const struct live *l, struct rows *out)
{
	for (size_t i = 0; i < l->n_queue; i++) {
		struct str text = str_of(l->queue[i].text);

		if (i == MOST_QUEUED) {
			rows_adds(out, faint, "...");
			rows_end(out);
			break;
		}
		text.len = str_find(text, '\n');
		text.len = width_prefix(text, screen_columns(&l->screen) - 2);
		rows_adds(out, faint, "+ ");
		rows_add(out, faint, text);
		rows_end(out);
	}
}

/* In an isolated sandbox nothing is asked about. */
static const char *mode_of(const struct live *l)
{
	const struct run *r = l->run;

	if (!l->asks)
		return NULL;
	return run_mode_name(run_allows_all(r) ? RUN_YOLO
					       : (enum run_mode)r->mode);
}

static void add_status(const struct live *l, struct rows *out)
{
	struct status s = {
		.model = l->model,
		.sandbox = l->place,
		.mode = mode_of(l),
		.branch = l->branch,
		.left_s = -1,
		.context = l->context,
		.input = l->usage.input + l->usage.cache_read +
			 l->usage.cache_write,
		.output = l->usage.output,
		.queued = l->n_queue,
	};

	if (l->confirms)
		s.hint = "yolo: every call runs on this machine, unasked. "
			 "y allows it";
	else if (l->armed)
		s.hint = "Ctrl-C again leaves";
	else if (l->held)
		s.hint = "stopped: Enter sends what waits, Esc takes it back";
	status_render(&s, &l->theme, screen_columns(&l->screen), out);
}

/* What stands below the answer: the question or the wait, the queue, the
 * editor, the status line. */
static void compose_bottom(struct live *l, size_t most, struct rows *out,
			   size_t *caret_row, size_t *caret_column)
{
	struct rows editor = { 0 };
	size_t rows = most / 3 > LEAST_EDITOR ? most / 3 : LEAST_EDITOR;
	size_t columns = screen_columns(&l->screen);

	if (l->dialog.asked && most < LEAST_AROUND) {
		dialog_render(&l->dialog, columns, most, out);
		*caret_row = SIZE_MAX;
		return;
	}
	rows_end(out); /* between what was said and what is done */
	add_wait(l, out);
	add_queue(l, out);
	if (l->picking)
		selection_list_render(&l->picker, columns, rows + LEAST_EDITOR,
				      &editor, caret_row, caret_column);
	else
		editor_render(&l->editor, columns, rows, &editor, caret_row,
			      caret_column);
	if (l->dialog.asked)
		dialog_render(&l->dialog, columns, most - out->n - editor.n - 1,
			      out);
	*caret_row += out->n;
	rows_append(out, &editor, 0, editor.n);
	complete_render(&l->completer, columns, out);
	rows_close(out);
	add_status(l, out);
	rows_release(&editor);
}

void live_draw(struct live *l)
{
	struct rows bottom = { 0 };
	size_t most = screen_live_rows(&l->screen);
	size_t row = 0;
	size_t column = 0;

	if (l->lent)
		return;
	rows_clear(&l->live);
	compose_bottom(l, most, &bottom, &row, &column);
	if (bottom.n < most)
		transcript_live(&l->transcript, most - bottom.n, clock_ms(),
				&l->live);
	rows_close(&l->live);
	if (row != SIZE_MAX)
		row += l->live.n;
	rows_append(&l->live, &bottom, 0, bottom.n);
	screen_live(&l->screen, &l->live, row, column);
	rows_release(&bottom);
}

int64_t live_redraw_at(const struct live *l)
{
	int64_t now = clock_ms();

	if (l->lent || l->state == LIVE_IDLE)
		return INT64_MAX;
	return now + MOVES_MS - (now - l->since) % MOVES_MS;
}
