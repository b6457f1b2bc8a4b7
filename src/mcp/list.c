/* list.c - the tools of one server, as it announced them, cleaned. */
/* SPDX-License-Identifier: MIT */
#include "mcp/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

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
	*l = (struct mcp_list){ 0 };
}

/* What it says of itself only counts when it fits together: a tool that reads
 * only and yet destroys does not. */
static bool only_reads(const cJSON *item)
{
	const cJSON *notes = json_get(item, "annotations");
	const cJSON *destroys = json_get(notes, "destructiveHint");

	return cJSON_IsTrue(json_get(notes, "readOnlyHint")) &&
	       (!destroys || cJSON_IsFalse(destroys));
}

/* At most so many bytes, cut between characters; owned. */
static char *clean_text(const char *text, size_t most)
{
	struct buf clean = BUF_INIT(4 * MCP_DESCRIPTION_MAX);
	struct str raw = { text, strnlen(text, most) };

	raw.len = str_utf8_prefix(raw);
	sanitize_text(raw, &clean);
	return buf_detach(&clean);
}

/* Schemas that vendors refuse would cost the whole request. NULL: too large. */
static char *copy_schema(const cJSON *item)
{
	const cJSON *schema = json_get(item, "inputSchema");
	const cJSON *properties = json_get(schema, "properties");
	struct buf text = BUF_INIT(MCP_SCHEMA_MAX);
	cJSON *copy;

	if (!cJSON_IsObject(schema) ||
	    strcmp(json_string(schema, "type", ""), "object") != 0 ||
	    (properties && !cJSON_IsObject(properties)))
		return xstrdup("{\"type\":\"object\",\"properties\":{}}");
	copy = cJSON_Duplicate(schema, true);
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "$schema");
	if (!properties)
		cJSON_AddItemToObject(copy, "properties", cJSON_CreateObject());
	json_print(&text, copy);
	cJSON_Delete(copy);
	if (!text.over)
		return buf_detach(&text);
	buf_release(&text);
	return NULL;
}

/* A name that a terminal would obey, or that is none, is no tool. */
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

static void add_tool(struct mcp_list *l, const cJSON *item)
{
	const char *name = json_string(item, "name", "");
	struct mcp_tool t = { 0 };
	size_t bytes;

	if (!is_name(name) || is_known(l, name) || l->n >= MCP_TOOLS_MAX) {
		l->left_out++;
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
		release_tool(&t);
		l->left_out++;
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
		return error_set(err, ERR_PROTOCOL,
				 "its answer to tools/list has no list of "
				 "tools");
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
	buf_adds(out, "]}");
}
