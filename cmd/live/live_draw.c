/* live_draw.c - the live part of the chat, and what scrolls away above it. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/live/live_impl.h"
#include "term/rows.h"

enum {
	MOST_QUEUED = 4,       /* rows for messages that wait */
	LEAST_EDITOR = 3,      /* rows */
	MOST_SHOWN = 16 << 10, /* bytes of a command of the user's own */
	LEAST_AROUND = 16, /* rows, for a question with all that is around it */
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

/* What follows the last carriage return that something follows. */
static struct str last_part(struct str line)
{
	size_t end = line.len;
	size_t at;

	while (end && line.ptr[end - 1] == '\r')
		end--;
	for (at = end; at && line.ptr[at - 1] != '\r';)
		at--;
	return (struct str){ line.ptr + at, end - at };
}

/* Appends a text as a terminal shows it at last: of a line whose parts a
 * carriage return separates, as those of a progress bar, only the last part. */
static void add_overwritten(struct str text, struct buf *out)
{
	while (text.len) {
		size_t n = str_find(text, '\n');

		if (n)
			buf_addstr(out, last_part((struct str){ text.ptr, n }));
		if (n < text.len) {
			buf_addc(out, '\n');
			n++;
		}
		text = str_skip(text, n);
	}
}

/* Whole lines of what was printed, all when the terminal is lent. Of the last
 * one, until it has ended, what a terminal would show. */
static void print_lines(struct live *l, bool all)
{
	struct buf shown = BUF_INIT(LIVE_MAX_PRINTED);
	struct rows rows = { 0 };
	struct str text = buf_str(&l->text);
	const char *last = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
	size_t end = all ? text.len : last ? (size_t)(last - text.ptr) + 1 : 0;

	add_overwritten((struct str){ text.ptr, end }, &shown);
	if (shown.len) {
		live_follow_lines(l, buf_str(&shown));
		rows_add(&rows, muted, buf_str(&shown));
		rows_close(&rows);
		live_print_rows(l, &rows);
		rows_release(&rows);
	}
	buf_clear(&shown);
	add_overwritten(str_skip(text, end), &shown);
	if (text.len) {
		buf_clear(&l->text);
		buf_addstr(&l->text, buf_str(&shown));
	}
	buf_release(&shown);
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

static size_t less(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

static void add_queue(const struct live *l, size_t most, struct rows *out)
{
	size_t n = l->n_queue;

	if (n > MOST_QUEUED)
		n = MOST_QUEUED + 1; /* with the row that tells of more */
	if (n > most)
		n = most;
	for (size_t i = 0; i < n; i++) {
		struct str text = str_of(l->queue[i].text);

		if (i && i + 1 == n && n < l->n_queue) {
			rows_adds(out, faint, "...");
			rows_end(out);
			break;
		}
		text.len = str_find(text, '\n');
		text.len =
			width_prefix(text, less(screen_columns(&l->screen), 2));
		rows_adds(out, faint, "+ ");
		rows_add(out, faint, text);
		rows_end(out);
	}
}

/* What is typed at: a list to choose from, a search or a text. */
static void add_editor(struct live *l, size_t rows, struct rows *out,
		       size_t caret[2])
{
	size_t columns = screen_columns(&l->screen);

	if (l->picking && live_question_keys(l) != QUESTION_DRAFT)
		selection_list_render(&l->picker, columns, rows, out, &caret[0],
				      &caret[1]);
	else if (l->search.on)
		history_search_render(&l->search, columns, rows, out, &caret[0],
				      &caret[1]);
	else
		editor_render(l->dialog.edits ? &l->dialog.editor : &l->editor,
			      columns, rows, out, &caret[0], &caret[1]);
}

/* A list that waits for the end of the message. */
static void add_waiting_list(const struct live *l, size_t columns,
			     struct rows *out)
{
	cut_text_add(out, (struct style){ ATTR_BOLD, STYLE_WARN },
		     str_of(l->asked_pick->title), columns);
	rows_end(out);
	answer_row_hint(columns, out);
}

/* The editor with what stands around it. Where there is no room for all, each
 * takes what those before it have left: the caret's row, the wait, the status
 * line, the rest of the editor, its completions, the call that is asked about,
 * the queue, and a blank row. */
static void compose_editor(struct live *l, size_t most, struct rows *out,
			   size_t caret[2])
{
	struct rows wait = { 0 };
	struct rows editor = { 0 };
	struct rows asked = { 0 };
	size_t columns = screen_columns(&l->screen);
	size_t rows = most / 3 > LEAST_EDITOR ? most / 3 : LEAST_EDITOR;
	size_t typed[2];
	size_t room;
	bool waits;
	bool status;

	live_add_wait(l, &wait);
	room = less(most, wait.n + 1);
	rows += l->picking ? LEAST_EDITOR : 0;
	add_editor(l, rows < room ? rows : room, &editor, caret);
	room = less(most, editor.n);
	waits = wait.n && room;
	room -= waits;
	status = room;
	room -= status;
	rows = editor.n;
	complete_render(&l->completer, columns, room, &editor);
	room -= editor.n - rows;
	if (l->dialog.asked && room)
		dialog_render(&l->dialog, columns, room > 1 ? room - 1 : 1,
			      &asked);
	typed[0] = SIZE_MAX;
	if (l->choice.asked && room)
		choice_render(&l->choice, columns, &asked, typed);
	if (l->picking && room && l->choice.keys == QUESTION_DRAFT)
		add_waiting_list(l, columns, &asked);
	room = less(room, asked.n);
	if (room > (l->n_queue > 0)) {
		rows_end(out); /* between what was said and what is done */
		room--;
	}
	if (waits)
		rows_append(out, &wait, 0, wait.n);
	add_queue(l, room, out);
	caret[0] += out->n + asked.n;
	if (typed[0] != SIZE_MAX) {
		caret[0] = out->n + typed[0];
		caret[1] = typed[1];
	}
	rows_append(out, &asked, 0, asked.n);
	rows_append(out, &editor, 0, editor.n);
	rows_close(out);
	if (status)
		live_status_add(l, out);
	rows_release(&wait);
	rows_release(&editor);
	rows_release(&asked);
}

/* What the model asks. While a message is being written that stays below it. */
static void compose_inquiry(struct live *l, size_t most, struct rows *out,
			    size_t caret[2])
{
	size_t columns = screen_columns(&l->screen);
	bool writes = live_is_drafting(l) && !l->focused;
	struct rows editor = { 0 };
	size_t at[2] = { 0, 0 };
	size_t first;

	if (most >= LEAST_AROUND) {
		rows_end(out);
		add_queue(l, 2, out);
	}
	if (writes)
		add_editor(l, most >= LEAST_AROUND ? LEAST_EDITOR : 1, &editor,
			   at);
	first = out->n;
	inquiry_dialog_render(&l->inquiry, &l->theme, out, columns,
			      less(most, first + editor.n), caret);
	caret[0] += first;
	if (writes) {
		caret[0] = out->n + at[0];
		caret[1] = at[1];
		rows_append(out, &editor, 0, editor.n);
	}
	rows_release(&editor);
}

/* A call on a small screen: all that has room is the question, and one row of
 * the message that is being written. */
static void compose_small(struct live *l, size_t most, struct rows *out,
			  size_t caret[2])
{
	size_t columns = screen_columns(&l->screen);
	bool writes = live_is_drafting(l) && most > 1;

	dialog_render(&l->dialog, columns, most - writes, out);
	caret[0] = SIZE_MAX;
	if (writes) {
		struct rows editor = { 0 };

		add_editor(l, 1, &editor, caret);
		caret[0] += out->n;
		rows_append(out, &editor, 0, editor.n);
		rows_release(&editor);
	}
}

/* What stands below the answer: the question or the wait, the queue, the
 * editor, the status line. */
static void compose_bottom(struct live *l, size_t most, struct rows *out,
			   size_t caret[2])
{
	l->dialog.keys = l->inquiry.keys = l->choice.keys =
		live_question_keys(l);
	if (l->dialog.asked && !l->dialog.edits && most < LEAST_AROUND)
		compose_small(l, most, out, caret);
	else if (l->inquiry.asked)
		compose_inquiry(l, most, out, caret);
	else
		compose_editor(l, most, out, caret);
}

void live_draw(struct live *l)
{
	struct rows bottom = { 0 };
	size_t most = screen_live_rows(&l->screen);
	size_t caret[2] = { 0, 0 };

	if (l->lent)
		return;
	rows_clear(&l->live);
	compose_bottom(l, most, &bottom, caret);
	if (bottom.n < most)
		transcript_live(&l->transcript, most - bottom.n,
				live_is_asked(l) ? l->asked_at : clock_ms(),
				&l->live);
	rows_close(&l->live);
	if (caret[0] != SIZE_MAX)
		caret[0] += l->live.n;
	rows_append(&l->live, &bottom, 0, bottom.n);
	screen_live(&l->screen, &l->live, caret[0], caret[1]);
	rows_release(&bottom);
}

int64_t live_redraw_at(const struct live *l)
{
	if (l->lent)
		return INT64_MAX;
	return l->state == LIVE_IDLE ? live_status_changes_at(l)
				     : live_wait_moves_at(l);
}

void live_show_own(struct live *l, const struct agent_event *ev)
{
	struct str text = ev->text;
	char *shown;

	if (l->now.kind != JOB_COMMAND && l->now.kind != JOB_HIDDEN_COMMAND)
		return;
	if (text.len > MOST_SHOWN)
		text = str_skip(text, text.len - MOST_SHOWN);
	shown = xstrndup(text.len ? text.ptr : "", text.len);
	live_print(l);
	live_say(l, (struct style){ 0, STYLE_PLAIN }, shown);
	free(shown);
}
