/* window_file.c - what servers have said of their models, between runs. */
/* SPDX-License-Identifier: MIT */
#include "model/server/window_file.h"

#include "base/json_split.h"
#include "base/path.h"
#include "base/stop.h"

enum {
	MAX_FILE = 256 << 10,
	MAX_ENTRIES = 200,
	FRESH_S = 24 * 3600,
};

/* The object of entries by name; the caller deletes it. */
static cJSON *read_file(const char *path)
{
	struct buf text = BUF_INIT(MAX_FILE);
	struct error ignored = { 0 };
	cJSON *tree = NULL;

	if (path_read(path, &text, &ignored) == 0 &&
	    json_split_is_object(buf_str(&text)))
		tree = json_parse(buf_str(&text));
	buf_release(&text);
	return tree;
}

bool window_file_read(const char *path, const char *name,
		      struct server_limits *limits, bool *fresh)
{
	cJSON *tree = read_file(path);
	const cJSON *entry = json_get(tree, name);
	int64_t now = clock_unix_ms() / 1000;
	int64_t asked = json_int(entry, "asked", 0);
	bool found = cJSON_IsObject(entry);

	limits->context = json_int(entry, "context", 0);
	limits->max_output = json_int(entry, "max_output", 0);
	*fresh = found && asked <= now && now - asked < FRESH_S;
	cJSON_Delete(tree);
	return found;
}

static void drop_oldest(cJSON *tree)
{
	const cJSON *oldest = tree->child;
	const cJSON *item;

	cJSON_ArrayForEach (item, tree)
		if (json_int(item, "asked", 0) < json_int(oldest, "asked", 0))
			oldest = item;
	cJSON_Delete(cJSON_DetachItemViaPointer(tree, (cJSON *)oldest));
}

void window_file_add(const char *path, const char *name,
		     const struct server_limits *limits)
{
	cJSON *tree = read_file(path);
	cJSON *entry = cJSON_CreateObject();
	int64_t now = clock_unix_ms() / 1000;
	struct buf text = BUF_INIT(MAX_FILE);
	struct error ignored = { 0 };

	if (!tree)
		tree = cJSON_CreateObject();
	cJSON_DeleteItemFromObjectCaseSensitive(tree, name);
	while (cJSON_GetArraySize(tree) >= MAX_ENTRIES)
		drop_oldest(tree);
	cJSON_AddNumberToObject(entry, "context", (double)limits->context);
	cJSON_AddNumberToObject(entry, "max_output",
				(double)limits->max_output);
	cJSON_AddNumberToObject(entry, "asked", (double)now);
	cJSON_AddItemToObject(tree, name, entry);
	json_print(&text, tree);
	if (!text.over)
		(void)path_write(path, buf_str(&text), 0600, &ignored);
	cJSON_Delete(tree);
	buf_release(&text);
}
