/* openai_chat.c - requests of Chat Completions and its imitators. */
/* SPDX-License-Identifier: MIT */
/* Facts: platform.openai.com/docs/api-reference/chat/create; read 2026-11. */
#include "model/openai_chat.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"
#include "model/wire.h"

static void put_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, "{\"type\":\"function\",\"function\":{");
		json_member(out, "name", str_of(in->brief->tools[i].name));
		buf_addc(out, ',');
		json_member(out, "description",
			    str_of(in->brief->tools[i].description));
		buf_adds(out, ",\"parameters\":");
		buf_adds(out, in->brief->tools[i].schema);
		buf_adds(out, "}}");
	}
}

/* OpenAI's own models refuse the old name of the limit, and find what they
 * cached sooner by a key per conversation. */
static void put_params(const struct wire_head *in, struct buf *out)
{
	bool openai = str_starts(str_of(in->choice->base_url),
				 "https://api.openai.com/");
	const cJSON *limit = json_get(in->params, "max_tokens");
	cJSON *params = cJSON_Duplicate(in->params, true);
	char key[17];

	if (openai && limit && !json_get(params, "max_completion_tokens")) {
		cJSON_AddItemToObject(params, "max_completion_tokens",
				      cJSON_Duplicate(limit, true));
		cJSON_DeleteItemFromObjectCaseSensitive(params, "max_tokens");
	}
	wire_params(params, out);
	cJSON_Delete(params);
	if (!openai || json_get(in->params, "prompt_cache_key"))
		return;
	ids_random(key, sizeof(key) - 1);
	json_member(out, "prompt_cache_key", str_of(key));
	buf_addc(out, ',');
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

static void put_user(struct history *h, const struct message *m)
{
	struct buf *out = &h->bytes;
	char *text = message_text(m);
	struct buf quoted = BUF_INIT(SIZE_MAX / 2);

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
	wire_id(out, p->id);
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

static void put_assistant(struct history *h, const struct message *m)
{
	struct buf *out = &h->bytes;
	char *text = message_text(m);
	struct buf calls = BUF_INIT(SIZE_MAX / 2);
	size_t n = put_calls(&calls, m);

	buf_adds(out, ",{\"role\":\"assistant\",\"content\":");
	if (n && !text[0])
		buf_adds(out, "null");
	else
		json_quote(out, str_of(text));
	buf_addstr(out, buf_str(&calls));
	/* DeepSeek, Kimi and OpenRouter want the thoughts that led to calls
	 * back, and refuse or ignore others (api-docs.deepseek.com, read
	 * 2026-11) */
	for (size_t i = 0; n && i < m->n; i++)
		if (m->parts[i].kind == PART_THINKING)
			put_replay(out, m->parts[i].replay, "{\"reasoning_");
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
		wire_id(out, p->id);
		buf_addc(out, ',');
		json_member(out, "content", str_of(p->text));
		buf_addc(out, '}');
	}
}

static void push(struct history *h, const struct message *m)
{
	if (m->role == ROLE_ASSISTANT)
		put_assistant(h, m);
	else if (m->role == ROLE_TOOL)
		put_results(&h->bytes, m);
	else
		put_user(h, m);
	h->last = m->role;
}

const struct wire wire_openai_chat = {
	.name = "openai-chat",
	.path = "/chat/completions",
	.auth = "Authorization: Bearer ",
	.tail = "],\"stream_options\":{\"include_usage\":true}}",
	.tail_plain = "]}",
	.optional = "stream_options",
	.head = head,
	.push = push,
	.event = openai_chat_event,
	.complete = openai_chat_complete,
	.replay = openai_chat_replay,
};
