/* args.c - JSON Schema of a tool's arguments, and checks of a model's call. */
/* SPDX-License-Identifier: MIT */
/*
 * tool_schema() turns the parameters of a tool (.args) into the schema for the
 * model, and args_read() checks a call against them. Error messages are worded
 * like those of Python's pydantic, which models know.
 */
#include "tool/args.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tool/result.h"
#include "tool/tool.h"

enum { SCHEMA_MAX = 64 << 10 };

/* Appends the part of the schema that says what type the argument has. */
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

/* Appends one parameter to the schema's properties. An optional one without a
 * default may be null. */
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

char *tool_schema(const struct tool *tool, bool hosts)
{
	struct buf out = BUF_INIT(SCHEMA_MAX);
	bool any = false;

	if (tool->spec.schema)
		return xstrdup(tool->spec.schema);
	buf_adds(&out, "{\"type\":\"object\",\"properties\":{");
	for (const struct tool_arg *arg = tool->args; arg->name; arg++) {
		if (arg->for_hosts && !hosts)
			continue;
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

/* characters of the arguments that an error repeats */
enum { KWARGS_CHARS = 2000 };

/* 2^53: larger integers are not exact as a double */
static const double max_integer = 9007199254740992.0;

/* True if the JSON contains \u0000, which would end a C string early. */
static bool has_nul(struct str json)
{
	for (size_t i = 0; i + 1 < json.len; i++) {
		if (json.ptr[i] != '\\')
			continue;
		if (str_starts(str_skip(json, i), "\\u0000"))
			return true;
		i++;
	}
	return memchr(json.ptr, '\0', json.len) != NULL;
}

/* Accepts a string that contains an integer: some models quote numbers. */
static const char *check_int_text(const char *text, double *value)
{
	int64_t whole;

	if (!str_to_int(str_trim(str_of(text)), &whole) ||
	    (double)whole > max_integer || (double)whole < -max_integer)
		return "Input should be a valid integer, unable to parse "
		       "string as an integer";
	*value = (double)whole;
	return NULL;
}

/* Each check_ function returns an error message, or NULL if the value is
 * accepted. It then has the right type: it was converted in args if
 * necessary. */
static const char *check_int(const struct tool_arg *arg, cJSON *args,
			     const cJSON *item)
{
	const char *wrong = NULL;
	double value = item->valuedouble;

	if (cJSON_IsString(item))
		wrong = check_int_text(item->valuestring, &value);
	else if (!cJSON_IsNumber(item) || !(value <= max_integer) ||
		 !(value >= -max_integer))
		wrong = "Input should be a valid integer";
	else if (value != (double)(int64_t)value)
		wrong = "Input should be a valid integer, got a number with a "
			"fractional part";
	if (!wrong && arg->positive && value < 1)
		wrong = "Input should be greater than 0";
	if (!wrong && cJSON_IsString(item))
		cJSON_ReplaceItemInObjectCaseSensitive(
			args, arg->name, cJSON_CreateNumber(value));
	return wrong;
}

/* Accepts true, false, their names as strings, and 1 and 0. */
static const char *check_bool(const struct tool_arg *arg, cJSON *args,
			      const cJSON *item)
{
	bool value;

	if (cJSON_IsBool(item))
		return NULL;
	if (cJSON_IsString(item) &&
	    str_is_nocase(str_of(item->valuestring), "true"))
		value = true;
	else if (cJSON_IsString(item) &&
		 str_is_nocase(str_of(item->valuestring), "false"))
		value = false;
	else if (cJSON_IsNumber(item) &&
		 (item->valuedouble == 1 || item->valuedouble == 0))
		value = item->valuedouble == 1;
	else
		return "Input should be a valid boolean";
	cJSON_ReplaceItemInObjectCaseSensitive(args, arg->name,
					       cJSON_CreateBool(value));
	return NULL;
}

static const char *check_list(const struct tool_arg *arg, const cJSON *item,
			      struct buf *wrong)
{
	if (!cJSON_IsArray(item))
		return "Input should be a valid list";
	arg->check(item, wrong);
	return NULL;
}

static bool is_choice(const struct tool_arg *arg, const char *text)
{
	for (size_t i = 0; arg->choices[i]; i++)
		if (!strcmp(arg->choices[i], text))
			return true;
	return false;
}

static void add_choices(const struct tool_arg *arg, struct buf *out)
{
	buf_adds(out, "Input should be ");
	for (size_t i = 0; arg->choices[i]; i++) {
		if (i)
			buf_adds(out, arg->choices[i + 1] ? ", " : " or ");
		buf_addf(out, "'%s'", arg->choices[i]);
	}
}

/* Checks one argument. Appends " NAME: message" and a line break if it is
 * wrong. */
static void check_arg(const struct tool_arg *arg, cJSON *args,
		      struct buf *wrong)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(args, arg->name);
	const char *why = NULL;

	/* Models send null for arguments that they leave out. */
	while (!arg->required && cJSON_IsNull(item)) {
		cJSON_DeleteItemFromObjectCaseSensitive(args, arg->name);
		item = cJSON_GetObjectItemCaseSensitive(args, arg->name);
	}
	if (!item && !arg->required)
		return;
	if (!item)
		why = "Field required";
	else if (arg->type == ARG_INT)
		why = check_int(arg, args, item);
	else if (arg->type == ARG_BOOL)
		why = check_bool(arg, args, item);
	else if (arg->type == ARG_LIST)
		why = check_list(arg, item, wrong);
	else if (!cJSON_IsString(item))
		why = "Input should be a valid string";
	else if (!arg->choices || is_choice(arg, item->valuestring))
		return;
	if (!why && arg->type != ARG_STRING)
		return;
	buf_addf(wrong, " %s: ", arg->name);
	if (why)
		buf_adds(wrong, why);
	else
		add_choices(arg, wrong);
	buf_addc(wrong, '\n');
}

/* Appends the result of a call with wrong arguments. It repeats the arguments,
 * shortened. */
static void add_complaint(const char *tool, const cJSON *args, struct str wrong,
			  struct buf *out)
{
	struct buf kwargs = BUF_INIT(RESULT_RAW_BYTES);

	pylist_value(&kwargs, args, RESULT_ECHO_CHARS);
	buf_addf(out, "Error invoking tool '%s' with kwargs ", tool);
	if (!result_clip(buf_str(&kwargs), KWARGS_CHARS, out))
		buf_adds(out, "...");
	buf_adds(out, " with error:\n");
	buf_addstr(out, wrong);
	buf_adds(out, " Please fix the error and try again.");
	buf_release(&kwargs);
}

cJSON *args_read(const struct tool *tool, const struct part *call,
		 struct buf *out)
{
	struct str text = str_trim(str_of(call->args));
	struct buf wrong = BUF_INIT(RESULT_RAW_BYTES);
	cJSON *args = NULL;

	if (!text.len)
		text = STR("{}");
	if (!call->bad_args)
		args = json_parse(text);
	if (!cJSON_IsObject(args)) {
		buf_addf(out,
			 "Tool call %s with id %s could not be executed - "
			 "arguments were malformed or truncated.",
			 tool->spec.name, call->id ? call->id : "unknown");
		cJSON_Delete(args);
		return NULL;
	}
	if (has_nul(text))
		buf_adds(&wrong, " arguments: a string contains the character "
				 "NUL (\\u0000), which cannot be passed on\n");
	for (const struct tool_arg *arg = tool->args; arg->name; arg++)
		check_arg(arg, args, &wrong);
	if (wrong.len) {
		add_complaint(tool->spec.name, args, buf_str(&wrong), out);
		cJSON_Delete(args);
		args = NULL;
	}
	buf_release(&wrong);
	return args;
}
