/* toolview.c - one tool call as rows: while it runs, when it is done, in full.
 */
/* SPDX-License-Identifier: MIT */
#include "ui/calls/toolview.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diff.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "markup/diffview.h"
#include "tool/result.h"
#include "ui/summary.h"

enum {
	EDIT_MAX = 1 << 20, /* bytes of a text that is compared for a diff */
	ROW_BYTES = 16,     /* bytes of output examined for each cell */
	ARGS_MAX = 64 << 20,
	ARGS_STORED = 2 << 20,
	DOING_MAX = 1 << 12,
	OWN_LINES = 1000, /* shown of the output of the user's own command */
	SLOW_MS = 1000,   /* a short call's time is shown from here on */
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

/* Notes the number of lines that the arguments add and remove: "+3 -1". */
static void note_edit_size(struct toolview *v, const cJSON *args)
{
	struct str old_text;
	struct str new_text;
	size_t added;
	size_t removed;

	if (!read_edit(v->tool, args, &old_text, &new_text))
		return;
	diff_count(old_text, new_text, &added, &removed);
	if (v->tool->old_arg)
		snprintf(v->size, sizeof(v->size), " +%zu -%zu", added,
			 removed);
	else
		snprintf(v->size, sizeof(v->size), " +%zu", added);
}

/* True if the file was empty or missing before the change. */
static bool is_new_text(const struct tool_change *change)
{
	struct str rest = buf_str(&change->stored);
	struct str line;

	if (change->known)
		return !change->before.len;
	while (str_split(&rest, '\n', &line))
		if (str_starts(line, "-") || str_starts(line, " "))
			return false;
	return true;
}

/* Notes the number of lines that the edit has added to the file and removed, if
 * the change is known. Returns false if it has changed nothing. */
static bool note_change_size(struct toolview *v,
			     const struct tool_change *change)
{
	struct str before = { 0 };
	struct str after = { 0 };
	bool same;
	size_t added;
	size_t removed;

	if (!v->size[0] || !change || (!change->known && !change->stored.len))
		return true;
	if (change->known) {
		before = buf_str(&change->before);
		after = buf_str(&change->after);
		diff_count(before, after, &added, &removed);
		same = str_eq(before, after);
	} else {
		diff_count_stored(buf_str(&change->stored), &added, &removed);
		same = !added && !removed &&
		       str_find(buf_str(&change->stored), '\\') ==
			       change->stored.len;
	}
	if (same)
		snprintf(v->size, sizeof(v->size), " (unchanged)");
	else if (is_new_text(change) && !v->tool->old_arg)
		snprintf(v->size, sizeof(v->size), " +%zu", added);
	else
		snprintf(v->size, sizeof(v->size), " +%zu -%zu", added,
			 removed);
	return !same;
}

void toolview_begin(struct toolview *v, const struct part *call,
		    const char *workdir, int64_t now)
{
	cJSON *args = read_args(call);

	*v = (struct toolview){
		.id = xstrdup(call->id ? call->id : ""),
		.name = xstrdup(call->name ? call->name : "?"),
		.bad_args = call->bad_args,
		.tool = tool_find(call->name),
		.workdir = workdir ? xstrdup(workdir) : NULL,
		.summary = BUF_INIT(EDIT_MAX),
		.started = now,
		.tail = BUF_INIT(4 * TOOLVIEW_TAIL),
		.rest = BUF_INIT(TOOLVIEW_TAIL),
		.output = BUF_INIT(CALL_LOG_OUTPUT),
		.doing = BUF_INIT(DOING_MAX),
	};
	if (call->args && strlen(call->args) <= ARGS_STORED)
		v->args = xstrdup(call->args);
	if (!todo_view_sum(call, &v->summary))
		tool_summary_add(&(struct summary_call){ v->tool, args,
							 str_of(call->args),
							 workdir },
				 &v->summary);
	note_edit_size(v, args);
	cJSON_Delete(args);
}

static void store_output(struct toolview *v, struct str text)
{
	size_t room = CALL_LOG_OUTPUT - v->output.len;

	if (text.len > room) {
		v->cut += text.len - room;
		text.len = room;
	}
	buf_addstr(&v->output, text);
}

void toolview_output(struct toolview *v, struct str text, struct str rest)
{
	size_t keep;

	buf_clear(&v->rest);
	buf_addstr(&v->rest, rest);
	if (!text.len)
		return;
	store_output(v, text);
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

void toolview_activity(struct toolview *v, const struct agent_event *ev,
		       int64_t now)
{
	v->progress = ev->progress;
	if (str_eq(buf_str(&v->doing), ev->end))
		return;
	buf_clear(&v->doing);
	buf_addstr(&v->doing, ev->end);
	v->doing_since = now;
}

void toolview_postpone(struct toolview *v, int64_t ms)
{
	v->started += ms;
	v->doing_since += ms;
}

/* Adds the call's line without its output; note, which may be empty, follows
 * it. */
static void add_call_line(const struct toolview *v,
			  const struct toolview_look *look, struct str note,
			  struct rows *out)
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
	rows_adds(&line, (struct style){ 0 }, v->size);
	buf_release(&summary);
	rows_add(&line, muted, note);
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

/* Adds wrapped text after an indent. */
static void add_text(const struct toolview_look *look, const char *indent,
		     struct style style, struct str text, struct rows *out)
{
	struct wrap w = { .columns = look->columns,
			  .first = { str_of(indent), style },
			  .rest = { str_of(indent), style },
			  .words = true };
	struct rows lines = { 0 };

	rows_add(&lines, style, text);
	rows_close(&lines);
	wrap_rows(&lines, &w, out);
	rows_release(&lines);
}

static struct str first_line(struct str text)
{
	return (struct str){ text.ptr, str_find(text, '\n') };
}

static size_t count_output(const struct toolview *v)
{
	struct str rest = buf_str(&v->rest);
	size_t n = v->lines;

	for (size_t i = 0; i < rest.len; i++)
		n += rest.ptr[i] == '\n';
	return n + (rest.len ? rest.ptr[rest.len - 1] != '\n' : v->mid_line);
}

/* Adds the last rows of text, muted and indented. */
static void add_last_rows(struct str text, size_t most,
			  const struct toolview_look *look, struct rows *out)
{
	struct wrap w = { .columns = look->columns,
			  .first = { STR("    "), muted },
			  .rest = { STR("    "), muted },
			  .words = true };
	struct rows lines = { 0 };
	struct rows rows = { 0 };

	rows_add(&lines, muted, text);
	rows_close(&lines);
	wrap_rows(&lines, &w, &rows);
	most = rows.n < most ? rows.n : most;
	rows_append(out, &rows, rows.n - most, most);
	rows_release(&lines);
	rows_release(&rows);
}

/* Returns the end of text that can fill so many rows. */
static struct str cut_to_rows(struct str text, size_t rows,
			      const struct toolview_look *look)
{
	size_t most = rows * ROW_BYTES * (look->columns + 1);

	if (text.len > most)
		text = str_skip(text, text.len - most);
	while (text.len && ((unsigned char)text.ptr[0] & 0xC0) == 0x80)
		text = str_skip(text, 1);
	return text;
}

/* Adds the last rows of the output so far. */
static void add_window(const struct toolview *v,
		       const struct toolview_look *look, size_t rows,
		       struct rows *out)
{
	struct buf shown = BUF_INIT(SIZE_MAX / 4);

	buf_addstr(&shown, cut_to_rows(buf_str(&v->tail), rows, look));
	buf_addstr(&shown, buf_str(&v->rest));
	add_last_rows(buf_str(&shown), rows, look, out);
	buf_release(&shown);
}

/* Adds how long the call has run; of a subagent also its number, what it does
 * and its tokens: "subagent 1: answering, 12 s, 340 tokens". Only a call of the
 * subagent has its own time: "subagent 1: execute: make (8.0 s), 12 s". */
static void add_live_time(const struct toolview *v, int64_t now,
			  struct buf *note)
{
	if (v->doing.len) {
		buf_addf(note, "subagent %u: ", v->progress.number);
		buf_addstr(note, buf_str(&v->doing));
	}
	if (v->progress.calls) {
		buf_adds(note, " (");
		summary_add_time(now - v->doing_since, note);
		buf_addc(note, ')');
	}
	if (v->doing.len)
		buf_adds(note, ", ");
	summary_add_time(now - v->started, note);
	summary_add_tokens(v->progress.tokens, note);
}

void toolview_live(const struct toolview *v, const struct toolview_look *look,
		   size_t rows, int64_t now, struct rows *out)
{
	struct buf note = BUF_INIT(256);

	add_call_line(v, look, (struct str){ 0 }, out);
	add_window(v, look, rows, out);
	if (count_output(v) > rows)
		buf_addf(&note, "%zu lines, ", count_output(v));
	if (now == TOOLVIEW_ASKED)
		buf_adds(&note, "waiting for your answer");
	else
		add_live_time(v, now, &note);
	add_call_note(look, muted, buf_str(&note), out);
	buf_release(&note);
}

void toolview_record(const struct toolview *v, struct str result, int64_t now,
		     struct call_record *out)
{
	bool answers = v->tool && v->tool->flags & TOOL_DELEGATES;

	*out = (struct call_record){
		.call = { .kind = PART_TOOL_CALL,
			  .id = xstrdup(v->id),
			  .name = xstrdup(v->name),
			  .args = v->args ? xstrdup(v->args) : NULL,
			  .bad_args = v->bad_args },
		.output = BUF_INIT(2 * CALL_LOG_OUTPUT),
		.cut = v->cut,
		.ms = now - v->started,
	};
	buf_addstr(&out->output, buf_str(&v->output));
	if (!v->cut)
		buf_addstr(&out->output, buf_str(&v->rest));
	/* Output that arrived live is complete, but a result may have been cut
	 * for the model. */
	if (!out->output.len || answers)
		buf_addstr(&out->output, result);
}

/* Returns the last so many lines of text, without blank lines at its end. */
static struct str last_lines(struct str text, size_t lines)
{
	size_t at;

	while (text.len && (unsigned char)text.ptr[text.len - 1] <= ' ')
		text.len--;
	if (!lines)
		return (struct str){ 0 };
	for (at = text.len; at; at--)
		if (text.ptr[at - 1] == '\n' && !--lines)
			break;
	return str_skip(text, at);
}

/* Returns the command's output from a result that names its exit status, for a
 * call whose output did not arrive live. */
static struct str output_of_result(struct str result)
{
	struct str rest = result;
	size_t end = 0;
	size_t at;

	while ((at = str_search(rest, STR("\n[Command "))) < rest.len) {
		end = (size_t)(rest.ptr - result.ptr) + at;
		rest = str_skip(rest, at + 1);
	}
	result.len = end;
	return str_is(result, "<no output>") ? (struct str){ 0 } : result;
}

/* Adds "231 lines (Ctrl+O shows all), ". */
static void add_line_count(size_t lines, bool hidden, struct buf *out)
{
	if (lines)
		buf_addf(out, "%zu line%s%s, ", lines, lines == 1 ? "" : "s",
			 hidden ? " (Ctrl+O shows all)" : "");
}

/* Returns how many lines of the output stay on the screen. The output of a
 * user's own command is not folded. */
static size_t lines_to_keep(const struct agent_event *ev, bool bad,
			    const struct toolview_look *look)
{
	size_t least = ev->interrupted ? 1 : bad ? TOOLVIEW_FAILED : 0;

	if (ev->own)
		return OWN_LINES;
	return look->lines > least ? look->lines : least;
}

/* Adds the time of a call. That of an earlier call is not stored: then the
 * comma before it goes, too. */
static void add_call_time(const struct agent_event *ev, int64_t ms,
			  struct buf *note)
{
	if (!ev->replayed)
		summary_add_time(ms, note);
	else if (note->len)
		note->len -= strlen(", ");
}

/* Adds the last lines of a command's output, and "231 lines, exit 0, 2.1 s"
 * below them. */
static void add_command_end(const struct toolview *v,
			    const struct agent_event *ev,
			    const struct toolview_look *look, int64_t now,
			    struct rows *out)
{
	struct str end = ev->end.len ? ev->end : ev->text;
	struct str status = summary_exit_status(end);
	struct str error = summary_end_error(ev->end);
	bool bad =
		ev->failed || error.len || (status.len && !str_is(status, "0"));
	size_t keep = lines_to_keep(ev, bad, look);
	struct str output = buf_str(&v->tail);
	size_t tail = output.len;
	size_t lines = count_output(v);
	struct buf note = BUF_INIT(TOOL_RESULT_BYTES);

	if (!v->bytes && (ev->replayed || (!ev->end.len && status.len))) {
		output = output_of_result(ev->text);
		lines = str_count_lines(output);
	}
	output = cut_to_rows(output, 2 * keep, look);
	add_last_rows(last_lines(output, keep), 2 * keep, look, out);
	add_line_count(lines, lines > keep || (ev->own && v->bytes > tail),
		       &note);
	if (ev->interrupted) {
		summary_of_interrupt(ev, &note);
	} else if (error.len || ev->failed) {
		buf_addstr(&note, error.len ? error : first_line(ev->text));
	} else {
		if (status.len && status.len < 8)
			buf_addf(&note, "exit %.*s, ", (int)status.len,
				 status.ptr);
		add_call_time(ev, ev->ran_ms ? ev->ran_ms : now - v->started,
			      &note);
	}
	add_call_note(look, bad ? failed : muted, buf_str(&note), out);
	buf_clear(&note);
	summary_of_changes(ev, &note);
	if (look->theme->ascii)
		summary_to_ascii(&note);
	if (note.len)
		add_call_note(look, muted, buf_str(&note), out);
	buf_clear(&note);
	summary_of_listeners(ev, &note);
	if (note.len)
		add_call_note(look, muted, buf_str(&note), out);
	buf_release(&note);
}

/* Returns a result without the notes that dcode has put below it for the model:
 * read_file says which part of a file it read, and the first result from a
 * sandbox describes the sandbox (add_facts() and add_start() in
 * src/agent/toolrun.c). */
static struct str without_notes(struct str text)
{
	static const char *const leads[] = { "[Read ", "[Commands run in ",
					     "[The setup script " };
	bool found = true;

	while (found) {
		struct str last = last_lines(text, 1);

		found = false;
		for (size_t i = 0; i < sizeof(leads) / sizeof(*leads); i++)
			found |= str_starts(last, leads[i]);
		if (found)
			text.len = (size_t)(last.ptr - text.ptr);
		while (found && text.len && text.ptr[text.len - 1] == '\n')
			text.len--;
	}
	return text;
}

/* Adds "7 entries" for the result of a tool that lists names, or returns false.
 */
static bool add_listed(const struct tool *tool, struct str text,
		       struct buf *out)
{
	size_t n;
	bool whole;

	if (!tool || !tool->lists[0] || !pylist_count(text, &n, &whole))
		return false;
	buf_addf(out, "%s%zu %s", whole ? "" : "more than ", n,
		 tool->lists[n != 1]);
	return true;
}

/* Adds the call's line with the size of its result: "read_file a.c (12 lines)".
 */
static void add_short_end(const struct toolview *v,
			  const struct agent_event *ev,
			  const struct toolview_look *look, int64_t now,
			  struct rows *out)
{
	int64_t ms = now - v->started;
	struct buf note = BUF_INIT(256);
	size_t lines;

	buf_adds(&note, " (");
	if (!add_listed(v->tool, ev->text, &note)) {
		lines = str_count_lines(without_notes(ev->text));
		buf_addf(&note, "%zu line%s", lines, lines == 1 ? "" : "s");
	}
	if (ms >= SLOW_MS) {
		buf_adds(&note, ", ");
		summary_add_time(ms, &note);
	}
	buf_addc(&note, ')');
	add_call_line(v, look, buf_str(&note), out);
	buf_release(&note);
}

/* True if the call has written a file that was not there or was empty. */
static bool creates_file(const struct agent_event *ev)
{
	return !tool_find(ev->call->name)->old_arg &&
	       (!ev->change || is_new_text(ev->change));
}

/* Adds the first rows of an edit that was made. */
static bool add_edit(const struct agent_event *ev,
		     const struct toolview_look *look, struct rows *out)
{
	struct buf note = BUF_INIT(64);
	struct rows rows = { 0 };
	size_t most;
	size_t n;

	if (!toolview_diff(ev->call, ev->change, look, &rows)) {
		rows_release(&rows);
		return false;
	}
	most = creates_file(ev) ? TOOLVIEW_FILE : TOOLVIEW_DIFF;
	n = rows.n < most ? rows.n : most;
	rows_append(out, &rows, 0, n);
	if (n < rows.n) {
		buf_addf(&note, "%zu more rows (Ctrl+O shows all)", rows.n - n);
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
	static const char declined[] = "\n\n" INQUIRY_DECLINED_TEXT;
	struct str text = ev->text;
	bool none = str_ends(text, declined);

	if (!v->tool || !(v->tool->flags & TOOL_INTERACTIVE))
		return false;
	if (none)
		text.len -= sizeof(declined) - 1;
	add_text(look, "    ", (struct style){ 0 }, text, out);
	if (none)
		add_call_note(look, muted,
			      STR("You did not answer. The model continues."),
			      out);
	return true;
}

/* Adds a declined call as one row: "execute make ... Declined: the reason". The
 * reason is the user's, without the words that dcode added for the model. */
static void add_declined(const struct toolview *v, const struct agent_event *ev,
			 const struct toolview_look *look, struct rows *out)
{
	const char *sign = theme_glyph(look->theme, GLYPH_TOOL);
	struct buf call = BUF_INIT(EDIT_MAX + 256);
	struct buf note = BUF_INIT(EDIT_MAX);
	struct rows end = { 0 };
	size_t used;
	size_t room;

	summary_of_declined(ev->text, &note);
	buf_addf(&call, "%s ", v->name);
	buf_addstr(&call, buf_str(&v->summary));
	if (look->theme->ascii)
		summary_to_ascii(&call);
	used = cut_text_add(out, (struct style){ 0, STYLE_TOOL }, str_of(sign),
			    look->columns);
	rows_adds(out, muted, " ");
	room = look->columns > used + 2 ? look->columns - used - 2 : 0;
	used = cut_text_add(&end, failed, buf_str(&note), room / 2);
	(void)cut_text_add(out, (struct style){ 0 }, buf_str(&call),
			   room - used);
	rows_adds(out, muted, " ");
	(void)cut_text_add(out, failed, buf_str(&note), room / 2);
	rows_end(out);
	rows_release(&end);
	buf_release(&call);
	buf_release(&note);
}

/* Adds the reason why a call failed, or that it was interrupted. */
static void add_failure(const struct agent_event *ev, bool edits,
			const struct toolview_look *look, struct rows *out)
{
	struct buf note = BUF_INIT(TOOL_RESULT_BYTES);

	if (ev->interrupted)
		summary_of_interrupt(ev, &note);
	else if (ev->unchanged && edits)
		buf_adds(&note, "Nothing was changed. ");
	if (!ev->interrupted && ev->own)
		buf_addstr(&note, ev->text);
	else if (!ev->interrupted)
		summary_of_failure(result_without_id(ev->call, ev->text),
				   &note);
	add_call_note(look, failed, buf_str(&note), out);
	buf_release(&note);
}

void toolview_done(const struct toolview *v, const struct agent_event *ev,
		   const struct toolview_look *look, int64_t now,
		   struct rows *out)
{
	bool runs = v->tool && v->tool->flags & TOOL_RUNS;
	bool fails = !ev || ev->failed || ev->interrupted;
	struct toolview shown = *v; /* shares the memory of v */
	struct rows more = { 0 };
	bool same = !fails && !note_change_size(&shown, ev->change);

	if (!fails && !runs && !add_edit(ev, look, &more) &&
	    !add_answers(v, ev, look, &more) &&
	    !todo_view_rows(ev->call, look->theme, look->columns, &more)) {
		add_short_end(v, ev, look, now, out);
		return;
	}
	if (ev && ev->declined) {
		add_declined(v, ev, look, out);
		rows_release(&more);
		return;
	}
	if (fails)
		shown.size[0] = '\0'; /* it was not made */
	if (same)
		rows_clear(&more);
	add_call_line(&shown, look, (struct str){ 0 }, out);
	if (!ev)
		add_call_note(look, failed, STR("stopped"), out);
	else if (runs && ev->ran_ms >= 0 && (!fails || ev->end.len))
		add_command_end(v, ev, look, now, out);
	else if (fails)
		add_failure(ev, v->size[0], look, out);
	else
		rows_append(out, &more, 0, more.n);
	rows_release(&more);
}

bool toolview_diff(const struct part *call, const struct tool_change *change,
		   const struct toolview_look *look, struct rows *out)
{
	const struct tool *tool = tool_find(call->name);
	struct diffview d = { look->theme, look->columns, false, { 0 } };
	cJSON *args = read_args(call);
	struct str old_text = { 0 };
	struct str new_text = { 0 };
	bool edits = read_edit(tool, args, &old_text, &new_text);

	if (edits && change && change->known) {
		d.numbers = true;
		old_text = buf_str(&change->before);
		new_text = buf_str(&change->after);
	}
	if (edits && tool->path_arg)
		d.path = str_of(json_string(args, tool->path_arg, NULL));
	if (edits && change && change->stored.len)
		diffview_stored(&d, buf_str(&change->stored), out);
	else if (edits)
		diffview_render(&d, old_text, new_text, out);
	cJSON_Delete(args);
	return edits;
}

void toolview_release(struct toolview *v)
{
	free(v->id);
	free(v->name);
	free(v->args);
	free(v->workdir);
	buf_release(&v->output);
	buf_release(&v->doing);
	buf_release(&v->summary);
	buf_release(&v->tail);
	buf_release(&v->rest);
	*v = (struct toolview){ 0 };
}

/* Adds each argument by name, as the model wrote it. */
static void add_arguments(const struct call_record *r,
			  const struct toolview_look *look, struct rows *out)
{
	struct str raw = str_of(r->call.args ? r->call.args : "");
	cJSON *args = json_parse(raw);
	const cJSON *item;

	cJSON_ArrayForEach (item, args) {
		struct buf line = BUF_INIT(ARGS_MAX);

		buf_addf(&line, "%s: ", item->string ? item->string : "");
		if (cJSON_IsString(item))
			buf_adds(&line, item->valuestring);
		else
			json_print(&line, item);
		add_text(look, "  ", muted, buf_str(&line), out);
		buf_release(&line);
	}
	if (!args && raw.len)
		add_text(look, "  ", muted, raw, out);
	cJSON_Delete(args);
}

static void add_all_output(const struct call_record *r,
			   const struct toolview_look *look, struct rows *out)
{
	struct diffview d = { look->theme, look->columns, true, { 0 } };
	struct str text = buf_str(&r->output);

	if (diff_lines_are_unified(text))
		diffview_unified(&d, text, out);
	else if (text.len)
		add_text(look, "", (struct style){ 0 }, text, out);
}

void toolview_full(const struct call_record *r,
		   const struct toolview_look *look, struct rows *out)
{
	struct buf note = BUF_INIT(128);
	struct toolview v = { 0 };
	bool same;
	bool edits;

	toolview_begin(&v, &r->call, look->workdir, 0);
	same = !note_change_size(&v, &r->change);
	if (strcmp(r->state, "ok") != 0)
		v.size[0] = '\0';
	buf_addf(&note, " (%s)", r->state);
	add_call_line(&v, look, buf_str(&note), out);
	toolview_release(&v);
	edits = same || toolview_diff(&r->call, &r->change, look, out);
	if (!edits)
		add_arguments(r, look, out);
	if (!edits || strcmp(r->state, "ok") != 0)
		add_all_output(r, look, out);
	if (r->cut) {
		buf_clear(&note);
		buf_addf(&note, "%zu more bytes were not kept", r->cut);
		add_text(look, "", muted, buf_str(&note), out);
	}
	buf_release(&note);
}

void toolview_preview(const struct call_record *r,
		      const struct toolview_look *look, size_t lines,
		      struct buf *out)
{
	struct str text = str_trim(buf_str(&r->output));
	struct rows edit = { 0 };
	size_t at;

	buf_addf(out, "%s\n", r->title);
	if (toolview_diff(&r->call, &r->change, look, &edit)) {
		for (size_t i = 0; i < edit.n && i < lines; i++) {
			sanitize_line(rows_view(&edit, i).bytes, out);
			buf_addc(out, '\n');
		}
	} else {
		for (at = text.len; at; at--)
			if (text.ptr[at - 1] == '\n' && !--lines)
				break;
		sanitize_text(str_skip(text, at), out);
	}
	rows_release(&edit);
}
