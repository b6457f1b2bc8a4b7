/* transcript.c - agent events as rows: finished ones and live ones. */
/* SPDX-License-Identifier: MIT */
/*
 * The first part shows one tool call (struct toolview) while it runs and when
 * it is done. The second is the transcript of a thread. Begin reading at
 * transcript_event().
 */
#include "ui/transcript.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "markup/diff.h"
#include "term/rows.h"
#include "tool/result.h"
#include "ui/summary.h"

enum {
	EDIT_MAX = 1 << 20, /* bytes of a text that is compared for a diff */
	ROW_BYTES = 16,     /* bytes of output examined for each cell */
};

static const struct style muted = { .role = STYLE_MUTED };

static const struct style failed = { .role = STYLE_ERROR };

static cJSON *read_args(const struct part *call)
{
	return call->args && !call->bad_args ? json_parse(str_of(call->args))
					     : NULL;
}

/* Returns the text that a call removes from a file and the text that it
 * inserts. False: the call is not an edit. */
static bool read_edit(const struct tool *tool, const cJSON *args,
		      struct str *old_text, struct str *new_text)
{
	const char *text = tool && tool->new_arg
				   ? json_string(args, tool->new_arg, NULL)
				   : NULL;

	if (!text)
		return false;
	*new_text = str_of(text);
	*old_text = str_of(tool->old_arg ? json_string(args, tool->old_arg, "")
					 : "");
	return new_text->len <= EDIT_MAX && old_text->len <= EDIT_MAX;
}

/* Adds the number of lines that an edit adds and removes: "+3 -1". */
static void add_edit_size(struct toolview *v, const cJSON *args)
{
	struct str old_text;
	struct str new_text;
	size_t added;
	size_t removed;

	if (!read_edit(v->tool, args, &old_text, &new_text))
		return;
	diffview_count(old_text, new_text, &added, &removed);
	buf_addf(&v->summary, " +%zu", added);
	if (v->tool->old_arg)
		buf_addf(&v->summary, " -%zu", removed);
}

/* Initialises the view of a call that begins now. */
static void view_begin(struct toolview *v, const struct part *call, int64_t now)
{
	cJSON *args = read_args(call);

	*v = (struct toolview){
		.id = xstrdup(call->id ? call->id : ""),
		.name = xstrdup(call->name ? call->name : "?"),
		.tool = tool_find(call->name),
		.summary = BUF_INIT(EDIT_MAX),
		.started = now,
		.tail = BUF_INIT(4 * TOOLVIEW_TAIL),
		.rest = BUF_INIT(TOOLVIEW_TAIL),
	};
	if (!todo_view_sum(call, &v->summary))
		tool_summary_add(v->tool, args, str_of(call->args),
				 &v->summary);
	add_edit_size(v, args);
	cJSON_Delete(args);
}

/* Appends text to the output. rest replaces the unfinished end from the
 * previous call. */
static void view_output(struct toolview *v, struct str text, struct str rest)
{
	size_t keep;

	buf_clear(&v->rest);
	buf_addstr(&v->rest, rest);
	if (!text.len)
		return;
	v->bytes += text.len;
	v->mid_line = text.ptr[text.len - 1] != '\n';
	for (size_t i = 0; i < text.len; i++)
		v->lines += text.ptr[i] == '\n';
	if (text.len > TOOLVIEW_TAIL)
		text = str_skip(text, text.len - TOOLVIEW_TAIL);
	keep = TOOLVIEW_TAIL - text.len;
	/* The tail may grow to twice TOOLVIEW_TAIL, so that each byte is moved
	 * at most once. */
	if (v->tail.len + text.len > 2 * TOOLVIEW_TAIL && v->tail.len > keep)
		buf_consume(&v->tail, v->tail.len - keep);
	buf_addstr(&v->tail, text);
}

/* Adds the call's line without its output. */
static void view_line(const struct toolview *v,
		      const struct toolview_look *look, struct rows *out)
{
	const char *sign = theme_glyph(look->theme, GLYPH_TOOL);
	struct wrap w = {
		.columns = look->columns,
		.first = { str_of(sign), { .role = STYLE_TOOL } },
		.rest = { STR("    "), muted },
		.words = true,
	};
	struct buf summary = BUF_INIT(EDIT_MAX + 4);
	struct rows line = { 0 };

	buf_addstr(&summary, buf_str(&v->summary));
	if (look->theme->ascii)
		summary_to_ascii(&summary);
	rows_add(&line, muted, STR(" "));
	rows_adds(&line, (struct style){ ATTR_BOLD, STYLE_TOOL }, v->name);
	if (v->summary.len)
		rows_add(&line, (struct style){ 0 }, STR(" "));
	rows_add(&line, (struct style){ 0 }, buf_str(&summary));
	buf_release(&summary);
	rows_close(&line);
	wrap_rows(&line, &w, out);
	rows_release(&line);
}

/* Adds a row of dcode's own below the call's line. */
static void add_call_note(const struct toolview_look *look, struct style style,
			  struct str text, struct rows *out)
{
	char first[16];
	struct wrap w = { .columns = look->columns, .words = true };
	struct rows line = { 0 };

	snprintf(first, sizeof(first), "  %s ",
		 theme_glyph(look->theme, GLYPH_RESULT));
	w.first.text = str_of(first);
	w.first.style = muted;
	w.rest.text = STR("    ");
	rows_add(&line, style, text);
	rows_close(&line);
	wrap_rows(&line, &w, out);
	rows_release(&line);
}

static void add_time(int64_t ms, struct buf *out)
{
	if (ms >= 60000)
		buf_addf(out, "%" PRId64 " min %" PRId64 " s", ms / 60000,
			 ms / 1000 % 60);
	else if (ms >= 10000)
		buf_addf(out, "%" PRId64 " s", ms / 1000);
	else
		buf_addf(out, "%" PRId64 ".%" PRId64 " s", ms / 1000,
			 ms / 100 % 10);
}

static size_t count_output(const struct toolview *v)
{
	struct str rest = buf_str(&v->rest);
	size_t n = v->lines;

	for (size_t i = 0; i < rest.len; i++)
		n += rest.ptr[i] == '\n';
	return n + (rest.len ? rest.ptr[rest.len - 1] != '\n' : v->mid_line);
}

/* Adds the last rows of the output, indented. */
static void add_window(const struct toolview *v,
		       const struct toolview_look *look, struct rows *out)
{
	struct wrap w = { .columns = look->columns,
			  .first = { STR("    "), muted },
			  .rest = { STR("    "), muted } };
	size_t most = TOOLVIEW_ROWS * ROW_BYTES * (look->columns + 1);
	struct str text = buf_str(&v->tail);
	struct buf shown = BUF_INIT(most + TOOLVIEW_TAIL);
	struct rows lines = { 0 };
	struct rows rows = { 0 };

	if (text.len > most)
		text = str_skip(text, text.len - most);
	while (text.len && ((unsigned char)text.ptr[0] & 0xC0) == 0x80)
		text = str_skip(text, 1);
	buf_addstr(&shown, text);
	buf_addstr(&shown, buf_str(&v->rest));
	rows_add(&lines, muted, buf_str(&shown));
	buf_release(&shown);
	rows_close(&lines);
	wrap_rows(&lines, &w, &rows);
	most = rows.n < TOOLVIEW_ROWS ? rows.n : TOOLVIEW_ROWS;
	rows_append(out, &rows, rows.n - most, most);
	rows_release(&lines);
	rows_release(&rows);
}

/* Adds the call's line and the end of its output so far. */
static void view_live(const struct toolview *v,
		      const struct toolview_look *look, int64_t now,
		      struct rows *out)
{
	struct buf note = BUF_INIT(256);

	view_line(v, look, out);
	add_window(v, look, out);
	if (count_output(v) > TOOLVIEW_ROWS)
		buf_addf(&note, "%zu lines, ", count_output(v));
	add_time(now - v->started, &note);
	add_call_note(look, muted, buf_str(&note), out);
	buf_release(&note);
}

/* Returns the exit status named at the end of a command's result ("exit code
 * 1"), or an empty text. */
static struct str find_status(struct str result)
{
	static const char word[] = "exit code ";
	struct str found = { 0 };
	size_t at;

	while ((at = str_search(result, STR("\n[Command "))) < result.len) {
		result = str_skip(result, at + 1);
		found = result;
	}
	found.len = found.len ? str_find(found, ']') : 0;
	at = str_search(found, str_of(word));
	return at < found.len ? str_skip(found, at + sizeof(word) - 1)
			      : (struct str){ 0 };
}

static size_t count_lines(struct str text)
{
	struct str line;
	size_t n = 0;

	while (str_split(&text, '\n', &line))
		n++;
	return n;
}

/* Adds "231 lines, exit 0, 2.1 s" below the call. */
static void add_call_end(const struct toolview *v, const struct agent_event *ev,
			 const struct toolview_look *look, int64_t now,
			 struct rows *out)
{
	bool runs = v->tool && v->tool->flags & TOOL_RUNS;
	size_t lines = runs ? count_output(v) : count_lines(ev->text);
	struct str status = runs ? find_status(ev->text) : (struct str){ 0 };
	bool bad = status.len && !str_is(status, "0");
	struct buf note = BUF_INIT(256);

	if (lines)
		buf_addf(&note, "%zu line%s, ", lines, lines == 1 ? "" : "s");
	if (status.len && status.len < 8)
		buf_addf(&note, "exit %.*s, ", (int)status.len, status.ptr);
	add_time(now - v->started, &note);
	if (bad && v->lines && !ev->end.len) /* a user's command (end is set)
						shows all output anyway */
		add_window(v, look, out);
	add_call_note(look, bad ? failed : muted, buf_str(&note), out);
	buf_release(&note);
}

/* Adds the first rows of an edit that was made. */
static bool add_edit(const struct agent_event *ev,
		     const struct toolview_look *look, struct rows *out)
{
	struct buf note = BUF_INIT(64);
	struct rows rows = { 0 };
	size_t n;

	if (!toolview_diff(ev->call, ev->change, look, &rows)) {
		rows_release(&rows);
		return false;
	}
	n = rows.n < TOOLVIEW_DIFF ? rows.n : TOOLVIEW_DIFF;
	rows_append(out, &rows, 0, n);
	if (n < rows.n) {
		buf_addf(&note, "%zu more rows", rows.n - n);
		add_call_note(look, muted, buf_str(&note), out);
	}
	buf_release(&note);
	rows_release(&rows);
	return true;
}

/* Adds the user's answers in full. */
static bool add_answers(const struct toolview *v, const struct agent_event *ev,
			const struct toolview_look *look, struct rows *out)
{
	struct wrap w = { .columns = look->columns,
			  .first = { STR("    "), muted },
			  .rest = { STR("    "), muted },
			  .words = true };
	struct rows lines = { 0 };

	if (!v->tool || !(v->tool->flags & TOOL_INTERACTIVE))
		return false;
	rows_add(&lines, (struct style){ 0 }, ev->text);
	rows_close(&lines);
	wrap_rows(&lines, &w, out);
	rows_release(&lines);
	return true;
}

/* Shows the user's own reason, without the words that dcode added for the
 * model. */
static void add_declined(const struct agent_event *ev,
			 const struct toolview_look *look, struct rows *out)
{
	struct buf note = BUF_INIT(EDIT_MAX);

	summary_of_declined(ev->text, &note);
	add_call_note(look, failed, buf_str(&note), out);
	buf_release(&note);
}

/* Adds the call's line and its result. ev: EVENT_TOOL_RESULT, or NULL if the
 * call was stopped. */
static void view_done(const struct toolview *v, const struct agent_event *ev,
		      const struct toolview_look *look, int64_t now,
		      struct rows *out)
{
	view_line(v, look, out);
	if (!ev)
		add_call_note(look, failed, STR("stopped"), out);
	else if (ev->declined)
		add_declined(ev, look, out);
	else if (ev->failed)
		add_call_note(
			look, failed,
			(struct str){ ev->text.ptr, str_find(ev->text, '\n') },
			out);
	else if (!add_edit(ev, look, out) && !add_answers(v, ev, look, out) &&
		 !todo_view_rows(ev->call, look->theme, look->columns, out))
		add_call_end(v, ev, look, now, out);
}

bool toolview_diff(const struct part *call, const struct tool_change *change,
		   const struct toolview_look *look, struct rows *out)
{
	const struct tool *tool = tool_find(call->name);
	struct diffview d = { look->theme, look->columns, false };
	cJSON *args = read_args(call);
	struct str old_text = { 0 };
	struct str new_text = { 0 };
	bool edits = read_edit(tool, args, &old_text, &new_text);

	if (edits && change && change->known) {
		d.numbers = true;
		old_text = buf_str(&change->before);
		new_text = buf_str(&change->after);
	}
	if (edits)
		diffview_render(&d, old_text, new_text, out);
	cJSON_Delete(args);
	return edits;
}

static void view_release(struct toolview *v)
{
	free(v->id);
	free(v->name);
	buf_release(&v->summary);
	buf_release(&v->tail);
	buf_release(&v->rest);
	*v = (struct toolview){ 0 };
}

enum {
	FIRST_WORDS = 60,  /* characters shown of finished thinking */
	THINKING_ROWS = 3, /* rows of the thinking shown while it arrives */
	MOST_SAID = 4096,  /* bytes shown of a message of the user */
	MOST_LINES = 40,
};

static const struct style thought = { ATTR_DIM | ATTR_ITALIC, STYLE_MUTED };

void transcript_init(struct transcript *t, const struct theme *theme,
		     size_t columns)
{
	struct error ignored = { 0 }; /* on failure, text is shown as written */

	*t = (struct transcript){
		.look = { theme, columns },
		.thinking = BUF_INIT(TRANSCRIPT_THINKING),
		.newest_output = BUF_INIT(TRANSCRIPT_FULL),
		.newest_rest = BUF_INIT(TRANSCRIPT_FULL),
	};
	t->markdown.look = (struct markdown_look){ .parse = md4c_load(&ignored),
						   .theme = theme,
						   .columns = columns };
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
			  .words = true };
	struct rows lines = { 0 };

	rows_add(&lines, style, text);
	rows_close(&lines);
	for (size_t i = 0; i < lines.n; i++) {
		wrap_row(&lines, i, &w, out);
		w.first = w.rest;
	}
	rows_release(&lines);
}

/* Returns the shown part of a user's message. A paste may be larger than any
 * screen. */
static struct str shorten_message(struct str text)
{
	size_t lines = 0;
	size_t end = 0;

	if (text.len > MOST_SAID) {
		text.len = MOST_SAID;
		text.len = str_utf8_prefix(text);
	}
	while (end < text.len &&
	       (text.ptr[end] != '\n' || ++lines < MOST_LINES))
		end++;
	text.len = end;
	return text;
}

void transcript_user(struct transcript *t, struct str text)
{
	struct str said = str_trim(text);
	struct str shown = shorten_message(said);
	struct style style = { ATTR_BOLD, STYLE_USER };
	struct buf sign = BUF_INIT(32);

	begin_part(t, TRANSCRIPT_USER);
	buf_addf(&sign, "%s ", theme_glyph(t->look.theme, GLYPH_PROMPT));
	add_text(t, sign.ptr, style, shown, &t->done);
	if (shown.len < said.len) {
		buf_clear(&sign);
		buf_addf(&sign, "... (%zu bytes in all)", said.len);
		add_text(t, "  ", (struct style){ 0, STYLE_MUTED },
			 buf_str(&sign), &t->done);
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

static void on_restart(struct transcript *t, struct str why)
{
	bool shown = t->answering;

	end_answer(t);
	add_note(t, "Retrying: ", why);
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
static struct toolview *find_view(struct transcript *t, const struct part *call)
{
	for (size_t i = 0; i < t->n_views; i++)
		if (call->id && !strcmp(t->views[i].id, call->id))
			return &t->views[i];
	return NULL;
}

static void drop_view(struct transcript *t, struct toolview *v)
{
	view_release(v);
	t->n_views--;
	memmove(v, v + 1, (size_t)(t->views + t->n_views - v) * sizeof(*v));
}

static void release_newest(struct transcript *t)
{
	view_release(&t->newest);
	free(t->newest_call.id);
	free(t->newest_call.name);
	free(t->newest_call.args);
	t->newest_call = (struct part){ 0 };
	tool_change_release(&t->newest_change);
	buf_clear(&t->newest_output);
	buf_clear(&t->newest_rest);
	t->newest_cut = 0;
}

/* Adds the view of a new call, which also becomes the newest call. */
static struct toolview *on_call(struct transcript *t, const struct part *call,
				int64_t now)
{
	struct toolview *v;

	end_answer(t);
	t->views = xrealloc(t->views, t->n_views + 1, sizeof(*t->views));
	v = &t->views[t->n_views++];
	view_begin(v, call, now);
	release_newest(t);
	view_begin(&t->newest, call, now);
	t->newest_call.id = xstrdup(v->id);
	t->newest_call.name = xstrdup(v->name);
	if (call->args && strlen(call->args) <= 2 * TRANSCRIPT_FULL)
		t->newest_call.args = xstrdup(call->args);
	t->newest_call.bad_args = call->bad_args;
	return v;
}

static bool is_newest(const struct transcript *t, const struct part *call)
{
	return call->id && t->newest_call.id &&
	       !strcmp(call->id, t->newest_call.id);
}

static void store_output(struct transcript *t, struct str text)
{
	size_t room = TRANSCRIPT_FULL - t->newest_output.len;

	if (text.len > room) {
		t->newest_cut += text.len - room;
		text.len = room;
	}
	buf_addstr(&t->newest_output, text);
}

static void on_output(struct transcript *t, const struct agent_event *ev)
{
	struct toolview *v = find_view(t, ev->call);

	if (v)
		view_output(v, ev->text, ev->end);
	if (!is_newest(t, ev->call))
		return;
	store_output(t, ev->text);
	buf_clear(&t->newest_rest);
	buf_addstr(&t->newest_rest, ev->end);
}

/* Replaces the live view of a call by its result. */
static void on_result(struct transcript *t, const struct agent_event *ev,
		      int64_t now)
{
	struct toolview *v = find_view(t, ev->call);

	if (!v)
		v = on_call(t, ev->call, now);
	begin_part(t, TRANSCRIPT_TOOL);
	view_done(v, ev, &t->look, now, &t->done);
	todo_view_follow(&t->todos, ev);
	/* The output that arrived live is complete, but the result may have
	 * been cut for the model. So the result is stored only if there was no
	 * live output. */
	if (is_newest(t, ev->call) && !t->newest_output.len)
		store_output(t, ev->text);
	if (is_newest(t, ev->call) && ev->change)
		tool_change_set(&t->newest_change, buf_str(&ev->change->before),
				buf_str(&ev->change->after));
	drop_view(t, v);
}

/* Replaces the model's call by the one that the user has changed. */
static void on_edited(struct transcript *t, const struct part *call,
		      int64_t now)
{
	struct toolview *v = find_view(t, call);

	if (v)
		drop_view(t, v);
	buf_adds(&on_call(t, call, now)->summary, " (changed by you)");
}

void transcript_event(struct transcript *t, const struct agent_event *ev,
		      int64_t now)
{
	switch (ev->kind) {
	case EVENT_TEXT:
		on_text(t, ev->text);
		break;
	case EVENT_THINKING:
		on_thinking(t, ev->text);
		break;
	case EVENT_RESTART:
		on_restart(t, ev->text);
		break;
	case EVENT_TOOL_CALL:
		if (ev->edited)
			on_edited(t, ev->call, now);
		else
			on_call(t, ev->call, now);
		break;
	case EVENT_SUBAGENT:
	case EVENT_TOOL_OUTPUT:
		on_output(t, ev);
		break;
	case EVENT_TOOL_RESULT:
		on_result(t, ev, now);
		break;
	case EVENT_TURN:
		end_answer(t);
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
		t->views[i].started += ms;
}

void transcript_end_turn(struct transcript *t, int64_t now)
{
	end_answer(t);
	for (size_t i = 0; i < t->n_views; i++) {
		begin_part(t, TRANSCRIPT_TOOL);
		view_done(&t->views[i], NULL, &t->look, now, &t->done);
		view_release(&t->views[i]);
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

void transcript_live(struct transcript *t, size_t max, int64_t now,
		     struct rows *out)
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
		view_live(&t->views[i], &t->look, now, &live);
	todo_view_live(&t->todos, t->look.theme, t->look.columns, &live);
	n = live.n < max ? live.n : max;
	rows_append(out, &live, live.n - n, n);
	rows_release(&tail);
	rows_release(&live);
}

/* Adds each argument by name, as the model wrote it. */
static void add_arguments(const struct transcript *t, struct rows *out)
{
	struct str raw = str_of(t->newest_call.args);
	cJSON *args = json_parse(raw);
	const cJSON *item;

	cJSON_ArrayForEach (item, args) {
		struct buf line = BUF_INIT(4 * TRANSCRIPT_FULL);

		buf_addf(&line, "%s: ", item->string ? item->string : "");
		if (cJSON_IsString(item))
			buf_adds(&line, item->valuestring);
		else
			json_print(&line, item);
		add_text(t, "  ", muted, buf_str(&line), out);
		buf_release(&line);
	}
	if (!args)
		add_text(t, "  ", muted, raw, out);
	cJSON_Delete(args);
}

static void add_output(const struct transcript *t, struct rows *out)
{
	struct diffview d = { t->look.theme, t->look.columns, false };
	struct buf shown = BUF_INIT(2 * TRANSCRIPT_FULL);
	struct str text;

	buf_addstr(&shown, buf_str(&t->newest_output));
	if (!t->newest_cut)
		buf_addstr(&shown, buf_str(&t->newest_rest));
	text = buf_str(&shown);
	if (diff_lines_are_unified(text))
		diffview_unified(&d, text, out);
	else
		add_text(t, "", (struct style){ 0 }, text, out);
	buf_release(&shown);
}

bool transcript_newest(const struct transcript *t, struct rows *out)
{
	struct buf note = BUF_INIT(128);

	if (!t->newest_call.id)
		return false;
	view_line(&t->newest, &t->look, out);
	if (!toolview_diff(&t->newest_call, &t->newest_change, &t->look, out))
		add_arguments(t, out);
	add_output(t, out);
	if (t->newest_cut) {
		buf_addf(&note, "%zu more bytes were not kept", t->newest_cut);
		add_text(t, "", muted, buf_str(&note), out);
	}
	buf_release(&note);
	return true;
}

void transcript_release(struct transcript *t)
{
	for (size_t i = 0; i < t->n_views; i++)
		view_release(&t->views[i]);
	free(t->views);
	todos_release(&t->todos);
	release_newest(t);
	buf_release(&t->newest_output);
	buf_release(&t->newest_rest);
	buf_release(&t->thinking);
	markdown_release(&t->markdown);
	rows_release(&t->done);
}
