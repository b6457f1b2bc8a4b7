/* history_check.h - whether vendors would take a conversation. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_HISTORY_CHECK_H
#define UNIT_HISTORY_CHECK_H

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/wire.h"

/* Ids of calls: those that wait for a result, and all that there were. */
struct check_ids {
	const char *list[512];
	size_t n;
};

static inline bool check_has(const struct check_ids *ids, const char *id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (strcmp(ids->list[i], id) == 0)
			return true;
	return false;
}

static inline bool check_remove(struct check_ids *ids, const char *id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (strcmp(ids->list[i], id) == 0) {
			ids->list[i] = ids->list[--ids->n];
			return true;
		}
	return false;
}

static inline bool check_plain_id(const char *id)
{
	for (const char *c = id; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
			return false;
	return id[0] != '\0';
}

static inline const char *check_call(const cJSON *call, const char *id,
				     struct check_ids *open,
				     struct check_ids *all)
{
	(void)call;
	if (!id || !id[0])
		return "a call without an id";
	if (check_has(all, id))
		return "two calls of one id";
	open->list[open->n++] = id;
	all->list[all->n++] = id;
	return NULL;
}

static inline const char *check_block(const cJSON *b, bool user, size_t *texts,
				      struct check_ids *open,
				      struct check_ids *all)
{
	const char *type = json_string(b, "type", "");
	const char *id = json_string(b, user ? "tool_use_id" : "id", "");

	if (!strcmp(type, "text")) {
		++*texts;
		return str_trim(str_of(json_string(b, "text", ""))).len
			       ? NULL
			       : "a blank text";
	}
	if (user && !strcmp(type, "tool_result")) {
		if (*texts)
			return "a result after text";
		return check_remove(open, id) ? NULL : "a result without call";
	}
	if (!user && !strcmp(type, "tool_use")) {
		if (!cJSON_IsObject(json_get(b, "input")))
			return "input is no object";
		return check_plain_id(id) ? check_call(b, id, open, all)
					  : "an id with odd characters";
	}
	return !user && !strcmp(type, "thinking") ? NULL : "an odd block";
}

/* What is wrong with the messages of a request, or NULL. */
static inline const char *check_anthropic(const cJSON *messages)
{
	struct check_ids open = { 0 };
	struct check_ids all = { 0 };
	const char *last = "assistant";
	const char *type = "";
	const cJSON *m;
	const cJSON *b;

	cJSON_ArrayForEach (m, messages) {
		const char *role = json_string(m, "role", "");
		bool user = !strcmp(role, "user");
		const char *bad = NULL;
		size_t texts = 0;

		if (!strcmp(role, last))
			return "two messages of one role in a row";
		last = role;
		cJSON_ArrayForEach (b, json_get(m, "content")) {
			bad = bad ? bad
				  : check_block(b, user, &texts, &open, &all);
			type = json_string(b, "type", "");
		}
		if (bad)
			return bad;
		if (!cJSON_GetArraySize(json_get(m, "content")))
			return "empty content";
		if (user && open.n)
			return "a call without a result";
		if (!user && !strcmp(type, "thinking"))
			return "thinking at the end";
	}
	return strcmp(last, "user") ? "the last message is no user's" : NULL;
}

static inline const char *check_answer(const cJSON *m, struct check_ids *open,
				       struct check_ids *all)
{
	const cJSON *calls = json_get(m, "tool_calls");
	const cJSON *call;

	if (!calls && !json_string(m, "content", "")[0])
		return "an answer with neither text nor calls";
	cJSON_ArrayForEach (call, calls) {
		const cJSON *f = json_get(call, "function");
		cJSON *args =
			json_parse(str_of(json_string(f, "arguments", "")));
		bool ok = cJSON_IsObject(args);
		const char *bad = check_call(
			call, json_string(call, "id", NULL), open, all);

		cJSON_Delete(args);
		if (bad || !ok)
			return bad ? bad : "arguments are no object";
	}
	return NULL;
}

/* The first message is the system's. */
static inline const char *check_chat(const cJSON *messages)
{
	struct check_ids open = { 0 };
	struct check_ids all = { 0 };
	const char *last = "";
	const cJSON *m;

	cJSON_ArrayForEach (m, messages) {
		const char *role = json_string(m, "role", "");
		const char *bad = NULL;

		if (!strcmp(role, "tool")) {
			if (!check_remove(&open,
					  json_string(m, "tool_call_id", "")))
				return "a result without a call";
		} else if (open.n) {
			return "a call without a result";
		} else if (!strcmp(role, last)) {
			return "two messages of one role in a row";
		} else if (!strcmp(role, "user")) {
			bad = strcmp(last, "tool") ? NULL
						   : "a prompt after results";
		} else if (!strcmp(role, "assistant")) {
			bad = !strcmp(last, "system")
				      ? "an answer comes first"
				      : check_answer(m, &open, &all);
		}
		if (bad)
			return bad;
		last = role;
	}
	return strcmp(last, "user") ? "the last message is no user's" : NULL;
}

#endif
