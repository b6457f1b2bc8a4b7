/* history_vendors.h - how each wire takes a conversation, and the checks of it.
 */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_HISTORY_VENDORS_H
#define UNIT_HISTORY_VENDORS_H

#include "history_check.h"

/* An item of Responses. reasoning: the one before it was of that type. */
static inline const char *check_item(const cJSON *item, bool reasoning,
				     struct check_ids *open,
				     struct check_ids *all)
{
	const char *type = json_string(item, "type", "");
	const char *role = json_string(item, "role", "");
	const char *id = json_string(item, "call_id", "");
	const char *bad = NULL;

	if (!strcmp(type, "function_call_output"))
		return check_remove(open, id) ? NULL : "a result without call";
	if (!strcmp(type, "function_call")) {
		cJSON *args =
			json_parse(str_of(json_string(item, "arguments", "")));

		if (!cJSON_IsObject(args))
			bad = "arguments are no object";
		cJSON_Delete(args);
		if (!check_plain_id(id) || strlen(id) > 64)
			bad = "an odd id";
		return bad ? bad : check_call(item, id, open, all);
	}
	if (!strcmp(type, "reasoning"))
		return open->n ? "reasoning between calls" : NULL;
	if (strcmp(type, "message") != 0)
		return "an odd item";
	if (strcmp(role, "assistant") != 0 && (open->n || reasoning))
		return open->n ? "a call without a result"
			       : "reasoning that led to nothing";
	return json_string(item, "content", NULL) ? NULL : "no content";
}

static inline const char *check_responses(const cJSON *items)
{
	struct check_ids open = { 0 };
	struct check_ids all = { 0 };
	bool reasoning = false;
	const char *role = "";
	const cJSON *item;

	cJSON_ArrayForEach (item, items) {
		const char *bad = check_item(item, reasoning, &open, &all);

		if (bad)
			return bad;
		reasoning = !strcmp(json_string(item, "type", ""), "reasoning");
		role = json_string(item, "role", "");
	}
	return strcmp(role, "user") ? "the last item is no user's" : NULL;
}

/* A part of Gemini's; calls come in answers, results in a turn of the user's.
 */
static inline const char *check_part(const cJSON *part, bool user,
				     struct check_ids *open,
				     struct check_ids *all)
{
	const cJSON *call = json_get(part, "functionCall");
	const cJSON *result = json_get(part, "functionResponse");

	if (result)
		return user && check_remove(open, json_string(result, "id", ""))
			       ? NULL
			       : "a result without call";
	if (call && (user || !cJSON_IsObject(json_get(call, "args"))))
		return "args are no object";
	if (call)
		return check_call(call, json_string(call, "id", ""), open, all);
	return json_string(part, "text", NULL) ? NULL : "an odd part";
}

static inline const char *check_gemini(const cJSON *contents)
{
	struct check_ids open = { 0 };
	struct check_ids all = { 0 };
	bool user = false;
	const cJSON *c;
	const cJSON *part;

	cJSON_ArrayForEach (c, contents) {
		bool answer = !strcmp(json_string(c, "role", ""), "model");
		const char *bad = NULL;

		if (answer && !user)
			return "an answer to nothing";
		user = !answer;
		cJSON_ArrayForEach (part, json_get(c, "parts"))
			bad = bad ? bad : check_part(part, user, &open, &all);
		if (bad)
			return bad;
		if (!cJSON_GetArraySize(json_get(c, "parts")))
			return "no parts";
		if (user && open.n)
			return "a call without a result";
	}
	return user ? NULL : "the last content is no user's";
}

/* A block of Converse as the same one of Messages, which has the same rules. */
static inline cJSON *to_messages_block(const cJSON *block)
{
	const cJSON *call = json_get(block, "toolUse");
	const cJSON *result = json_get(block, "toolResult");
	const char *text = json_string(block, "text", NULL);
	cJSON *out = cJSON_CreateObject();

	cJSON_AddStringToObject(out, "type",
				call     ? "tool_use"
				: result ? "tool_result"
				: text   ? "text"
					 : "thinking");
	cJSON_AddStringToObject(out, "text", text ? text : "");
	cJSON_AddStringToObject(out, "id", json_string(call, "toolUseId", ""));
	cJSON_AddStringToObject(out, "tool_use_id",
				json_string(result, "toolUseId", ""));
	if (call)
		cJSON_AddItemToObject(
			out, "input",
			cJSON_Duplicate(json_get(call, "input"), true));
	return out;
}

static inline const char *check_bedrock(const cJSON *messages)
{
	cJSON *list = cJSON_CreateArray();
	const char *bad;
	const cJSON *m;
	const cJSON *block;

	cJSON_ArrayForEach (m, messages) {
		cJSON *one = cJSON_CreateObject();
		cJSON *content = cJSON_AddArrayToObject(one, "content");

		cJSON_AddStringToObject(one, "role",
					json_string(m, "role", ""));
		cJSON_ArrayForEach (block, json_get(m, "content"))
			cJSON_AddItemToArray(content, to_messages_block(block));
		cJSON_AddItemToArray(list, one);
	}
	bad = check_anthropic(list);
	cJSON_Delete(list);
	return bad;
}

#define CLAUDE "anthropic anthropic"
#define KIMI "openai-chat moonshot"
#define GPT "openai-responses openai"
#define GEMINI "gemini google_genai"
#define BEDROCK "bedrock bedrock"

/* How each of them takes a conversation, and what stands around the pieces. */
static const struct vendor {
	const char *origin;
	const struct wire *wire;
	const char *before, *after;
	const char *(*check)(const cJSON *messages);
	const char *thought; /* a replay of its own */
} vendors[] = {
	{ CLAUDE, &wire_anthropic, "[", "]}]", check_anthropic,
	  "{\"type\":\"thinking\"}" },
	{ KIMI, &wire_openai_chat, "[{\"role\":\"system\"}", "]", check_chat,
	  "{\"reasoning_content\":\"x\"}" },
	{ GPT, &wire_openai_responses, "[", "]", check_responses,
	  "{\"type\":\"reasoning\",\"summary\":[]}" },
	{ GEMINI, &wire_gemini, "[", "]}]", check_gemini,
	  "{\"thoughtSignature\":\"x\"}" },
	{ BEDROCK, &wire_bedrock, "[", "]}]", check_bedrock,
	  "{\"reasoningContent\":{}}" },
};

enum { N_VENDORS = sizeof(vendors) / sizeof(vendors[0]) };

/* That of the same wire. */
static const struct vendor *vendor_of(const char *origin)
{
	size_t i = 0;
	size_t len = strcspn(origin, " ");

	while (strncmp(vendors[i].origin, origin, len + 1) != 0)
		i++;
	return &vendors[i];
}

#endif
