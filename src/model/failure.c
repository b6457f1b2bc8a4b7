/* failure.c - what a vendor's refusal means for the user, and for a retry. */
/* SPDX-License-Identifier: MIT */
#include "model/failure.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/nearest.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/catalog/catalog.h"
#include "net/retry.h"

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
/* A file that is not taken: Anthropic (anthropics/claude-code issues 25592 and
 * 13480), Gemini (google-gemini/gemini-cli issues 5064 and 14838), models
 * without eyes ("image_url"; OpenRouter with status 404); read 2026-11-23. */
static const char *const file_words[] = { "image", "pdf", "document",
					  "contains an invalid argument",
					  NULL };
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

static int overflow(struct error *err)
{
	err->code = ERR_LIMIT;
	snprintf(err->reason, sizeof(err->reason), MODEL_TOO_LONG);
	return error_hint(err, "the conversation no longer fits the model's "
			       "context window: start a new one, or choose a "
			       "model with a larger window (-M)");
}

static int too_large(struct error *err)
{
	err->code = ERR_LIMIT;
	return error_hint(err, "one request is more than the account may send "
			       "in a minute: start a new conversation, choose "
			       "another model (-M), or ask the vendor for a "
			       "higher limit");
}

static int hint_money(struct error *err)
{
	err->code = ERR_LIMIT;
	return error_hint(err, "the account has no credit or quota left: see "
			       "the vendor's billing page");
}

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

static enum err code_of(struct str kind)
{
	static const char *const rate[] = { "rate_limit", "429", "throttling",
					    NULL };
	static const char *const auth[] = { "authentication",
					    "permission",
					    "invalid_api_key",
					    "401",
					    "403",
					    NULL };

	if (has_any(kind, auth))
		return ERR_AUTH;
	return has_any(kind, rate) ? ERR_LIMIT : ERR_REMOTE;
}

int failure_in_stream(struct draft *d, const cJSON *tree, struct error *err)
{
	static const char *const refused[] = { "400 ", "401 ", "402 ", "403 ",
					       "404 ", "413 ", "422 ", NULL };
	const cJSON *error = json_get(tree, "error");
	struct buf kind = BUF_INIT(256);
	struct buf message = BUF_INIT(320);
	struct buf all = BUF_INIT(600);
	struct str said;

	describe(cJSON_IsObject(error) ? error : tree, &kind);
	sanitize_text(str_of(cJSON_IsString(error)
				     ? error->valuestring
				     : json_string(cJSON_IsObject(error) ? error
									 : tree,
						   "message", "")),
		      &message);
	message.len = str_utf8_prefix(buf_str(&message));
	said = str_trim(buf_str(&kind));
	buf_addf(&all, "%.*s%s%.*s", (int)said.len, said.len ? said.ptr : "",
		 said.len ? ": " : "", (int)message.len,
		 message.ptr ? message.ptr : "");
	(void)error_set(err, code_of(buf_str(&kind)),
			"the model's server reported %.*s",
			(int)str_utf8_prefix(buf_str(&all)), all.ptr);
	d->fatal = !has_any(buf_str(&all), blunder_words) &&
		   (has_any(buf_str(&kind), final_words) ||
		    has_any(buf_str(&kind), refused));
	if (has_any(buf_str(&all), rate_words)) {
		d->fatal = true;
		(void)too_large(err);
	} else if (has_any(buf_str(&all), overflow_words)) {
		d->fatal = true;
		(void)overflow(err);
	} else if (has_any(buf_str(&all), money_words)) {
		d->fatal = true;
		(void)hint_money(err);
	}
	buf_release(&kind);
	buf_release(&message);
	buf_release(&all);
	return -1;
}

static bool signs_requests(const struct model_choice *c)
{
	return c->wire && strcmp(c->wire, "bedrock") == 0 && !c->api_key;
}

static int hint_aws(struct error *err)
{
	return error_hint(err, "renew the AWS key (aws sso login, or new "
			       "AWS_... variables), or allow it "
			       "bedrock:InvokeModelWithResponseStream for this "
			       "model and region");
}

/* What the server said goes behind a sentence about the key. */
static void name_key(const struct model_choice *c, const char *what,
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

static int refused_key(const struct model_choice *c, struct error *err)
{
	err->code = ERR_AUTH;
	if (signs_requests(c))
		return hint_aws(err);
	if (!c->api_key || !c->key_env)
		return error_hint(err,
				  "the server wants a key: name its variable "
				  "in [models.providers.%s] api_key_env",
				  c->provider);
	name_key(c, "was refused", err);
	return error_hint(err,
			  "set %s to a valid key, or choose another model "
			  "(-M)",
			  c->key_env);
}

/* The key is good, but not for this. */
static int denied_access(const struct model_choice *c, struct error *err)
{
	if (signs_requests(c) || !c->api_key || !c->key_env)
		return refused_key(c, err);
	name_key(c, "has no access", err);
	return error_hint(err,
			  "give the account of %s access to %.60s (model, "
			  "region, project) at the vendor's, or choose another "
			  "model (-M)",
			  c->key_env, c->model);
}

static int overflow_of(const struct model_choice *c, struct error *err)
{
	(void)c;
	return overflow(err);
}

/* The agent goes on without the files, where there are any. */
static int refused_file(const struct model_choice *c, struct error *err)
{
	(void)c;
	snprintf(err->reason, sizeof(err->reason), MODEL_FILE_REFUSED);
	return -1;
}

static int too_large_of(const struct model_choice *c, struct error *err)
{
	(void)c;
	return too_large(err);
}

static int no_money(const struct model_choice *c, struct error *err)
{
	(void)c;
	return hint_money(err);
}

static int no_quota_today(const struct model_choice *c, struct error *err)
{
	(void)c;
	err->code = ERR_LIMIT;
	return error_hint(err, "the account's requests of this day are used "
			       "up: another model has a quota of its own (-M), "
			       "and a paid plan more");
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

/* A name of the catalog that was probably meant, or NULL. */
static const char *nearest_model(const struct model_choice *c)
{
	struct nearest_model n = { .name = str_of(c->model),
				   .distance = strlen(c->model) / 3 + 1 };

	model_facts_each(c->provider, compare_model, &n);
	return n.distance ? n.found : NULL;
}

static int unknown_model(const struct model_choice *c, struct error *err)
{
	const char *meant = nearest_model(c);

	err->code = ERR_NOT_FOUND;
	if (meant)
		return error_hint(err,
				  "no model \"%.60s\" for this key: did you "
				  "mean -M %.40s:%.60s?",
				  c->model, c->provider, meant);
	return error_hint(err,
			  "check the model name \"%.60s\" and the address "
			  "%.90s%s%.80s",
			  c->model, c->base_url, c->url_from ? ", " : "",
			  c->url_from ? c->url_from : "");
}

static int needs_profile(const struct model_choice *c, struct error *err)
{
	return error_hint(err,
			  "put the region's group before the model's id "
			  "(-M bedrock:us.%.60s, or eu., apac., global.), or "
			  "use a profile's ARN",
			  c->model);
}

static int sealed_reasoning(const struct model_choice *c, struct error *err)
{
	(void)c;
	return error_hint(err, "the reasoning that this conversation holds is "
			       "another account's: use the key that it began "
			       "with, or start a new conversation");
}

static int overloaded(const struct model_choice *c, struct error *err)
{
	(void)c;
	return error_hint(err, "the vendor is overloaded: send the message "
			       "again later, or choose another model (-M)");
}

static int too_many_requests(const struct model_choice *c, struct error *err)
{
	(void)c;
	return error_hint(err, "the account's limit of requests or tokens is "
			       "reached: send the message again later, or "
			       "choose another model (-M)");
}

/* A page for people. */
bool failure_is_page(struct str type, struct str body)
{
	static const char *const pages[] = { "text/html", NULL };
	static const char *const starts[] = { "<!doctype html", "<html", NULL };

	body = str_trim(body);
	if (body.len > 14)
		body.len = 14;
	return has_any(type, pages) || has_any(body, starts);
}

/* Appends the title of a page, one clean line in quotation marks. */
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
	(void)error_set(err, ERR_PROTOCOL,
			"%s: a web page%s answers in place of the model: no "
			"event stream (HTTP %d)",
			c->provider, title.len ? title.ptr : "", status);
	buf_release(&title);
	err->http_status = status;
	return error_hint(err,
			  "a proxy, a sign-in page or another server: check "
			  "the network, HTTPS_PROXY and the provider's address "
			  "%.90s%s%.40s",
			  c->base_url, c->url_from ? ", " : "",
			  c->url_from ? c->url_from : "");
}

enum retries { BY_STATUS, NEVER, AGAIN };

/* The first row that fits says what a refusal means. */
static const struct {
	int first, last;          /* of the statuses that it is for */
	const char *const *words; /* one of them in the body, or NULL */
	enum retries retries;
	int (*explain)(const struct model_choice *c, struct error *err);
} meanings[] = {
	{ 401, 401, NULL, BY_STATUS, refused_key },
	{ 403, 403, ended_words, BY_STATUS, refused_key },
	{ 403, 403, money_words, NEVER, no_money },
	{ 403, 403, NULL, BY_STATUS, denied_access },
	{ 400, 400, key_words, BY_STATUS, refused_key },
	{ 400, 599, rate_words, NEVER, too_large_of },
	{ 413, 413, NULL, NEVER, overflow_of },
	{ 400, 428, overflow_words, NEVER, overflow_of },
	{ 430, 499, overflow_words, NEVER, overflow_of },
	{ 402, 402, NULL, NEVER, no_money },
	{ 400, 599, money_words, NEVER, no_money },
	{ 429, 429, day_words, NEVER, no_quota_today },
	{ 429, 429, NULL, BY_STATUS, too_many_requests },
	{ 400, 400, blunder_words, AGAIN, NULL },
	{ 400, 422, model_words, NEVER, unknown_model },
	{ 404, 404, blind_words, NEVER, refused_file },
	{ 404, 404, NULL, NEVER, unknown_model },
	{ 400, 599, profile_words, BY_STATUS, needs_profile },
	{ 400, 599, sealed_words, BY_STATUS, sealed_reasoning },
	{ 400, 422, file_words, NEVER, refused_file },
	{ 415, 415, NULL, NEVER, refused_file },
	{ 500, 500, no_eyes_words, NEVER, refused_file },
	{ 503, 503, NULL, BY_STATUS, overloaded },
	{ 529, 529, NULL, BY_STATUS, overloaded },
};

static int explain_status(const struct model_choice *c,
			  const struct http_response *res, bool *again,
			  struct error *err)
{
	struct str body = buf_str(&res->body);

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		if (res->status < meanings[i].first ||
		    res->status > meanings[i].last ||
		    (meanings[i].words && !has_any(body, meanings[i].words)))
			continue;
		if (meanings[i].retries != BY_STATUS)
			*again = meanings[i].retries == AGAIN;
		return meanings[i].explain ? meanings[i].explain(c, err) : -1;
	}
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
	(void)explain_status(choice, res, again, err);
	if (res->request_id[0] && !err->hint[0])
		return error_hint(err, "request id %s", res->request_id);
	return -1;
}
