/* failure_advice.c - what a user can do about a vendor's refusal. */
/* SPDX-License-Identifier: MIT */
#include "model/failure/failure_advice.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/str.h"
#include "model/catalog/catalog.h"

int failure_overflow(const struct model_choice *c, struct error *err)
{
	(void)c;
	err->code = ERR_LIMIT;
	snprintf(err->reason, sizeof(err->reason), MODEL_TOO_LONG);
	return error_hint(err, "The conversation no longer fits the model's "
			       "context window. Start a new one, or choose a "
			       "model with a larger window (-M).");
}

int failure_too_large(const struct model_choice *c, struct error *err)
{
	(void)c;
	err->code = ERR_LIMIT;
	return error_hint(err,
			  "One request is more than the account may send in a "
			  "minute. Start a new conversation, choose another "
			  "model (-M), or ask the vendor for a higher limit.");
}

int failure_no_money(const struct model_choice *c, struct error *err)
{
	(void)c;
	err->code = ERR_LIMIT;
	return error_hint(err, "The account has no credit or quota left: see "
			       "the vendor's billing page.");
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

int failure_refused_key(const struct model_choice *c, struct error *err)
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
	name_key(c, "was refused", err);
	return error_hint(
		err, "Set %s to a valid key, or choose another model (-M).",
		c->key_env);
}

/* The key is good, but not for this. */
int failure_denied_access(const struct model_choice *c, struct error *err)
{
	if (signs_requests(c) || !c->api_key || !c->key_env)
		return failure_refused_key(c, err);
	name_key(c, "has no access", err);
	return error_hint(
		err,
		"Give the account of %s access to %.60s (model, region, "
		"project) at the vendor, or choose another model (-M).",
		c->key_env, c->model);
}

/* The agent goes on without the files, where there are any. */
int failure_refused_file(const struct model_choice *c, struct error *err)
{
	(void)c;
	snprintf(err->reason, sizeof(err->reason), MODEL_FILE_REFUSED);
	return -1;
}

int failure_no_quota_today(const struct model_choice *c, struct error *err)
{
	(void)c;
	err->code = ERR_LIMIT;
	return error_hint(
		err, "The account has used up its requests for today. Another "
		     "model (-M) has its own quota, a paid plan has more.");
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

int failure_unknown_model(const struct model_choice *c, struct error *err)
{
	const char *meant = nearest_model(c);

	err->code = ERR_NOT_FOUND;
	snprintf(err->reason, sizeof(err->reason), MODEL_UNKNOWN);
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

int failure_needs_profile(const struct model_choice *c, struct error *err)
{
	return error_hint(err,
			  "Put the region's group before the model's id (-M "
			  "bedrock:us.%.60s, or eu., apac., global.), or use a "
			  "profile's ARN.",
			  c->model);
}

int failure_sealed_reasoning(const struct model_choice *c, struct error *err)
{
	(void)c;
	return error_hint(err, "The reasoning in this conversation belongs to "
			       "another account. Use the key that it started "
			       "with, or start a new conversation.");
}

int failure_overloaded(const struct model_choice *c, struct error *err)
{
	(void)c;
	return error_hint(err, "The vendor is overloaded. Send the message "
			       "again later, or choose another model (-M).");
}

int failure_too_many_requests(const struct model_choice *c, struct error *err)
{
	(void)c;
	return error_hint(
		err,
		"The account's limit of requests or tokens is reached. Send "
		"the message again later, or choose another model (-M).");
}
