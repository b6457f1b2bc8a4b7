/* openai_responses_stream.c - answers of the Responses API. */
/* SPDX-License-Identifier: MIT */
/* Facts: openai-node 6.49.0 (resources/responses/responses.d.ts), read
 * 2026-11-22. Each item of the answer has an output_index; what deltas did not
 * bring is taken from the whole item at its end, and from the whole response
 * where a server does not stream. Events of kinds that are not named here are
 * skipped. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/args.h"
#include "model/failure.h"
#include "model/wire.h"
#include "model/wires/openai_responses.h"

static struct draft_part *find_part(struct draft *d, enum part_kind kind,
				    int64_t key, struct error *err)
{
	struct draft_part *p = draft_find(d, kind, key);

	return p ? p : draft_part(d, kind, key, err);
}

static int add(struct draft *d, enum part_kind kind, const cJSON *tree,
	       const char *member, struct error *err)
{
	int64_t key = json_int(tree, "output_index", 0);
	struct draft_part *p = find_part(d, kind, key, err);

	return p ? draft_add(d, p, str_of(json_string(tree, member, "")), err)
		 : -1;
}

static int on_text(struct draft *d, const cJSON *tree, struct error *err)
{
	return add(d, PART_TEXT, tree, "delta", err);
}

static int on_refusal(struct draft *d, const cJSON *tree, struct error *err)
{
	d->finish = FINISH_REFUSAL;
	return add(d, PART_TEXT, tree, "delta", err);
}

static int on_thinking(struct draft *d, const cJSON *tree, struct error *err)
{
	return add(d, PART_THINKING, tree, "delta", err);
}

/* The next paragraph of a summary. */
static int on_summary_part(struct draft *d, const cJSON *tree,
			   struct error *err)
{
	struct draft_part *p =
		draft_find(d, PART_THINKING, json_int(tree, "output_index", 0));

	return p && p->text.len ? draft_add(d, p, STR("\n\n"), err) : 0;
}

static int on_args(struct draft *d, const cJSON *tree, struct error *err)
{
	struct draft_part *p = draft_find(d, PART_TOOL_CALL,
					  json_int(tree, "output_index", 0));

	return p ? draft_add(d, p, str_of(json_string(tree, "delta", "")), err)
		 : 0;
}

static int parse_call(struct draft *d, const cJSON *item, int64_t key,
		      struct error *err)
{
	struct draft_part *p = find_part(d, PART_TOOL_CALL, key, err);

	if (!p)
		return -1;
	draft_name(&p->id, json_string(item, "call_id", NULL));
	draft_name(&p->name, json_string(item, "name", NULL));
	if (p->text.len)
		return 0;
	return draft_add(d, p, str_of(json_string(item, "arguments", "")), err);
}

/* The text of the parts of an item, if none came as deltas. */
static int parse_texts(struct draft *d, struct draft_part *p, const cJSON *list,
		       struct error *err)
{
	const cJSON *part;
	bool first = true;

	if (p->text.len)
		return 0;
	cJSON_ArrayForEach (part, list) {
		const char *text = json_string(part, "text", NULL);

		if (!text) {
			text = json_string(part, "refusal", "");
			d->finish = text[0] ? FINISH_REFUSAL : d->finish;
		}
		if (p->kind == PART_THINKING && !first &&
		    draft_add(d, p, STR("\n\n"), err) < 0)
			return -1;
		if (draft_add(d, p, str_of(text), err) < 0)
			return -1;
		first = false;
	}
	return 0;
}

static int parse_message(struct draft *d, const cJSON *item, int64_t key,
			 struct error *err)
{
	const char *phase = json_string(item, "phase", NULL);
	struct draft_part *p = find_part(d, PART_TEXT, key, err);

	if (!p)
		return -1;
	if (phase && !p->extra.len)
		json_member(&p->extra, "phase", str_of(phase));
	return parse_texts(d, p, json_get(item, "content"), err);
}

static void put_member(const cJSON *item, const char *key, struct buf *out)
{
	const cJSON *value = json_get(item, key);

	if (!value || cJSON_IsNull(value))
		return;
	buf_addc(out, ',');
	json_quote(out, str_of(key));
	buf_addc(out, ':');
	json_print(out, value);
}

/* What goes back of an item of reasoning. An id would name something that
 * nobody stored, and bind it to the ids of the items around it (OpenHands/
 * software-agent-sdk pull request 1754, read 2026-11-22); vLLM, which encrypts
 * nothing, wants one. "status" is refused in requests. */
static void keep_reasoning(struct draft_part *p, const cJSON *item)
{
	const cJSON *content = json_get(item, "content");
	bool encrypted = json_string(item, "encrypted_content", NULL) != NULL;

	buf_clear(&p->extra);
	if (!encrypted && !(cJSON_IsArray(content) && content->child))
		return;
	buf_adds(&p->extra, "{\"type\":\"reasoning\"");
	if (!encrypted)
		put_member(item, "id", &p->extra);
	if (!cJSON_IsArray(json_get(item, "summary")))
		buf_adds(&p->extra, ",\"summary\":[]");
	else
		put_member(item, "summary", &p->extra);
	put_member(item, "content", &p->extra);
	put_member(item, "encrypted_content", &p->extra);
	buf_addc(&p->extra, '}');
	if (!p->extra.over && !args_strict(buf_str(&p->extra)))
		buf_clear(&p->extra); /* it could not be sent back */
}

static int parse_reasoning(struct draft *d, const cJSON *item, int64_t key,
			   struct error *err)
{
	struct draft_part *p = find_part(d, PART_THINKING, key, err);

	if (!p)
		return -1;
	keep_reasoning(p, item);
	if (buf_check(&p->extra, "the model's reasoning", err) < 0)
		return -1;
	if (parse_texts(d, p, json_get(item, "summary"), err) < 0)
		return -1;
	return parse_texts(d, p, json_get(item, "content"), err);
}

static int parse_item(struct draft *d, const cJSON *item, int64_t key,
		      struct error *err)
{
	const char *type = json_string(item, "type", "");

	if (strcmp(type, "function_call") == 0)
		return parse_call(d, item, key, err);
	if (strcmp(type, "message") == 0)
		return parse_message(d, item, key, err);
	if (strcmp(type, "reasoning") == 0)
		return parse_reasoning(d, item, key, err);
	return 0;
}

static int on_item_begin(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *item = json_get(tree, "item");

	if (strcmp(json_string(item, "type", ""), "function_call") != 0)
		return 0;
	return parse_call(d, item, json_int(tree, "output_index", 0), err);
}

static int on_item_end(struct draft *d, const cJSON *tree, struct error *err)
{
	return parse_item(d, json_get(tree, "item"),
			  json_int(tree, "output_index", 0), err);
}

static int64_t tokens(const cJSON *usage, const char *key)
{
	int64_t n = json_int(usage, key, 0);

	return n < 0 ? 0 : n < INT32_MAX ? n : INT32_MAX;
}

static void parse_usage(struct draft *d, const cJSON *usage)
{
	const cJSON *in = json_get(usage, "input_tokens_details");
	const cJSON *out = json_get(usage, "output_tokens_details");
	struct usage *u = &d->usage;
	int64_t input = tokens(usage, "input_tokens");

	u->cache_read = tokens(in, "cached_tokens");
	if (u->cache_read > input)
		u->cache_read = input;
	u->cache_write = tokens(in, "cache_write_tokens");
	if (u->cache_write > input - u->cache_read)
		u->cache_write = input - u->cache_read;
	u->input = input - u->cache_read - u->cache_write;
	u->output = tokens(usage, "output_tokens");
	u->reasoning = tokens(out, "reasoning_tokens");
}

/* The event's own "type" says no more than that it is an error. */
static int report_failure(struct draft *d, const cJSON *tree, struct error *err)
{
	cJSON *copy = cJSON_Duplicate(tree, true);
	int rc;

	cJSON_DeleteItemFromObjectCaseSensitive(copy, "type");
	rc = failure_in_stream(d, copy, err);
	cJSON_Delete(copy);
	return rc;
}

static const struct draft_reason reasons[] = {
	{ "max_output_tokens", FINISH_LENGTH },
	{ "content_filter", FINISH_REFUSAL },
	{ 0 },
};

/* completed, incomplete or failed: the whole response is there again. */
static int parse_response(struct draft *d, const cJSON *response,
			  struct error *err)
{
	const char *status = json_string(response, "status", "");
	const cJSON *details = json_get(response, "incomplete_details");
	const char *why = json_string(details, "reason", "");
	const cJSON *item;
	int64_t key = 0;

	parse_usage(d, json_get(response, "usage"));
	if (strcmp(status, "failed") == 0 ||
	    cJSON_IsObject(json_get(response, "error")))
		return report_failure(d, response, err);
	cJSON_ArrayForEach (item, json_get(response, "output"))
		if (parse_item(d, item, key++, err) < 0)
			return -1;
	if (why[0] || !d->finish)
		draft_stopped(d, why, reasons);
	d->done = true;
	return 0;
}

static int on_end(struct draft *d, const cJSON *tree, struct error *err)
{
	return parse_response(d, json_get(tree, "response"), err);
}

static const struct {
	const char *type;
	int (*parse)(struct draft *d, const cJSON *tree, struct error *err);
} events[] = {
	{ "response.output_text.delta", on_text },
	{ "response.refusal.delta", on_refusal },
	{ "response.reasoning_summary_text.delta", on_thinking },
	{ "response.reasoning_text.delta", on_thinking },
	{ "response.reasoning_summary_part.added", on_summary_part },
	{ "response.function_call_arguments.delta", on_args },
	{ "response.output_item.added", on_item_begin },
	{ "response.output_item.done", on_item_end },
	{ "response.completed", on_end },
	{ "response.incomplete", on_end },
	{ "response.failed", on_end },
	{ "error", report_failure },
};

static int dispatch(struct draft *d, const cJSON *tree, struct error *err)
{
	const char *type = json_string(tree, "type", "");
	const cJSON *error = json_get(tree, "error");

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (strcmp(events[i].type, type) == 0)
			return events[i].parse(d, tree, err);
	if (strcmp(json_string(tree, "object", ""), "response") == 0)
		return parse_response(d, tree, err);
	/* a gateway's own */
	if (!type[0] && (cJSON_IsObject(error) || cJSON_IsString(error)))
		return failure_in_stream(d, tree, err);
	return 0;
}

int openai_responses_event(struct draft *d, struct str event, struct str data,
			   struct error *err)
{
	cJSON *tree;
	int rc;

	(void)event;                          /* the data says it again */
	if (str_is(str_trim(data), "[DONE]")) /* of imitators */
		return 0;
	tree = wire_parse(data, err);
	if (!tree)
		return -1;
	d->progress += strcmp(json_string(tree, "type", ""), "keepalive") != 0;
	rc = dispatch(d, tree, err);
	cJSON_Delete(tree);
	return rc;
}

bool openai_responses_complete(const struct draft *d)
{
	return d->done && d->finish;
}

void openai_responses_replay(const struct draft_part *p, struct buf *out)
{
	if (!p->extra.len)
		return;
	if (p->kind == PART_THINKING) {
		buf_addstr(out, buf_str(&p->extra));
	} else if (p->kind == PART_TEXT) {
		buf_addc(out, '{');
		buf_addstr(out, buf_str(&p->extra));
		buf_addc(out, '}');
	}
}
