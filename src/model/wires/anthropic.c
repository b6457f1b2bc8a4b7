/* anthropic.c - the Messages API: requests and streamed answers. */
/* SPDX-License-Identifier: MIT */
/* Requests first: write_head() writes the fixed start of a request,
 * push_message() appends one message. Then answers: parse_event() is called for
 * each event. wire_anthropic, at the end, lists the functions; use it as the
 * example for a new wire. Source for requests: anthropic-sdk-python 0.121
 * (types/, _client.py) and platform.claude.com/docs (api/versioning,
 * models/opus-5/overview), read 2026-11-20. dcode uses the older of the two API
 * versions: compatible servers know it, and 2026-10-21 refuses "temperature"
 * even for models that support it. A request may have four cache marks, and the
 * vendor looks for cached content up to 20 blocks before a mark
 * (microsoft/vscode pull request 315505; startdebugging.net on caching; read
 * the same day). One mark is on the tools, one on the system prompt, two are in
 * the history. Source for answers: types/raw_*.py, stop_reason.py,
 * refusal_stop_details.py of the same SDK. New kinds of events, blocks and
 * deltas may appear in any version (platform.claude.com/docs/en/api/versioning)
 * and are skipped. The stop reason pause_turn comes only with the vendor's own
 * tools, which dcode does not use. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/draft.h"
#include "model/failure.h"
#include "model/message.h"
#include "model/wire.h"

#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

enum { /* max_tokens is required; these are dcode's defaults, in tokens */
       MAX_TOKENS = 32000,
       /* for claude-3-5, and for models of other vendors */
       MAX_TOKENS_OTHER = 8192,
       MAX_TOKENS_OLD = 4096, /* claude-3-opus, claude-3-haiku, claude-2 */
       ROOM_AFTER_THINKING = 8192,
};

/* Returns dcode's max_tokens for a model such as "claude-opus-4-5" or
 * "anthropic/claude-3-haiku-20240307". */
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

static void write_max_tokens(const struct wire_head *in, struct buf *out)
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

static void write_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? ",{" : "{");
		wire_tool(out, &in->brief->tools[i], ",\"input_schema\":");
		if (i + 1 == in->brief->n_tools)
			buf_adds(out, MARK);
		buf_addc(out, '}');
	}
}

/* Writes the start of a request, up to the first message. */
static void write_head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	/* On Vertex AI the address names the model, so the request must not
	 * (@anthropic-ai/vertex-sdk, client.ts; docs.cloud.google.com, "Request
	 * predictions with Claude"; read 2026-11-23). */
	if (in->choice->vertex)
		buf_adds(out, "\"anthropic_version\":\"vertex-2023-10-16\"");
	else
		json_member(out, "model", str_of(in->choice->model));
	buf_addc(out, ',');
	write_max_tokens(in, out);
	wire_params(in->params, out);
	buf_adds(out, "\"stream\":true,");
	if (in->brief->system && in->brief->system[0]) {
		buf_adds(out, "\"system\":[{\"type\":\"text\",");
		json_member(out, "text", str_of(in->brief->system));
		buf_adds(out, MARK "}],");
	}
	if (in->brief->n_tools) {
		buf_adds(out, "\"tools\":[");
		write_tools(in, out);
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

/* Writes a file in the form of types/image_block_param.py and
 * document_block_param.py of the SDK. */
static void put_media(struct buf *out, const struct part *p)
{
	buf_addf(out,
		 "{\"type\":\"%s\",\"source\":{\"type\":\"base64\","
		 "\"media_type\":\"%s\",\"data\":",
		 media_is_pdf(p->type) ? "document" : "image", p->type);
	wire_base64(out, p);
	buf_adds(out, "}}");
}

/* Writes a tool's result and the n files that follow it. */
static void put_result(struct buf *out, const struct part *p, size_t n)
{
	bool text = p->text && !wire_is_blank(p->text);

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

static const struct wire_blocks form = {
	.thinking = "{\"type\":",
	.put_text = put_text,
	.put_media = put_media,
	.put_call = put_call,
	.put_result = put_result,
	.put_empty = put_empty,
};

/* Adds a message and records where a cache mark can be inserted: before the
 * closing brace of its last block. */
static void push_message(struct history *h, const struct message *m)
{
	wire_push_blocks(h, m, &form);
	if (m->role != ROLE_ASSISTANT)
		h->block_end = h->bytes.len - 1;
}

/* Writes a thinking block exactly as it was received: the vendor checks its
 * signature. */
static void write_replay(const struct draft_part *p, struct buf *out)
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

/* draft_part.key for a part that has no index in the stream */
enum { KEY_DETAILS = -1 };

static int add_text(struct draft *d, struct draft_part *p, const char *text,
		    struct error *err)
{
	return draft_add(d, p, str_of(text), err);
}

/* Adds a delta to the part with its index. */
static int parse_delta(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *delta = json_get(tree, "delta");
	const char *type = json_string(delta, "type", "");
	int64_t key = json_int(tree, "index", 0);
	struct draft_part *p;

	if (strcmp(type, "text_delta") == 0) {
		p = draft_find(d, PART_TEXT, key);
		return p ? add_text(d, p, json_string(delta, "text", ""), err)
			 : 0;
	}
	if (strcmp(type, "thinking_delta") == 0) {
		p = draft_find(d, PART_THINKING, key);
		return p ? add_text(d, p, json_string(delta, "thinking", ""),
				    err)
			 : 0;
	}
	if (strcmp(type, "input_json_delta") == 0) {
		p = draft_find(d, PART_TOOL_CALL, key);
		return p ? add_text(d, p,
				    json_string(delta, "partial_json", ""), err)
			 : 0;
	}
	p = draft_find(d, PART_THINKING, key);
	if (p && strcmp(type, "signature_delta") == 0)
		buf_adds(&p->extra, json_string(delta, "signature", ""));
	if (p && p->extra.over)
		return buf_check(&p->extra, "a thinking signature", err);
	return 0;
}

static int start_call(struct draft *d, const cJSON *block, int64_t key,
		      struct error *err)
{
	const cJSON *input = json_get(block, "input");
	struct draft_part *p = draft_part(d, PART_TOOL_CALL, key, err);

	if (!p)
		return -1;
	draft_name(&p->id, json_string(block, "id", NULL));
	draft_name(&p->name, json_string(block, "name", NULL));
	/* some servers send all arguments here; the vendor sends {} */
	if (cJSON_IsObject(input) && input->child)
		json_print(&p->text, input);
	return 0;
}

/* Starts a part of the answer. */
static int parse_block(struct draft *d, const cJSON *block, int64_t key,
		       struct error *err)
{
	const char *type = json_string(block, "type", "");
	struct draft_part *p;

	if (strcmp(type, "tool_use") == 0)
		return start_call(d, block, key, err);
	if (strcmp(type, "text") == 0) {
		p = draft_part(d, PART_TEXT, key, err);
		return p ? add_text(d, p, json_string(block, "text", ""), err)
			 : -1;
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
	return add_text(d, p, json_string(block, "thinking", ""), err);
}

static void parse_usage(struct draft *d, const cJSON *usage)
{
	struct usage *u = &d->usage;

	u->input = wire_tokens(usage, "input_tokens", u->input);
	u->output = wire_tokens(usage, "output_tokens", u->output);
	u->cache_read =
		wire_tokens(usage, "cache_read_input_tokens", u->cache_read);
	u->cache_write = wire_tokens(usage, "cache_creation_input_tokens",
				     u->cache_write);
}

static const struct draft_reason reasons[] = {
	{ "end_turn", FINISH_STOP },
	{ "tool_use", FINISH_TOOLS },
	{ "max_tokens", FINISH_LENGTH },
	{ "model_context_window_exceeded", FINISH_WINDOW },
	{ "refusal", FINISH_REFUSAL },
	{ 0 },
};

/* Adds a refusal's explanation as text: the refusal may have no other text. */
static int parse_details(struct draft *d, const cJSON *details,
			 struct error *err)
{
	const char *why = json_string(details, "explanation", NULL);
	struct draft_part *p;

	if (!why || d->finish != FINISH_REFUSAL)
		return 0;
	p = draft_part(d, PART_TEXT, KEY_DETAILS, err);
	if (!p || (d->bytes && add_text(d, p, "\n\n", err) < 0))
		return -1;
	return add_text(d, p, why, err);
}

static int parse_message_delta(struct draft *d, const cJSON *tree,
			       struct error *err)
{
	const cJSON *delta = json_get(tree, "delta");

	parse_usage(d, json_get(tree, "usage"));
	draft_stopped(d, json_string(delta, "stop_reason", NULL), reasons);
	return parse_details(d, json_get(delta, "stop_details"), err);
}

/* Parses a complete answer of a server that does not stream. */
static int parse_message(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *block;
	int64_t key = 0;

	cJSON_ArrayForEach (block, json_get(tree, "content"))
		if (parse_block(d, block, key++, err) < 0)
			return -1;
	parse_usage(d, json_get(tree, "usage"));
	draft_stopped(d, json_string(tree, "stop_reason", NULL), reasons);
	d->done = d->finish != 0;
	return parse_details(d, json_get(tree, "stop_details"), err);
}

/* Handles an event by its type; unknown types are skipped. */
static int parse_typed(struct draft *d, const char *type, const cJSON *tree,
		       struct error *err)
{
	/* A gateway may report an error without a type. */
	const cJSON *error = json_get(tree, "error");

	if (strcmp(type, "content_block_delta") == 0)
		return parse_delta(d, tree, err);
	if (strcmp(type, "content_block_start") == 0)
		return parse_block(d, json_get(tree, "content_block"),
				   json_int(tree, "index", 0), err);
	if (strcmp(type, "message_delta") == 0)
		return parse_message_delta(d, tree, err);
	if (strcmp(type, "message") == 0)
		return parse_message(d, tree, err);
	if (strcmp(type, "message_start") == 0)
		parse_usage(d, json_get(json_get(tree, "message"), "usage"));
	if (strcmp(type, "message_stop") == 0)
		d->done = true;
	if (strcmp(type, "error") == 0 || cJSON_IsObject(error) ||
	    cJSON_IsString(error))
		return failure_in_stream(d, tree, err);
	return 0;
}

/* Handles an event. Some compatible servers send its type only in the event
 * field, not in the data. */
static int parse_event(struct draft *d, struct str event, struct str data,
		       struct error *err)
{
	const cJSON *tree = draft_parse(d, data, err);
	const char *type = json_string(tree, "type", NULL);
	char name[32] = { 0 };

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
	return parse_typed(d, type, tree, err);
}

static bool is_complete(const struct draft *d)
{
	return d->done && (d->finish || d->n);
}

const struct wire wire_anthropic = {
	.name = "anthropic",
	.path = "/v1/messages",
	/* long enough: the vendor sends a ping every few seconds */
	.idle_ms = 120000,
	.betas = "anthropic-beta: ",
	.auth = "x-api-key: ",
	.version = "anthropic-version: 2023-06-01",
	.mark = MARK,
	.tail = "]}]",
	.head = write_head,
	.push = push_message,
	.event = parse_event,
	.complete = is_complete,
	.replay = write_replay,
};
