/* transcript.c - agent events as rows: finished ones and live ones. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at transcript_event(); ui/calls/toolview.h shows one call. */
#include "ui/transcript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "term/rows.h"
#include "tool/result.h"
#include "ui/summary.h"

enum {
	FIRST_WORDS = 60,  /* characters shown of finished thinking */
	THINKING_ROWS = 3, /* rows of the thinking shown while it arrives */
	/* a longer message of the user is shown by its beginning and its end */
	MOST_SAID = 4096, /* bytes */
	MOST_LINES = 12,
	FIRST_LINES = 6,
	LAST_LINES = 3,
};

static const struct style thought = { ATTR_DIM | ATTR_ITALIC, STYLE_MUTED };

void transcript_init(struct transcript *t, const struct theme *theme,
		     size_t columns)
{
	struct error ignored = { 0 }; /* on failure, text is shown as written */

	*t = (struct transcript){
		.look = { .theme = theme,
			  .columns = columns,
			  .lines = TOOLVIEW_LINES },
		.thinking = BUF_INIT(TRANSCRIPT_THINKING),
		.retried = BUF_INIT(1 << 12),
	};
	t->markdown.look = (struct markdown_look){ .parse = md4c_load(&ignored),
						   .theme = theme,
						   .columns = columns,
						   .soft = true };
}

void transcript_width(struct transcript *t, size_t columns)
{
	t->look.columns = t->markdown.look.columns = columns;
}

/* Starts a new part, after an empty row. Consecutive tool calls are not
 * separated. */
static void begin_part(struct transcript *t, enum transcript_part part)
{
	rows_close(&t->done);
	if (t->last && (part != t->last || part == TRANSCRIPT_USER))
		rows_end(&t->done);
	t->last = part;
}

/* Adds wrapped text after a sign. */
static void add_text(const struct transcript *t, const char *sign,
		     struct style style, struct str text, struct rows *out)
{
	struct wrap w = { .columns = t->look.columns,
			  .first = { str_of(sign), style },
			  .rest = { str_of(*sign ? "  " : ""), style },
			  .words = true,
			  .soft = true };
	struct rows lines = { 0 };

	rows_add(&lines, style, text);
	rows_close(&lines);
	for (size_t i = 0; i < lines.n; i++) {
		wrap_row(&lines, i, &w, out);
		w.first = w.rest;
	}
	rows_release(&lines);
}

/* Returns the first lines of a text, or the last ones, within half of
 * MOST_SAID. */
static struct str first_lines(struct str text, size_t lines)
{
	size_t end = 0;

	if (text.len > MOST_SAID / 2) {
		text.len = MOST_SAID / 2;
		text.len = str_utf8_prefix(text);
	}
	while (end < text.len && (text.ptr[end] != '\n' || --lines))
		end++;
	text.len = end;
	return text;
}

static struct str last_lines(struct str text, size_t lines)
{
	size_t most = MOST_SAID / 2;
	size_t at = text.len;

	while (at && text.len - at < most &&
	       (text.ptr[at - 1] != '\n' || --lines))
		at--;
	while (at < text.len && ((unsigned char)text.ptr[at] & 0xC0) == 0x80)
		at++;
	return str_skip(text, at);
}

/* Adds what is between the shown lines of a message: "... 288 lines, 12 kB in
 * all". */
static void add_gap(struct transcript *t, struct str said, size_t shown)
{
	size_t lines = str_count_lines(said);
	struct buf note = BUF_INIT(100);
	char room[32];

	str_format_size((int64_t)said.len, room);
	buf_addf(&note, "%s ", theme_glyph(t->look.theme, GLYPH_ELLIPSIS));
	if (lines > shown)
		buf_addf(&note, "%zu more lines, ", lines - shown);
	buf_addf(&note, "%s in all", room);
	add_text(t, "  ", (struct style){ 0, STYLE_MUTED }, buf_str(&note),
		 &t->done);
	buf_release(&note);
}

void transcript_user(struct transcript *t, struct str text)
{
	struct str said = str_trim(text);
	bool whole =
		said.len <= MOST_SAID && str_count_lines(said) <= MOST_LINES;
	struct str first = whole ? said : first_lines(said, FIRST_LINES);
	struct str last = last_lines(str_skip(said, first.len), LAST_LINES);
	struct style style = { ATTR_BOLD, STYLE_USER };
	struct buf sign = BUF_INIT(32);

	begin_part(t, TRANSCRIPT_USER);
	buf_addf(&sign, "%s ", theme_glyph(t->look.theme, GLYPH_PROMPT));
	add_text(t, sign.ptr, style, first, &t->done);
	if (!whole) {
		add_gap(t, said,
			str_count_lines(first) + str_count_lines(last));
		add_text(t, "  ", style, last, &t->done);
	}
	buf_release(&sign);
}

static size_t count_words(struct str text)
{
	bool in_word = false;
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		bool blank = (unsigned char)text.ptr[i] <= ' ';

		n += !blank && !in_word;
		in_word = !blank;
	}
	return n;
}

/* Adds one row for finished thinking: "Thinking: I should first look at ...
 * (231 words)". */
static void fold_thinking(const struct transcript *t, struct rows *out)
{
	struct str text = str_trim(buf_str(&t->thinking));
	size_t most = str_char_offset(text, FIRST_WORDS);
	struct buf line = BUF_INIT(1024);

	buf_adds(&line, "Thinking: ");
	while (most && most < text.len && text.ptr[most] != ' ')
		most--;
	sanitize_line((struct str){ text.ptr, most }, &line);
	if (most < text.len)
		buf_addf(&line, " %s (%s%zu words)",
			 theme_glyph(t->look.theme, GLYPH_ELLIPSIS),
			 t->thought > t->thinking.len ? "more than " : "",
			 count_words(text));
	add_text(t, "", thought, buf_str(&line), out);
	buf_release(&line);
}

/* Finishes the thinking; it is folded to one row, unless it is shown in full.
 */
static void end_thinking(struct transcript *t)
{
	if (str_trim(buf_str(&t->thinking)).len) {
		begin_part(t, TRANSCRIPT_NOTE);
		if (t->show_thinking)
			add_text(t, "", thought,
				 str_trim(buf_str(&t->thinking)), &t->done);
		else
			fold_thinking(t, &t->done);
	}
	buf_clear(&t->thinking);
	t->thought = 0;
}

/* Moves the finished blocks of the answer to the transcript. */
static void move_answer(struct transcript *t)
{
	struct rows *from = &t->markdown.done;

	if (!from->n)
		return;
	begin_part(t, TRANSCRIPT_TEXT);
	rows_append(&t->done, from, 0, from->n);
	rows_clear(from);
}

/* Finishes the answer and starts a new Markdown stream. */
static void end_answer(struct transcript *t)
{
	struct markdown next = { .look = t->markdown.look };

	end_thinking(t);
	if (!t->answering)
		return;
	markdown_end(&t->markdown);
	move_answer(t);
	markdown_release(&t->markdown);
	t->markdown = next;
	t->answering = false;
	t->last = TRANSCRIPT_END;
}

/* Adds a line of dcode's own, with a prefix such as "Retrying: ". Only problems
 * have the sign and colour of a warning. */
static void add_signed(struct transcript *t, enum glyph glyph,
		       enum style_role role, const char *what, struct str text)
{
	struct buf line = BUF_INIT(1 << 16);
	struct buf sign = BUF_INIT(32);

	begin_part(t, TRANSCRIPT_NOTE);
	buf_adds(&line, what);
	buf_addstr(&line, str_trim(text));
	buf_addf(&sign, "%s ", theme_glyph(t->look.theme, glyph));
	add_text(t, sign.ptr, (struct style){ .role = role }, buf_str(&line),
		 &t->done);
	buf_release(&sign);
	buf_release(&line);
}

static void add_note(struct transcript *t, const char *what, struct str text)
{
	add_signed(t, GLYPH_WARNING, STYLE_WARN, what, text);
}

/* Adds why the answer starts over, once for tries that follow each other and
 * fail alike. The progress row says which try it is, and counts down to it. */
static void on_restart(struct transcript *t, struct str why, bool is_thinking)
{
	bool shown = t->answering;
	struct str cause = why;

	cause.len = str_search(why, STR("; trying again"));
	if (!shown && t->retried.len && str_eq(buf_str(&t->retried), cause))
		return;
	end_answer(t);
	if (is_thinking) {
		if (shown)
			add_signed(t, GLYPH_DOT, STYLE_MUTED, "",
				   STR("The text above is the model's "
				       "thinking."));
		return;
	}
	buf_clear(&t->retried);
	buf_addstr(&t->retried, cause);
	add_note(t, "Retrying: ", cause);
	if (shown)
		add_note(t, "",
			 STR("The connection broke; the answer starts over. "
			     "Ignore the text above."));
}

static void on_thinking(struct transcript *t, struct str text)
{
	size_t room = TRANSCRIPT_THINKING - t->thinking.len;

	if (t->answering)
		end_answer(t);
	t->thought += text.len;
	if (text.len > room) {
		text.len = room;
		text.len = str_utf8_prefix(text);
	}
	buf_addstr(&t->thinking, text);
}

static void on_text(struct transcript *t, struct str text)
{
	if (!t->answering)
		end_thinking(t);
	t->answering = true;
	markdown_feed(&t->markdown, text);
	move_answer(t);
}

/* Returns the view of the call, or NULL. */
static struct toolview *find_view(const struct transcript *t,
				  const struct part *call)
{
	for (size_t i = 0; i < t->n_views; i++)
		if (call->id && !strcmp(t->views[i].id, call->id))
			return &t->views[i];
	return NULL;
}

static void drop_view(struct transcript *t, struct toolview *v)
{
	toolview_release(v);
	t->n_views--;
	memmove(v, v + 1, (size_t)(t->views + t->n_views - v) * sizeof(*v));
}

static char *copy_of(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static struct toolview *on_call(struct transcript *t,
				const struct agent_event *ev, int64_t now)
{
	struct toolview *v;

	end_answer(t);
	t->views = xrealloc(t->views, t->n_views + 1, sizeof(*t->views));
	v = &t->views[t->n_views++];
	toolview_begin(v, ev->call, ev->workdir, now);
	return v;
}

/* Adds a call of a subagent to the log, when it has finished. Its line is part
 * of the output of the call that started the subagent. */
static void log_step(struct transcript *t, const struct subagent_step *step)
{
	const struct part *call = step->event->call;
	struct call_record r = { .call = { .kind = PART_TOOL_CALL,
					   .id = xstrdup(""),
					   .name = copy_of(call->name),
					   .args = copy_of(call->args),
					   .bad_args = call->bad_args },
				 .output = BUF_INIT(CALL_LOG_OUTPUT),
				 .ms = -1 };
	char *title;

	buf_addstr(&r.output, step->event->text);
	call_record_describe(&r, step->event, step->event->workdir);
	title = xasprintf("%s %u: %s", step->type, step->number, r.title);
	free(r.title);
	r.title = title;
	call_log_add(&t->log, &r);
	call_record_release(&r);
}

static void on_output(struct transcript *t, const struct agent_event *ev,
		      int64_t now)
{
	struct toolview *v = find_view(t, ev->call);
	bool step = ev->kind == EVENT_SUBAGENT;

	if (v && step)
		toolview_activity(v, ev, now);
	if (v)
		toolview_output(v, ev->text, step ? STR("") : ev->end);
	if (ev->subagent && ev->subagent->event &&
	    ev->subagent->event->kind == EVENT_TOOL_RESULT)
		log_step(t, ev->subagent);
}

static void log_call(struct transcript *t, const struct toolview *v,
		     const struct agent_event *ev, int64_t now)
{
	struct call_record r = { 0 };

	toolview_record(v, ev->text, now, &r);
	(void)tool_change_copy(&r.change, ev->change);
	call_record_describe(&r, ev, v->workdir);
	call_log_add(&t->log, &r);
	call_record_release(&r);
}

/* Replaces the live view of a call by its result. */
static void on_result(struct transcript *t, const struct agent_event *ev,
		      int64_t now)
{
	struct toolview *v = find_view(t, ev->call);

	if (!v)
		v = on_call(t, ev, now);
	begin_part(t, TRANSCRIPT_TOOL);
	toolview_done(v, ev, &t->look, now, &t->done);
	todo_view_follow(&t->todos, ev);
	log_call(t, v, ev, now);
	drop_view(t, v);
}

/* Replaces the model's call by the one that the user has changed. */
static void on_edited(struct transcript *t, const struct agent_event *ev,
		      int64_t now)
{
	struct toolview *v = find_view(t, ev->call);

	if (v)
		drop_view(t, v);
	buf_adds(&on_call(t, ev, now)->summary, " (changed by you)");
}

void transcript_event(struct transcript *t, const struct agent_event *ev,
		      int64_t now)
{
	if (ev->kind != EVENT_RESTART && ev->kind != EVENT_FLUSH)
		buf_clear(&t->retried);
	switch (ev->kind) {
	case EVENT_TEXT:
		on_text(t, ev->text);
		break;
	case EVENT_THINKING:
		on_thinking(t, ev->text);
		break;
	case EVENT_RESTART:
		on_restart(t, ev->text, ev->thought);
		break;
	case EVENT_TOOL_CALL:
		if (ev->edited)
			on_edited(t, ev, now);
		else
			on_call(t, ev, now);
		break;
	case EVENT_SUBAGENT:
	case EVENT_TOOL_OUTPUT:
		on_output(t, ev, now);
		break;
	case EVENT_TOOL_RESULT:
		on_result(t, ev, now);
		break;
	case EVENT_TURN:
		end_answer(t);
		break;
	case EVENT_PROMPT:
		transcript_end_turn(t, now);
		transcript_user(t, ev->text);
		break;
	case EVENT_REPLAYED:
		transcript_end_turn(t, now);
		break;
	case EVENT_FLUSH:
	case EVENT_TERMINAL:
		break;
	case EVENT_COMPACT:
	case EVENT_FILE:
		add_signed(t, GLYPH_BULLET, STYLE_MUTED, "", ev->text);
		break;
	case EVENT_JOB:
		if (!ev->failed) {
			add_signed(t, GLYPH_CHECK, STYLE_MUTED, "", ev->text);
			break;
		}
		add_note(t, "", ev->text);
		break;
	default: /* EVENT_WARNING */
		add_note(t, "", ev->text);
	}
}

void transcript_waited(struct transcript *t, int64_t ms)
{
	for (size_t i = 0; i < t->n_views; i++)
		toolview_postpone(&t->views[i], ms);
}

struct str transcript_beyond_retries(const struct transcript *t,
				     struct str error)
{
	struct str cause = buf_str(&t->retried);

	return cause.len && error.len >= cause.len &&
			       str_eq((struct str){ error.ptr, cause.len },
				      cause)
		       ? str_skip(error, cause.len)
		       : (struct str){ 0 };
}

void transcript_end_turn(struct transcript *t, int64_t now)
{
	end_answer(t);
	buf_clear(&t->retried);
	for (size_t i = 0; i < t->n_views; i++) {
		begin_part(t, TRANSCRIPT_TOOL);
		toolview_done(&t->views[i], NULL, &t->look, now, &t->done);
		toolview_release(&t->views[i]);
	}
	t->n_views = 0;
	todos_release(&t->todos);
}

/* Adds the last rows of the thinking so far. */
static void add_live_thinking(const struct transcript *t, struct rows *out)
{
	struct str text = buf_str(&t->thinking);
	size_t most = 4 * THINKING_ROWS * (t->look.columns + 1);
	struct rows rows = { 0 };
	size_t n;

	if (text.len > most)
		text = str_skip(text, text.len - most);
	while (text.len && ((unsigned char)text.ptr[0] & 0xC0) == 0x80)
		text = str_skip(text, 1);
	add_text(t, "", thought, str_trim(text), &rows);
	n = rows.n < THINKING_ROWS ? rows.n : THINKING_ROWS;
	rows_append(out, &rows, rows.n - n, n);
	rows_release(&rows);
}

/* True for a call whose question says all that its row would. */
static bool asks_user(const struct toolview *v)
{
	return v->tool && v->tool->flags & TOOL_INTERACTIVE;
}

void transcript_live(struct transcript *t, size_t max, int64_t now,
		     const char *asked, struct rows *out)
{
	struct rows live = { 0 };
	struct rows tail = { 0 };
	size_t n;

	if (t->thinking.len)
		add_live_thinking(t, &live);
	if (t->answering)
		markdown_tail(&t->markdown, &tail);
	rows_append(&live, &tail, 0, tail.n);
	for (size_t i = 0; i < t->n_views; i++)
		if (!(asked && !strcmp(t->views[i].id, asked)) &&
		    !(now == TOOLVIEW_ASKED && asks_user(&t->views[i])))
			toolview_live(&t->views[i], &t->look, TOOLVIEW_ROWS,
				      now, &live);
	todo_view_live(&t->todos, t->look.theme, t->look.columns, &live);
	n = live.n < max ? live.n : max;
	rows_append(out, &live, live.n - n, n);
	rows_release(&tail);
	rows_release(&live);
}

bool transcript_running_call(const struct transcript *t, size_t number,
			     int64_t now, struct call_record *out)
{
	const struct toolview *v;

	if (number >= t->n_views)
		return false;
	v = &t->views[t->n_views - 1 - number];
	toolview_record(v, (struct str){ 0 }, now, out);
	call_record_describe(out, NULL, v->workdir);
	return true;
}

bool transcript_follow(const struct transcript *t, const struct part *call,
		       size_t max, int64_t now, struct rows *out)
{
	const struct toolview *v = find_view(t, call);
	struct rows rows = { 0 };
	size_t n;

	if (!v)
		return false;
	toolview_live(v, &t->look, max, now, &rows);
	n = rows.n < max ? rows.n : max;
	rows_append(out, &rows, rows.n - n, n);
	rows_release(&rows);
	return true;
}

void transcript_release(struct transcript *t)
{
	for (size_t i = 0; i < t->n_views; i++)
		toolview_release(&t->views[i]);
	free(t->views);
	todos_release(&t->todos);
	call_log_clear(&t->log);
	buf_release(&t->thinking);
	buf_release(&t->retried);
	markdown_release(&t->markdown);
	rows_release(&t->done);
}
