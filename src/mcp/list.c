/* list.c - the tools of one server, as announced, sanitized. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at mcp_list_read(). The server is not trusted, and the model
 * reads what it sends. So all texts are sanitized (clean_text(),
 * clean_schema()), a long description is cut, and a tool that is invalid or too
 * large is left out with a reason (note_lost()).
 */
#include "mcp/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

enum {
	MOST_LOST = 5, /* tools named in the line about tools left out */
	MOST_LOST_NAME = 80,
};

static void release_tool(struct mcp_tool *t)
{
	free(t->name);
	free(t->description);
	free(t->schema);
}

void mcp_list_release(struct mcp_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		release_tool(&l->items[i]);
	free(l->items);
	free(l->lost);
	*l = (struct mcp_list){ 0 };
}

/* True if the server marks the tool as read-only and does not also mark it as
 * destructive. */
static bool only_reads(const cJSON *item)
{
	const cJSON *notes = json_get(item, "annotations");
	const cJSON *destroys = json_get(notes, "destructiveHint");

	return cJSON_IsTrue(json_get(notes, "readOnlyHint")) &&
	       (!destroys || cJSON_IsFalse(destroys));
}

/* Returns a sanitized copy of at most `most` bytes; owned. A character at the
 * limit is left out as a whole. */
static char *clean_text(const char *text, size_t most)
{
	struct buf clean = BUF_INIT(4 * MCP_DESCRIPTION_MAX);
	struct str raw = { text, strnlen(text, most) };

	raw.len = str_utf8_prefix(raw);
	sanitize_text(raw, &clean);
	return buf_detach(&clean);
}

/* Returns a sanitized copy (owned), or NULL if the text needs no change.
 * Attack: descriptions with control sequences, or with text that people do not
 * see but models read. */
static char *clean_string(const char *text)
{
	char *clean = clean_text(text, MCP_DESCRIPTION_MAX);

	if (strcmp(clean, text) != 0)
		return clean;
	free(clean);
	return NULL;
}

/* Removes enum values that need sanitizing: in a call, a sanitized value would
 * not be the one that the server expects. */
static void clean_values(cJSON *list)
{
	cJSON *item;
	cJSON *next;

	for (item = list->child; item; item = next) {
		char *clean = cJSON_IsString(item)
				      ? clean_string(item->valuestring)
				      : NULL;

		next = item->next;
		if (clean)
			cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
		free(clean);
	}
}

/* True if the member may keep its name. Names of properties always may:
 * tool_schema.h maps them to names that the vendor accepts. */
static bool is_clean_name(const cJSON *parent, const cJSON *item)
{
	char *clean;

	if (!item->string ||
	    (parent->string && !strcmp(parent->string, "properties")))
		return true;
	clean = clean_string(item->string);
	free(clean);
	return !clean;
}

/* Sanitizes the strings of a schema in place. Removes members whose names need
 * sanitizing. */
static void clean_schema(cJSON *node)
{
	cJSON *item;
	cJSON *next;

	for (item = node->child; item; item = next) {
		char *clean;

		next = item->next;
		if (!is_clean_name(node, item)) {
			cJSON_Delete(cJSON_DetachItemViaPointer(node, item));
			continue;
		}
		if (cJSON_IsArray(item) && item->string &&
		    strcmp(item->string, "enum") == 0)
			clean_values(item);
		clean_schema(item);
		if (node->string && !strcmp(node->string, "required"))
			/* these strings name properties: see is_clean_name() */
			continue;
		clean = cJSON_IsString(item) ? clean_string(item->valuestring)
					     : NULL;
		if (!clean)
			continue;
		cJSON_SetValuestring(item, clean);
		free(clean);
	}
}

/* True if the schema may describe an object. One without "type", such as
 * {"anyOf": [...]}, may. */
static bool is_for_object(const cJSON *schema)
{
	const cJSON *type = json_get(schema, "type");
	const cJSON *item;

	if (cJSON_IsString(type))
		return strcmp(type->valuestring, "object") == 0;
	cJSON_ArrayForEach (item, type)
		if (cJSON_IsString(item) &&
		    strcmp(item->valuestring, "object") == 0)
			return true;
	return cJSON_IsObject(schema) && !cJSON_IsArray(type);
}

/* Returns the tool's input schema as JSON, owned. Its type is set to "object"
 * whatever the server sent. NULL: too large. */
static char *copy_schema(const cJSON *item)
{
	const cJSON *schema = json_get(item, "inputSchema");
	const cJSON *properties = json_get(schema, "properties");
	struct buf text = BUF_INIT(MCP_SCHEMA_MAX);
	cJSON *copy;

	if (!is_for_object(schema) ||
	    (properties && !cJSON_IsObject(properties)))
		return xstrdup("{\"type\":\"object\"}");
	copy = cJSON_Duplicate(schema, true);
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "$schema");
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "type");
	cJSON_AddStringToObject(copy, "type", "object");
	clean_schema(copy);
	json_print(&text, copy);
	cJSON_Delete(copy);
	if (!text.over)
		return buf_detach(&text);
	buf_release(&text);
	return NULL;
}

/* False for an empty name, one that is too long, or one with characters that
 * are not visible ASCII. */
static bool is_name(const char *name)
{
	return name[0] && strlen(name) <= MCP_NAME_MAX &&
	       str_is_visible(str_of(name));
}

static bool is_known(const struct mcp_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->items[i].name, name))
			return true;
	return false;
}

/* Counts a tool that is left out. The names of the first few are recorded for
 * the user. */
static void note_lost(struct mcp_list *l, const char *name, const char *why)
{
	struct buf clean = BUF_INIT(MOST_LOST_NAME);
	char *old = l->lost;

	if (l->left_out++ >= MOST_LOST)
		return;
	sanitize_line(str_of(name[0] ? name : "a tool without a name"), &clean);
	l->lost = xasprintf("%s%s%.*s (%s)", old ? old : "", old ? ", " : "",
			    (int)str_utf8_prefix(buf_str(&clean)),
			    clean.ptr ? clean.ptr : "", why);
	free(old);
	buf_release(&clean);
}

/* Returns why a tool of this name cannot be offered, or NULL if it can. */
static const char *find_fault(const struct mcp_list *l, const char *name)
{
	if (!is_name(name))
		return "invalid name";
	if (is_known(l, name))
		return "the name appears twice";
	return l->n >= MCP_TOOLS_MAX ? "too many tools" : NULL;
}

/* Adds a tool from the server's list, or records why it is left out. */
static void add_tool(struct mcp_list *l, const cJSON *item)
{
	const char *name = json_string(item, "name", "");
	const char *fault = find_fault(l, name);
	struct mcp_tool t = { 0 };
	size_t bytes;

	if (fault) {
		note_lost(l, name, fault);
		return;
	}
	t.name = xstrdup(name);
	t.description = clean_text(json_string(item, "description",
					       json_string(item, "title", "")),
				   MCP_DESCRIPTION_MAX);
	t.schema = copy_schema(item);
	t.reads = only_reads(item);
	bytes = strlen(t.name) + strlen(t.description) +
		(t.schema ? strlen(t.schema) : 0);
	if (!t.schema || l->bytes + bytes > MCP_LIST_MAX) {
		note_lost(l, t.name, "too large");
		release_tool(&t);
		return;
	}
	l->bytes += bytes;
	l->items = xrealloc(l->items, l->n + 1, sizeof(*l->items));
	l->items[l->n++] = t;
}

int mcp_list_read(struct mcp_list *l, const struct mcp_entry *e,
		  const cJSON *result, struct error *err)
{
	const cJSON *list = json_get(result, "tools");
	const cJSON *item;

	if (!cJSON_IsArray(list))
		return error_set(
			err, ERR_PROTOCOL,
			"its answer to tools/list contains no list of tools");
	cJSON_ArrayForEach (item, list)
		if (mcp_entry_offers(e, json_string(item, "name", "")))
			add_tool(l, item);
	return 0;
}

void mcp_list_write(const struct mcp_list *l, struct buf *out)
{
	buf_adds(out, "{\"tools\":[");
	for (size_t i = 0; i < l->n; i++) {
		const struct mcp_tool *t = &l->items[i];

		buf_adds(out, i ? ",{" : "{");
		json_member(out, "name", str_of(t->name));
		buf_addc(out, ',');
		json_member(out, "description", str_of(t->description));
		buf_addf(out, ",\"inputSchema\":%s", t->schema);
		if (t->reads)
			buf_adds(out, ",\"annotations\":{\"readOnlyHint\":"
				      "true}");
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
	if (l->lost) {
		buf_addf(out, ",\"leftOut\":%zu,", l->left_out);
		json_member(out, "lost", str_of(l->lost));
	}
	buf_addc(out, '}');
}

void mcp_list_read_lost(struct mcp_list *l, const cJSON *tree)
{
	const char *lost = json_string(tree, "lost", NULL);
	int64_t n = json_int(tree, "leftOut", 0);

	if (!lost || n <= 0)
		return;
	free(l->lost);
	l->lost = xstrdup(lost);
	l->left_out = (size_t)n;
}
