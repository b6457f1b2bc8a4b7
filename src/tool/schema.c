/* schema.c - a tool's rows of arguments as a JSON Schema. */
/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/str.h"
#include "tool/tool.h"

enum { SCHEMA_MAX = 64 << 10 };

static void add_type(struct buf *out, const struct tool_arg *arg)
{
	static const char *const names[] = { [ARG_STRING] = "string",
					     [ARG_INT] = "integer",
					     [ARG_BOOL] = "boolean",
					     [ARG_LIST] = "array" };

	buf_addf(out, "\"type\":\"%s\"", names[arg->type]);
	if (arg->positive)
		buf_adds(out, ",\"exclusiveMinimum\":0");
	if (arg->items)
		buf_addf(out, ",\"items\":%s", arg->items);
	for (size_t i = 0; arg->choices && arg->choices[i]; i++) {
		buf_adds(out, i ? "," : ",\"enum\":[");
		json_quote(out, str_of(arg->choices[i]));
	}
	buf_adds(out, arg->choices ? "]" : "");
}

/* One without a default of its own may be null. */
static void add_property(struct buf *out, const struct tool_arg *arg)
{
	json_quote(out, str_of(arg->name));
	buf_adds(out, ":{");
	if (arg->required || arg->fallback) {
		add_type(out, arg);
	} else {
		buf_adds(out, "\"anyOf\":[{");
		add_type(out, arg);
		buf_adds(out, "},{\"type\":\"null\"}]");
	}
	if (!arg->required)
		buf_addf(out, ",\"default\":%s",
			 arg->fallback ? arg->fallback : "null");
	if (arg->description) {
		buf_adds(out, ",\"description\":");
		json_quote(out, str_of(arg->description));
	}
	buf_addc(out, '}');
}

char *tool_schema(const struct tool *tool)
{
	struct buf out = BUF_INIT(SCHEMA_MAX);
	bool any = false;

	if (tool->spec.schema)
		return xstrdup(tool->spec.schema);
	buf_adds(&out, "{\"type\":\"object\",\"properties\":{");
	for (const struct tool_arg *arg = tool->args; arg->name; arg++) {
		if (arg != tool->args)
			buf_addc(&out, ',');
		add_property(&out, arg);
	}
	buf_adds(&out, "},\"required\":[");
	for (const struct tool_arg *arg = tool->args; arg->name; arg++) {
		if (!arg->required)
			continue;
		if (any)
			buf_addc(&out, ',');
		json_quote(&out, str_of(arg->name));
		any = true;
	}
	buf_adds(&out, "]}");
	return buf_detach(&out);
}
