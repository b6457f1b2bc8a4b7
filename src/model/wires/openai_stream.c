/* openai_stream.c - answers of Chat Completions and its imitators. */
/* SPDX-License-Identifier: MIT */
/* Facts: openai-python of 2026-08-21 (types/chat/chat_completion_chunk.py),
 * read 2026-11-20; departures of others are named where they are met. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/args.h"
#include "model/failure.h"
#include "model/wire.h"
#include "model/wires/openai_chat.h"

enum { KEY_OVER = -1, KEY_NONE = -2 }; /* of calls */

static int add(struct draft *d, enum part_kind kind, const char *text,
	       struct error *err)
{
	struct draft_part *p;

	if (!text || !text[0])
		return 0;
	p = draft_find(d, kind, 0);
	if (!p)
		p = draft_part(d, kind, 0, err);
	return p ? draft_add(d, p, str_of(text), err) : -1;
}

/* Mistral's reasoning models send content as a list of parts. */
static int content_list(struct draft *d, const cJSON *list, struct error *err)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		const cJSON *inner = json_get(item, "thinking");
		const cJSON *thought;

		if (add(d, PART_TEXT, json_string(item, "text", NULL), err) < 0)
			return -1;
		if (cJSON_IsString(inner) &&
		    add(d, PART_THINKING, inner->valuestring, err) < 0)
			return -1;
		if (!cJSON_IsArray(inner))
			continue;
		cJSON_ArrayForEach (thought, inner)
			if (add(d, PART_THINKING,
				json_string(thought, "text", NULL), err) < 0)
				return -1;
	}
	return 0;
}

static struct draft_part *thoughts(struct draft *d, struct error *err)
{
	struct draft_part *p = draft_find(d, PART_THINKING, 0);

	return p ? p : draft_part(d, PART_THINKING, 0, err);
}

/* OpenRouter, beside "reasoning": what the vendor behind it wants back. */
static int details(struct draft *d, const cJSON *list, struct error *err)
{
	struct draft_part *p;

	if (!cJSON_IsArray(list) || !list->child)
		return 0;
	p = thoughts(d, err);
	if (!p)
		return -1;
	if (!p->extra.len || p->extra.ptr[0] == '[')
		openai_details_add(&p->extra, list);
	return buf_check(&p->extra, "the model's reasoning", err);
}

/* "reasoning_content": DeepSeek, Kimi, xAI, llama.cpp. "reasoning":
 * OpenRouter, Groq, Cerebras, newer vLLM; some send both. */
static int thinking(struct draft *d, const cJSON *delta, struct error *err)
{
	const char *text = json_string(delta, "reasoning_content", NULL);
	struct draft_part *p;

	if (details(d, json_get(delta, "reasoning_details"), err) < 0)
		return -1;
	if (!text)
		return add(d, PART_THINKING,
			   json_string(delta, "reasoning", NULL), err);
	if (add(d, PART_THINKING, text, err) < 0)
		return -1;
	p = draft_find(d, PART_THINKING, 0);
	if (p && !p->extra.len)
		buf_adds(&p->extra, "reasoning_content");
	return 0;
}

static struct draft_part *last_call(struct draft *d)
{
	for (size_t i = d->n; i > 0; i--)
		if (d->parts[i - 1].kind == PART_TOOL_CALL)
			return &d->parts[i - 1];
	return NULL;
}

static struct draft_part *call_by_id(struct draft *d, const char *id)
{
	for (size_t i = d->n; i > 0; i--)
		if (d->parts[i - 1].kind == PART_TOOL_CALL &&
		    d->parts[i - 1].id && strcmp(d->parts[i - 1].id, id) == 0)
			return &d->parts[i - 1];
	return NULL;
}

/* A whole object is there, so what comes with a name is another call. */
static bool is_whole(const struct draft_part *p)
{
	return p->text.len && p->text.ptr[p->text.len - 1] == '}' &&
	       args_strict(buf_str(&p->text));
}

/*
 * The call that a delta belongs to. By the book: index says. Met besides:
 * every call under index 0, each with an id of its own (Gemini's compatible
 * endpoint); no index (old Ollama, Mistral's first versions); neither index
 * nor id, whole calls; an index from the second delta on. NULL: a new one.
 */
static struct draft_part *call_of(struct draft *d, int64_t key, const char *id,
				  const char *name)
{
	struct draft_part *p = NULL;

	if (key >= 0)
		p = draft_find(d, PART_TOOL_CALL, key);
	else if (id)
		return call_by_id(d, id);
	if (!p && !id && (key < 0 || !name))
		p = last_call(d);
	if (!p || !name)
		return p;
	/* a new id alone is noise; with a name it is a new call */
	if (id && p->id && strcmp(p->id, id) != 0)
		p->key = KEY_OVER;
	else if (!id && is_whole(p))
		p->key = KEY_OVER;
	return p->key == KEY_OVER ? NULL : p;
}

static const char *filled(const cJSON *object, const char *key)
{
	const char *text = json_string(object, key, NULL);

	return text && text[0] ? text : NULL;
}

static int call_args(struct draft *d, struct draft_part *p, const cJSON *args,
		     struct error *err)
{
	struct buf text = BUF_INIT(DRAFT_MAX_ARGS + 1);
	int rc;

	if (cJSON_IsString(args))
		return draft_add(d, p, str_of(args->valuestring), err);
	if (!cJSON_IsObject(args))
		return 0;
	/* Ollama's own form: an object instead of its text */
	json_print(&text, args);
	rc = draft_add(d, p, buf_str(&text), err);
	buf_release(&text);
	return rc;
}

static int call_delta(struct draft *d, const cJSON *call, struct error *err)
{
	const cJSON *function = json_get(call, "function");
	const cJSON *extra = json_get(call, "extra_content");
	const char *id = filled(call, "id");
	const char *name = filled(function, "name");
	int64_t key = json_int(call, "index", KEY_NONE);
	struct draft_part *p = call_of(d, key, id, name);

	if (!p)
		p = draft_part(d, PART_TOOL_CALL, key, err);
	if (!p)
		return -1;
	draft_name(&p->id, id);
	draft_name(&p->name, name);
	/* Gemini's thought signatures travel here and must come back
	 * (discuss.ai.google.dev topic 109823, read 2026-11-20) */
	if (cJSON_IsObject(extra)) {
		buf_clear(&p->extra);
		json_print(&p->extra, extra);
		if (!args_strict(buf_str(&p->extra)))
			buf_clear(&p->extra); /* it could not be sent back */
	}
	return call_args(d, p, json_get(function, "arguments"), err);
}

static int call_list(struct draft *d, const cJSON *calls, struct error *err)
{
	const cJSON *call;

	if (cJSON_IsObject(calls))
		return call_delta(d, calls, err);
	cJSON_ArrayForEach (call, calls)
		if (call_delta(d, call, err) < 0)
			return -1;
	return 0;
}

/* OpenAI's models may refuse with finish_reason "stop". */
static int refusal(struct draft *d, const char *words, struct error *err)
{
	d->refuses |= words[0] != '\0';
	return add(d, PART_TEXT, words, err);
}

static int parse_delta(struct draft *d, const cJSON *delta, struct error *err)
{
	const cJSON *item;

	if (!cJSON_IsObject(delta))
		return 0;
	cJSON_ArrayForEach (item, delta) {
		const char *key = item->string;
		int rc = 0;

		if (strcmp(key, "content") == 0 && cJSON_IsString(item))
			rc = add(d, PART_TEXT, item->valuestring, err);
		else if (strcmp(key, "content") == 0 && cJSON_IsArray(item))
			rc = content_list(d, item, err);
		else if (strcmp(key, "tool_calls") == 0)
			rc = call_list(d, item, err);
		else if (strcmp(key, "refusal") == 0 && cJSON_IsString(item))
			rc = refusal(d, item->valuestring, err);
		if (rc < 0)
			return -1;
	}
	return thinking(d, delta, err);
}

static const struct draft_reason reasons[] = {
	{ "tool_calls", FINISH_TOOLS },
	{ "function_call", FINISH_TOOLS },
	{ "length", FINISH_LENGTH },
	{ "content_filter", FINISH_REFUSAL },
	{ 0 },
};

static void parse_reason(struct draft *d, const char *reason)
{
	draft_stopped(d, reason, reasons);
}

static int parse_choice(struct draft *d, const cJSON *choice, struct error *err)
{
	const cJSON *delta = json_get(choice, "delta");
	const char *reason = filled(choice, "finish_reason");

	/* a server that does not stream, or ends with the whole message */
	if (!cJSON_IsObject(delta) && !d->n)
		delta = json_get(choice, "message");
	if (parse_delta(d, delta, err) < 0)
		return -1;
	/* OpenRouter, when the vendor behind it broke off */
	if (reason && strcmp(reason, "error") == 0)
		return error_set(err, ERR_REMOTE,
				 "the model's server broke off the answer");
	parse_reason(d, reason);
	return 0;
}

static int64_t tokens(const cJSON *usage, const char *key, int64_t fallback)
{
	int64_t n = json_int(usage, key, fallback);

	return n < 0 ? 0 : n < INT32_MAX ? n : INT32_MAX;
}

/* Counts are of the whole answer, wherever and however often they come. */
static void parse_usage(struct draft *d, const cJSON *usage)
{
	const cJSON *details = json_get(usage, "prompt_tokens_details");
	int64_t input;
	int64_t cached;

	if (!cJSON_IsObject(usage))
		return;
	input = tokens(usage, "prompt_tokens", 0);
	/* DeepSeek's name for it is the fallback */
	cached = tokens(details, "cached_tokens",
			tokens(usage, "prompt_cache_hit_tokens", 0));
	if (cached > input)
		cached = input;
	d->usage.input = input - cached;
	d->usage.cache_read = cached;
	d->usage.output = tokens(usage, "completion_tokens", 0);
	details = json_get(usage, "completion_tokens_details");
	d->usage.reasoning = tokens(details, "reasoning_tokens", 0);
}

static int chunk(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *error = json_get(tree, "error");
	const cJSON *choice;

	if ((error && !cJSON_IsNull(error)) ||
	    strcmp(json_string(tree, "object", ""), "error") == 0)
		return failure_in_stream(d, tree, err);
	parse_usage(d, json_get(tree, "usage"));
	parse_usage(d, json_get(json_get(tree, "x_groq"), "usage"));
	cJSON_ArrayForEach (choice, json_get(tree, "choices"))
		if (json_int(choice, "index", 0) == 0 &&
		    parse_choice(d, choice, err) < 0)
			return -1;
	return 0;
}

int openai_chat_event(struct draft *d, struct str event, struct str data,
		      struct error *err)
{
	cJSON *tree;
	int rc;

	(void)event; /* unused by this protocol */
	if (str_is(str_trim(data), "[DONE]")) {
		d->done = true;
		return 0;
	}
	tree = wire_parse(data, err);
	if (!tree)
		return -1;
	d->progress++;
	rc = chunk(d, tree, err);
	cJSON_Delete(tree);
	return rc;
}

/* [DONE] alone is no end: it does not say that the answer is whole. */
bool openai_chat_complete(const struct draft *d)
{
	return d->finish != 0;
}

void openai_chat_replay(const struct draft_part *p, struct buf *out)
{
	if (!p->extra.len)
		return;
	if (p->kind == PART_THINKING && p->extra.ptr[0] == '[') {
		openai_details_print(&p->extra, out);
		return;
	}
	buf_addc(out, '{');
	if (p->kind == PART_THINKING) {
		json_member(out, "reasoning_content", buf_str(&p->text));
	} else {
		buf_adds(out, "\"extra_content\":");
		buf_addstr(out, buf_str(&p->extra));
	}
	buf_addc(out, '}');
}
