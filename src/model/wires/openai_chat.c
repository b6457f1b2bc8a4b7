/* openai_chat.c - Chat Completions: requests and streamed answers. */
/* SPDX-License-Identifier: MIT */
/* Requests first: write_head() writes the fixed start of a request,
 * push_message() appends one message. Then OpenRouter's reasoning_details. Then
 * answers: parse_event() is called for each chunk. wire_openai_chat, at the
 * end, lists the functions. Many servers implement this protocol with small
 * differences; the comments name the server for which an exception is made.
 * Source: openai-python of 2026-08-21 (types/chat/completion_create_params.py:
 * max_tokens is deprecated and refused by the o-series, prompt_cache_key,
 * stream_options; types/chat/chat_completion_chunk.py), read 2026-11-20. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/draft.h"
#include "model/failure.h"
#include "model/message.h"
#include "model/wire.h"

static void write_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, "{\"type\":\"function\",\"function\":{");
		wire_tool(out, &in->brief->tools[i], ",\"parameters\":");
		buf_adds(out, "}}");
	}
}

/* Writes the parameters. For OpenAI's own server and Azure's, max_tokens is
 * renamed to max_completion_tokens: their models refuse the old name. */
static void write_params(const struct wire_head *in, struct buf *out)
{
	bool openai = str_starts(str_of(in->choice->base_url),
				 "https://api.openai.com/");
	bool azure = str_is(str_of(in->choice->provider), "azure_openai");
	const cJSON *limit = json_get(in->params, "max_tokens");
	cJSON *params = cJSON_Duplicate(in->params, true);

	if ((openai || azure) && limit &&
	    !json_get(params, "max_completion_tokens")) {
		cJSON_AddItemToObject(params, "max_completion_tokens",
				      cJSON_Duplicate(limit, true));
		cJSON_DeleteItemFromObjectCaseSensitive(params, "max_tokens");
	}
	wire_params(params, out);
	cJSON_Delete(params);
	wire_put_cache_key(in, out);
}

/* Writes the start of a request, up to the first message. */
static void write_head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "model", str_of(in->choice->model));
	buf_addc(out, ',');
	write_params(in, out);
	buf_adds(out, "\"stream\":true,");
	if (in->brief->n_tools) {
		buf_adds(out, "\"tools\":[");
		write_tools(in, out);
		buf_adds(out, "],");
	}
	/* The system message is written even if it is empty, so that every
	 * later message begins with a comma. */
	buf_adds(out, "\"messages\":[{\"role\":\"system\",");
	json_member(out, "content", str_of(in->brief->system));
	buf_addc(out, '}');
}

/* Writes the id of a call without changing it. Kimi's models need ids of their
 * own form, with dots and colons (MoonshotAI/Kimi-K2
 * docs/tool_call_guidance.md, read 2026-11-20). */
static void write_id(struct buf *out, const char *id)
{
	json_quote(out, str_of(id && id[0] ? id : "call"));
}

/* Appends the members of a replay object after a comma. Does nothing unless the
 * replay starts with `begins`. */
static void append_replay(struct buf *out, const char *replay,
			  const char *begins)
{
	size_t len = replay ? strlen(replay) : 0;

	if (len < 3 || strncmp(replay, begins, strlen(begins)) != 0)
		return;
	buf_addc(out, ',');
	buf_add(out, replay + 1, len - 2);
}

static void write_call(struct buf *out, const struct part *p)
{
	struct buf args = BUF_INIT(SIZE_MAX / 2);

	wire_args(&args, p);
	buf_adds(out, "{\"id\":");
	write_id(out, p->id);
	buf_adds(out, ",\"type\":\"function\",\"function\":{\"name\":");
	wire_name(out, p->name);
	buf_addc(out, ',');
	json_member(out, "arguments", buf_str(&args));
	buf_addc(out, '}');
	append_replay(out, p->replay, "{\"extra_content\":");
	buf_addc(out, '}');
	buf_release(&args);
}

static size_t write_calls(struct buf *out, const struct message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (m->parts[i].kind != PART_TOOL_CALL)
			continue;
		buf_adds(out, n++ ? "," : ",\"tool_calls\":[");
		write_call(out, &m->parts[i]);
	}
	if (n)
		buf_addc(out, ']');
	return n;
}

/* Sends the thinking of an answer back to the model. DeepSeek requires that for
 * every answer once it has used tools, at least as an empty member
 * (api-docs.deepseek.com/guides/thinking_mode.md, openclaw issue 73417,
 * kimi-cli issue 2141; read 2026-11-20). Kimi and OpenRouter need the thinking
 * that led to calls and ignore the rest. */
static void write_thoughts(struct history *h, const struct message *m)
{
	static const char begins[] = "{\"reasoning_content\":";
	bool there = false;

	for (size_t i = 0; m && i < m->n; i++) {
		const char *replay = m->parts[i].replay;

		if (m->parts[i].kind != PART_THINKING || !replay)
			continue;
		there |= str_starts(str_of(replay), begins);
		append_replay(&h->bytes, replay, "{\"reasoning_");
	}
	h->thoughts |= there;
	if (h->thoughts && !there)
		buf_adds(&h->bytes, ",\"reasoning_content\":\"\"");
}

/* Adds an assistant message between tool results and a user message, if a run
 * ended before the model answered the results, or the user wrote into it.
 * Mistral's servers and templates refuse a user message right after results
 * (code 3230, "invalid_request_message_order": litellm issue 17761, read
 * 2026-11-20). */
static void bridge_results(struct history *h, const char *words)
{
	if (h->last != ROLE_TOOL)
		return;
	buf_adds(&h->bytes, ",{\"role\":\"assistant\",");
	json_member(&h->bytes, "content", str_of(words));
	write_thoughts(h, NULL);
	buf_addc(&h->bytes, '}');
}

static bool has_media(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_MEDIA)
			return true;
	return false;
}

/* Writes a file in the form of chat_completion_content_part_image_param.py and
 * _param.py (File) of the SDK. */
static void write_media(struct buf *out, const struct part *p)
{
	if (media_is_pdf(p->type)) {
		buf_adds(out, "{\"type\":\"file\",\"file\":{");
		json_member(out, "filename", str_of(p->name));
		buf_adds(out, ",\"file_data\":");
	} else {
		buf_adds(out,
			 "{\"type\":\"image_url\",\"image_url\":{\"url\":");
	}
	wire_data_url(out, p);
	buf_adds(out, "}}");
}

/* Adds a message with several parts, or appends the parts to the last message
 * if that is the user's. Of results, only the files are added here: tool
 * messages can have only text. */
static void write_parts(struct history *h, const struct message *m)
{
	struct buf *out = &h->bytes;
	size_t n = 0;

	bridge_results(h, m->role == ROLE_TOOL ? "(the file follows)"
					       : message_bridge(m));
	if (h->last == ROLE_USER && str_ends(buf_str(out), "]}")) {
		out->len -= strlen("]}");
		n = 1;
	} else {
		buf_adds(out, ",{\"role\":\"user\",\"content\":[");
	}
	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		if (p->kind != PART_MEDIA && m->role == ROLE_TOOL)
			continue;
		buf_adds(out, n++ ? "," : "");
		if (p->kind == PART_MEDIA) {
			write_media(out, p);
			continue;
		}
		buf_adds(out, "{\"type\":\"text\",");
		json_member(out, "text", str_of(p->text));
		buf_addc(out, '}');
	}
	buf_adds(out, "]}");
}

/* Adds a user message, or appends its text to the last message if that is the
 * user's. */
static void write_user(struct history *h, const struct message *m)
{
	struct buf *out = &h->bytes;
	char *text = message_text(m);
	struct buf quoted = BUF_INIT(SIZE_MAX / 2);

	bridge_results(h, message_bridge(m));
	json_quote(&quoted, str_of(text));
	if (h->last == ROLE_USER) {
		/* Many chat templates require that user and assistant
		 * alternate, so append to the last message. */
		out->len -= strlen("\"}");
		buf_adds(out, "\\n\\n");
		buf_addstr(out, str_skip(buf_str(&quoted), 1));
	} else {
		buf_adds(out, ",{\"role\":\"user\",\"content\":");
		buf_addstr(out, buf_str(&quoted));
	}
	buf_addc(out, '}');
	buf_release(&quoted);
	free(text);
}

/* Adds an answer of the model with its calls and its thinking. */
static void write_assistant(struct history *h, const struct message *m)
{
	struct buf *out = &h->bytes;
	char *text = message_text(m);
	struct buf calls = BUF_INIT(SIZE_MAX / 2);
	size_t n = write_calls(&calls, m);

	buf_adds(out, ",{\"role\":\"assistant\",\"content\":");
	/* Mistral refuses a message with neither text nor calls (OpenHands
	 * issue 8685, read 2026-11-20) */
	if (n && (!text[0] || h->calls_alone))
		buf_adds(out, "null");
	else
		json_quote(out, str_of(text[0] ? text : "(empty)"));
	buf_addstr(out, buf_str(&calls));
	write_thoughts(h, m);
	buf_addc(out, '}');
	buf_release(&calls);
	free(text);
}

static void write_results(struct buf *out, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		if (p->kind != PART_TOOL_RESULT)
			continue;
		buf_adds(out, ",{\"role\":\"tool\",\"tool_call_id\":");
		write_id(out, p->id);
		buf_addc(out, ',');
		json_member(out, "content", str_of(p->text));
		buf_addc(out, '}');
	}
}

static void push_message(struct history *h, const struct message *m)
{
	bool media = has_media(m);

	if (m->role == ROLE_ASSISTANT)
		write_assistant(h, m);
	else if (m->role == ROLE_TOOL)
		write_results(&h->bytes, m);
	else if (media ||
		 (h->last == ROLE_USER && str_ends(buf_str(&h->bytes), "]}")))
		write_parts(h, m);
	else
		write_user(h, m);
	h->last = m->role;
	if (!media || m->role != ROLE_TOOL)
		return;
	write_parts(h, m);
	h->last = ROLE_USER;
}

static const struct wire_option options[] = {
	{ .name = "stream_options",
	  .member = ",\"stream_options\":{\"include_usage\":true}",
	  .at_first = true,
	  .complaint = "stream_options" },
	/* From gpt-5.4 on, tools work together with reasoning only in
	 * /v1/responses. From gpt-5.5 on, that includes the default effort
	 * (openai-openapi issue 541, litellm pull request 34569; read
	 * 2026-11-20). */
	{ .name = "reasoning_effort",
	  .member = ",\"reasoning_effort\":\"none\"",
	  .complaint = "tools with reasoning_effort are not supported",
	  .why = "this server accepts tools only without reasoning; sending "
		 "the request again with reasoning_effort \"none\"" },
	{ 0 },
};

/* Returns the text member of a reasoning_details item that is sent in pieces,
 * or NULL. OpenRouter streams such items piece by piece and needs the complete
 * blocks back (RooCodeInc/Roo-Code pull request 9506, read 2026-11-20). */
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

/* Copies all members of a later piece, since only the last piece has the
 * signature. */
static void merge_members(cJSON *into, const cJSON *piece)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, piece)
		if (!cJSON_IsNull(item) && item->string)
			set_member(into, item->string,
				   cJSON_Duplicate(item, true));
}

/* Joins an item with the following pieces of the same block. */
static void join_pieces(cJSON *list, cJSON *first)
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

/* Appends pieces of reasoning_details as they arrive. The closing "]" is
 * missing: "[{...},{...}". */
static void add_pieces(struct buf *pieces, const cJSON *list)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		if (!cJSON_IsObject(item))
			continue;
		buf_addc(pieces, pieces->len ? ',' : '[');
		json_print(pieces, item);
	}
}

/* Writes {"reasoning_details":[...]} with the pieces joined to whole blocks.
 * Writes nothing if they are not JSON. */
static void print_pieces(const struct buf *pieces, struct buf *out)
{
	struct buf whole = BUF_INIT(SIZE_MAX / 2);
	cJSON *list;

	buf_addstr(&whole, buf_str(pieces));
	buf_addc(&whole, ']');
	list = args_strict(buf_str(&whole)) ? json_parse(buf_str(&whole))
					    : NULL;
	for (cJSON *item = list ? list->child : NULL; item; item = item->next)
		join_pieces(list, item);
	if (list) {
		buf_adds(out, "{\"reasoning_details\":");
		json_print(out, list);
		buf_addc(out, '}');
	}
	cJSON_Delete(list);
	buf_release(&whole);
}

/* Special values of draft_part.key for a call. KEY_OVER: it is complete, and no
 * delta may be added. KEY_NONE: the server sent it without an index. */
enum { KEY_OVER = -1, KEY_NONE = -2 };

static int add_text(struct draft *d, enum part_kind kind, const char *text,
		    struct error *err)
{
	struct draft_part *p;

	if (!text || !text[0])
		return 0;
	p = draft_open(d, kind, 0, err);
	return p ? draft_add(d, p, str_of(text), err) : -1;
}

/* Parses content that is a list of parts instead of a string. Mistral's
 * reasoning models send that. */
static int parse_content_list(struct draft *d, const cJSON *list,
			      struct error *err)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		const cJSON *inner = json_get(item, "thinking");
		const cJSON *thought;

		if (add_text(d, PART_TEXT, json_string(item, "text", NULL),
			     err) < 0)
			return -1;
		if (cJSON_IsString(inner) &&
		    add_text(d, PART_THINKING, inner->valuestring, err) < 0)
			return -1;
		if (!cJSON_IsArray(inner))
			continue;
		cJSON_ArrayForEach (thought, inner)
			if (add_text(d, PART_THINKING,
				     json_string(thought, "text", NULL),
				     err) < 0)
				return -1;
	}
	return 0;
}

/* Stores OpenRouter's reasoning_details, which come in addition to "reasoning".
 * They must be sent back: the vendor behind OpenRouter needs them. */
static int add_details(struct draft *d, const cJSON *list, struct error *err)
{
	struct draft_part *p;

	if (!cJSON_IsArray(list) || !list->child)
		return 0;
	p = draft_open(d, PART_THINKING, 0, err);
	if (!p)
		return -1;
	if (!p->extra.len || p->extra.ptr[0] == '[')
		add_pieces(&p->extra, list);
	return buf_check(&p->extra, "the model's reasoning", err);
}

/* Reads the thinking in a delta. Its member is "reasoning_content" for
 * DeepSeek, Kimi, xAI and llama.cpp, and "reasoning" for OpenRouter, Groq,
 * Cerebras and newer vLLM. Some servers send both. */
static int parse_thinking(struct draft *d, const cJSON *delta,
			  struct error *err)
{
	const char *text = json_string(delta, "reasoning_content", NULL);
	struct draft_part *p;

	if (add_details(d, json_get(delta, "reasoning_details"), err) < 0)
		return -1;
	if (!text)
		return add_text(d, PART_THINKING,
				json_string(delta, "reasoning", NULL), err);
	if (add_text(d, PART_THINKING, text, err) < 0)
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

/* True if the arguments received so far are complete. A delta with a name then
 * starts a new call. */
static bool is_whole(const struct draft_part *p)
{
	return p->text.len && p->text.ptr[p->text.len - 1] == '}' &&
	       args_strict(buf_str(&p->text));
}

/* Returns the call that a delta belongs to, or NULL if it starts a new one. In
 * OpenAI's protocol the index decides. Other servers send every call with index
 * 0 and different ids (Gemini's compatible endpoint), without an index (old
 * Ollama, Mistral's first versions), as a whole with neither index nor id, or
 * with an index only from the second delta on. */
static struct draft_part *find_call(struct draft *d, int64_t key,
				    const char *id, const char *name)
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
	/* A new id starts a new call only if a name comes with it. */
	if (id && p->id && strcmp(p->id, id) != 0)
		p->key = KEY_OVER;
	else if (!id && is_whole(p))
		p->key = KEY_OVER;
	return p->key == KEY_OVER ? NULL : p;
}

static const char *filled_string(const cJSON *object, const char *key)
{
	const char *text = json_string(object, key, NULL);

	return text && text[0] ? text : NULL;
}

/* Appends arguments to a call. They are text, or from some servers a whole
 * object. */
static int add_call_args(struct draft *d, struct draft_part *p,
			 const cJSON *args, struct error *err)
{
	struct buf text = BUF_INIT(DRAFT_MAX_ARGS + 1);
	int rc;

	if (cJSON_IsString(args))
		return draft_add(d, p, str_of(args->valuestring), err);
	if (!cJSON_IsObject(args))
		return 0;
	/* Ollama sends an object instead of text */
	json_print(&text, args);
	rc = draft_add(d, p, buf_str(&text), err);
	buf_release(&text);
	return rc;
}

/* Handles a delta of a call. */
static int parse_call(struct draft *d, const cJSON *call, struct error *err)
{
	const cJSON *function = json_get(call, "function");
	const cJSON *extra = json_get(call, "extra_content");
	const char *id = filled_string(call, "id");
	const char *name = filled_string(function, "name");
	int64_t key = json_int(call, "index", KEY_NONE);
	struct draft_part *p = find_call(d, key, id, name);

	if (!p)
		p = draft_part(d, PART_TOOL_CALL, key, err);
	if (!p)
		return -1;
	draft_name(&p->id, id);
	draft_name(&p->name, name);
	/* Gemini's thought signatures come in this member and must be sent back
	 * (discuss.ai.google.dev topic 109823, read 2026-11-20). */
	if (cJSON_IsObject(extra)) {
		buf_clear(&p->extra);
		json_print(&p->extra, extra);
		if (!args_strict(buf_str(&p->extra)))
			/* not strict JSON: vendors would refuse it */
			buf_clear(&p->extra);
	}
	return add_call_args(d, p, json_get(function, "arguments"), err);
}

static int parse_calls(struct draft *d, const cJSON *calls, struct error *err)
{
	const cJSON *call;

	if (cJSON_IsObject(calls))
		return parse_call(d, calls, err);
	cJSON_ArrayForEach (call, calls)
		if (parse_call(d, call, err) < 0)
			return -1;
	return 0;
}

/* Adds a refusal's text and marks the answer as refused, because OpenAI's
 * models may send it with finish_reason "stop". */
static int add_refusal(struct draft *d, const char *words, struct error *err)
{
	d->refuses |= words[0] != '\0';
	return add_text(d, PART_TEXT, words, err);
}

/* Handles the members of a delta. */
static int parse_delta(struct draft *d, const cJSON *delta, struct error *err)
{
	const cJSON *item;

	if (!cJSON_IsObject(delta))
		return 0;
	cJSON_ArrayForEach (item, delta) {
		const char *key = item->string;
		int rc = 0;

		if (strcmp(key, "content") == 0 && cJSON_IsString(item))
			rc = add_text(d, PART_TEXT, item->valuestring, err);
		else if (strcmp(key, "content") == 0 && cJSON_IsArray(item))
			rc = parse_content_list(d, item, err);
		else if (strcmp(key, "tool_calls") == 0)
			rc = parse_calls(d, item, err);
		else if (strcmp(key, "refusal") == 0 && cJSON_IsString(item))
			rc = add_refusal(d, item->valuestring, err);
		if (rc < 0)
			return -1;
	}
	return parse_thinking(d, delta, err);
}

static const struct draft_reason reasons[] = {
	{ "tool_calls", FINISH_TOOLS },
	{ "function_call", FINISH_TOOLS },
	{ "length", FINISH_LENGTH },
	{ "content_filter", FINISH_REFUSAL },
	{ 0 },
};

static int parse_choice(struct draft *d, const cJSON *choice, struct error *err)
{
	const cJSON *delta = json_get(choice, "delta");
	const char *reason = filled_string(choice, "finish_reason");

	/* The server does not stream, or it sends the whole message at the
	 * end. */
	if (!cJSON_IsObject(delta) && !d->n)
		delta = json_get(choice, "message");
	if (parse_delta(d, delta, err) < 0)
		return -1;
	/* The vendor behind OpenRouter broke off the answer. */
	if (reason && strcmp(reason, "error") == 0)
		return error_set(err, ERR_REMOTE,
				 "the model's server broke off the answer");
	draft_stopped(d, reason, reasons);
	return 0;
}

/* Reads the token counts of the answer so far. They may come in any chunk, and
 * more than once. */
static void parse_usage(struct draft *d, const cJSON *usage)
{
	const cJSON *details = json_get(usage, "prompt_tokens_details");
	int64_t input;
	int64_t cached;

	if (!cJSON_IsObject(usage))
		return;
	input = wire_tokens(usage, "prompt_tokens", 0);
	/* DeepSeek's name for the same count, if that is missing */
	cached = wire_tokens(details, "cached_tokens",
			     wire_tokens(usage, "prompt_cache_hit_tokens", 0));
	if (cached > input)
		cached = input;
	d->usage.input = input - cached;
	d->usage.cache_read = cached;
	d->usage.output = wire_tokens(usage, "completion_tokens", 0);
	details = json_get(usage, "completion_tokens_details");
	d->usage.reasoning = wire_tokens(details, "reasoning_tokens", 0);
}

static int parse_chunk(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *error = json_get(tree, "error");
	const cJSON *choice;

	d->progress++;
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

static int parse_event(struct draft *d, struct str event, struct str data,
		       struct error *err)
{
	(void)event; /* this protocol does not use the event field */
	if (str_is(str_trim(data), "[DONE]")) {
		d->done = true;
		return 0;
	}
	return draft_feed(d, data, parse_chunk, err);
}

/* True if a finish reason was received. [DONE] alone does not mean that the
 * answer is complete. */
static bool is_complete(const struct draft *d)
{
	return d->finish != 0;
}

/* Writes what must be sent back with a part: see append_replay(). */
static void write_replay(const struct draft_part *p, struct buf *out)
{
	if (!p->extra.len)
		return;
	if (p->kind == PART_THINKING && p->extra.ptr[0] == '[') {
		print_pieces(&p->extra, out);
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

const struct wire wire_openai_chat = {
	.name = "openai-chat",
	.path = "/chat/completions",
	.deployments = true,
	.base_path = "/v1",
	/* Long: models may think without sending anything, and a local server
	 * may have to load a model first. */
	.idle_ms = 300000,
	/* for gateways that pass the header on to Anthropic */
	.betas = "anthropic-beta: ",
	.auth = "Authorization: Bearer ",
	.tail = "]",
	.options = options,
	.head = write_head,
	.push = push_message,
	.event = parse_event,
	.complete = is_complete,
	.replay = write_replay,
};
