/* openai_responses.c - requests of the Responses API. */
/* SPDX-License-Identifier: MIT */
/* Facts: openai-node 6.49.0 (resources/responses/responses.d.ts: strict is
 * required of a function, phase goes back with each answer), read 2026-11-22.
 * Nothing is stored at the vendor's: reasoning comes encrypted and goes back
 * with the answers it belongs to. */
#include "model/wires/openai_responses.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/media.h"
#include "model/params.h"
#include "model/wire.h"
#include "model/wires/openai_cache.h"

static void put_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, "{\"type\":\"function\",");
		wire_tool(out, &in->brief->tools[i], ",\"parameters\":");
		/* left out it means true, which wants every member required */
		buf_adds(out, ",\"strict\":false}");
	}
}

/* Models that do not reason refuse what only reasoning has. A name that is not
 * known here costs one refused request. */
static bool never_reasons(const char *model)
{
	static const char *const names[] = { "gpt-3",    "gpt-4",    "chatgpt",
					     "ft:gpt-3", "ft:gpt-4", NULL };
	const char *const *n = names;

	while (*n && !str_starts(str_of(model), *n))
		n++;
	return *n != NULL;
}

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

static void put_own_params(const struct wire_head *in, struct buf *out)
{
	if (!json_get(in->params, "store"))
		buf_adds(out, "\"store\":false,");
	openai_cache_put_key(in, out);
}

static void head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "model", str_of(in->choice->model));
	buf_addc(out, ',');
	wire_params(in->params, out);
	put_own_params(in, out);
	buf_adds(out, "\"stream\":true,");
	if (in->brief->system && in->brief->system[0]) {
		json_member(out, "instructions", str_of(in->brief->system));
		buf_addc(out, ',');
	}
	if (in->brief->n_tools) {
		buf_adds(out, "\"tools\":[");
		put_tools(in, out);
		buf_adds(out, "],");
	}
	buf_adds(out, "\"input\":[");
}

static void put_message(struct buf *out, const char *role, const struct part *p)
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

static void put_call(struct buf *out, const struct part *p)
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

/* ResponseInputImage and ResponseInputFile of the SDK. */
static void put_media(struct buf *out, const struct part *p)
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

/* n files follow the result p and are part of it. */
static void put_result(struct buf *out, const struct part *p, size_t n)
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
		put_media(out, p + i);
	}
	buf_adds(out, "]}");
}

static bool is_sendable(const struct part *p, enum role role)
{
	if (p->kind == PART_MEDIA) /* a result has its own */
		return role == ROLE_USER;
	if (p->kind == PART_THINKING)
		return p->replay &&
		       str_starts(str_of(p->replay), "{\"type\":\"reasoning\"");
	return p->kind != PART_TEXT || role != ROLE_ASSISTANT ||
	       (p->text && p->text[0]);
}

static void put_item(struct buf *out, const struct message *m, size_t i)
{
	const struct part *p = &m->parts[i];

	buf_adds(out, out->len ? "," : "");
	switch (p->kind) {
	case PART_TEXT:
		put_message(out,
			    m->role == ROLE_ASSISTANT ? "assistant" : "user",
			    p);
		break;
	case PART_MEDIA:
		buf_adds(out, "{\"type\":\"message\",\"role\":\"user\","
			      "\"content\":[");
		put_media(out, p);
		buf_adds(out, "]}");
		break;
	case PART_THINKING:
		buf_adds(out, p->replay);
		break;
	case PART_TOOL_CALL:
		put_call(out, p);
		break;
	case PART_TOOL_RESULT:
		put_result(out, p, message_count_media(m, i));
		break;
	}
}

static void push(struct history *h, const struct message *m)
{
	size_t n = m->n;

	/* reasoning must be followed by what it led to: "provided without its
	 * required following item" (continuedev/continue issue 8933, read
	 * 2026-11-22) */
	while (n && (!is_sendable(&m->parts[n - 1], m->role) ||
		     m->parts[n - 1].kind == PART_THINKING))
		n--;
	for (size_t i = 0; i < n; i++)
		if (is_sendable(&m->parts[i], m->role))
			put_item(&h->bytes, m, i);
	h->last = m->role;
}

static const struct wire_option options[] = {
	/* "Encrypted content is not supported with this model." */
	{ .name = "include",
	  .member = ",\"include\":[\"reasoning.encrypted_content\"]",
	  .at_first = true,
	  .complaint = "ncrypted content is not supported" },
	/* Refused to organizations that are not verified (continuedev/continue
	 * issue 12031, read 2026-11-22), and by models without reasoning. */
	{ .name = "reasoning",
	  .member = ",\"reasoning\":{\"summary\":\"auto\"}",
	  .at_first = true,
	  .complaint = "reasoning.summary" },
	{ 0 },
};

const struct wire wire_openai_responses = {
	.name = "openai-responses",
	.path = "/responses",
	.base_path = "/v1",
	.idle_ms = 300000, /* models think in silence */
	.betas = "OpenAI-Beta: ",
	.auth = "Authorization: Bearer ",
	.tail = "]",
	.options = options,
	.params = fit_params,
	.head = head,
	.push = push,
	.event = openai_responses_event,
	.complete = openai_responses_complete,
	.replay = openai_responses_replay,
};
