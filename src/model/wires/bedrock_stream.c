/* bedrock_stream.c - answers of AWS Bedrock's ConverseStream. */
/* SPDX-License-Identifier: MIT */
/* Facts: @aws-sdk/client-bedrock-runtime 3.1164.0 (models/models_0.d.ts,
 * enums.d.ts), read 2026-11-22. "metadata" with the counts comes last. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/failure.h"
#include "model/wire.h"
#include "model/wires/bedrock.h"

static struct draft_part *find_part(struct draft *d, enum part_kind kind,
				    int64_t key, struct error *err)
{
	struct draft_part *p = draft_find(d, kind, key);

	return p ? p : draft_part(d, kind, key, err);
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
	struct draft_part *p = find_part(d, PART_THINKING, key, err);

	if (!p)
		return -1;
	p->redacted = p->redacted || redacted;
	buf_adds(&p->extra, redacted ? redacted : sign ? sign : "");
	if (buf_check(&p->extra, "the model's reasoning", err) < 0)
		return -1;
	return draft_add(d, p, str_of(json_string(delta, "text", "")), err);
}

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
		p = find_part(d, PART_TEXT, key, err);
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

static int64_t tokens(const cJSON *usage, const char *key)
{
	int64_t n = json_int(usage, key, 0);

	return n < 0 ? 0 : n < INT32_MAX ? n : INT32_MAX;
}

static int on_metadata(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *usage = json_get(tree, "usage");

	(void)err;
	d->usage = (struct usage){
		.input = tokens(usage, "inputTokens"),
		.output = tokens(usage, "outputTokens"),
		.cache_read = tokens(usage, "cacheReadInputTokens"),
		.cache_write = tokens(usage, "cacheWriteInputTokens"),
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

int bedrock_event(struct draft *d, struct str event, struct str data,
		  struct error *err)
{
	cJSON *tree = wire_parse(data, err);
	int rc = 0;

	if (!tree)
		return -1;
	d->progress++;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (str_is(event, events[i].event))
			rc = events[i].parse(d, tree, err);
	cJSON_Delete(tree);
	return rc;
}

bool bedrock_complete(const struct draft *d)
{
	return d->finish != 0;
}

/* Only what is signed is taken back. */
void bedrock_replay(const struct draft_part *p, struct buf *out)
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
