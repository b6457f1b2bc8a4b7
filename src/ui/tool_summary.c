/* tool_summary.c - what matters of a call's arguments, on one line. */
/* SPDX-License-Identifier: MIT */
#include "ui/tool_summary.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"

enum {
	MOST_CHARS = 200, /* of a value */
	NAME_MAX_BYTES = 64,
};

/* The first line of text, cut. */
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

/* Appends the argument of this name, nothing for true; false: the call has
 * none, or that is false. */
static bool add_argument(const cJSON *args, struct str name, struct buf *out)
{
	char key[NAME_MAX_BYTES + 1] = "";
	const cJSON *item;

	if (name.len > NAME_MAX_BYTES)
		return false;
	memcpy(key, name.ptr, name.len);
	item = json_get(args, key);
	if (cJSON_IsString(item))
		add_value(str_of(item->valuestring), out);
	else if (cJSON_IsNumber(item))
		buf_addf(out, "%" PRId64, json_int(args, key, 0));
	return cJSON_IsString(item) || cJSON_IsNumber(item) ||
	       cJSON_IsTrue(item);
}

/* Appends a part with its "{argument}"s replaced; false when one is missing. */
static bool add_part(struct str part, const cJSON *args, struct buf *out)
{
	bool whole = true;

	while (part.len) {
		size_t at = str_find(part, '{');
		struct str name = str_skip(part, at + 1);

		buf_add(out, part.ptr, at);
		if (at == part.len)
			break;
		name.len = str_find(name, '}');
		whole = add_argument(args, name, out) && whole;
		part = str_skip(part, at + name.len + 2);
	}
	return whole;
}

/* "[...]" is left out where an argument within it is missing. */
static void add_summary(struct str summary, const cJSON *args, struct buf *out)
{
	while (summary.len) {
		size_t at = str_find(summary, '[');
		struct str part = str_skip(summary, at + 1);
		size_t before;

		add_part((struct str){ summary.ptr, at }, args, out);
		if (at == summary.len)
			break;
		part.len = str_find(part, ']');
		before = out->len;
		if (!add_part(part, args, out))
			out->len = before;
		summary = str_skip(summary, at + part.len + 2);
	}
}

void tool_summary_add(const struct tool *tool, const cJSON *args,
		      struct str raw, struct buf *out)
{
	if (tool && args && tool->summary)
		add_summary(str_of(tool->summary), args, out);
	else
		add_value(raw, out);
}
