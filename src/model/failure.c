/* failure.c - explains a vendor's refusal and decides whether to retry. */
/* SPDX-License-Identifier: MIT */
/* A refusal comes as an HTTP status with a body, as an error object in a
 * stream, or as a proxy's web page. Begin reading at the table meanings[]: the
 * first row whose status and words match explains the refusal. A row has the
 * advice for the user, the error code and case that dcode acts on, and whether
 * to retry. The message quotes the server's own words. Vendors change their
 * wording: a refusal that matches no row is handled by its status alone. */
#include "model/failure.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/model.h"
#include "net/retry.h"

/* True if the answer is an HTML page. Some proxies send one without
 * Content-Type. */
bool failure_is_page(struct str type, struct str body)
{
	static const char *const starts[] = { "<!doctype html", "<html" };

	if (type.len >= 9 && !strncasecmp(type.ptr, "text/html", 9))
		return true;
	body = str_trim(body);
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		size_t len = strlen(starts[i]);

		if (body.len >= len && !strncasecmp(body.ptr, starts[i], len))
			return true;
	}
	return false;
}

/* Appends the title of a page in quotation marks, as one sanitized line. */
static void add_title(struct str page, struct buf *out)
{
	struct buf line = BUF_INIT(160);
	size_t at = 0;

	while (at + 6 < page.len && strncasecmp(page.ptr + at, "<title", 6))
		at++;
	if (at + 6 >= page.len)
		return;
	page = str_skip(page, at);
	page = str_skip(page, str_find(page, '>') + 1);
	page.len = str_find(page, '<');
	if (page.len > 120)
		page.len = 120;
	page.len = str_utf8_prefix(page);
	sanitize_line(str_trim(page), &line);
	if (line.len)
		buf_addf(out, " \"%s\"", line.ptr);
	buf_release(&line);
}

int failure_of_page(const struct model_choice *c, int status, struct str page,
		    struct error *err)
{
	struct buf title = BUF_INIT(200);

	add_title(page, &title);
	(void)error_set(
		err, ERR_PROTOCOL,
		"%s: a web page%s answered instead of the model (HTTP %d)",
		c->provider, title.len ? title.ptr : "", status);
	buf_release(&title);
	err->http_status = status;
	return error_hint(
		err,
		"It may be a proxy, a sign-in page or another server: check "
		"the network, HTTPS_PROXY and %.80s%s%.80s",
		c->base_url, c->url_from ? ", " : "",
		c->url_from ? c->url_from : "");
}

/* Advice that does not depend on the refusal's details. */
struct advice {
	/* code of the error; ERR_NONE: the one that follows from the status */
	enum err code;
	enum err_case exact;
	const char *hint; /* or NULL */
};

static const struct advice overflow = {
	ERR_LIMIT,
	CASE_TOO_LONG,
	"The conversation no longer fits the model's context window. Start a "
	"new one, or choose a model with a larger window (-M).",
};
static const struct advice too_large = {
	ERR_LIMIT,
	CASE_NONE,
	"One request is more than the account may send in a minute. Start a "
	"new conversation, choose another model (-M), or ask the vendor for a "
	"higher limit.",
};
static const struct advice no_money = {
	ERR_LIMIT,
	CASE_NONE,
	"The account has no credit or quota left: see the vendor's billing "
	"page.",
};
static const struct advice no_quota_today = {
	ERR_LIMIT,
	CASE_NONE,
	"The account has used up its requests for today. Choose another model "
	"(-M), which has its own quota, or a paid plan.",
};
static const struct advice too_many_requests = {
	ERR_NONE,
	CASE_NONE,
	"The account's limit of requests or tokens is reached. Send the "
	"message again later, or choose another model (-M).",
};
static const struct advice overloaded = {
	ERR_NONE,
	CASE_NONE,
	"The vendor is overloaded. Send the message again later, or choose "
	"another model (-M).",
};
static const struct advice sealed_reasoning = {
	ERR_NONE,
	CASE_NONE,
	"The reasoning in this conversation belongs to another account. Use "
	"the key that it started with, or start a new conversation.",
};
/* Has no hint: the agent repeats the turn without the conversation's files. */
static const struct advice refused_file = {
	ERR_NONE,
	CASE_FILE_REFUSED,
	NULL,
};

static void apply_advice(const struct advice *a, struct error *err)
{
	if (a->code != ERR_NONE)
		err->code = a->code;
	if (a->exact)
		(void)error_case(err, a->exact);
	if (a->hint)
		(void)error_hint(err, "%s", a->hint);
}

static bool signs_requests(const struct model_choice *c)
{
	return c->wire && strcmp(c->wire, "bedrock") == 0 && !c->api_key;
}

static bool asks_gcloud(const struct model_choice *c)
{
	return c->vertex && !c->api_key;
}

static int hint_gcloud(struct error *err)
{
	err->code = ERR_AUTH;
	return error_hint(err, "Run gcloud auth login, and give the account "
			       "the role Vertex AI User in this project (or "
			       "set GOOGLE_CLOUD_PROJECT to another).");
}

static int hint_aws(struct error *err)
{
	return error_hint(
		err,
		"Renew the AWS key (aws sso login, or new AWS_... variables), "
		"or allow it bedrock:InvokeModelWithResponseStream for this "
		"model and region.");
}

/* Puts the name of the variable that holds the key before the server's
 * message. */
static void blame_key(const struct model_choice *c, const char *what,
		      struct error *err)
{
	char said[sizeof(err->message)];
	int status = err->http_status;

	snprintf(said, sizeof(said), "%s", err->message);
	(void)error_set(err, ERR_AUTH, "%s%s %s: %s",
			c->key_from ? "" : "the key in ",
			c->key_from ? c->key_from : c->key_env, what, said);
	err->http_status = status;
}

/* Explains a refused key: names the variable that holds it, or its source. */
static int hint_refused_key(const struct model_choice *c, struct error *err)
{
	err->code = ERR_AUTH;
	if (signs_requests(c))
		return hint_aws(err);
	if (asks_gcloud(c))
		return hint_gcloud(err);
	if (!c->api_key || !c->key_env)
		return error_hint(
			err,
			"The server requires a key: name its variable in "
			"[models.providers.%s] api_key_env.",
			c->provider);
	blame_key(c, "was refused", err);
	return error_hint(
		err,
		"Set %s to a valid key, store one with `dcode auth set %.40s`, "
		"or choose another model (-M).",
		c->key_env, c->provider);
}

/* Explains a valid key whose account may not use this model. */
static int hint_denied_access(const struct model_choice *c, struct error *err)
{
	if (signs_requests(c) || !c->api_key || !c->key_env)
		return hint_refused_key(c, err);
	blame_key(c, "has no access", err);
	return error_hint(
		err,
		"Give the account of %s access to %.60s (model, region, "
		"project) at the vendor, or choose another model (-M).",
		c->key_env, c->model);
}

/* Says in the message, too, what the status means: the row of a retry has no
 * hint. */
static int name_overload(const struct model_choice *c, struct error *err)
{
	(void)c;
	return error_add(err, " (the vendor is overloaded)");
}

struct nearest_model {
	struct str name;
	const char *found;
	size_t distance;
};

static void compare_model(void *arg, const char *provider, const char *model,
			  const struct model_facts *facts)
{
	struct nearest_model *n = arg;
	size_t distance = nearest_distance(n->name, str_of(model));

	(void)provider;
	(void)facts;
	if (distance >= n->distance)
		return;
	n->distance = distance;
	n->found = model;
}

/* Returns the name in the catalog that is most similar, if the model's name may
 * be a typing error of it. NULL also if the catalog has the model's name. */
static const char *nearest_model(const struct model_choice *c)
{
	struct nearest_model n = { .name = str_of(c->model),
				   .distance =
					   nearest_limit(str_of(c->model)) };

	model_facts_each(c->provider, compare_model, &n);
	return n.distance ? n.found : NULL;
}

/* Explains an unknown model and suggests the nearest name. */
static int hint_unknown_model(const struct model_choice *c, struct error *err)
{
	const char *meant = nearest_model(c);

	err->code = ERR_NOT_FOUND;
	(void)error_case(err, CASE_UNKNOWN_MODEL);
	if (meant)
		return error_hint(err,
				  "No model \"%.60s\" for this key. Did you "
				  "mean -M %.40s:%.60s?",
				  c->model, c->provider, meant);
	return error_hint(
		err,
		"Check the model name \"%.60s\" and the address %.90s%s%.80s",
		c->model, c->base_url, c->url_from ? ", " : "",
		c->url_from ? c->url_from : "");
}

static int hint_needs_profile(const struct model_choice *c, struct error *err)
{
	return error_hint(err,
			  "Put the region's group before the model's id (-M "
			  "bedrock:us.%.60s, or eu., apac., global.), or use a "
			  "profile's ARN.",
			  c->model);
}

enum {
	/* a per-minute quota is available again within this time */
	SOON_MS = 120000,
	MAX_DETAILS = 64 << 10,
};

/* Words of a refusal because the context window is full: Anthropic ("prompt is
 * too long: 2 tokens > 1 maximum"), OpenAI ("maximum context length"),
 * llama.cpp, vLLM, Mistral and Gemini. */
static const char *const overflow_words[] = {
	"prompt is too long", "context_length_exceeded",
	"context length",     "context window",
	"context size",       "exceed context limit",
	"request_too_large",  "too many tokens",
	"input token count",  "maximum prompt length",
	"input is too long",  NULL,
};

/* The account has no money left. These are only codes and whole phrases,
 * because Gemini mentions "plan and billing" where it means "wait 17 s".
 * OpenAI's four codes, all of type insufficient_quota: learn.microsoft.com, Dev
 * Proxy, "OpenAI insufficient_quota"; Anthropic's billing_error: its SDK 0.121;
 * read 2026-11-20. */
static const char *const money_words[] = {
	"insufficient_quota",
	"credit_balance_exhausted",
	"spend_limit_exceeded",
	"organization_usage_limit_exceeded",
	"exceeded_current_quota_error",
	"credit balance is too low",
	"enforced_spend_limit_reached",
	"billing_error",
	NULL,
};

/* A single request has more tokens than the account may send per minute, so
 * waiting does not help (Groq sends 413, OpenAI 429). */
static const char *const rate_words[] = { "request too large for", NULL };

/* The model's tool call was malformed; a retry may succeed (Groq: pydantic-ai
 * pull request 4354, opencode issue 1018; read 2026-11-20). */
static const char *const blunder_words[] = { "tool_use_failed",
					     "failed to call a function",
					     NULL };

/* Bedrock: the request has the model's own id, but this model needs the id of
 * an inference profile. */
static const char *const profile_words[] = { "on-demand throughput", NULL };

/* Google refuses a key with status 400 (google-gemini/gemini-cli issue 25198;
 * read 2026-11-22). */
static const char *const key_words[] = { "API_KEY_INVALID", NULL };

/* OpenAI cannot decrypt the reasoning in the history: it was encrypted for
 * another account (openai/codex issue 8119; read 2026-11-22). */
static const char *const sealed_words[] = { "invalid_encrypted_content", NULL };

/* AWS also answers 403 if a key has expired or a signature is wrong:
 * ExpiredTokenException, "The security token included in the request is
 * expired", and errors about invalid tokens and signatures
 * (docs.aws.amazon.com, Bedrock AgentCore, "Common Errors", read
 * 2026-11-23). */
static const char *const ended_words[] = { "security token", "expired",
					   "signature", NULL };

/* Unknown model: Bedrock, with status 400 (anomalyco/opencode issue 11037);
 * Mistral, with status 400 and type invalid_model (mistralai/mistral-vibe issue
 * 617); OpenAI's code; several gateways. Read 2026-11-23. */
static const char *const model_words[] = { "model identifier is invalid",
					   "invalid model",
					   "model_not_found",
					   "model not found",
					   "unknown model",
					   NULL };

/* Gemini's daily quota is used up. Its quotaId is
 * GenerateRequestsPerDayPerProjectPerModel-FreeTier; nevertheless the answer
 * asks to wait less than a minute (googleapis/python-genai issue 2044, read
 * 2026-11-23). */
static const char *const day_words[] = { "PerDay", NULL };

/* Gemini may report the daily and the per-minute quota together
 * (google-gemini/gemini-cli issue 8437, read 2026-11-23). */
static const char *const minute_words[] = { "PerMinute", NULL };

/* A file was refused: Anthropic (anthropics/claude-code issues 25592 and
 * 13480), Gemini (google-gemini/gemini-cli issues 5064 and 14838), models
 * without image input ("image_url"; OpenRouter with status 404); read
 * 2026-11-23. */
static const char *const file_words[] = {
	/* Anthropic, Bedrock (claude-code issues 8647, 56511) */
	"process image",
	"process pdf",
	"image.source",
	"document.source",
	"image exceeds",
	"image dimensions",
	"image does not match",
	"image count exceeds",
	"pdf specified",
	"pdf pages",
	"pdf cannot be",
	"support the image content",
	"support the document content",
	/* OpenAI and servers with its API (vercel/ai issue 1544, STranslate
	 * issue 277, awesome-openai-vision-api-experiments issue 11, dify issue
	 * 11527) */
	"image_url",
	"input_image",
	"input_file",
	"invalid_image",
	"image_parse_error",
	"unsupported image",
	"image data",
	"unsupported_file",
	"support image",
	"support pdf",
	"support file input",
	/* Gemini; for some files its answer has only the last of these
	 * (js-genai issue 862, crush issue 995, Open-Interface issue 64) */
	"process input image",
	"image is not valid",
	"document has no pages",
	"mime type",
	"inline_data",
	"request contains an invalid argument",
	NULL,
};

static const char *const blind_words[] = { "image input", "file input", NULL };

/* llama.cpp refuses images with status 500 (issues 13566, 12947; read
 * 2026-11-23). */
static const char *const no_eyes_words[] = { "image input is not",
					     "unsupported content part", NULL };

/* Words in an error's kind that mean: a retry would fail the same way. */
static const char *const final_words[] = {
	"invalid_request",     "authentication",     "permission",
	"not_found",           "invalid_api_key",    "content_policy",
	"content_filter",      "insufficient_quota", "invalid_prompt",
	"validationException", "accessDenied",       "resourceNotFound",
	"bio_policy",          "cyber_policy",       NULL,
};

enum retries { BY_STATUS, NEVER, AGAIN };

/* A kind of refusal and how to explain it. The first row that matches
 * applies. */
struct meaning {
	int first, last; /* range of HTTP statuses; 0: an error in a stream */
	/* the body must contain one of these; NULL: any body */
	const char *const *words;
	enum retries retries;
	/* at most one of advice and explain is set */
	const struct advice *advice;
	/* Completes err, which already has the server's message. Always returns
	 * -1. */
	int (*explain)(const struct model_choice *c, struct error *err);
};

static const struct meaning meanings[] = {
	{ 401, 401, NULL, BY_STATUS, NULL, hint_refused_key },
	{ 403, 403, ended_words, BY_STATUS, NULL, hint_refused_key },
	{ 403, 403, money_words, NEVER, &no_money, NULL },
	{ 403, 403, NULL, BY_STATUS, NULL, hint_denied_access },
	{ 400, 400, key_words, BY_STATUS, NULL, hint_refused_key },
	{ 400, 599, rate_words, NEVER, &too_large, NULL },
	{ 413, 413, NULL, NEVER, &overflow, NULL },
	{ 400, 428, overflow_words, NEVER, &overflow, NULL },
	{ 430, 499, overflow_words, NEVER, &overflow, NULL },
	{ 402, 402, NULL, NEVER, &no_money, NULL },
	{ 400, 599, money_words, NEVER, &no_money, NULL },
	{ 429, 429, day_words, NEVER, &no_quota_today, NULL },
	{ 429, 429, NULL, BY_STATUS, &too_many_requests, NULL },
	{ 400, 400, blunder_words, AGAIN, NULL, NULL },
	{ 400, 422, model_words, NEVER, NULL, hint_unknown_model },
	{ 404, 404, blind_words, NEVER, &refused_file, NULL },
	{ 404, 404, NULL, NEVER, NULL, hint_unknown_model },
	{ 400, 599, profile_words, BY_STATUS, NULL, hint_needs_profile },
	{ 400, 599, sealed_words, BY_STATUS, &sealed_reasoning, NULL },
	{ 400, 422, file_words, NEVER, &refused_file, NULL },
	{ 415, 415, NULL, NEVER, &refused_file, NULL },
	{ 500, 500, no_eyes_words, NEVER, &refused_file, NULL },
	{ 503, 503, NULL, BY_STATUS, &overloaded, name_overload },
	{ 529, 529, NULL, BY_STATUS, &overloaded, name_overload },
	/* Errors in a stream for which status_of() knows no status. */
	{ 0, 0, rate_words, NEVER, &too_large, NULL },
	{ 0, 0, overflow_words, NEVER, &overflow, NULL },
	{ 0, 0, money_words, NEVER, &no_money, NULL },
	{ 0, 0, blunder_words, AGAIN, NULL, NULL },
};

static bool has_any(struct str text, const char *const *words)
{
	for (; *words; words++) {
		size_t len = strlen(*words);

		for (size_t i = 0; i + len <= text.len; i++)
			if (strncasecmp(text.ptr + i, *words, len) == 0)
				return true;
	}
	return false;
}

/* Appends type, code and status of an error object, each followed by a space.
 * Some servers write an HTTP status into code or status. */
static void print_kind(const cJSON *error, struct buf *kind)
{
	static const char *const keys[] = { "type", "code", "status" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const cJSON *item = json_get(error, keys[i]);

		if (cJSON_IsString(item))
			buf_addf(kind, "%s ", item->valuestring);
		if (cJSON_IsNumber(item))
			buf_addf(kind, "%d ", item->valueint);
	}
}

/* True if the row matches. The row for a daily quota does not match if the
 * answer also names the per-minute quota and asks for a short wait: then
 * waiting helps. */
static bool is_meant(const struct meaning *m, const struct http_response *res)
{
	struct str body = buf_str(&res->body);
	int64_t wish;

	if (res->status < m->first || res->status > m->last ||
	    (m->words && !has_any(body, m->words)))
		return false;
	wish = m->words == day_words ? retry_wish(res) : -1;
	return wish < 0 || wish > SOON_MS || !has_any(body, minute_words);
}

/* Applies the first matching row; false if there is none. */
static bool explain_refusal(const struct model_choice *c,
			    const struct http_response *res, bool *again,
			    struct error *err)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		const struct meaning *m = &meanings[i];

		if (!is_meant(m, res))
			continue;
		if (m->retries != BY_STATUS)
			*again = m->retries == AGAIN;
		if (m->advice)
			apply_advice(m->advice, err);
		if (m->explain)
			(void)m->explain(c, err);
		return true;
	}
	return false;
}

/* Returns the HTTP status that the vendor uses for an error of this kind.
 * Anthropic's types: platform.claude.com/docs, "Errors"; Google's:
 * google.rpc.Code; Bedrock's: ConverseStream's exceptions; read 2026-11-23. */
static int status_of(struct str kind)
{
	static const struct {
		const char *word;
		int status;
	} rows[] = {
		{ "overloaded", 529 },          { "rate_limit", 429 },
		{ "resource_exhausted", 429 },  { "throttling", 429 },
		{ "modelNotReady", 429 },       { "too_many_requests", 429 },
		{ "insufficient_quota", 429 },  { "billing_error", 402 },
		{ "request_too_large", 413 },   { "authentication", 401 },
		{ "unauthenticated", 401 },     { "invalid_api_key", 401 },
		{ "permission", 403 },          { "accessDenied", 403 },
		{ "model_not_found", 404 },     { "not_found", 404 },
		{ "resourceNotFound", 404 },    { "unavailable", 503 },
		{ "invalid_request", 400 },     { "invalid_argument", 400 },
		{ "validationException", 400 },
	};

	struct str rest = kind;
	struct str word;
	int64_t status;

	while (str_split(&rest, ' ', &word))
		if (str_to_int(word, &status) && status >= 400 && status < 600)
			return (int)status;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (has_any(kind, (const char *const[]){ rows[i].word, NULL }))
			return rows[i].status;
	return 0;
}

static enum err code_of(int status)
{
	switch (status) {
	case 401:
	case 403:
		return ERR_AUTH;
	case 429:
		return ERR_LIMIT;
	default:
		return ERR_REMOTE;
	}
}

/* True if a retry would fail again. A row of meanings[] may decide
 * otherwise. */
static bool is_final(struct str kind, int status)
{
	static const int refused[] = { 400, 401, 402, 403, 404, 413, 422 };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (status == refused[i])
			return true;
	return has_any(kind, final_words);
}

/* Sets the error "the model's server reported KIND: MESSAGE", sanitized. */
static void name_error(const cJSON *error, struct str kind, struct error *err)
{
	struct buf message = BUF_INIT(320);
	struct buf all = BUF_INIT(600);
	struct str said = str_trim(kind);

	sanitize_text(str_of(cJSON_IsString(error)
				     ? error->valuestring
				     : json_string(error, "message", "")),
		      &message);
	message.len = str_utf8_prefix(buf_str(&message));
	buf_addf(&all, "%.*s%s%.*s", (int)said.len, said.len ? said.ptr : "",
		 said.len ? ": " : "", (int)message.len,
		 message.ptr ? message.ptr : "");
	(void)error_set(err, code_of(status_of(kind)),
			"the model's server reported %.*s",
			(int)str_utf8_prefix(buf_str(&all)), all.ptr);
	buf_release(&message);
	buf_release(&all);
}

/* Says what to do about a failure that has no explanation. again: the same
 * request may succeed later. id: of the request, or "". */
static int hint_next_step(bool again, const char *id, struct error *err)
{
	return error_hint(
		err, "%s%s%s",
		again ? "Send the message again later, or choose another model "
			"(-M)."
		      : "The request is refused as it is: change the message, "
			"start a new conversation, or choose another model "
			"(-M).",
		id[0] ? " Request id " : "", id);
}

int failure_in_stream(struct draft *d, const cJSON *tree, struct error *err)
{
	static const struct model_choice nobody = {
		.provider = (char *)"",
		.model = (char *)"",
		.base_url = (char *)"",
	};
	const struct model_choice *c = d->choice ? d->choice : &nobody;
	const cJSON *error = json_get(tree, "error");
	struct buf kind = BUF_INIT(256);
	struct http_response res = { .retry_after_ms = -1,
				     .body = BUF_INIT(MAX_DETAILS) };
	bool again;

	if (!error || cJSON_IsNull(error))
		error = tree;
	print_kind(cJSON_IsObject(error) ? error : tree, &kind);
	kind.len = str_utf8_prefix(buf_str(&kind));
	d->status = res.status = status_of(buf_str(&kind));
	json_print(&res.body, error);
	again = !is_final(buf_str(&kind), res.status);
	name_error(error, buf_str(&kind), err);
	if (!explain_refusal(c, &res, &again, err)) {
		/* Some servers send 500 for every error, so the status says
		 * nothing. */
		res.status = 0;
		(void)explain_refusal(c, &res, &again, err);
	}
	if (!err->hint[0] && err->exact != CASE_FILE_REFUSED)
		(void)hint_next_step(again, "", err);
	d->fatal = !again;
	buf_release(&kind);
	buf_release(&res.body);
	return -1;
}

int failure_of_status(const struct model_choice *choice,
		      const struct http_response *res, bool *again,
		      struct error *err)
{
	struct str body = buf_str(&res->body);

	(void)http_status_error(res, choice->provider, err);
	*again = res->status == 409 || retry_worthy(0, res, err);
	if (failure_is_page(str_of(res->content_type), body))
		return failure_of_page(choice, res->status, body, err);
	(void)explain_refusal(choice, res, again, err);
	if (err->hint[0] || err->exact == CASE_FILE_REFUSED)
		return -1;
	return hint_next_step(*again, res->request_id, err);
}
