/* anthropic_stream.c - answers of the Messages API. */
/* SPDX-License-Identifier: MIT */
/* Facts: anthropic-sdk-python 0.121 (types/raw_*.py, stop_reason.py,
 * refusal_stop_details.py), read 2026-11-20. New kinds of events, blocks and
 * deltas may come in any version (platform.claude.com/docs/en/api/versioning,
 * the same day) and are skipped; pause_turn comes with the vendor's own tools
 * only, which we do not ask for. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/failure.h"
#include "model/wire.h"
#include "model/wires/anthropic.h"

enum { KEY_DETAILS = -1 }; /* a part that the stream has no index for */

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

static int parse_block(struct draft *d, const cJSON *block, int64_t key,
		       struct error *err)
{
	const char *type = json_string(block, "type", "");
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

static int64_t tokens(const cJSON *usage, const char *key, int64_t fallback)
{
	int64_t n = json_int(usage, key, fallback);

	return n < 0 ? 0 : n < INT32_MAX ? n : INT32_MAX;
}

static void parse_usage(struct draft *d, const cJSON *usage)
{
	struct usage *u = &d->usage;

	u->input = tokens(usage, "input_tokens", u->input);
	u->output = tokens(usage, "output_tokens", u->output);
	u->cache_read = tokens(usage, "cache_read_input_tokens", u->cache_read);
	u->cache_write =
		tokens(usage, "cache_creation_input_tokens", u->cache_write);
}

static const struct draft_reason reasons[] = {
	{ "end_turn", FINISH_STOP },
	{ "tool_use", FINISH_TOOLS },
	{ "max_tokens", FINISH_LENGTH },
	{ "model_context_window_exceeded", FINISH_WINDOW },
	{ "refusal", FINISH_REFUSAL },
	{ 0 },
};

static void parse_reason(struct draft *d, const char *reason)
{
	draft_stopped(d, reason, reasons);
}

/* What the vendor says of a refusal is all that there is to read. */
static int parse_details(struct draft *d, const cJSON *details,
			 struct error *err)
{
	const char *why = json_string(details, "explanation", NULL);
	struct draft_part *p;

	if (!why || d->finish != FINISH_REFUSAL)
		return 0;
	p = draft_part(d, PART_TEXT, KEY_DETAILS, err);
	if (!p || (d->bytes && add(d, p, "\n\n", err) < 0))
		return -1;
	return add(d, p, why, err);
}

static int message_delta(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *delta = json_get(tree, "delta");

	parse_usage(d, json_get(tree, "usage"));
	parse_reason(d, json_string(delta, "stop_reason", NULL));
	return parse_details(d, json_get(delta, "stop_details"), err);
}

/* From a server that does not stream. */
static int whole_message(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *block;
	int64_t key = 0;

	cJSON_ArrayForEach (block, json_get(tree, "content"))
		if (parse_block(d, block, key++, err) < 0)
			return -1;
	parse_usage(d, json_get(tree, "usage"));
	parse_reason(d, json_string(tree, "stop_reason", NULL));
	d->done = d->finish != 0;
	return parse_details(d, json_get(tree, "stop_details"), err);
}

static int dispatch(struct draft *d, const char *type, const cJSON *tree,
		    struct error *err)
{
	const cJSON *error = json_get(tree, "error"); /* a gateway's own */

	if (strcmp(type, "content_block_delta") == 0)
		return block_delta(d, tree, err);
	if (strcmp(type, "content_block_start") == 0)
		return parse_block(d, json_get(tree, "content_block"),
				   json_int(tree, "index", 0), err);
	if (strcmp(type, "message_delta") == 0)
		return message_delta(d, tree, err);
	if (strcmp(type, "message") == 0)
		return whole_message(d, tree, err);
	if (strcmp(type, "message_start") == 0)
		parse_usage(d, json_get(json_get(tree, "message"), "usage"));
	if (strcmp(type, "message_stop") == 0)
		d->done = true;
	if (strcmp(type, "error") == 0 || cJSON_IsObject(error) ||
	    cJSON_IsString(error))
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
	return d->done && (d->finish || d->n);
}
