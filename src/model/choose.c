/* choose.c - which model, from flags, configuration and environment. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/endpoint.h"
#include "model/model.h"
#include "model/model_config.h"
#include "model/params.h"
#include "model/wire.h"
#include "model/wires/bedrock_account.h"
#include "model/wires/vertex_account.h"

enum {
	DEFAULT_RETRIES = 4,
	DEFAULT_BUSY = 600, /* seconds */
	MAX_BUSY = 86400,
	MAX_RETRIES = 1000,
};

static int unknown_provider(const char *name, const char *spec,
			    struct error *err)
{
	(void)error_set(err, ERR_CONFIG,
			"Unknown model provider '%.80s' in '%.120s'", name,
			spec);
	return error_hint(
		err, "Known: anthropic, openai, google_genai, ollama, "
		     "openrouter, groq, mistral, ... or your own "
		     "[models.providers.NAME] in ~/.deepagents/config.toml.");
}

static bool lists_model(const struct toml_value *config, const char *model)
{
	const struct toml_value *list = toml_get(config, "models");

	for (size_t i = 0;
	     list && list->kind == TOML_ARRAY && i < list->n_items; i++)
		if (list->items[i].kind == TOML_STRING &&
		    strcmp(list->items[i].text, model) == 0)
			return true;
	return false;
}

/* The enabled provider of config.toml whose models list has it, or NULL. */
static const char *listed_by(const struct settings *set, const char *model)
{
	const struct toml_value *all = settings_toml(set, "models.providers");

	for (size_t i = 0; all && all->kind == TOML_TABLE && i < all->n_items;
	     i++) {
		struct provider p;

		if (all->items[i].kind == TOML_TABLE &&
		    lists_model(&all->items[i], model) &&
		    endpoint_find(&p, set, all->items[i].key) &&
		    !endpoint_disabled(&p))
			return all->items[i].key;
	}
	return NULL;
}

/* A bare "gemini-2.5-pro" or "claude-opus-5" is the vendor's own, and Vertex's
 * where only that is configured; Bedrock's names say so themselves. */
static const char *infer_vendor(const struct settings *set, const char *model)
{
	const char *name = preset_infer(model);
	struct provider p;

	if (name && preset_find("google_vertexai") &&
	    (!strcmp(name, "google_genai") || !strcmp(name, "anthropic")) &&
	    endpoint_find(&p, set, name) && !endpoint_has_key(&p, set, true) &&
	    settings_env(set, "GOOGLE_CLOUD_PROJECT"))
		return "google_vertexai";
	return name;
}

static int infer_provider(const struct settings *set, const char *model,
			  const char **provider, struct error *err)
{
	*provider = listed_by(set, model);
	if (!*provider)
		*provider = infer_vendor(set, model);
	if (*provider)
		return 0;
	(void)error_set(err, ERR_CONFIG,
			"Unknown model '%.120s': no provider is known for it",
			model);
	return error_hint(err, "`dcode models list` shows known models. Any "
			       "other is PROVIDER:MODEL, for example "
			       "anthropic:claude-opus-5.");
}

static int fill_choice(struct model_choice *c, const struct settings *set,
		       const char *provider, const char *model,
		       struct error *err)
{
	struct provider p;

	if (!endpoint_find(&p, set, provider))
		return unknown_provider(provider, provider, err);
	if (endpoint_disabled(&p)) {
		(void)error_set(err, ERR_CONFIG,
				"Provider '%s' is disabled in config.toml",
				p.name);
		return error_hint(
			err,
			"Remove enabled = false from [models.providers.%s].",
			p.name);
	}
	c->provider = xstrdup(p.name);
	c->model = xstrdup(model);
	return endpoint_fill(c, &p, set, err);
}

static int no_model(const char *spec, struct error *err)
{
	(void)error_set(err, ERR_CONFIG,
			"Invalid model spec '%.120s': model name is required",
			spec);
	return error_hint(
		err,
		"Write provider:model, for example anthropic:claude-opus-5.");
}

/* "provider:model", ":model" or "model". */
static int split_spec(const struct settings *set, const char *spec,
		      char **provider, const char **model_name,
		      struct error *err)
{
	const char *colon = strchr(spec, ':');
	const char *model = colon ? colon + 1 : spec;
	const char *bare = colon == spec ? model : spec;
	const char *found = NULL;
	struct provider p;
	char *name;
	int rc = 0;

	if (!model[0])
		return no_model(spec, err);
	if (!colon || colon == spec) {
		if (infer_provider(set, bare, &found, err) < 0)
			return -1;
		*provider = xstrdup(found);
		*model_name = bare;
		return 0;
	}
	name = xstrndup(spec, (size_t)(colon - spec));
	*model_name = model;
	if (endpoint_find(&p, set, name)) {
		*provider = xstrdup(name);
	} else if ((found = listed_by(set, spec)) != NULL) {
		*provider = xstrdup(found); /* "qwen3:8b" */
		*model_name = spec;
	} else {
		rc = unknown_provider(name, spec, err);
	}
	free(name);
	return rc;
}

static int resolve_spec(struct model_choice *c, const struct settings *set,
			const char *spec, struct error *err)
{
	const char *model;
	char *provider;
	int rc = split_spec(set, spec, &provider, &model, err);

	if (rc < 0)
		return -1;
	rc = fill_choice(c, set, provider, model, err);
	free(provider);
	return rc;
}

static bool is_own_model_key(void *arg, const struct settings_credential *c)
{
	const struct settings *set = *(const struct settings **)arg;

	if (c->group || c->service || !settings_env(set, c->variable))
		return true;
	*(const struct settings **)arg = NULL;
	return false;
}

/* True when the user has a key of any model vendor: a repository's .env must
 * not decide then who is asked, by bringing in a key of a vendor that comes
 * first.
 */
static bool has_own_key(const struct settings *set)
{
	const struct settings *unless = set;

	settings_each_credential(set, is_own_model_key, &unless);
	return !unless;
}

/* The first provider with credentials: the model's, or NULL. */
static const char *first_with_key(const struct settings *set, bool by_project,
				  const char **provider)
{
	static const struct {
		const char *provider, *model;
	} rows[] = {
		{ "openai", "gpt-5.6-terra" },
		{ "anthropic", "claude-opus-5" },
		{ "google_genai", "gemini-3.1-pro-preview" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct provider p;

		*provider = rows[i].provider;
		if (endpoint_find(&p, set, rows[i].provider) &&
		    !endpoint_disabled(&p) &&
		    endpoint_has_key(&p, set, by_project))
			return rows[i].model;
	}
	return NULL;
}

static int by_credentials(struct model_choice *c, const struct settings *set,
			  struct error *err)
{
	const char *provider;
	const char *model = first_with_key(set, false, &provider);

	if (!model && !has_own_key(set))
		model = first_with_key(set, true, &provider);
	c->by_key = model;
	if (model)
		return fill_choice(c, set, provider, model, err);
	(void)error_set(err, ERR_AUTH, "No model key found");
	snprintf(err->reason, sizeof(err->reason), MODEL_NO_KEYS);
	return error_hint(err,
			  "Run dcode auth set anthropic (or openai, "
			  "google_genai), or export ANTHROPIC_API_KEY, "
			  "OPENAI_API_KEY or GOOGLE_API_KEY. Local models and "
			  "other vendors: dcode help models.");
}

static int choose_spec(struct model_choice *c, const struct settings *set,
		       const char *spec, struct error *err)
{
	const struct toml_value *recent = settings_toml(set, "models.recent");

	if (spec)
		return resolve_spec(c, set, spec, err);
	if (settings_string(set, NULL, "models.default", &spec, err) < 0)
		return -1;
	if ((!spec || !spec[0]) && recent && recent->kind == TOML_STRING)
		spec = recent->text;
	if (!spec || !spec[0])
		return by_credentials(c, set, err);
	return resolve_spec(c, set, spec, err);
}

/* The output limit of the profile is the user's word, where no parameter says
 * another one; each wire has its own name for it. */
static int add_output_limit(const struct model_choice *c,
			    const struct settings *set, cJSON *params,
			    struct error *err)
{
	struct model_facts facts = { 0 };

	if (profile_apply(&facts, model_config(set, c->provider), c->model,
			  err) < 0)
		return -1;
	if (facts.max_output > 0 && !params_have_limit(params))
		cJSON_AddNumberToObject(params, "max_tokens",
					(double)facts.max_output);
	return 0;
}

/* --max-retries, then retries.PROVIDER, then retries, then params. */
static int find_retries(struct model_choice *c, const struct settings *set,
			const cJSON *params, struct error *err)
{
	const struct toml_value *own = settings_toml(set, "retries");
	int64_t n = json_int(params, "max_retries", DEFAULT_RETRIES);
	int64_t busy = DEFAULT_BUSY;

	if (settings_int(set, NULL, "retries.max_retries", &n, err) < 0)
		return -1;
	own = own && own->kind == TOML_TABLE ? toml_get(own, c->provider)
					     : NULL;
	own = own && own->kind == TOML_TABLE ? toml_get(own, "max_retries")
					     : NULL;
	if (own && own->kind == TOML_INT &&
	    settings_source(set, NULL, "retries.max_retries") < SOURCE_FLAG)
		n = own->integer;
	if (n < 0 || n > MAX_RETRIES)
		return error_set(err, ERR_CONFIG,
				 "max_retries must be from 0 to %d, not %lld",
				 MAX_RETRIES, (long long)n);
	c->max_retries = (int)n;
	if (settings_int(set, NULL, "retries.busy_seconds", &busy, err) < 0)
		return -1;
	if (busy < 0 || busy > MAX_BUSY)
		return error_set(err, ERR_CONFIG,
				 "retries.busy_seconds must be from 0 to %d, "
				 "not %lld",
				 MAX_BUSY, (long long)busy);
	/* who says how often means that */
	if (json_get(params, "max_retries") || own ||
	    settings_source(set, NULL, "retries.max_retries") > SOURCE_DEFAULT)
		busy = 0;
	c->busy_ms = busy * 1000;
	return 0;
}

/* DEEPAGENTS_CODE_STREAM_IDLE_SECONDS, fractions allowed. */
static int find_idle(struct model_choice *c, const struct settings *set,
		     struct error *err)
{
	const char *text = settings_env(set, "STREAM_IDLE_SECONDS");
	char *end = NULL;
	double seconds;

	c->idle_ms = wire_find(c->wire)->idle_ms;
	if (!text)
		return 0;
	seconds = strtod(text, &end);
	if (*end || !(seconds >= 0.001) || !(seconds <= 86400))
		return error_set(err, ERR_CONFIG,
				 "STREAM_IDLE_SECONDS must be a number of "
				 "seconds, not '%.80s'",
				 text);
	c->idle_ms = (int64_t)(seconds * 1000);
	return 0;
}

/* What Python's client calls the choice between OpenAI's two protocols. */
static void find_api(struct model_choice *c, const cJSON *params)
{
	const cJSON *responses = json_get(params, "use_responses_api");
	const char *chat = wire_openai_chat.name;
	const char *name = wire_openai_responses.name;

	if (!cJSON_IsBool(responses) ||
	    (strcmp(c->wire, chat) != 0 && strcmp(c->wire, name) != 0))
		return;
	free(c->wire);
	c->wire = xstrdup(cJSON_IsTrue(responses) ? name : chat);
}

/* --effort and /effort are meant for this model; [models] effort for those that
 * take it. */
static int add_effort(struct model_choice *c, const struct settings *set,
		      cJSON *params, struct error *err)
{
	bool asked = settings_source(set, NULL, "models.effort") == SOURCE_FLAG;
	struct model_facts facts = { 0 };
	const char *level = NULL;

	if (profile_apply(&facts, model_config(set, c->provider), c->model,
			  err) < 0 ||
	    settings_string(set, NULL, "models.effort", &level, err) < 0)
		return -1;
	if (!level || !level[0] || strcmp(level, "default") == 0)
		return 0;
	if (!effort_level(level))
		return effort_unknown("models.effort", level, err);
	(void)model_facts(set, c->provider, c->model, &facts);
	if (!asked && !facts.assumed && !(facts.efforts & effort_level(level)))
		return 0;
	return effort_apply(c, &facts, effort_level(level), params, err);
}

static int find_params(struct model_choice *c, const struct settings *set,
		       const char *json, struct error *err)
{
	const struct toml_value *config = model_config(set, c->provider);
	struct buf text = BUF_INIT(SIZE_MAX / 2);
	cJSON *params = NULL;

	if (params_merge(&params, config ? toml_get(config, "params") : NULL,
			 c->model, json, err) < 0)
		return -1;
	find_api(c, params);
	if (find_retries(c, set, params, err) < 0 ||
	    add_output_limit(c, set, params, err) < 0 ||
	    add_effort(c, set, params, err) < 0) {
		cJSON_Delete(params);
		return -1;
	}
	json_print(&text, params);
	c->params = buf_detach(&text);
	cJSON_Delete(params);
	return find_idle(c, set, err);
}

/* models.allowed: whole names, or "provider:*"; an empty list allows none. */
static int check_allowed(const struct model_choice *c,
			 const struct settings *set, struct error *err)
{
	enum setting_source from = settings_source(set, NULL, "models.allowed");
	const char *const *list;
	size_t n;

	if (settings_list(set, NULL, "models.allowed", &list, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(c->provider);
		const char *name = list[i] + len + 1;

		if (strncmp(list[i], c->provider, len) == 0 &&
		    list[i][len] == ':' &&
		    (!strcmp(name, "*") || !strcmp(name, c->model)))
			return 0;
	}
	if (from == SOURCE_NONE)
		return 0;
	error_set(err, from == SOURCE_POLICY ? ERR_POLICY : ERR_CONFIG,
		  "%s:%s is not in models.allowed (%s)", c->provider, c->model,
		  from == SOURCE_POLICY ? SETTINGS_POLICY_FILE
					: setting_source_name(from));
	return n ? error_hint(err, "%s is allowed, for example.", list[0]) : -1;
}

/* A model that the table does not have may take anything, unless its profile
 * says otherwise. */
static unsigned known_lacks(const struct model_choice *c,
			    const struct settings *set)
{
	struct error ignored = { 0 }; /* find_params() has reported it */
	struct model_facts facts;

	if (!model_facts(NULL, c->provider, c->model, &facts))
		facts.takes = MODEL_TAKES_IMAGES | MODEL_TAKES_PDF;
	(void)profile_apply(&facts, model_config(set, c->provider), c->model,
			    &ignored);
	return ~facts.takes & (MODEL_TAKES_IMAGES | MODEL_TAKES_PDF);
}

/* Without tools an agent can do nothing. */
static int check_tools(const struct model_choice *c, const struct settings *set,
		       struct error *err)
{
	struct model_facts facts = { 0 };

	if (profile_apply(&facts, model_config(set, c->provider), c->model,
			  err) < 0)
		return -1;
	if (!(facts.takes & MODEL_LACKS_TOOLS))
		return 0;
	(void)error_set(err, ERR_CONFIG,
			"Model '%.120s' does not support tool calling",
			c->model);
	return error_hint(err,
			  "Choose another model (-M), or remove tool_calling = "
			  "false from profile in [models.providers.%s].",
			  c->provider);
}

int model_choose(struct model_choice *c, const struct settings *set,
		 const char *spec, const char *params, struct error *err)
{
	*c = (struct model_choice){ 0 };
	if (choose_spec(c, set, spec, err) == 0 &&
	    check_allowed(c, set, err) == 0 && check_tools(c, set, err) == 0 &&
	    find_params(c, set, params, err) == 0) {
		c->lacks = known_lacks(c, set);
		return 0;
	}
	model_choice_release(c);
	return -1;
}

int model_full_name(const struct settings *set, const char *spec, char **name,
		    struct error *err)
{
	struct model_choice c = { 0 };
	const char *model;
	int rc = split_spec(set, spec, &c.provider, &model, err);

	if (rc < 0)
		return -1;
	c.model = xstrdup(model);
	rc = check_allowed(&c, set, err);
	if (rc == 0)
		*name = xasprintf("%s:%s", c.provider, c.model);
	model_choice_release(&c);
	return rc;
}

void model_choice_release(struct model_choice *c)
{
	if (c->api_key)
		explicit_bzero(c->api_key, strlen(c->api_key));
	free(c->provider);
	free(c->model);
	free(c->wire);
	free(c->base_url);
	free(c->version);
	free(c->url_from);
	free(c->api_key);
	free(c->key_env);
	free(c->key_from);
	free(c->params);
	bedrock_account_free(c->aws);
	vertex_account_free(c->vertex);
	*c = (struct model_choice){ 0 };
}
