/* gemini_stream.c - answers of Gemini's generateContent. */
/* SPDX-License-Identifier: MIT */
/* Facts: @google/genai 2.32.0 (dist/genai.d.ts) and ai.google.dev/gemini-api
 * /docs/thought-signatures, read 2026-11-22: a signature goes back in the part
 * that it came in, which may have no text, and such parts are not joined. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/failure.h"
#include "model/wire.h"
#include "model/wires/gemini.h"

enum { KEY_OPEN = 0, KEY_SIGNED = -1 };

/* The last part, if text of this kind may grow onto it. */
static struct draft_part *open_text(struct draft *d, enum part_kind kind)
{
	struct draft_part *p = d->n ? &d->parts[d->n - 1] : NULL;

	return p && p->kind == kind && p->key == KEY_OPEN ? p : NULL;
}

static int keep_signature(struct draft_part *p, const cJSON *part,
			  struct error *err)
{
	const char *sign = json_string(part, "thoughtSignature", NULL);

	if (!sign)
		return 0;
	p->key = KEY_SIGNED;
	json_member(&p->extra, "thoughtSignature", str_of(sign));
	return buf_check(&p->extra, "a thought signature", err);
}

static int parse_text(struct draft *d, const cJSON *part, struct error *err)
{
	bool thought = json_bool(part, "thought", false);
	const char *sign = json_string(part, "thoughtSignature", NULL);
	const char *text = json_string(part, "text", "");
	enum part_kind kind = thought ? PART_THINKING : PART_TEXT;
	struct draft_part *p = sign ? NULL : open_text(d, kind);

	if (!text[0] && !sign)
		return 0;
	if (!p)
		p = draft_part(d, kind, KEY_OPEN, err);
	if (!p || draft_add(d, p, str_of(text), err) < 0)
		return -1;
	return keep_signature(p, part, err);
}

static int parse_call(struct draft *d, const cJSON *part, struct error *err)
{
	const cJSON *call = json_get(part, "functionCall");
	const cJSON *args = json_get(call, "args");
	struct draft_part *p = draft_part(d, PART_TOOL_CALL, KEY_OPEN, err);
	struct buf text = BUF_INIT(DRAFT_MAX_ARGS + 1);
	int rc;

	if (!p)
		return -1;
	draft_name(&p->id, json_string(call, "id", NULL));
	draft_name(&p->name, json_string(call, "name", NULL));
	if (args)
		json_print(&text, args);
	rc = draft_add(d, p, buf_str(&text), err);
	buf_release(&text);
	return rc < 0 ? -1 : keep_signature(p, part, err);
}

static int parse_parts(struct draft *d, const cJSON *parts, struct error *err)
{
	const cJSON *part;

	cJSON_ArrayForEach (part, parts) {
		int rc = cJSON_IsObject(json_get(part, "functionCall"))
				 ? parse_call(d, part, err)
				 : parse_text(d, part, err);

		if (rc < 0)
			return -1;
	}
	return 0;
}

static const struct draft_reason reasons[] = {
	{ "MAX_TOKENS", FINISH_LENGTH },
	{ "SAFETY", FINISH_REFUSAL },
	{ "RECITATION", FINISH_REFUSAL },
	{ "BLOCKLIST", FINISH_REFUSAL },
	{ "PROHIBITED_CONTENT", FINISH_REFUSAL },
	{ "SPII", FINISH_REFUSAL },
	{ "IMAGE_SAFETY", FINISH_REFUSAL },
	{ "IMAGE_PROHIBITED_CONTENT", FINISH_REFUSAL },
	{ 0 },
};

/* The model's own blunders: it may do better the next time. */
static const char *const blunders[] = { "MALFORMED_FUNCTION_CALL",
					"UNEXPECTED_TOOL_CALL",
					"TOO_MANY_TOOL_CALLS" };

static int parse_reason(struct draft *d, const cJSON *candidate,
			struct error *err)
{
	const char *reason = json_string(candidate, "finishReason", NULL);

	if (!reason || strcmp(reason, "FINISH_REASON_UNSPECIFIED") == 0)
		return 0;
	for (size_t i = 0; i < sizeof(blunders) / sizeof(blunders[0]); i++)
		if (strcmp(blunders[i], reason) == 0)
			return error_set(err, ERR_REMOTE,
					 "the model wrote a tool call that "
					 "cannot be read (%s)",
					 reason);
	draft_stopped(d, reason, reasons);
	return 0;
}

/* A prompt that was refused has no candidates. */
static int parse_block(struct draft *d, const cJSON *feedback,
		       struct error *err)
{
	const char *why = json_string(feedback, "blockReason", NULL);
	const char *words = json_string(feedback, "blockReasonMessage", why);
	struct draft_part *p;

	if (!why || strcmp(why, "BLOCKED_REASON_UNSPECIFIED") == 0)
		return 0;
	draft_stopped(d, why, reasons);
	d->finish = FINISH_REFUSAL;
	p = draft_part(d, PART_TEXT, KEY_SIGNED, err);
	return p ? draft_add(d, p, str_of(words), err) : -1;
}

static int64_t tokens(const cJSON *usage, const char *key)
{
	int64_t n = json_int(usage, key, 0);

	return n < 0 ? 0 : n < INT32_MAX ? n : INT32_MAX;
}

/* Each chunk has the counts so far. */
static void parse_usage(struct draft *d, const cJSON *usage)
{
	struct usage *u = &d->usage;
	int64_t input = tokens(usage, "promptTokenCount") +
			tokens(usage, "toolUsePromptTokenCount");

	if (!cJSON_IsObject(usage))
		return;
	u->cache_read = tokens(usage, "cachedContentTokenCount");
	if (u->cache_read > input)
		u->cache_read = input;
	u->input = input - u->cache_read;
	u->reasoning = tokens(usage, "thoughtsTokenCount");
	u->output = tokens(usage, "candidatesTokenCount") + u->reasoning;
}

static int parse_chunk(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *error = json_get(tree, "error");
	const cJSON *candidate;

	if (error && !cJSON_IsNull(error))
		return failure_in_stream(d, tree, err);
	parse_usage(d, json_get(tree, "usageMetadata"));
	if (parse_block(d, json_get(tree, "promptFeedback"), err) < 0)
		return -1;
	cJSON_ArrayForEach (candidate, json_get(tree, "candidates")) {
		const cJSON *content = json_get(candidate, "content");

		if (json_int(candidate, "index", 0) != 0)
			continue;
		if (parse_parts(d, json_get(content, "parts"), err) < 0 ||
		    parse_reason(d, candidate, err) < 0)
			return -1;
	}
	return 0;
}

int gemini_event(struct draft *d, struct str event, struct str data,
		 struct error *err)
{
	cJSON *tree;
	int rc;

	(void)event; /* unused by this protocol */
	tree = wire_parse(data, err);
	if (!tree)
		return -1;
	d->progress++;
	rc = parse_chunk(d, tree, err);
	cJSON_Delete(tree);
	return rc;
}

/* There is no mark of the end but the reason for it. */
bool gemini_complete(const struct draft *d)
{
	return d->finish != 0;
}

void gemini_replay(const struct draft_part *p, struct buf *out)
{
	if (!p->extra.len)
		return;
	buf_addc(out, '{');
	buf_addstr(out, buf_str(&p->extra));
	buf_addc(out, '}');
}
