/* wire.c - tools and their arguments as hooks written for Claude Code know
 * them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "hooks/hooks.h"

/* A field of a tool, and how its value differs. */
enum conversion { AS_IT_IS, MILLISECONDS, FROM_ONE, PATTERN };

struct wire_field {
	const char *ours, *wire;
	enum conversion how;
};

struct wire_tool {
	const char *ours, *wire;
	struct wire_field fields[7];
};

static const struct wire_tool table[] = {
	{ "execute",
	  "Bash",
	  { { "command", "command", AS_IT_IS },
	    { "timeout", "timeout", MILLISECONDS } } },
	{ "write_file",
	  "Write",
	  { { "file_path", "file_path", AS_IT_IS },
	    { "content", "content", AS_IT_IS } } },
	{ "edit_file",
	  "Edit",
	  { { "file_path", "file_path", AS_IT_IS },
	    { "old_string", "old_string", AS_IT_IS },
	    { "new_string", "new_string", AS_IT_IS },
	    { "replace_all", "replace_all", AS_IT_IS } } },
	{ "read_file",
	  "Read",
	  { { "file_path", "file_path", AS_IT_IS },
	    { "offset", "offset", FROM_ONE },
	    { "limit", "limit", AS_IT_IS } } },
	{ "glob",
	  "Glob",
	  { { "pattern", "pattern", AS_IT_IS },
	    { "path", "path", AS_IT_IS } } },
	{ "grep",
	  "Grep",
	  { { "pattern", "pattern", PATTERN },
	    { "path", "path", AS_IT_IS },
	    { "glob", "glob", AS_IT_IS },
	    { "output_mode", "output_mode", AS_IT_IS },
	    { "max_count", "head_limit", AS_IT_IS } } },
	{ "ls", "LS", { { "path", "path", AS_IT_IS } } },
};

static const struct wire_tool *find(const char *tool)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].ours, tool))
			return &table[i];
	return NULL;
}

const char *hook_tool_name(const char *tool)
{
	const struct wire_tool *t = find(tool);

	return t ? t->wire : tool;
}

static const char special[] = "\\.^$*+?{}[]|()";

/* grep looks for a text, the wire's for a regular expression. */
static cJSON *escape(const char *text)
{
	struct buf out = BUF_INIT(1 << 20);
	cJSON *item;

	for (; *text; text++) {
		if (strchr(special, *text))
			buf_addc(&out, '\\');
		buf_addc(&out, *text);
	}
	item = cJSON_CreateString(out.len ? out.ptr : "");
	buf_release(&out);
	return item;
}

static cJSON *unescape(const char *text)
{
	struct buf out = BUF_INIT(1 << 20);
	cJSON *item;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] && strchr(special, text[1]))
			text++;
		buf_addc(&out, *text);
	}
	item = cJSON_CreateString(out.len ? out.ptr : "");
	buf_release(&out);
	return item;
}

static cJSON *convert(const cJSON *value, enum conversion how, bool to_wire)
{
	if (cJSON_IsNumber(value) && how == MILLISECONDS)
		return cJSON_CreateNumber(to_wire ? value->valuedouble * 1000
						  : value->valuedouble / 1000);
	if (cJSON_IsNumber(value) && how == FROM_ONE)
		return cJSON_CreateNumber(value->valuedouble +
					  (to_wire ? 1 : -1));
	if (cJSON_IsString(value) && how == PATTERN)
		return to_wire ? escape(value->valuestring)
			       : unescape(value->valuestring);
	return cJSON_Duplicate(value, true);
}

cJSON *hook_tool_input(const char *tool, const cJSON *args)
{
	const struct wire_tool *t = find(tool);
	cJSON *input;

	if (!t)
		return cJSON_Duplicate(args, true);
	input = cJSON_CreateObject();
	for (const struct wire_field *f = t->fields; f->ours; f++) {
		const cJSON *value = json_get(args, f->ours);

		if (value && !cJSON_IsNull(value))
			cJSON_AddItemToObject(input, f->wire,
					      convert(value, f->how, true));
	}
	return input;
}

cJSON *hook_tool_args(const char *tool, const cJSON *args, const cJSON *input)
{
	const struct wire_tool *t = find(tool);
	cJSON *changed;

	if (!t)
		return cJSON_Duplicate(input, true);
	changed = cJSON_Duplicate(args, true);
	for (const struct wire_field *f = t->fields; f->ours; f++) {
		const cJSON *value = json_get(input, f->wire);

		cJSON_DeleteItemFromObjectCaseSensitive(changed, f->ours);
		if (value && !cJSON_IsNull(value))
			cJSON_AddItemToObject(changed, f->ours,
					      convert(value, f->how, false));
	}
	return changed;
}
