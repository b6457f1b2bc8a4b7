/* openai_details.c - OpenRouter's reasoning_details, streamed in pieces. */
/* SPDX-License-Identifier: MIT */
/* What was streamed goes back as the sequence of whole blocks (RooCodeInc
 * /Roo-Code pull request 9506, read 2026-11-20). */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/args.h"
#include "model/wires/openai_chat.h"

/* The member that grows from piece to piece, or NULL. */
static const char *find_growing(const cJSON *item)
{
	const char *type = json_string(item, "type", "");

	if (strcmp(type, "reasoning.text") == 0)
		return "text";
	return strcmp(type, "reasoning.summary") == 0 ? "summary" : NULL;
}

static bool same_block(const cJSON *a, const cJSON *b)
{
	const char *key = find_growing(a);

	return key && b && find_growing(b) &&
	       strcmp(key, find_growing(b)) == 0 &&
	       json_int(a, "index", 0) == json_int(b, "index", 0);
}

static void set_member(cJSON *object, const char *key, cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, key);
	cJSON_AddItemToObject(object, key, value);
}

/* Everything that later pieces say (a signature comes last) is kept. */
static void merge_members(cJSON *into, const cJSON *piece)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, piece)
		if (!cJSON_IsNull(item) && item->string)
			set_member(into, item->string,
				   cJSON_Duplicate(item, true));
}

/* Makes one block of first and the pieces after it that belong to it. */
static void join(cJSON *list, cJSON *first)
{
	const char *key = find_growing(first);
	struct buf text = BUF_INIT(DRAFT_MAX_TEXT);

	if (!same_block(first, first->next))
		return;
	buf_adds(&text, json_string(first, key, ""));
	while (same_block(first, first->next)) {
		cJSON *piece = cJSON_DetachItemViaPointer(list, first->next);

		buf_adds(&text, json_string(piece, key, ""));
		merge_members(first, piece);
		cJSON_Delete(piece);
	}
	set_member(first, key, cJSON_CreateString(text.ptr));
	buf_release(&text);
}

void openai_details_add(struct buf *pieces, const cJSON *list)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		if (!cJSON_IsObject(item))
			continue;
		buf_addc(pieces, pieces->len ? ',' : '[');
		json_print(pieces, item);
	}
}

void openai_details_print(const struct buf *pieces, struct buf *out)
{
	struct buf whole = BUF_INIT(SIZE_MAX / 2);
	cJSON *list;

	buf_addstr(&whole, buf_str(pieces));
	buf_addc(&whole, ']');
	list = args_strict(buf_str(&whole)) ? json_parse(buf_str(&whole))
					    : NULL;
	for (cJSON *item = list ? list->child : NULL; item; item = item->next)
		join(list, item);
	if (list) {
		buf_adds(out, "{\"reasoning_details\":");
		json_print(out, list);
		buf_addc(out, '}');
	}
	cJSON_Delete(list);
	buf_release(&whole);
}
