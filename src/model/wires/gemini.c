/* gemini.c - requests of Gemini's generateContent. */
/* SPDX-License-Identifier: MIT */
/* Facts: @google/genai 2.32.0 (dist/genai.d.ts) and ai.google.dev/gemini-api
 * /docs (thought-signatures, function-calling, thinking), read 2026-11-22. */
#include "model/wires/gemini.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/params.h"
#include "model/wire.h"
#include "model/wires/vertex_account.h"

/* Stands for the signature that a call of another model does not have. */
#define UNSIGNED "skip_thought_signature_validator"

static void put_url(const struct model_choice *c, struct buf *out)
{
	if (c->vertex) {
		vertex_account_path(c->vertex, "google", c->model, out);
	} else {
		buf_adds(out, strchr(c->model, '/') ? "/" : "/models/");
		wire_escape(out, c->model, "/");
	}
	buf_adds(out, ":streamGenerateContent?alt=sse");
}

enum { NEWEST = 9 };

/* "gemini-2.5-pro" is 2, "gemini-flash-latest" the newest; 0: no Gemini. */
static int generation(const char *model)
{
	struct str name = str_of(model);
	struct str gemini = STR("gemini-");
	size_t at = str_search(name, gemini);

	if (at == name.len)
		return 0;
	name = str_skip(name, at + gemini.len);
	return name.len && name.ptr[0] >= '0' && name.ptr[0] <= '9'
		       ? name.ptr[0] - '0'
		       : NEWEST;
}

/* "Function call is missing a thought_signature" is what generation 3 says
 * of calls that other models made (jeremychone/rust-genai pull request 115,
 * read 2026-11-22). */
static void begin(const struct model_choice *c, struct history *h)
{
	h->sign_calls = generation(c->model) >= 3;
	/* Older ones have files in a content behind the results
	 * (FunctionResponse .parts of the SDK; badlogic/pi-mono,
	 * google-shared.ts; read 2026-11-23). */
	h->result_media = h->sign_calls;
	/* "Unknown name "id" at ... function_call" (vercel/ai issue 15664,
	 * charmbracelet/fantasy issue 265; read 2026-11-23) */
	h->no_ids = c->vertex != NULL;
}

static bool never_thinks(const char *model)
{
	static const char *const names[] = { "gemini-1", "gemini-2.0", "gemma",
					     NULL };
	const char *const *n = names;

	while (*n && !str_starts(str_of(model), *n))
		n++;
	return *n != NULL;
}

static const struct {
	const char *from, *group, *to;
} places[] = {
	/* as Python's client has them */
	{ "reasoning_effort", "thinkingConfig", "thinkingLevel" },
	{ "thinking_level", "thinkingConfig", "thinkingLevel" },
	{ "thinking_budget", "thinkingConfig", "thinkingBudget" },
	{ "include_thoughts", "thinkingConfig", "includeThoughts" },
	{ "thinkingConfig", "generationConfig", "thinkingConfig" },
	{ "temperature", "generationConfig", "temperature" },
	{ "top_p", "generationConfig", "topP" },
	{ "topP", "generationConfig", "topP" },
	{ "top_k", "generationConfig", "topK" },
	{ "topK", "generationConfig", "topK" },
	{ "max_output_tokens", "generationConfig", "maxOutputTokens" },
	{ "max_tokens", "generationConfig", "maxOutputTokens" },
	{ "maxOutputTokens", "generationConfig", "maxOutputTokens" },
	{ "stop", "generationConfig", "stopSequences" },
	{ "stopSequences", "generationConfig", "stopSequences" },
	{ "seed", "generationConfig", "seed" },
};

/* ThinkingLevel is an enumeration (npm @google/genai 2.32.0, read 2026-11-23):
 * "low" of a setting is its LOW. */
static void capitalize(cJSON *level)
{
	if (!cJSON_IsString(level))
		return;
	for (char *c = level->valuestring; *c; c++)
		*c -= *c >= 'a' && *c <= 'z' ? 'a' - 'A' : 0;
}

/* Thoughts are shown, unless the user has said something of them. */
static void show_thoughts(const struct model_choice *c, cJSON *params)
{
	cJSON *config =
		cJSON_GetObjectItemCaseSensitive(params, "generationConfig");
	cJSON *thinking;

	if (never_thinks(c->model)) {
		if (!config)
			cJSON_AddNullToObject(params, "generationConfig");
		return;
	}
	if (!cJSON_IsObject(config))
		return;
	thinking = cJSON_GetObjectItemCaseSensitive(config, "thinkingConfig");
	if (!thinking)
		thinking = cJSON_AddObjectToObject(config, "thinkingConfig");
	capitalize(cJSON_GetObjectItemCaseSensitive(thinking, "thinkingLevel"));
	if (cJSON_IsObject(thinking) &&
	    !json_get(thinking, "includeThoughts") &&
	    json_int(thinking, "thinkingBudget", -1) != 0)
		cJSON_AddTrueToObject(thinking, "includeThoughts");
}

static void fit_params(const struct model_choice *c, cJSON *params)
{
	cJSON_DeleteItemFromObjectCaseSensitive(params, "contents");
	cJSON_DeleteItemFromObjectCaseSensitive(params, "systemInstruction");
	params_rename(params, "safety_settings", "safetySettings");
	params_rename(params, "generation_config", "generationConfig");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		params_nest(params, places[i].from, places[i].group,
			    places[i].to);
	show_thoughts(c, params);
}

static void put_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? ",{" : "{");
		wire_tool(out, &in->brief->tools[i],
			  ",\"parametersJsonSchema\":");
		buf_addc(out, '}');
	}
}

static void head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	wire_params(in->params, out);
	if (in->brief->system && in->brief->system[0]) {
		buf_adds(out, "\"systemInstruction\":{\"role\":\"user\","
			      "\"parts\":[{");
		json_member(out, "text", str_of(in->brief->system));
		buf_adds(out, "}]},");
	}
	if (in->brief->n_tools) {
		buf_adds(out, "\"tools\":[{\"functionDeclarations\":[");
		put_tools(in, out);
		buf_adds(out, "]}],");
	}
	buf_adds(out, "\"contents\":[");
}

/* The signature that came with a part; it may be of one without text. */
static void put_signature(struct buf *out, const struct part *p)
{
	size_t len = p->replay ? strlen(p->replay) : 0;

	if (!len || !str_starts(str_of(p->replay), "{\"thoughtSignature\":"))
		return;
	buf_addc(out, ',');
	buf_add(out, p->replay + 1, len - 2);
}

/* Without ids results stand for the calls of their order. */
static void put_id(const struct history *h, struct buf *out, const char *id)
{
	if (h->no_ids)
		return;
	buf_adds(out, "\"id\":");
	wire_id(out, id);
	buf_addc(out, ',');
}

static void put_call(struct history *h, const struct part *p, bool sign)
{
	struct buf *out = &h->bytes;

	buf_adds(out, "{\"functionCall\":{");
	put_id(h, out, p->id);
	buf_adds(out, "\"name\":");
	wire_name(out, p->name);
	buf_adds(out, ",\"args\":");
	wire_args(out, p);
	buf_addc(out, '}');
	put_signature(out, p);
	if (sign)
		buf_adds(out, ",\"thoughtSignature\":\"" UNSIGNED "\"");
	buf_addc(out, '}');
}

static void put_media(struct buf *out, const struct part *p)
{
	buf_addf(out,
		 "{\"inlineData\":{\"mimeType\":\"%s\",\"data\":", p->type);
	wire_base64(out, p);
	buf_adds(out, "}}");
}

/* n files follow the result p and are part of it. */
static void put_result(struct history *h, const struct part *p, size_t n)
{
	struct buf *out = &h->bytes;

	buf_adds(out, "{\"functionResponse\":{");
	put_id(h, out, p->id);
	buf_adds(out, "\"name\":");
	wire_name(out, p->name);
	buf_adds(out, ",\"response\":{");
	json_member(out, p->failed ? "error" : "output", str_of(p->text));
	buf_adds(out, n ? "},\"parts\":[" : "}}}");
	for (size_t i = 1; i <= n; i++) {
		buf_adds(out, i > 1 ? "," : "");
		put_media(out, p + i);
	}
	buf_adds(out, n ? "]}}" : "");
}

static void put_text(struct buf *out, const struct part *p)
{
	buf_addc(out, '{');
	json_member(out, "text", str_of(p->text));
	if (p->kind == PART_THINKING)
		buf_adds(out, ",\"thought\":true");
	put_signature(out, p);
	buf_addc(out, '}');
}

static void put_part(struct history *h, const struct part *p, bool sign)
{
	if (p->kind == PART_TOOL_CALL)
		put_call(h, p, sign);
	else if (p->kind == PART_MEDIA)
		put_media(&h->bytes, p);
	else
		put_text(&h->bytes, p);
}

static bool is_sendable(const struct part *p)
{
	if (p->kind == PART_TEXT)
		return (p->text && p->text[0]) || p->replay;
	return p->kind != PART_THINKING || p->replay;
}

/* Opens the next part of this role: of a new content, or one more. Results
 * stand in a content of their own. */
static void open_part(struct history *h, enum role role)
{
	wire_open_block(h, role, role == ROLE_ASSISTANT ? "model" : "user",
			"parts");
}

static bool has_signed_call(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TOOL_CALL && m->parts[i].replay)
			return true;
	return false;
}

/* The files of results in a content of the user's. */
static void follow_results(struct history *h, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_MEDIA) {
			open_part(h, ROLE_USER);
			put_media(&h->bytes, &m->parts[i]);
		}
}

static void push(struct history *h, const struct message *m)
{
	bool sign = h->sign_calls && !has_signed_call(m);
	size_t sent = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		if (!is_sendable(p) ||
		    (m->role == ROLE_TOOL && p->kind == PART_MEDIA))
			continue;
		open_part(h, m->role);
		if (p->kind == PART_TOOL_RESULT)
			put_result(h, p,
				   h->result_media ? message_count_media(m, i)
						   : 0);
		else
			put_part(h, p, sign);
		/* the first of parallel ones stands for all */
		sign = sign && p->kind != PART_TOOL_CALL;
		sent++;
	}
	if (m->role == ROLE_TOOL && !h->result_media)
		follow_results(h, m);
	if (sent || m->role != ROLE_USER)
		return;
	open_part(h, m->role);
	buf_adds(&h->bytes, "{\"text\":\"(empty)\"}");
}

static const struct wire_option options[] = {
	/* what a model that does not think calls it differs */
	{ .name = "generationConfig",
	  .member = ",\"generationConfig\":{\"thinkingConfig\":{"
		    "\"includeThoughts\":true}}",
	  .at_first = true,
	  .complaint = "hinking" },
	{ 0 },
};

const struct wire wire_gemini = {
	.name = "gemini",
	.url = put_url,
	.base_path = "/v1beta",
	/* ai.google.dev, "Image understanding", read 2026-11-23: PNG, JPEG,
	 * WebP, HEIC, HEIF */
	.refuses = "image/gif",
	.idle_ms = 300000, /* models think in silence */
	.betas = "anthropic-beta: ",
	.auth = "x-goog-api-key: ",
	.tail = "]}]",
	.options = options,
	.params = fit_params,
	.begin = begin,
	.head = head,
	.push = push,
	.event = gemini_event,
	.complete = gemini_complete,
	.replay = gemini_replay,
};
