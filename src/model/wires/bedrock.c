/* bedrock.c - requests of AWS Bedrock's ConverseStream. */
/* SPDX-License-Identifier: MIT */
/* Facts: @aws-sdk/client-bedrock-runtime 3.1164.0 (models/models_0.d.ts) and
 * docs.aws.amazon.com/bedrock (API_runtime_ConverseStream, prompt-caching),
 * read 2026-11-22. At most four cache points in a request: one is after the
 * tools, one after the system prompt, two in the history. */
#include "model/wires/bedrock.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/media.h"
#include "model/params.h"
#include "model/wire.h"
#include "model/wires/blocks.h"

#define CACHE_POINT ",{\"cachePoint\":{\"type\":\"default\"}}"

static void put_url(const struct model_choice *c, struct buf *out)
{
	buf_adds(out, "/model/");
	wire_escape(out, c->model, "");
	buf_adds(out, "/converse-stream");
}

static bool is_claude(const char *model)
{
	return strstr(model, "anthropic.claude-") != NULL;
}

/* Claude from 3.7 on, and Nova; an own profile's ARN does not say. */
static bool has_cache(const char *model)
{
	static const char *const old[] = { "claude-v",
					   "claude-instant",
					   "claude-3-haiku",
					   "claude-3-sonnet",
					   "claude-3-opus",
					   "claude-3-5",
					   NULL };

	for (size_t i = 0; old[i]; i++)
		if (strstr(model, old[i]))
			return strstr(model, "claude-3-5-haiku") != NULL;
	return is_claude(model) || strstr(model, "amazon.nova-") != NULL;
}

static void begin(const struct model_choice *c, struct history *h)
{
	h->marks = has_cache(c->model);
}

static const struct {
	const char *from, *group, *to;
} places[] = {
	/* as Python's client has them, and by the vendor's own names */
	{ "max_tokens", "inferenceConfig", "maxTokens" },
	{ "maxTokens", "inferenceConfig", "maxTokens" },
	{ "temperature", "inferenceConfig", "temperature" },
	{ "top_p", "inferenceConfig", "topP" },
	{ "topP", "inferenceConfig", "topP" },
	{ "stop", "inferenceConfig", "stopSequences" },
	{ "stop_sequences", "inferenceConfig", "stopSequences" },
	{ "thinking", "additionalModelRequestFields", "thinking" },
	{ "output_config", "additionalModelRequestFields", "output_config" },
	{ "top_k", "additionalModelRequestFields", "top_k" },
	{ "reasoning_effort", "additionalModelRequestFields",
	  "reasoning_effort" },
};

static void fit_params(const struct model_choice *c, cJSON *params)
{
	static const char *const not_sent[] = { "toolConfig", "region_name",
						"credentials_profile_name" };

	(void)c;
	for (size_t i = 0; i < sizeof(not_sent) / sizeof(not_sent[0]); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(params, not_sent[i]);
	params_rename(params, "additional_model_request_fields",
		      "additionalModelRequestFields");
	params_rename(params, "guardrail_config", "guardrailConfig");
	params_rename(params, "guardrails", "guardrailConfig");
	params_rename(params, "performance_config", "performanceConfig");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		params_nest(params, places[i].from, places[i].group,
			    places[i].to);
}

static void put_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, "{\"toolSpec\":{");
		wire_tool(out, &in->brief->tools[i],
			  ",\"inputSchema\":{\"json\":");
		buf_adds(out, "}}}");
	}
	/* Nova takes no point here */
	if (has_cache(in->choice->model) && is_claude(in->choice->model))
		buf_adds(out, CACHE_POINT);
}

static void head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	wire_params(in->params, out);
	if (in->brief->system && in->brief->system[0]) {
		buf_adds(out, "\"system\":[{");
		json_member(out, "text", str_of(in->brief->system));
		buf_addc(out, '}');
		if (has_cache(in->choice->model))
			buf_adds(out, CACHE_POINT);
		buf_adds(out, "],");
	}
	if (in->brief->n_tools) {
		buf_adds(out, "\"toolConfig\":{\"tools\":[");
		put_tools(in, out);
		buf_adds(out, "]},");
	}
	buf_adds(out, "\"messages\":[");
}

static void put_text(struct buf *out, const char *text)
{
	buf_addc(out, '{');
	json_member(out, "text", str_of(blocks_blank(text) ? "(empty)" : text));
	buf_addc(out, '}');
}

static void put_call(struct buf *out, const struct part *p)
{
	buf_adds(out, "{\"toolUse\":{\"toolUseId\":");
	wire_short_id(out, p->id);
	buf_adds(out, ",\"name\":");
	wire_name(out, p->name);
	buf_adds(out, ",\"input\":");
	wire_args(out, p);
	buf_adds(out, "}}");
}

/* A document has a name of letters, digits, spaces, "-", "()" and "[]", which
 * no other of the request may have (API_runtime_DocumentBlock, read
 * 2026-11-23): its own could also hold instructions, as that page warns. */
static void put_media(struct buf *out, const struct part *p)
{
	if (media_is_pdf(p->type))
		buf_addf(out,
			 "{\"document\":{\"format\":\"pdf\",\"name\":"
			 "\"document-%zu\",\"source\":{\"bytes\":",
			 out->len);
	else
		buf_addf(out,
			 "{\"image\":{\"format\":\"%s\",\"source\":{"
			 "\"bytes\":",
			 p->type + strlen("image/"));
	wire_base64(out, p);
	buf_adds(out, "}}}");
}

static void put_result(struct buf *out, const struct part *p, size_t n)
{
	buf_adds(out, "{\"toolResult\":{\"toolUseId\":");
	wire_short_id(out, p->id);
	buf_adds(out, ",\"content\":[");
	put_text(out, p->text);
	for (size_t i = 1; i <= n; i++) {
		buf_addc(out, ',');
		put_media(out, p + i);
	}
	buf_adds(out, p->failed ? "],\"status\":\"error\"}}" : "]}}");
}

static void put_empty(struct buf *out)
{
	put_text(out, NULL);
}

static const struct blocks_form form = {
	.thinking = "{\"reasoningContent\":",
	.put_text = put_text,
	.put_media = put_media,
	.put_call = put_call,
	.put_result = put_result,
	.put_empty = put_empty,
};

static void push(struct history *h, const struct message *m)
{
	blocks_push(h, m, &form);
	if (m->role != ROLE_ASSISTANT && h->marks)
		h->block_end = h->bytes.len;
}

const struct wire wire_bedrock = {
	.name = "bedrock",
	.url = put_url,
	.aws = true,
	.idle_ms = 300000, /* models think in silence */
	.betas = "anthropic-beta: ",
	.auth = "Authorization: Bearer ",
	.mark = CACHE_POINT,
	.tail = "]}]",
	.params = fit_params,
	.begin = begin,
	.head = head,
	.push = push,
	.event = bedrock_event,
	.complete = bedrock_complete,
	.replay = bedrock_replay,
};
