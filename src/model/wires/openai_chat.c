/* openai_chat.c - requests of Chat Completions and its imitators. */
/* SPDX-License-Identifier: MIT */
/* Facts: openai-python of 2026-08-21 (types/chat/completion_create_params.py:
 * max_tokens is deprecated and refused by the o-series, prompt_cache_key,
 * stream_options), read 2026-11-20. */
#include "model/wires/openai_chat.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/media.h"
#include "model/wire.h"
#include "model/wires/openai_cache.h"

static void put_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, "{\"type\":\"function\",\"function\":{");
		wire_tool(out, &in->brief->tools[i], ",\"parameters\":");
		buf_adds(out, "}}");
	}
}

/* OpenAI's own models refuse the old name of the limit. */
static void put_params(const struct wire_head *in, struct buf *out)
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
	openai_cache_put_key(in, out);
}

static void head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "model", str_of(in->choice->model));
	buf_addc(out, ',');
	put_params(in, out);
	buf_adds(out, "\"stream\":true,");
	if (in->brief->n_tools) {
		buf_adds(out, "\"tools\":[");
		put_tools(in, out);
		buf_adds(out, "],");
	}
	/* always there, so that every later message begins with a comma */
	buf_adds(out, "\"messages\":[{\"role\":\"system\",");
	json_member(out, "content", str_of(in->brief->system));
	buf_addc(out, '}');
}

/* An id goes back as it came: Kimi's models want their own form of it, with
 * dots and colons (MoonshotAI/Kimi-K2 docs/tool_call_guidance.md, read
 * 2026-11-20). */
static void put_id(struct buf *out, const char *id)
{
	json_quote(out, str_of(id && id[0] ? id : "call"));
}

/* The members of a replay object, after a comma. */
static void put_replay(struct buf *out, const char *replay, const char *begins)
{
	size_t len = replay ? strlen(replay) : 0;

	if (len < 3 || strncmp(replay, begins, strlen(begins)) != 0)
		return;
	buf_addc(out, ',');
	buf_add(out, replay + 1, len - 2);
}

static void put_call(struct buf *out, const struct part *p)
{
	struct buf args = BUF_INIT(SIZE_MAX / 2);

	wire_args(&args, p);
	buf_adds(out, "{\"id\":");
	put_id(out, p->id);
	buf_adds(out, ",\"type\":\"function\",\"function\":{\"name\":");
	wire_name(out, p->name);
	buf_addc(out, ',');
	json_member(out, "arguments", buf_str(&args));
	buf_addc(out, '}');
	put_replay(out, p->replay, "{\"extra_content\":");
	buf_addc(out, '}');
	buf_release(&args);
}

static size_t put_calls(struct buf *out, const struct message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (m->parts[i].kind != PART_TOOL_CALL)
			continue;
		buf_adds(out, n++ ? "," : ",\"tool_calls\":[");
		put_call(out, &m->parts[i]);
	}
	if (n)
		buf_addc(out, ']');
	return n;
}

/* DeepSeek wants the thoughts of every answer back once it has used tools, at
 * least as an empty member (api-docs.deepseek.com/guides/thinking_mode.md,
 * openclaw issue 73417, kimi-cli issue 2141; read 2026-11-20); Kimi and
 * OpenRouter want those that led to calls, and ignore others. */
static void put_thoughts(struct history *h, const struct message *m)
{
	static const char begins[] = "{\"reasoning_content\":";
	bool there = false;

	for (size_t i = 0; m && i < m->n; i++) {
		const char *replay = m->parts[i].replay;

		if (m->parts[i].kind != PART_THINKING || !replay)
			continue;
		there |= str_starts(str_of(replay), begins);
		put_replay(&h->bytes, replay, "{\"reasoning_");
	}
	h->thoughts |= there;
	if (h->thoughts && !there)
		buf_adds(&h->bytes, ",\"reasoning_content\":\"\"");
}

/* A run that ended after its tools left no answer, and Mistral's servers and
 * templates refuse a question right after results (code 3230,
 * "invalid_request_message_order": litellm issue 17761, read 2026-11-20). */
static void bridge_results(struct history *h, const char *words)
{
	if (h->last != ROLE_TOOL)
		return;
	buf_adds(&h->bytes, ",{\"role\":\"assistant\",");
	json_member(&h->bytes, "content", str_of(words));
	put_thoughts(h, NULL);
	buf_addc(&h->bytes, '}');
}

static bool has_media(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_MEDIA)
			return true;
	return false;
}

/* chat_completion_content_part_image_param.py and _param.py (File) of the
 * SDK. */
static void put_media(struct buf *out, const struct part *p)
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

/* A message of several parts; only media of m where it holds results, whose
 * own messages have text alone. */
static void put_parts(struct history *h, const struct message *m)
{
	struct buf *out = &h->bytes;
	size_t n = 0;

	bridge_results(h, m->role == ROLE_TOOL ? "(the file follows)"
					       : "(interrupted)");
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
			put_media(out, p);
			continue;
		}
		buf_adds(out, "{\"type\":\"text\",");
		json_member(out, "text", str_of(p->text));
		buf_addc(out, '}');
	}
	buf_adds(out, "]}");
}

static void put_user(struct history *h, const struct message *m)
{
	struct buf *out = &h->bytes;
	char *text = message_text(m);
	struct buf quoted = BUF_INIT(SIZE_MAX / 2);

	bridge_results(h, "(interrupted)");
	json_quote(&quoted, str_of(text));
	if (h->last == ROLE_USER) {
		/* many chat templates want strict turns: one message grows */
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

static void put_assistant(struct history *h, const struct message *m)
{
	struct buf *out = &h->bytes;
	char *text = message_text(m);
	struct buf calls = BUF_INIT(SIZE_MAX / 2);
	size_t n = put_calls(&calls, m);

	buf_adds(out, ",{\"role\":\"assistant\",\"content\":");
	/* Mistral refuses a message with neither text nor calls (OpenHands
	 * issue 8685, read 2026-11-20) */
	if (n && (!text[0] || h->calls_alone))
		buf_adds(out, "null");
	else
		json_quote(out, str_of(text[0] ? text : "(empty)"));
	buf_addstr(out, buf_str(&calls));
	put_thoughts(h, m);
	buf_addc(out, '}');
	buf_release(&calls);
	free(text);
}

static void put_results(struct buf *out, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		if (p->kind != PART_TOOL_RESULT)
			continue;
		buf_adds(out, ",{\"role\":\"tool\",\"tool_call_id\":");
		put_id(out, p->id);
		buf_addc(out, ',');
		json_member(out, "content", str_of(p->text));
		buf_addc(out, '}');
	}
}

static void push(struct history *h, const struct message *m)
{
	bool media = has_media(m);

	if (m->role == ROLE_ASSISTANT)
		put_assistant(h, m);
	else if (m->role == ROLE_TOOL)
		put_results(&h->bytes, m);
	else if (media ||
		 (h->last == ROLE_USER && str_ends(buf_str(&h->bytes), "]}")))
		put_parts(h, m);
	else
		put_user(h, m);
	h->last = m->role;
	if (!media || m->role != ROLE_TOOL)
		return;
	put_parts(h, m);
	h->last = ROLE_USER;
}

static const struct wire_option options[] = {
	{ .name = "stream_options",
	  .member = ",\"stream_options\":{\"include_usage\":true}",
	  .at_first = true,
	  .complaint = "stream_options" },
	/* From gpt-5.4 on, tools go with reasoning in /v1/responses only; from
	 * gpt-5.5 on that holds for the default effort too (openai-openapi
	 * issue 541, litellm pull request 34569; read 2026-11-20). */
	{ .name = "reasoning_effort",
	  .member = ",\"reasoning_effort\":\"none\"",
	  .complaint = "tools with reasoning_effort are not supported",
	  .why = "the model takes tools here only without reasoning; asking "
		 "again with reasoning_effort \"none\"" },
	{ 0 },
};

const struct wire wire_openai_chat = {
	.name = "openai-chat",
	.path = "/chat/completions",
	.deployments = true,
	.base_path = "/v1",
	/* Models think in silence, and a local server may load one first. */
	.idle_ms = 300000,
	.betas = "anthropic-beta: ", /* a gateway may pass it on */
	.auth = "Authorization: Bearer ",
	.tail = "]",
	.options = options,
	.head = head,
	.push = push,
	.event = openai_chat_event,
	.complete = openai_chat_complete,
	.replay = openai_chat_replay,
};
