/* failure.c - what a vendor's refusal means for the user, and for a retry. */
/* SPDX-License-Identifier: MIT */
#include "model/failure.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
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

/* The words of Anthropic ("prompt is too long: 210000 tokens > 200000
 * maximum"), OpenAI (code context_length_exceeded, "maximum context length"),
 * llama.cpp, vLLM, Mistral and Gemini. */
static const char *const overflow_words[] = {
	"prompt is too long",
	"context_length_exceeded",
	"context length",
	"context window",
	"context size",
	"exceed context limit",
	"request_too_large",
	"too many tokens",
	"input token count",
	"maximum prompt length",
	NULL,
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
/* The model wrote a call that the server could not read; it may do better the
 * next time (Groq: pydantic-ai pull request 4354, opencode issue 1018; read
 * 2026-11-20). */
static const char *const blunder_words[] = { "tool_use_failed",
					     "failed to call a function",
					     NULL };
/* Errors in a stream that asking again does not mend. */
static const char *const final_words[] = {
	"invalid_request", "authentication",     "permission",
	"not_found",       "invalid_api_key",    "content_policy",
	"content_filter",  "insufficient_quota", NULL,
};

static int overflow(struct error *err)
{
	err->code = ERR_LIMIT;
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
	static const char *const rate[] = { "rate_limit", "429", NULL };
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

static int refused_key(const struct model_choice *c, struct error *err)
{
	char said[sizeof(err->message)];

	snprintf(said, sizeof(said), "%s", err->message);
	if (!c->api_key || !c->key_env) {
		error_hint(err,
			   "the server wants a key: name its variable in "
			   "[models.providers.%s] api_key_env",
			   c->provider);
		return -1;
	}
	(void)error_set(err, ERR_AUTH, "%s%s was refused: %s",
			c->key_from ? "" : "the key in ",
			c->key_from ? c->key_from : c->key_env, said);
	return error_hint(err,
			  "set %s to a valid key, or choose another model "
			  "(-M)",
			  c->key_env);
}

int failure_of_status(const struct model_choice *choice,
		      const struct http_response *res, bool *again,
		      struct error *err)
{
	struct str body = buf_str(&res->body);

	(void)http_status_error(res, choice->provider, err);
	*again = res->status == 409 || retry_worthy(0, res, err);
	if (res->status == 401 || res->status == 403) {
		err->code = ERR_AUTH;
		return refused_key(choice, err);
	}
	if (has_any(body, rate_words)) {
		*again = false;
		return too_large(err);
	}
	if (res->status == 413 || (res->status < 500 && res->status != 429 &&
				   has_any(body, overflow_words))) {
		*again = false;
		return overflow(err);
	}
	if (res->status == 402 || has_any(body, money_words)) {
		*again = false;
		return hint_money(err);
	}
	if (res->status == 400 && has_any(body, blunder_words))
		*again = true;
	if (res->status == 404 && !err->hint[0])
		return error_hint(err,
				  "check the model name \"%.60s\" and the "
				  "address %.90s%s%.80s",
				  choice->model, choice->base_url,
				  choice->url_from ? ", " : "",
				  choice->url_from ? choice->url_from : "");
	if (res->request_id[0] && !err->hint[0])
		return error_hint(err, "request id %s", res->request_id);
	return -1;
}
