/* anthropic_stream.c - answers of the Messages API. */
/* SPDX-License-Identifier: MIT */
/* Facts: platform.claude.com/docs/en/build-with-claude/streaming; read
 * 2026-11. Unknown events, blocks and deltas are skipped, as it asks. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/anthropic.h"
#include "model/failure.h"
#include "model/wire.h"

static int add(struct draft *d, struct draft_part *p, const char *text,
	       struct error *err)
{
	return draft_add(d, p, str_of(text), err);
}

static int block_delta(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *delta = json_get(tree, "delta");
	const char *type = json_string(delta, "type", "");
	int64_t key = json_int(tree, "index", 0);
	struct draft_part *p;

	if (strcmp(type, "text_delta") == 0) {
		p = draft_find(d, PART_TEXT, key);
		return p ? add(d, p, json_string(delta, "text", ""), err) : 0;
	}
	if (strcmp(type, "thinking_delta") == 0) {
		p = draft_find(d, PART_THINKING, key);
		return p ? add(d, p, json_string(delta, "thinking", ""), err)
			 : 0;
	}
	if (strcmp(type, "input_json_delta") == 0) {
		p = draft_find(d, PART_TOOL_CALL, key);
		return p ? add(d, p, json_string(delta, "partial_json", ""),
			       err)
			 : 0;
	}
	p = draft_find(d, PART_THINKING, key);
	if (p && strcmp(type, "signature_delta") == 0)
		buf_adds(&p->extra, json_string(delta, "signature", ""));
	if (p && p->extra.over)
		return buf_check(&p->extra, "a thinking signature", err);
	return 0;
}

static int call_start(struct draft *d, const cJSON *block, int64_t key,
		      struct error *err)
{
	const cJSON *input = json_get(block, "input");
	struct draft_part *p = draft_part(d, PART_TOOL_CALL, key, err);

	if (!p)
		return -1;
	draft_name(&p->id, json_string(block, "id", NULL));
	draft_name(&p->name, json_string(block, "name", NULL));
	/* imitators may send the whole input here; the vendor sends {} */
	if (cJSON_IsObject(input) && input->child)
		json_print(&p->text, input);
	return 0;
}

static int block_start(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *block = json_get(tree, "content_block");
	const char *type = json_string(block, "type", "");
	int64_t key = json_int(tree, "index", 0);
	struct draft_part *p;

	if (strcmp(type, "tool_use") == 0)
		return call_start(d, block, key, err);
	if (strcmp(type, "text") == 0) {
		p = draft_part(d, PART_TEXT, key, err);
		return p ? add(d, p, json_string(block, "text", ""), err) : -1;
	}
	if (strcmp(type, "thinking") != 0 &&
	    strcmp(type, "redacted_thinking") != 0)
		return 0;
	p = draft_part(d, PART_THINKING, key, err);
	if (!p)
		return -1;
	p->redacted = type[0] == 'r';
	buf_adds(&p->extra,
		 json_string(block, p->redacted ? "data" : "signature", ""));
	return add(d, p, json_string(block, "thinking", ""), err);
}

static void take_usage(struct draft *d, const cJSON *usage)
{
	struct usage *u = &d->usage;

	u->input = json_int(usage, "input_tokens", u->input);
	u->output = json_int(usage, "output_tokens", u->output);
	u->cache_read =
		json_int(usage, "cache_read_input_tokens", u->cache_read);
	u->cache_write =
		json_int(usage, "cache_creation_input_tokens", u->cache_write);
}

static const struct {
	const char *reason;
	enum finish finish;
} reasons[] = {
	{ "end_turn", FINISH_STOP },
	{ "tool_use", FINISH_TOOLS },
	{ "max_tokens", FINISH_LENGTH },
	{ "model_context_window_exceeded", FINISH_LENGTH },
	{ "refusal", FINISH_REFUSAL },
};

static int message_delta(struct draft *d, const cJSON *tree)
{
	const char *reason =
		json_string(json_get(tree, "delta"), "stop_reason", NULL);

	take_usage(d, json_get(tree, "usage"));
	if (!reason)
		return 0;
	d->finish = FINISH_STOP; /* stop_sequence, and what may yet come */
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(reasons[i].reason, reason) == 0)
			d->finish = reasons[i].finish;
	return 0;
}

static int dispatch(struct draft *d, const char *type, const cJSON *tree,
		    struct error *err)
{
	if (strcmp(type, "content_block_delta") == 0)
		return block_delta(d, tree, err);
	if (strcmp(type, "content_block_start") == 0)
		return block_start(d, tree, err);
	if (strcmp(type, "message_delta") == 0)
		return message_delta(d, tree);
	if (strcmp(type, "message_start") == 0)
		take_usage(d, json_get(json_get(tree, "message"), "usage"));
	if (strcmp(type, "message_stop") == 0)
		d->done = true;
	if (strcmp(type, "error") == 0)
		return failure_in_stream(d, tree, err);
	return 0;
}

int anthropic_event(struct draft *d, struct str event, struct str data,
		    struct error *err)
{
	cJSON *tree = wire_parse(data, err);
	const char *type = json_string(tree, "type", NULL);
	char name[32] = { 0 };
	int rc;

	if (!tree)
		return -1;
	if (!type && event.len < sizeof(name)) {
		if (event.len)
			memcpy(name, event.ptr, event.len);
		type = name;
	}
	if (!type)
		type = "";
	d->progress += strcmp(type, "ping") != 0;
	rc = dispatch(d, type, tree, err);
	cJSON_Delete(tree);
	return rc;
}

bool anthropic_complete(const struct draft *d)
{
	return d->done;
}
