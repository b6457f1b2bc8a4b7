/* summary.c - one line about a tool call, for people. */
/* SPDX-License-Identifier: MIT */
#include "ui/summary.h"

#include "agent/agent.h"
#include "base/json.h"
#include "base/str.h"
#include "ui/todo_view.h"

enum { MOST_CHARS = 200 };

/* The first line of text, cut. */
static void add_line(struct buf *out, struct str text)
{
	size_t end = str_find(text, '\n');
	struct str line = { text.ptr, end };
	size_t most = str_char_offset(line, MOST_CHARS);

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

void summary_of_call(const struct part *call, struct buf *out)
{
	static const char *const telling[] = { "command",       "file_path",
					       "pattern",       "path",
					       "subagent_type", NULL };
	cJSON *args = call->args ? json_parse(str_of(call->args)) : NULL;

	add_line(out, str_of(call->name ? call->name : "?"));
	for (size_t i = 0; telling[i]; i++) {
		const char *value = json_string(args, telling[i], NULL);

		if (!value)
			continue;
		buf_adds(out, ": ");
		add_line(out, str_of(value));
		if (!i && json_bool(args, "background", false))
			buf_adds(out, " (in the background)");
		break;
	}
	cJSON_Delete(args);
	add_todos(call, out);
}

void summary_of_result(const struct part *call, struct str result, bool failed,
		       struct buf *out)
{
	size_t at = str_search(result, STR("[Command failed with exit code "));

	(void)call;
	if (failed)
		add_line(out, result);
	else if (at < result.len)
		add_line(out, str_skip(result, at));
}

void summary_of_declined(struct str result, struct buf *out)
{
	struct str why = approval_why(result);

	buf_adds(out, why.len ? "Declined: " : "Declined.");
	add_line(out, why);
}

void summary_to_ascii(struct buf *line)
{
	static const char ellipsis[] = "\xE2\x80\xA6";

	if (!str_ends(buf_str(line), ellipsis))
		return;
	line->len -= sizeof(ellipsis) - 1;
	buf_adds(line, "...");
}
