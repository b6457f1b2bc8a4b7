/* failure.c - what a vendor's refusal means for the user, and for a retry. */
/* SPDX-License-Identifier: MIT */
#include "model/failure/failure.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/failure/failure_advice.h"
#include "net/retry.h"

enum {
	SOON_MS = 120000, /* a quota of a minute is there again */
	MAX_DETAILS = 64 << 10,
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

/* The words of Anthropic ("prompt is too long: 2 tokens > 1 maximum"), OpenAI
 * ("maximum context length"), llama.cpp, vLLM, Mistral and Gemini. */
static const char *const overflow_words[] = {
	"prompt is too long", "context_length_exceeded",
	"context length",     "context window",
	"context size",       "exceed context limit",
	"request_too_large",  "too many tokens",
	"input token count",  "maximum prompt length",
	"input is too long",  NULL,
};
/* Only codes and whole phrases: Gemini speaks of "plan and billing" where it
 * means "wait 17 s". OpenAI's four codes, all of type insufficient_quota:
 * learn.microsoft.com, Dev Proxy, "OpenAI insufficient_quota"; Anthropic's
 * billing_error: its SDK 0.121; read 2026-11-20. */
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
/* A single request above the tokens that the account has per minute; waiting
 * does not make it smaller (Groq as 413, OpenAI as 429). */
static const char *const rate_words[] = { "request too large for", NULL };
/* A call that the server could not read; the next may be better (Groq:
 * pydantic-ai pull request 4354, opencode issue 1018; read 2026-11-20). */
static const char *const blunder_words[] = { "tool_use_failed",
					     "failed to call a function",
					     NULL };
/* Bedrock, to the plain id of a model that is offered by profile only. */
static const char *const profile_words[] = { "on-demand throughput", NULL };
/* Google, with status 400 (google-gemini/gemini-cli issue 25198; read
 * 2026-11-22). */
static const char *const key_words[] = { "API_KEY_INVALID", NULL };
/* OpenAI, to reasoning that it cannot decrypt (openai/codex issue 8119; read
 * 2026-11-22). */
static const char *const sealed_words[] = { "invalid_encrypted_content", NULL };
/* The key is known, but has ended or was signed wrongly, where the status says
 * "forbidden": AWS's ExpiredTokenException, "The security token included in the
 * request is expired", and what it says of tokens that are invalid and of
 * signatures (docs.aws.amazon.com, Bedrock AgentCore, "Common Errors", read
 * 2026-11-23). */
static const char *const ended_words[] = { "security token", "expired",
					   "signature", NULL };
/* No such model: Bedrock, with status 400 (anomalyco/opencode issue 11037);
 * Mistral, with status 400 and type invalid_model (mistralai/mistral-vibe issue
 * 617); OpenAI's code; several gateways. Read 2026-11-23. */
static const char *const model_words[] = { "model identifier is invalid",
					   "invalid model",
					   "model_not_found",
					   "model not found",
					   "unknown model",
					   NULL };
/* Gemini, whose answer asks to wait for less than a minute all the same: the
 * quotaId GenerateRequestsPerDayPerProjectPerModel-FreeTier
 * (googleapis/python-genai issue 2044, read 2026-11-23). */
static const char *const day_words[] = { "PerDay", NULL };
/* It may list the quotas of the day and of the minute together
 * (google-gemini/gemini-cli issue 8437, read 2026-11-23). */
static const char *const minute_words[] = { "PerMinute", NULL };
/* A file that is not taken: Anthropic (anthropics/claude-code issues 25592 and
 * 13480), Gemini (google-gemini/gemini-cli issues 5064 and 14838), models
 * without eyes ("image_url"; OpenRouter with status 404); read 2026-11-23. */
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
	/* OpenAI and who speaks its wire (vercel/ai issue 1544, STranslate
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
	/* Gemini, whose plainest one says no more (js-genai issue 862, crush
	 * issue 995, Open-Interface issue 64) */
	"process input image",
	"image is not valid",
	"document has no pages",
	"mime type",
	"inline_data",
	"request contains an invalid argument",
	NULL,
};
static const char *const blind_words[] = { "image input", "file input", NULL };
/* llama.cpp with status 500 (its issues 13566, 12947; read 2026-11-23). */
static const char *const no_eyes_words[] = { "image input is not",
					     "unsupported content part", NULL };
/* Errors in a stream that asking again does not mend. */
static const char *const final_words[] = {
	"invalid_request",     "authentication",     "permission",
	"not_found",           "invalid_api_key",    "content_policy",
	"content_filter",      "insufficient_quota", "invalid_prompt",
	"validationException", "accessDenied",       "resourceNotFound",
	"bio_policy",          "cyber_policy",       NULL,
};

/* Code and type are words or, with some servers, an HTTP status. */
static void describe(const cJSON *error, struct buf *kind)
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

enum retries { BY_STATUS, NEVER, AGAIN };

/* The first row that fits says what a refusal means. */
struct meaning {
	int first, last;          /* of the statuses that it is for */
	const char *const *words; /* one of them in the body, or NULL */
	enum retries retries;
	int (*explain)(const struct model_choice *c, struct error *err);
};

static const struct meaning meanings[] = {
	{ 401, 401, NULL, BY_STATUS, failure_refused_key },
	{ 403, 403, ended_words, BY_STATUS, failure_refused_key },
	{ 403, 403, money_words, NEVER, failure_no_money },
	{ 403, 403, NULL, BY_STATUS, failure_denied_access },
	{ 400, 400, key_words, BY_STATUS, failure_refused_key },
	{ 400, 599, rate_words, NEVER, failure_too_large },
	{ 413, 413, NULL, NEVER, failure_overflow },
	{ 400, 428, overflow_words, NEVER, failure_overflow },
	{ 430, 499, overflow_words, NEVER, failure_overflow },
	{ 402, 402, NULL, NEVER, failure_no_money },
	{ 400, 599, money_words, NEVER, failure_no_money },
	{ 429, 429, day_words, NEVER, failure_no_quota_today },
	{ 429, 429, NULL, BY_STATUS, failure_too_many_requests },
	{ 400, 400, blunder_words, AGAIN, NULL },
	{ 400, 422, model_words, NEVER, failure_unknown_model },
	{ 404, 404, blind_words, NEVER, failure_refused_file },
	{ 404, 404, NULL, NEVER, failure_unknown_model },
	{ 400, 599, profile_words, BY_STATUS, failure_needs_profile },
	{ 400, 599, sealed_words, BY_STATUS, failure_sealed_reasoning },
	{ 400, 422, file_words, NEVER, failure_refused_file },
	{ 415, 415, NULL, NEVER, failure_refused_file },
	{ 500, 500, no_eyes_words, NEVER, failure_refused_file },
	{ 503, 503, NULL, BY_STATUS, failure_overloaded },
	{ 529, 529, NULL, BY_STATUS, failure_overloaded },
	/* an error in a stream that does not say what it is */
	{ 0, 0, rate_words, NEVER, failure_too_large },
	{ 0, 0, overflow_words, NEVER, failure_overflow },
	{ 0, 0, money_words, NEVER, failure_no_money },
	{ 0, 0, blunder_words, AGAIN, NULL },
};

static bool fits(const struct meaning *m, const struct http_response *res)
{
	struct str body = buf_str(&res->body);
	int64_t wish;

	if (res->status < m->first || res->status > m->last ||
	    (m->words && !has_any(body, m->words)))
		return false;
	wish = m->words == day_words ? retry_wish(res) : -1;
	return wish < 0 || wish > SOON_MS || !has_any(body, minute_words);
}

/* False where no row fits. */
static bool explain(const struct model_choice *c,
		    const struct http_response *res, bool *again,
		    struct error *err)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		const struct meaning *m = &meanings[i];

		if (!fits(m, res))
			continue;
		if (m->retries != BY_STATUS)
			*again = m->retries == AGAIN;
		if (m->explain)
			(void)m->explain(c, err);
		return true;
	}
	return false;
}

/* The status that a vendor gives an error of this kind where it comes before
 * the stream. Anthropic's types: platform.claude.com/docs, "Errors"; Google's:
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

/* Whether an error of this kind comes again; the rest is explain()'s. */
static bool is_final(struct str kind, int status)
{
	static const int refused[] = { 400, 401, 402, 403, 404, 413, 422 };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (status == refused[i])
			return true;
	return has_any(kind, final_words);
}

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
	describe(cJSON_IsObject(error) ? error : tree, &kind);
	kind.len = str_utf8_prefix(buf_str(&kind));
	d->status = res.status = status_of(buf_str(&kind));
	json_print(&res.body, error);
	again = !is_final(buf_str(&kind), res.status);
	name_error(error, buf_str(&kind), err);
	if (!explain(c, &res, &again, err)) {
		res.status = 0; /* servers say 500 of anything */
		(void)explain(c, &res, &again, err);
	}
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
	(void)explain(choice, res, again, err);
	if (res->request_id[0] && !err->hint[0])
		return error_hint(err, "Request id %s", res->request_id);
	return -1;
}
