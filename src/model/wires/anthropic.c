/* anthropic.c - requests of the Messages API. */
/* SPDX-License-Identifier: MIT */
/* Facts: anthropic-sdk-python 0.121 (types/, _client.py) and
 * platform.claude.com/docs (api/versioning, models/opus-5/overview), read
 * 2026-11-20. Of the two API versions the older one: imitators know it, and
 * 2026-10-21 refuses "temperature" also for models that take it. At most four
 * cache marks in a request, each found from 20 blocks behind it on
 * (microsoft/vscode pull request 315505; startdebugging.net on caching; same
 * day): one is on the tools, one on the system prompt, two in the history. */
#include "model/wires/anthropic.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/media.h"
#include "model/wire.h"
#include "model/wires/blocks.h"

#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

enum { /* max_tokens is required; these are ours, in tokens */
       MAX_TOKENS = 32000,
       MAX_TOKENS_OTHER = 8192, /* claude-3-5 and what is no Claude */
       MAX_TOKENS_OLD = 4096,   /* claude-3-opus, claude-3-haiku, claude-2 */
       ROOM_AFTER_THINKING = 8192,
};

/* Names: "claude-opus-4-5", "anthropic/claude-3-haiku-20240307". */
static int64_t default_max_tokens(const char *model)
{
	const char *slash = strrchr(model, '/');
	struct str name = str_of(slash ? slash + 1 : model);

	if (!str_starts(name, "claude-"))
		return MAX_TOKENS_OTHER;
	if (str_starts(name, "claude-3-5") || str_starts(name, "claude-3-7"))
		return MAX_TOKENS_OTHER;
	if (str_starts(name, "claude-3-") || str_starts(name, "claude-2") ||
	    str_starts(name, "claude-instant"))
		return MAX_TOKENS_OLD;
	return MAX_TOKENS;
}

static void put_max_tokens(const struct wire_head *in, struct buf *out)
{
	int64_t max = default_max_tokens(in->choice->model);
	int64_t budget =
		json_int(json_get(in->params, "thinking"), "budget_tokens", 0);

	if (json_get(in->params, "max_tokens"))
		return;
	/* max_tokens must be larger than the thinking budget */
	if (budget >= max && budget < INT32_MAX)
		max = budget + ROOM_AFTER_THINKING;
	buf_addf(out, "\"max_tokens\":%lld,", (long long)max);
}

static void put_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? ",{" : "{");
		wire_tool(out, &in->brief->tools[i], ",\"input_schema\":");
		if (i + 1 == in->brief->n_tools)
			buf_adds(out, MARK);
		buf_addc(out, '}');
	}
}

static void head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	/* the address names the model (@anthropic-ai/vertex-sdk, client.ts;
	 * docs.cloud.google.com, "Request predictions with Claude"; read
	 * 2026-11-23) */
	if (in->choice->vertex)
		buf_adds(out, "\"anthropic_version\":\"vertex-2023-10-16\"");
	else
		json_member(out, "model", str_of(in->choice->model));
	buf_addc(out, ',');
	put_max_tokens(in, out);
	wire_params(in->params, out);
	buf_adds(out, "\"stream\":true,");
	if (in->brief->system && in->brief->system[0]) {
		buf_adds(out, "\"system\":[{\"type\":\"text\",");
		json_member(out, "text", str_of(in->brief->system));
		buf_adds(out, MARK "}],");
	}
	if (in->brief->n_tools) {
		buf_adds(out, "\"tools\":[");
		put_tools(in, out);
		buf_adds(out, "],");
	}
	buf_adds(out, "\"messages\":[");
}

static void put_text(struct buf *out, const char *text)
{
	buf_adds(out, "{\"type\":\"text\",");
	json_member(out, "text", str_of(text));
	buf_addc(out, '}');
}

/* types/image_block_param.py and document_block_param.py of the SDK. */
static void put_media(struct buf *out, const struct part *p)
{
	buf_addf(out,
		 "{\"type\":\"%s\",\"source\":{\"type\":\"base64\","
		 "\"media_type\":\"%s\",\"data\":",
		 media_is_pdf(p->type) ? "document" : "image", p->type);
	wire_base64(out, p);
	buf_adds(out, "}}");
}

static void put_result(struct buf *out, const struct part *p, size_t n)
{
	bool text = p->text && !blocks_blank(p->text);

	buf_adds(out, "{\"type\":\"tool_result\",\"tool_use_id\":");
	wire_id(out, p->id);
	if (n) {
		buf_adds(out, ",\"content\":[");
		if (text)
			put_text(out, p->text);
		for (size_t i = 1; i <= n; i++) {
			buf_adds(out, text || i > 1 ? "," : "");
			put_media(out, p + i);
		}
		buf_addc(out, ']');
	} else if (p->text && p->text[0]) {
		buf_addc(out, ',');
		json_member(out, "content", str_of(p->text));
	}
	if (p->failed)
		buf_adds(out, ",\"is_error\":true");
	buf_addc(out, '}');
}

static void put_call(struct buf *out, const struct part *p)
{
	buf_adds(out, "{\"type\":\"tool_use\",\"id\":");
	wire_id(out, p->id);
	buf_adds(out, ",\"name\":");
	wire_name(out, p->name);
	buf_adds(out, ",\"input\":");
	wire_args(out, p);
	buf_addc(out, '}');
}

static void put_empty(struct buf *out)
{
	buf_adds(out, "{\"type\":\"text\",\"text\":\"(empty)\"}");
}

static const struct blocks_form form = {
	.thinking = "{\"type\":",
	.put_text = put_text,
	.put_media = put_media,
	.put_call = put_call,
	.put_result = put_result,
	.put_empty = put_empty,
};

static void push(struct history *h, const struct message *m)
{
	blocks_push(h, m, &form);
	if (m->role != ROLE_ASSISTANT)
		h->block_end = h->bytes.len - 1;
}

/* The block as it came, in the order of the vendor's own members. */
static void replay(const struct draft_part *p, struct buf *out)
{
	if (p->kind != PART_THINKING || (!p->extra.len && !p->text.len))
		return;
	if (p->redacted) {
		buf_adds(out, "{\"type\":\"redacted_thinking\",");
		json_member(out, "data", buf_str(&p->extra));
	} else {
		buf_adds(out, "{\"type\":\"thinking\",");
		json_member(out, "thinking", buf_str(&p->text));
		buf_addc(out, ',');
		json_member(out, "signature", buf_str(&p->extra));
	}
	buf_addc(out, '}');
}

const struct wire wire_anthropic = {
	.name = "anthropic",
	.path = "/v1/messages",
	.idle_ms = 120000, /* the vendor pings every few seconds */
	.betas = "anthropic-beta: ",
	.auth = "x-api-key: ",
	.version = "anthropic-version: 2023-06-01",
	.mark = MARK,
	.tail = "]}]",
	.head = head,
	.push = push,
	.event = anthropic_event,
	.complete = anthropic_complete,
	.replay = replay,
};
