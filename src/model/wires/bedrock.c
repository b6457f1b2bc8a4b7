/* bedrock.c - AWS Bedrock's ConverseStream: requests and streamed answers. */
/* SPDX-License-Identifier: MIT */
/* Requests first: write_head() writes the fixed start of a request,
 * push_message() appends one message. Then answers: parse_event() is called for
 * each event. wire_bedrock, at the end, lists the functions. bedrock_account.c
 * signs the requests; exchange.c extracts the events from AWS's frames.
 * Source: @aws-sdk/client-bedrock-runtime 3.1164.0 (models/models_0.d.ts,
 * enums.d.ts) and docs.aws.amazon.com/bedrock (API_runtime_ConverseStream,
 * prompt-caching), read 2026-11-22. A request may have four cache points: one
 * is after the tools, one after the system prompt, two are in the history. The
 * last event, "metadata", has the token counts. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/draft.h"
#include "model/failure.h"
#include "model/media.h"
#include "model/params.h"
#include "model/wire.h"

#define CACHE_POINT ",{\"cachePoint\":{\"type\":\"default\"}}"

static void write_url(const struct model_choice *c, struct buf *out)
{
	buf_adds(out, "/model/");
	wire_escape(out, c->model, "");
	buf_adds(out, "/converse-stream");
}

static bool is_claude(const char *model)
{
	return strstr(model, "anthropic.claude-") != NULL;
}

/* True if dcode may use cache points: for Claude 3.5 Haiku, Claude 3.7 and
 * later, and Nova. If the model is the ARN of an inference profile, its real
 * model is not known: false. */
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

static void init_history(const struct model_choice *c, struct history *h)
{
	h->marks = has_cache(c->model);
}

static const struct {
	const char *from, *group, *to;
} places[] = {
	/* Python client's names and the vendor's own */
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

/* Moves the user's parameters to the objects in which the vendor expects
 * them. */
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

static void write_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, "{\"toolSpec\":{");
		wire_tool(out, &in->brief->tools[i],
			  ",\"inputSchema\":{\"json\":");
		buf_adds(out, "}}}");
	}
	/* only for Claude: Nova refuses a cache point after the tools */
	if (has_cache(in->choice->model) && is_claude(in->choice->model))
		buf_adds(out, CACHE_POINT);
}

/* Writes the start of a request, up to the first message. */
static void write_head(const struct wire_head *in, struct buf *out)
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
		write_tools(in, out);
		buf_adds(out, "]},");
	}
	buf_adds(out, "\"messages\":[");
}

static void put_text(struct buf *out, const char *text)
{
	buf_addc(out, '{');
	json_member(out, "text",
		    str_of(wire_is_blank(text) ? "(empty)" : text));
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

/* Writes a file. A document's name must be unique in the request and have only
 * letters, digits, spaces, "-", "()" and "[]" (API_runtime_DocumentBlock, read
 * 2026-11-23). dcode does not send the file's own name: as that page warns, a
 * name could contain instructions for the model. */
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

static const struct wire_blocks form = {
	.thinking = "{\"reasoningContent\":",
	.put_text = put_text,
	.put_media = put_media,
	.put_call = put_call,
	.put_result = put_result,
	.put_empty = put_empty,
};

static void push_message(struct history *h, const struct message *m)
{
	wire_push_blocks(h, m, &form);
	if (m->role != ROLE_ASSISTANT && h->marks)
		h->block_end = h->bytes.len;
}

static int on_start(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *call = json_get(json_get(tree, "start"), "toolUse");
	struct draft_part *p;

	if (!call)
		return 0;
	p = draft_part(d, PART_TOOL_CALL,
		       json_int(tree, "contentBlockIndex", 0), err);
	if (!p)
		return -1;
	draft_name(&p->id, json_string(call, "toolUseId", NULL));
	draft_name(&p->name, json_string(call, "name", NULL));
	return 0;
}

static int add_reasoning(struct draft *d, const cJSON *delta, int64_t key,
			 struct error *err)
{
	const char *redacted = json_string(delta, "redactedContent", NULL);
	const char *sign = json_string(delta, "signature", NULL);
	struct draft_part *p = draft_open(d, PART_THINKING, key, err);

	if (!p)
		return -1;
	p->redacted = p->redacted || redacted;
	buf_adds(&p->extra, redacted ? redacted : sign ? sign : "");
	if (buf_check(&p->extra, "the model's reasoning", err) < 0)
		return -1;
	return draft_add(d, p, str_of(json_string(delta, "text", "")), err);
}

/* Adds a delta to the part with its index. */
static int on_delta(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *delta = json_get(tree, "delta");
	const cJSON *reasoning = json_get(delta, "reasoningContent");
	const char *text = json_string(delta, "text", NULL);
	const char *input =
		json_string(json_get(delta, "toolUse"), "input", NULL);
	int64_t key = json_int(tree, "contentBlockIndex", 0);
	struct draft_part *p;

	if (reasoning)
		return add_reasoning(d, reasoning, key, err);
	if (text) {
		p = draft_open(d, PART_TEXT, key, err);
		return p ? draft_add(d, p, str_of(text), err) : -1;
	}
	p = input ? draft_find(d, PART_TOOL_CALL, key) : NULL;
	return p ? draft_add(d, p, str_of(input), err) : 0;
}

static const struct draft_reason reasons[] = {
	{ "tool_use", FINISH_TOOLS },
	{ "max_tokens", FINISH_LENGTH },
	{ "guardrail_intervened", FINISH_REFUSAL },
	{ "content_filtered", FINISH_REFUSAL },
	{ "refusal", FINISH_REFUSAL },
	{ "model_context_window_exceeded", FINISH_WINDOW },
	{ 0 },
};

static int on_stop(struct draft *d, const cJSON *tree, struct error *err)
{
	const char *reason = json_string(tree, "stopReason", "");

	if (str_starts(str_of(reason), "malformed_"))
		return error_set(err, ERR_REMOTE,
				 "the model wrote an answer that cannot be "
				 "read (%.60s)",
				 reason);
	draft_stopped(d, reason, reasons);
	return 0;
}

/* Reads the token counts. They are in the last event, so the answer is
 * complete. */
static int on_metadata(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *usage = json_get(tree, "usage");

	(void)err;
	d->usage = (struct usage){
		.input = wire_tokens(usage, "inputTokens", 0),
		.output = wire_tokens(usage, "outputTokens", 0),
		.cache_read = wire_tokens(usage, "cacheReadInputTokens", 0),
		.cache_write = wire_tokens(usage, "cacheWriteInputTokens", 0),
	};
	d->done = d->finish != 0;
	return 0;
}

static const struct {
	const char *event;
	int (*parse)(struct draft *d, const cJSON *tree, struct error *err);
} events[] = {
	{ "contentBlockStart", on_start },  { "contentBlockDelta", on_delta },
	{ "messageStop", on_stop },         { "metadata", on_metadata },
	{ "exception", failure_in_stream },
};

static int parse_event(struct draft *d, struct str event, struct str data,
		       struct error *err)
{
	const cJSON *tree = draft_parse(d, data, err);
	int rc = 0;

	if (!tree)
		return -1;
	d->progress++;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (str_is(event, events[i].event))
			rc = events[i].parse(d, tree, err);
	return rc;
}

static bool is_complete(const struct draft *d)
{
	return d->finish != 0;
}

/* Writes reasoning in the form in which it is sent back. The vendor accepts it
 * only with a signature, so unsigned reasoning is left out. */
static void write_replay(const struct draft_part *p, struct buf *out)
{
	if (p->kind != PART_THINKING || !p->extra.len)
		return;
	buf_adds(out, "{\"reasoningContent\":{");
	if (p->redacted) {
		json_member(out, "redactedContent", buf_str(&p->extra));
	} else {
		buf_adds(out, "\"reasoningText\":{");
		json_member(out, "text", buf_str(&p->text));
		buf_addc(out, ',');
		json_member(out, "signature", buf_str(&p->extra));
		buf_addc(out, '}');
	}
	buf_adds(out, "}}");
}

const struct wire wire_bedrock = {
	.name = "bedrock",
	.url = write_url,
	.aws = true,
	.idle_ms = 300000, /* long: models may think without sending anything */
	.betas = "anthropic-beta: ",
	.auth = "Authorization: Bearer ",
	.mark = CACHE_POINT,
	.tail = "]}]",
	.params = fit_params,
	.begin = init_history,
	.head = write_head,
	.push = push_message,
	.event = parse_event,
	.complete = is_complete,
	.replay = write_replay,
};
