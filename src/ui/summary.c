/* summary.c - a tool call in one line, and a todo list in a few. */
/* SPDX-License-Identifier: MIT */
#include "ui/summary.h"

#include <inttypes.h>
#include <string.h>

#include "agent/agent.h"
#include "base/json.h"
#include "base/str.h"
#include "model/money.h"
#include "term/rows.h"
#include "tool/paths.h"
#include "tool/result.h"

static const struct {
	const char *text; /* the mark in plain text */
	enum glyph glyph;
	struct style style;
} marks[N_TODO] = {
	[TODO_PENDING] = { "[ ]", GLYPH_TASK_OPEN, { 0 } },
	[TODO_IN_PROGRESS] = { "[>]", GLYPH_TASK_NOW, { .attrs = ATTR_BOLD } },
	[TODO_COMPLETED] = { "[x]", GLYPH_TASK_DONE, { .role = STYLE_MUTED } },
};

static const struct style muted = { .role = STYLE_MUTED };

void todo_view_count(const struct todos *t, struct buf *out)
{
	buf_addf(out, "%zu of %zu done", todos_count(t, TODO_COMPLETED), t->n);
}

bool todo_view_sum(const struct part *call, struct buf *out)
{
	struct todos t = { 0 };

	if (!todos_read(&t, call))
		return false;
	todo_view_count(&t, out);
	todos_release(&t);
	return true;
}

/* Appends the text of a step on one line. */
static void add_content(const struct todo *item, struct buf *out)
{
	struct str text = str_trim(str_of(item->content));

	for (size_t i = 0; i < text.len; i++)
		buf_addc(out, text.ptr[i] == '\n' || text.ptr[i] == '\r'
				      ? ' '
				      : text.ptr[i]);
}

void todo_view_text(const struct todos *t, struct buf *out)
{
	for (size_t i = 0; i < t->n; i++) {
		buf_addf(out, "%s ", marks[t->list[i].status].text);
		add_content(&t->list[i], out);
		buf_addc(out, '\n');
	}
}

/* Adds a step of the todo list, wrapped after its mark. */
static void add_row(const struct todo *item, const struct theme *theme,
		    size_t columns, struct rows *out)
{
	struct buf sign = BUF_INIT(32);
	struct buf text = BUF_INIT(4 * TODOS_CONTENT_CHARS + 1);
	struct style style = marks[item->status].style;
	struct wrap w = { .columns = columns, .words = true };
	struct rows line = { 0 };

	buf_addf(&sign, "    %s ",
		 theme_glyph(theme, marks[item->status].glyph));
	w.first.text = buf_str(&sign);
	w.first.style = style;
	w.rest.text = theme->ascii ? STR("        ") : STR("      ");
	add_content(item, &text);
	rows_add(&line, style, buf_str(&text));
	rows_close(&line);
	wrap_rows(&line, &w, out);
	rows_release(&line);
	buf_release(&text);
	buf_release(&sign);
}

static void add_note(size_t n, const char *what, struct rows *out)
{
	struct buf note = BUF_INIT(64);

	if (!n)
		return;
	buf_addf(&note, "    %zu %s", n, what);
	rows_add(out, muted, buf_str(&note));
	rows_close(out);
	buf_release(&note);
}

/* Returns the index of the first step shown of a long list. The current or next
 * step is shown right after the last completed one. */
static size_t first_shown(const struct todos *t)
{
	size_t i = 0;

	if (t->n <= TODO_VIEW_ROWS)
		return 0;
	while (i < t->n && t->list[i].status == TODO_COMPLETED)
		i++;
	i = i ? i - 1 : 0;
	return i < t->n - TODO_VIEW_ROWS ? i : t->n - TODO_VIEW_ROWS;
}

bool todo_view_rows(const struct part *call, const struct theme *theme,
		    size_t columns, struct rows *out)
{
	struct todos t = { 0 };
	size_t first;
	size_t end;

	if (!todos_read(&t, call))
		return false;
	first = first_shown(&t);
	end = t.n - first > TODO_VIEW_ROWS ? first + TODO_VIEW_ROWS : t.n;
	add_note(first, "before", out);
	for (size_t i = first; i < end; i++)
		add_row(&t.list[i], theme, columns, out);
	add_note(t.n - end, "more", out);
	todos_release(&t);
	return true;
}

void todo_view_follow(struct todos *t, const struct agent_event *ev)
{
	if (ev->kind == EVENT_TOOL_RESULT && !ev->failed)
		(void)todos_read(t, ev->call);
}

/* Returns the current step: the first one in progress, else the first that is
 * open; NULL if all are done. */
static const struct todo *find_step(const struct todos *t)
{
	enum todo_status wanted = todos_count(t, TODO_IN_PROGRESS)
					  ? TODO_IN_PROGRESS
					  : TODO_PENDING;

	for (size_t i = 0; i < t->n; i++)
		if (t->list[i].status == wanted)
			return &t->list[i];
	return NULL;
}

void todo_view_step(const struct todos *t, struct buf *out)
{
	const struct todo *step = find_step(t);

	if (!step)
		return;
	todo_view_count(t, out);
	buf_adds(out, ": ");
	add_content(step, out);
}

void todo_view_live(const struct todos *t, const struct theme *theme,
		    size_t columns, struct rows *out)
{
	const struct todo *step = find_step(t);
	struct buf text = BUF_INIT(4 * TODOS_CONTENT_CHARS + 64);
	struct rows line = { 0 };
	struct rows wrapped = { 0 };
	struct wrap w = { .columns = columns, .words = true };

	if (step) {
		buf_addf(&text, "%s ",
			 theme_glyph(theme, marks[step->status].glyph));
		todo_view_step(t, &text);
		rows_add(&line, muted, buf_str(&text));
		rows_close(&line);
		wrap_rows(&line, &w, &wrapped);
		rows_append(out, &wrapped, 0, 1);
	}
	rows_release(&wrapped);
	rows_release(&line);
	buf_release(&text);
}

enum {
	MOST_CHARS = 200, /* characters shown of one value */
	NAME_MAX_BYTES = 64,
};

/* Appends the first line of text, cut to MOST_CHARS. */
static void add_value(struct str text, struct buf *out)
{
	struct str line = str_trim(text);
	size_t most;

	line.len = str_find(line, '\n');
	most = str_char_offset(line, MOST_CHARS);
	buf_add(out, line.ptr, most);
	if (most < line.len || line.len < str_trim(text).len)
		buf_adds(out, " \xE2\x80\xA6");
}

/* Returns the value of an argument as it is shown. */
static struct str shown_value(const struct summary_call *c, const char *key,
			      const char *value)
{
	bool is_path =
		c->tool && c->tool->path_arg && !strcmp(c->tool->path_arg, key);

	return str_of(is_path ? paths_shown(c->workdir, value) : value);
}

/* Appends the named argument; for true, appends nothing. Returns false if the
 * argument is missing or false. */
static bool add_argument(const struct summary_call *c, struct str name,
			 struct buf *out)
{
	char key[NAME_MAX_BYTES + 1] = "";
	const cJSON *item;

	if (name.len > NAME_MAX_BYTES)
		return false;
	memcpy(key, name.ptr, name.len);
	item = json_get(c->args, key);
	if (cJSON_IsString(item))
		add_value(shown_value(c, key, item->valuestring), out);
	else if (cJSON_IsNumber(item))
		buf_addf(out, "%" PRId64, json_int(c->args, key, 0));
	return cJSON_IsString(item) || cJSON_IsNumber(item) ||
	       cJSON_IsTrue(item);
}

/* Appends a part with each "{argument}" replaced. Returns false if an argument
 * is missing. */
static bool add_part(const struct summary_call *c, struct str part,
		     struct buf *out)
{
	bool whole = true;

	while (part.len) {
		size_t at = str_find(part, '{');
		struct str name = str_skip(part, at + 1);

		buf_add(out, part.ptr, at);
		if (at == part.len)
			break;
		name.len = str_find(name, '}');
		whole = add_argument(c, name, out) && whole;
		part = str_skip(part, at + name.len + 2);
	}
	return whole;
}

/* Appends the summary. A part in "[...]" is left out if an argument in it is
 * missing. */
static void add_summary(const struct summary_call *c, struct buf *out)
{
	struct str summary = str_of(c->tool->summary);

	while (summary.len) {
		size_t at = str_find(summary, '[');
		struct str part = str_skip(summary, at + 1);
		size_t before;

		add_part(c, (struct str){ summary.ptr, at }, out);
		if (at == summary.len)
			break;
		part.len = str_find(part, ']');
		before = out->len;
		if (!add_part(c, part, out))
			out->len = before;
		summary = str_skip(summary, at + part.len + 2);
	}
}

void tool_summary_add(const struct summary_call *c, struct buf *out)
{
	if (c->tool && c->args && c->tool->summary)
		add_summary(c, out);
	else
		add_value(c->raw, out);
}

enum { MOST_LINE_CHARS = 200 };

/* Appends the first line of text, cut to MOST_LINE_CHARS. */
static void add_line(struct buf *out, struct str text)
{
	size_t end = str_find(text, '\n');
	struct str line = { text.ptr, end };
	size_t most = str_char_offset(line, MOST_LINE_CHARS);

	buf_add(out, line.ptr, most);
	if (most < line.len || str_trim(str_skip(text, end)).len)
		buf_adds(out, " \xE2\x80\xA6");
}

static void add_todos(const struct part *call, struct buf *out)
{
	struct buf sum = BUF_INIT(64);

	if (todo_view_sum(call, &sum)) {
		buf_adds(out, ": ");
		buf_addstr(out, buf_str(&sum));
	}
	buf_release(&sum);
}

void summary_of_call(const struct part *call, const char *workdir,
		     struct buf *out)
{
	static const char *const telling[] = { "command",       "file_path",
					       "pattern",       "path",
					       "subagent_type", NULL };
	cJSON *args = call->args ? json_parse(str_of(call->args)) : NULL;
	const struct summary_call c = { .tool = tool_find(call->name),
					.workdir = workdir };

	add_line(out, str_of(call->name ? call->name : "?"));
	for (size_t i = 0; telling[i]; i++) {
		const char *value = json_string(args, telling[i], NULL);

		if (!value)
			continue;
		buf_adds(out, ": ");
		add_line(out, shown_value(&c, telling[i], value));
		if (!i && json_bool(args, "background", false))
			buf_adds(out, " (in the background)");
		break;
	}
	cJSON_Delete(args);
	add_todos(call, out);
}

void summary_add_time(int64_t ms, struct buf *out)
{
	if (ms >= 3600000)
		buf_addf(out, "%" PRId64 " h %" PRId64 " min", ms / 3600000,
			 ms / 60000 % 60);
	else if (ms >= 60000)
		buf_addf(out, "%" PRId64 " min %" PRId64 " s", ms / 60000,
			 ms / 1000 % 60);
	else if (ms >= 10000)
		buf_addf(out, "%" PRId64 " s", ms / 1000);
	else
		buf_addf(out, "%" PRId64 ".%" PRId64 " s", ms / 1000,
			 ms / 100 % 10);
}

void summary_add_tokens(int64_t tokens, struct buf *out)
{
	char room[MONEY_SIZE];

	if (tokens > 0)
		buf_addf(out, ", %s token%s", money_tokens(tokens, room),
			 tokens == 1 ? "" : "s");
}

void summary_of_interrupt(const struct agent_event *ev, struct buf *out)
{
	if (ev->ran_ms < 0) {
		buf_adds(out, "not run: interrupted");
		return;
	}
	buf_adds(out, "interrupted");
	if (ev->replayed) /* its time is not stored */
		return;
	buf_adds(out, " after ");
	summary_add_time(ev->ran_ms, out);
}

struct str summary_end_error(struct str end)
{
	struct str line = str_trim(end);

	line.len = str_starts(line, "Error: ") ? str_find(line, '\n') : 0;
	return line;
}

struct str summary_exit_status(struct str result)
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

void summary_state(const struct agent_event *ev, struct buf *out)
{
	const struct tool *tool = tool_find(ev->call->name);
	bool runs = tool && tool->flags & TOOL_RUNS;
	struct str status = { 0 };

	if (runs)
		status = summary_exit_status(ev->end.len ? ev->end : ev->text);
	if (ev->interrupted)
		buf_adds(out, "interrupted");
	else if (ev->declined)
		buf_adds(out, "declined");
	else if (ev->failed || summary_end_error(ev->end).len)
		buf_adds(out, "failed");
	else if (status.len && status.len < 8 && !str_is(status, "0"))
		buf_addf(out, "exit %.*s", (int)status.len, status.ptr);
	else
		buf_adds(out, "ok");
}

/* Appends the reasons of a result of args_read(), "wrong arguments: path is
 * missing"; its first line repeats the arguments. Returns false for another
 * result. */
static bool add_wrong_arguments(struct str result, struct buf *out)
{
	static const char missing[] = ": Field required";
	struct str rest = str_skip(result, str_find(result, '\n') + 1);
	struct str reason;
	size_t n = 0;

	if (!str_starts(result, "Error invoking tool '") ||
	    !str_ends((struct str){ result.ptr, str_find(result, '\n') },
		      " with error:"))
		return false;
	/* The last line tells the model to try again. */
	while (str_split(&rest, '\n', &reason) && rest.len) {
		buf_adds(out, n++ ? "; " : "wrong arguments: ");
		reason = str_trim(reason);
		if (!str_ends(reason, missing)) {
			buf_addstr(out, reason);
			continue;
		}
		reason.len -= strlen(missing);
		buf_addstr(out, reason);
		buf_adds(out, " is missing");
	}
	return n > 0;
}

void summary_of_failure(struct str result, struct buf *out)
{
	static const struct {
		const char *code, *words;
	} known[] = {
		{ ": file_not_found", ": no such file" },
		{ ": path_not_found", ": no such file or directory" },
		{ ": permission_denied", ": permission denied" },
		{ ": not_a_file", ": not a regular file" },
		{ ": is_directory", ": is a directory" },
		{ ": not_a_directory", ": not a directory" },
		{ ": not_a_text_file", ": not a text file" },
		{ ": link_loop", ": too many symbolic links" },
		{ ": invalid_pattern", ": invalid pattern" },
		{ ": pattern_too_broad", ": the pattern is too broad" },
	};
	struct str line = { result.ptr, str_find(result, '\n') };
	const char *words = "";

	if (add_wrong_arguments(result, out))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!str_starts(line, "Error: ") ||
		    !str_ends(line, known[i].code))
			continue;
		line.len -= strlen(known[i].code);
		words = known[i].words;
		break;
	}
	buf_addstr(out, line);
	buf_adds(out, words);
}

/* Appends the first line of a failed call's result, cut. */
static void add_failure(const struct agent_event *ev, struct buf *out)
{
	struct str result = result_without_id(ev->call, ev->text);
	size_t end = str_find(result, '\n');
	struct buf line = BUF_INIT(TOOL_RESULT_BYTES);

	if (!add_wrong_arguments(result, &line)) {
		summary_of_failure(result, &line);
		buf_addstr(&line, str_skip(result, end));
	}
	add_line(out, buf_str(&line));
	buf_release(&line);
}

void summary_of_result(const struct agent_event *ev, struct buf *out)
{
	struct str why = summary_end_error(ev->end);
	struct str end = ev->end.len ? ev->end : ev->text;
	size_t at = str_search(end, STR("[Command failed with exit code "));

	if (ev->interrupted)
		summary_of_interrupt(ev, out);
	else if (ev->declined)
		summary_of_declined(ev->text, out);
	else if (why.len)
		add_line(out, why);
	else if (ev->failed)
		add_failure(ev, out);
	else if (at < end.len)
		add_line(out, str_skip(end, at));
}

void summary_of_changes(const struct agent_event *ev, struct buf *out)
{
	if (!ev->changed.len)
		return;
	buf_adds(out, "changed: ");
	buf_addstr(out, ev->changed);
}

void summary_of_listeners(const struct agent_event *ev, struct buf *out)
{
	const char *ports = ev->listens.text;

	if (*ports)
		buf_addf(out, "the sandbox listens on %s: /forward %.*s", ports,
			 (int)strspn(ports, "0123456789"), ports);
}

void summary_of_declined(struct str result, struct buf *out)
{
	struct str why;

	(void)approval_read_decline(result, &why);
	buf_adds(out, why.len ? "Declined: " : "Declined.");
	add_line(out, why);
}

void summary_to_ascii(struct buf *line)
{
	static const char ellipsis[] = "\xE2\x80\xA6";
	static const char minus[] = "\xE2\x88\x92";
	size_t at = str_search(buf_str(line), str_of(minus));

	if (at < line->len) {
		line->ptr[at] = '-';
		memmove(line->ptr + at + 1, line->ptr + at + 3,
			line->len - at - 2); /* with its NUL */
		line->len -= 2;
	}
	if (!str_ends(buf_str(line), ellipsis))
		return;
	line->len -= sizeof(ellipsis) - 1;
	buf_adds(line, "...");
}
