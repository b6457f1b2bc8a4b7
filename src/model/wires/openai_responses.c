/* openai_responses.c - the Responses API: requests and streamed answers. */
/* SPDX-License-Identifier: MIT */
/* Requests first: write_head() writes the fixed start of a request,
 * push_message() appends one message. Then answers: parse_event() is called for
 * each event. wire_openai_responses, at the end, lists the functions. Source:
 * openai-node 6.49.0 (resources/responses/responses.d.ts: a function needs
 * strict, phase is sent back with each answer), read 2026-11-22. dcode asks the
 * vendor to store nothing: reasoning arrives encrypted and is sent back with
 * its answer. Each item of an answer has an output_index. What the deltas did
 * not contain is taken from the complete item at the item's end, or from the
 * complete response if a server does not stream. Unknown events are skipped. */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/draft.h"
#include "model/failure.h"
#include "model/message.h"
#include "model/params.h"
#include "model/wire.h"

static void write_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, "{\"type\":\"function\",");
		wire_tool(out, &in->brief->tools[i], ",\"parameters\":");
		/* The default, true, would make every argument of a tool
		 * required. */
		buf_adds(out, ",\"strict\":false}");
	}
}

/* True for models that do not reason and refuse parameters about it. If such a
 * model is missing here, its first request is refused and sent again without
 * them. */
static bool never_reasons(const char *model)
{
	static const char *const names[] = { "gpt-3",    "gpt-4",    "chatgpt",
					     "ft:gpt-3", "ft:gpt-4", NULL };
	const char *const *n = names;

	while (*n && !str_starts(str_of(model), *n))
		n++;
	return *n != NULL;
}

/* Renames the user's parameters. For models that never reason, omits those
 * about reasoning. */
static void fit_params(const struct model_choice *c, cJSON *params)
{
	static const char *const reasoning[] = { "include", "reasoning" };

	cJSON_DeleteItemFromObjectCaseSensitive(params, "input");
	cJSON_DeleteItemFromObjectCaseSensitive(params, "instructions");
	params_rename(params, "max_completion_tokens", "max_output_tokens");
	params_rename(params, "max_tokens", "max_output_tokens");
	params_nest(params, "reasoning_effort", "reasoning", "effort");
	params_nest(params, "verbosity", "text", "verbosity");
	for (size_t i = 0; i < 2 && never_reasons(c->model); i++)
		if (!json_get(params, reasoning[i]))
			cJSON_AddNullToObject(params, reasoning[i]);
}

static void write_own_params(const struct wire_head *in, struct buf *out)
{
	if (!json_get(in->params, "store"))
		buf_adds(out, "\"store\":false,");
	wire_put_cache_key(in, out);
}

/* Writes the start of a request, up to the first message. */
static void write_head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "model", str_of(in->choice->model));
	buf_addc(out, ',');
	wire_params(in->params, out);
	write_own_params(in, out);
	buf_adds(out, "\"stream\":true,");
	if (in->brief->system && in->brief->system[0]) {
		json_member(out, "instructions", str_of(in->brief->system));
		buf_addc(out, ',');
	}
	if (in->brief->n_tools) {
		buf_adds(out, "\"tools\":[");
		write_tools(in, out);
		buf_adds(out, "],");
	}
	buf_adds(out, "\"input\":[");
}

static void write_message(struct buf *out, const char *role,
			  const struct part *p)
{
	static const char phase[] = "{\"phase\":";
	size_t len = p->replay ? strlen(p->replay) : 0;

	buf_addf(out, "{\"type\":\"message\",\"role\":\"%s\",", role);
	json_member(out, "content", str_of(p->text));
	if (len && str_starts(str_of(p->replay), phase)) {
		buf_addc(out, ',');
		buf_add(out, p->replay + 1, len - 2);
	}
	buf_addc(out, '}');
}

static void write_call(struct buf *out, const struct part *p)
{
	struct buf args = BUF_INIT(SIZE_MAX / 2);

	wire_args(&args, p);
	buf_adds(out, "{\"type\":\"function_call\",\"call_id\":");
	wire_short_id(out, p->id);
	buf_adds(out, ",\"name\":");
	wire_name(out, p->name);
	buf_addc(out, ',');
	json_member(out, "arguments", buf_str(&args));
	buf_addc(out, '}');
	buf_release(&args);
}

/* Writes a file in the form of ResponseInputImage and ResponseInputFile of the
 * SDK. */
static void write_media(struct buf *out, const struct part *p)
{
	if (media_is_pdf(p->type)) {
		buf_adds(out, "{\"type\":\"input_file\",");
		json_member(out, "filename", str_of(p->name));
		buf_adds(out, ",\"file_data\":");
	} else {
		buf_adds(out, "{\"type\":\"input_image\",\"detail\":\"auto\","
			      "\"image_url\":");
	}
	wire_data_url(out, p);
	buf_addc(out, '}');
}

/* Adds a result. The n files that follow p in the message belong to it. */
static void write_result(struct buf *out, const struct part *p, size_t n)
{
	buf_adds(out, "{\"type\":\"function_call_output\",\"call_id\":");
	wire_short_id(out, p->id);
	buf_addc(out, ',');
	if (!n) {
		json_member(out, "output", str_of(p->text));
		buf_addc(out, '}');
		return;
	}
	buf_adds(out, "\"output\":[{\"type\":\"input_text\",");
	json_member(out, "text", str_of(p->text));
	buf_addc(out, '}');
	for (size_t i = 1; i <= n; i++) {
		buf_addc(out, ',');
		write_media(out, p + i);
	}
	buf_adds(out, "]}");
}

static bool is_sendable(const struct part *p, enum role role)
{
	/* the user's own files are sent here; write_result() sends those of
	 * results */
	if (p->kind == PART_MEDIA)
		return role == ROLE_USER;
	if (p->kind == PART_THINKING)
		return p->replay &&
		       str_starts(str_of(p->replay), "{\"type\":\"reasoning\"");
	return p->kind != PART_TEXT || role != ROLE_ASSISTANT ||
	       (p->text && p->text[0]);
}

/* Writes a part of a message as an item. */
static void write_item(struct buf *out, const struct message *m, size_t i)
{
	const struct part *p = &m->parts[i];

	buf_adds(out, out->len ? "," : "");
	switch (p->kind) {
	case PART_TEXT:
		write_message(out,
			      m->role == ROLE_ASSISTANT ? "assistant" : "user",
			      p);
		break;
	case PART_MEDIA:
		buf_adds(out, "{\"type\":\"message\",\"role\":\"user\","
			      "\"content\":[");
		write_media(out, p);
		buf_adds(out, "]}");
		break;
	case PART_THINKING:
		buf_adds(out, p->replay);
		break;
	case PART_TOOL_CALL:
		write_call(out, p);
		break;
	case PART_TOOL_RESULT:
		write_result(out, p, message_count_media(m, i));
		break;
	}
}

static void push_message(struct history *h, const struct message *m)
{
	size_t n = m->n;

	/* Leave out reasoning at the end of a message. The item that it led to
	 * must follow it: "provided without its required following item"
	 * (continuedev/continue issue 8933, read 2026-11-22). */
	while (n && (!is_sendable(&m->parts[n - 1], m->role) ||
		     m->parts[n - 1].kind == PART_THINKING))
		n--;
	for (size_t i = 0; i < n; i++)
		if (is_sendable(&m->parts[i], m->role))
			write_item(&h->bytes, m, i);
	h->last = m->role;
}

static const struct wire_option options[] = {
	/* Models that do not reason refuse it: "Encrypted content is not
	 * supported with this model." */
	{ .name = "include",
	  .member = ",\"include\":[\"reasoning.encrypted_content\"]",
	  .at_first = true,
	  .complaint = "ncrypted content is not supported" },
	/* Organizations that are not verified may not ask for it
	 * (continuedev/continue issue 12031, read 2026-11-22), and models
	 * without reasoning refuse it. */
	{ .name = "reasoning",
	  .member = ",\"reasoning\":{\"summary\":\"auto\"}",
	  .at_first = true,
	  .complaint = "reasoning.summary" },
	{ 0 },
};

static int add_delta(struct draft *d, enum part_kind kind, const cJSON *tree,
		     const char *member, struct error *err)
{
	int64_t key = json_int(tree, "output_index", 0);
	struct draft_part *p = draft_open(d, kind, key, err);

	return p ? draft_add(d, p, str_of(json_string(tree, member, "")), err)
		 : -1;
}

static int on_text(struct draft *d, const cJSON *tree, struct error *err)
{
	return add_delta(d, PART_TEXT, tree, "delta", err);
}

static int on_refusal(struct draft *d, const cJSON *tree, struct error *err)
{
	d->finish = FINISH_REFUSAL;
	return add_delta(d, PART_TEXT, tree, "delta", err);
}

static int on_thinking(struct draft *d, const cJSON *tree, struct error *err)
{
	return add_delta(d, PART_THINKING, tree, "delta", err);
}

/* Starts a new paragraph, because a new part of the reasoning's summary
 * begins. */
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
	struct draft_part *p = draft_open(d, PART_TOOL_CALL, key, err);

	if (!p)
		return -1;
	draft_name(&p->id, json_string(item, "call_id", NULL));
	draft_name(&p->name, json_string(item, "name", NULL));
	if (p->text.len)
		return 0;
	return draft_add(d, p, str_of(json_string(item, "arguments", "")), err);
}

/* Adds the texts in a complete item if no deltas brought them before. */
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
	struct draft_part *p = draft_open(d, PART_TEXT, key, err);

	if (!p)
		return -1;
	if (phase && !p->extra.len)
		json_member(&p->extra, "phase", str_of(phase));
	return parse_texts(d, p, json_get(item, "content"), err);
}

static void write_member(const cJSON *item, const char *key, struct buf *out)
{
	const cJSON *value = json_get(item, key);

	if (!value || cJSON_IsNull(value))
		return;
	buf_addc(out, ',');
	json_quote(out, str_of(key));
	buf_addc(out, ':');
	json_print(out, value);
}

/* Stores the members of a reasoning item that must be sent back. Its id is left
 * out: it would refer to an item that the vendor did not store, and tie it to
 * the ids of neighboring items (OpenHands/software-agent-sdk pull request 1754,
 * read 2026-11-22). vLLM does not encrypt reasoning and needs the id. "status"
 * is left out too: vendors refuse it in requests. */
static void store_reasoning(struct draft_part *p, const cJSON *item)
{
	const cJSON *content = json_get(item, "content");
	bool encrypted = json_string(item, "encrypted_content", NULL) != NULL;

	buf_clear(&p->extra);
	if (!encrypted && !(cJSON_IsArray(content) && content->child))
		return;
	buf_adds(&p->extra, "{\"type\":\"reasoning\"");
	if (!encrypted)
		write_member(item, "id", &p->extra);
	if (!cJSON_IsArray(json_get(item, "summary")))
		buf_adds(&p->extra, ",\"summary\":[]");
	else
		write_member(item, "summary", &p->extra);
	write_member(item, "content", &p->extra);
	write_member(item, "encrypted_content", &p->extra);
	buf_addc(&p->extra, '}');
	if (!p->extra.over && !args_strict(buf_str(&p->extra)))
		/* not strict JSON: vendors would refuse it */
		buf_clear(&p->extra);
}

static int parse_reasoning(struct draft *d, const cJSON *item, int64_t key,
			   struct error *err)
{
	struct draft_part *p = draft_open(d, PART_THINKING, key, err);

	if (!p)
		return -1;
	store_reasoning(p, item);
	if (buf_check(&p->extra, "the model's reasoning", err) < 0)
		return -1;
	if (parse_texts(d, p, json_get(item, "summary"), err) < 0)
		return -1;
	return parse_texts(d, p, json_get(item, "content"), err);
}

/* Handles a complete item of the answer. */
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

static void parse_usage(struct draft *d, const cJSON *usage)
{
	const cJSON *in = json_get(usage, "input_tokens_details");
	const cJSON *out = json_get(usage, "output_tokens_details");
	struct usage *u = &d->usage;
	int64_t input = wire_tokens(usage, "input_tokens", 0);

	u->cache_read = wire_tokens(in, "cached_tokens", 0);
	if (u->cache_read > input)
		u->cache_read = input;
	u->cache_write = wire_tokens(in, "cache_write_tokens", 0);
	if (u->cache_write > input - u->cache_read)
		u->cache_write = input - u->cache_read;
	u->input = input - u->cache_read - u->cache_write;
	u->output = wire_tokens(usage, "output_tokens", 0);
	u->reasoning = wire_tokens(out, "reasoning_tokens", 0);
}

/* Reports an error event. Removes its type first, which is only "error", so
 * that the type of the error itself is reported. */
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

/* Parses the complete response that the last event contains. Its status is
 * completed, incomplete or failed. */
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

static int parse_typed(struct draft *d, const cJSON *tree, struct error *err)
{
	const char *type = json_string(tree, "type", "");
	const cJSON *error = json_get(tree, "error");

	d->progress += strcmp(type, "keepalive") != 0;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (strcmp(events[i].type, type) == 0)
			return events[i].parse(d, tree, err);
	if (strcmp(json_string(tree, "object", ""), "response") == 0)
		return parse_response(d, tree, err);
	/* A gateway may report an error without a type. */
	if (!type[0] && (cJSON_IsObject(error) || cJSON_IsString(error)))
		return failure_in_stream(d, tree, err);
	return 0;
}

static int parse_event(struct draft *d, struct str event, struct str data,
		       struct error *err)
{
	(void)event; /* the data has the event's type too */
	/* compatible servers send it at the end */
	if (str_is(str_trim(data), "[DONE]"))
		return 0;
	return draft_feed(d, data, parse_typed, err);
}

static bool is_complete(const struct draft *d)
{
	return d->done && d->finish;
}

static void write_replay(const struct draft_part *p, struct buf *out)
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

const struct wire wire_openai_responses = {
	.name = "openai-responses",
	.path = "/responses",
	.base_path = "/v1",
	.idle_ms = 300000, /* long: models may think without sending anything */
	.betas = "OpenAI-Beta: ",
	.auth = "Authorization: Bearer ",
	.tail = "]",
	.options = options,
	.params = fit_params,
	.head = write_head,
	.push = push_message,
	.event = parse_event,
	.complete = is_complete,
	.replay = write_replay,
};
