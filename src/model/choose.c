/* choose.c - chooses the model, its address and its key. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at model_choose(), at the end. It parses what the user gave
 * ("anthropic:claude-opus-5", a bare name, nothing) and fills a model_choice
 * from flags, config.toml, the environment and stored keys. The first half
 * finds the endpoint of one provider: its wire (the protocol, see wire.h),
 * address and key. Two rules explain most of this code. A repository's .env
 * must not decide which account reads the conversation. A key is sent only to
 * the address that it was meant for. */
#include "model/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/model.h"
#include "model/params.h"
#include "model/presets.h"
#include "model/wire.h"
#include "model/wires/bedrock.h"
#include "model/wires/gemini.h"
#include "net/resolve.h"

/* Returns a member of the provider's table, or NULL. */
static const struct toml_value *endpoint_member(const struct provider *p,
						const char *key)
{
	return p->config ? toml_get(p->config, key) : NULL;
}

/* Reads a string in the provider's table. If it is missing or empty, *value
 * stays unchanged. ERR_CONFIG if it is not a string. */
static int endpoint_text(const struct provider *p, const char *key,
			 const char **value, struct error *err)
{
	const struct toml_value *v = endpoint_member(p, key);

	if (!v)
		return 0;
	if (v->kind != TOML_STRING)
		return error_set(err, ERR_CONFIG,
				 "config.toml:%d:%d: models.providers.%s.%s "
				 "must be a string, not %s",
				 v->line, v->column, p->name, key,
				 toml_kind_name(v->kind));
	if (v->text[0])
		*value = v->text;
	return 0;
}

/* Explains that a class_path of the Python program is not supported. */
static void refuse_class(const struct provider *p, const char *class_path,
			 struct error *err)
{
	const char *colon = strchr(class_path, ':');
	struct buf names = BUF_INIT(256);

	wire_names(&names);
	if (!colon || colon == class_path || !colon[1]) {
		(void)error_set(err, ERR_CONFIG,
				"models.providers.%s.class_path must be "
				"'module:Class', got '%s'",
				p->name, class_path);
		error_hint(err, "Remove it, and set wire = %s.", names.ptr);
	} else {
		(void)error_set(err, ERR_CONFIG,
				"models.providers.%s.class_path '%s' is a "
				"Python class, which dcode cannot run",
				p->name, class_path);
		error_hint(err,
			   "Instead, set wire = %s to the protocol that the "
			   "server speaks.",
			   names.ptr);
	}
	buf_release(&names);
}

static void refuse_wire(const struct provider *p, const char *name,
			struct error *err)
{
	struct buf names = BUF_INIT(256);

	wire_names(&names);
	error_set(err, ERR_CONFIG,
		  "models.providers.%s.wire must be %s, not \"%s\"", p->name,
		  names.ptr, name);
	buf_release(&names);
}

static void refuse_vendor(const struct provider *p, struct error *err)
{
	(void)error_set(err, ERR_CONFIG,
			"dcode does not speak the protocol of provider '%s'",
			p->name);
	error_hint(err, "Use an OpenAI-compatible server for its models: "
			"[models.providers.NAME] base_url");
}

/* Returns the wire that config.toml sets, else the preset's. NULL with err. */
static const struct wire *endpoint_wire(const struct provider *p,
					struct error *err)
{
	const struct wire *wire;
	const char *class_path = NULL;
	const char *name = NULL;

	if (endpoint_text(p, "wire", &name, err) < 0 ||
	    endpoint_text(p, "class_path", &class_path, err) < 0)
		return NULL;
	if (class_path && !name) {
		name = preset_class_wire(class_path);
		if (!name) {
			refuse_class(p, class_path, err);
			return NULL;
		}
	}
	if (!name)
		name = p->preset ? p->preset->wire : wire_openai_chat.name;
	wire = name ? wire_find(name) : NULL;
	if (wire)
		return wire;
	if (name)
		refuse_wire(p, name, err);
	else
		refuse_vendor(p, err);
	return NULL;
}

bool endpoint_find(struct provider *p, const struct settings *set,
		   const char *name)
{
	*p = (struct provider){
		.name = name,
		.preset = preset_find(name),
		.config = model_config(set, name),
	};
	if (p->preset)
		p->name = p->preset->name;
	return p->preset || p->config;
}

bool endpoint_disabled(const struct provider *p)
{
	const struct toml_value *v = endpoint_member(p, "enabled");

	return v && v->kind == TOML_BOOL && !v->integer;
}

/* Returns the name of the variable with the key of the preset's vendor, or
 * preset.token_env if only that one is set. NULL if there is no preset or it
 * needs no key. */
static const char *usual_env(const struct provider *p,
			     const struct settings *set)
{
	const char *key = p->preset ? preset_key_env(p->preset) : NULL;
	const char *token = p->preset ? p->preset->token_env : NULL;

	return token && !settings_env(set, key) && settings_env(set, token)
		       ? token
		       : key;
}

/* Returns the name of the variable with the provider's key. NULL if the
 * provider needs none. */
static const char *key_env_of(const struct provider *p,
			      const struct settings *set)
{
	const char *env = usual_env(p, set);
	struct error ignored = { 0 };

	/* An error is ignored here: endpoint_fill() reports a value of the
	 * wrong type. */
	(void)endpoint_text(p, "api_key_env", &env, &ignored);
	return env;
}

/* Returns the provider's key, or NULL. *project is set as by
 * settings_credential(). If config.toml gives a preset another variable
 * (api_key_env), the vendor is still the same. So if the user has set the usual
 * variable, a project's .env must not supply the other one. */
static const char *key_value(const struct provider *p,
			     const struct settings *set, const char *env,
			     const char **project)
{
	const char *usual = p->preset ? preset_key_env(p->preset) : NULL;
	const char *value = settings_env(set, env);

	if (value || (usual && settings_env(set, usual)))
		return value;
	return settings_credential(set, env, project);
}

bool endpoint_has_key(const struct provider *p, const struct settings *set,
		      bool by_project)
{
	const char *env = key_env_of(p, set);
	const char *project = NULL;

	return env && key_value(p, set, env, &project) &&
	       (by_project || !project);
}

static bool in_google_cloud(const struct provider *p)
{
	return p->preset && p->preset->google_cloud;
}

static struct str url_path(struct str url)
{
	size_t scheme = str_search(url, STR("://"));
	struct str rest = str_skip(url, scheme + 3);

	return str_skip(rest, str_find(rest, '/'));
}

/* Converts a listening address ("h", "h:1", ":1", "0.0.0.0:1") to a URL. Adds
 * the default port if there is none. Owned. */
static char *listen_to_url(const char *host, const char *port)
{
	const char *name = host;
	size_t any = strlen("0.0.0.0");
	bool local = false;

	if (strncmp(host, "0.0.0.0", any) == 0 &&
	    (!host[any] || host[any] == ':')) {
		name += any;
		local = true;
	}
	if (name[0] == ':')
		local = true;
	return xasprintf("http://%s%s%s", local ? "127.0.0.1" : "", name,
			 strchr(name, ':') ? "" : port);
}

/* Returns the vendor's own address if it has this wire, or NULL. */
static const char *preset_url(const struct provider *p, const struct wire *wire)
{
	const struct preset *preset = p->preset;

	if (preset && preset->own_base_url &&
	    strcmp(wire->name, preset->own_wire) == 0)
		return preset->own_base_url;
	return preset ? preset->base_url : NULL;
}

/* Checks an address and adds the default path if it has none. Owned; NULL with
 * err. */
static char *finish_url(const struct provider *p, const struct wire *wire,
			const char *raw, struct error *err)
{
	const char *preset = preset_url(p, wire);
	struct str path = str_of(wire->base_path);
	struct str url = str_trim(str_of(raw));

	if (!str_starts(url, "http://") && !str_starts(url, "https://")) {
		(void)error_set(err, ERR_CONFIG,
				"the address of provider %s is not an http:// "
				"or https:// URL: '%.200s'",
				p->name, raw);
		return NULL;
	}
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.ptr[i] <= ' ') {
			(void)error_set(
				err, ERR_CONFIG,
				"the address of provider %s contains spaces",
				p->name);
			return NULL;
		}
	while (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	if (p->preset && p->preset->base_path)
		path = str_of(p->preset->base_path);
	else if (preset)
		path = url_path(str_of(preset));
	if (url_path(url).len || (!wire->base_path && !in_google_cloud(p)))
		path = (struct str){ 0 };
	return xasprintf("%.*s%.*s", (int)url.len, url.ptr, (int)path.len,
			 path.ptr ? path.ptr : "");
}

/* Returns the value of DEEPAGENTS_CODE_NAME, which only dcode reads, or NULL.
 * Sets *hides if the variable exists: even if it is empty, it overrides a
 * stored address. */
static const char *read_prefixed(const struct settings *set, const char *name,
				 bool *hides)
{
	char *own = xasprintf("DEEPAGENTS_CODE_%s", name);
	const char *value = settings_env_plain(set, own);

	*hides = *hides || value;
	free(own);
	return value && value[0] ? value : NULL;
}

/* Returns the address that a stored key may be sent to if config.toml sets
 * none: the one in a variable with the DEEPAGENTS_CODE_ prefix, else the one
 * stored with the key. NULL: the vendor's own. OPENAI_BASE_URL and the like are
 * ignored: they are set for other programs with other keys, and a personal key
 * must not go to their proxy. */
static const char *stored_key_url(const struct provider *p,
				  const struct settings *set, const char *named)
{
	const struct vault_entry *e;
	const char *url = NULL;
	bool hides = false;
	bool usual = false;

	for (size_t i = 0; i < 2 && p->preset && !url && !hides; i++) {
		const char *env = p->preset->url_env[i];

		usual = usual || (env && named && strcmp(env, named) == 0);
		if (env)
			url = read_prefixed(set, env, &hides);
	}
	/* If no preset has the variable, the user chose it for dcode by naming
	 * it in config.toml: it needs no prefix. */
	if (!url && !hides && named)
		url = usual ? read_prefixed(set, named, &hides)
			    : settings_env(set, named);
	if (url || hides)
		return url;
	e = settings_vault_entry(set, p->name);
	if (!e && p->config)
		e = settings_vault_entry(set, p->config->key);
	return e && e->url[0] ? e->url : NULL;
}

/* Returns where base_url is set, for messages: the setting, the file and the
 * line. Owned. */
static char *config_place(const struct provider *p, const struct settings *set)
{
	char *key = xasprintf("models.providers.%s.base_url", p->config->key);
	const char *file = settings_policy(set, key) ? SETTINGS_POLICY_FILE
						     : "config.toml";

	free(key);
	return xasprintf("base_url of [models.providers.%s], %s line %d",
			 p->config->key, file,
			 endpoint_member(p, "base_url")->line);
}

/* False if each customer of the vendor has an address, as with Azure. Then a
 * variable is the usual way to give it, also for a stored key. */
static bool has_address(const struct provider *p)
{
	return !p->preset || p->preset->base_url || p->preset->google_cloud ||
	       !p->preset->wire || wire_find(p->preset->wire)->aws;
}

/* Finds the user's own address in config.toml, else in the environment. *url is
 * NULL if there is none; otherwise *from says where it is set (owned). */
static int own_url(const struct provider *p, const struct settings *set,
		   const char **url, char **from, struct error *err)
{
	const char *key = key_env_of(p, set);
	const char *env = NULL;

	if (endpoint_text(p, "base_url", url, err) < 0 ||
	    endpoint_text(p, "base_url_env", &env, err) < 0)
		return -1;
	if (*url)
		*from = config_place(p, set);
	/* A stored key does not go to the address in a variable that is set
	 * for all programs: that may be another server's. */
	if (!*url && key && settings_env_source(set, key) == SOURCE_STORED) {
		*url = stored_key_url(p, set, env);
		if (*url)
			*from = xstrdup("stored with the key, or from its URL "
					"variable");
		if (*url || has_address(p))
			return 0;
	}
	if (!*url && env)
		*url = settings_env(set, env);
	for (size_t i = 0; i < 2 && p->preset && !*url; i++) {
		env = p->preset->url_env[i];
		if (env)
			*url = settings_env(set, env);
	}
	if (*url && !*from)
		*from = settings_address_name(set, env);
	return 0;
}

/* Finds AWS credentials: a bearer token in a variable, else a key from AWS's
 * usual sources. */
static int find_aws(struct model_choice *c, const struct provider *p,
		    const struct settings *set, struct error *err)
{
	const char *env = key_env_of(p, set);
	const char *region = NULL;
	const char *value =
		env ? key_value(p, set, env, &c->project_key) : NULL;

	if (endpoint_text(p, "region", &region, err) < 0 ||
	    endpoint_text(p, "api_key_env", &env, err) < 0)
		return -1;
	c->key_env = xstrdup(env);
	if (value) {
		struct str key = str_trim(str_of(value));

		c->api_key = xstrndup(key.ptr ? key.ptr : "", key.len);
		c->key_from = settings_credential_name(set, env);
	}
	return bedrock_account_open(c, set, region, err);
}

/* Finds a token for Vertex AI in a variable, else uses gcloud. A token in a
 * project's .env is never used: the repository would choose whose account reads
 * the conversation. */
static int find_vertex(struct model_choice *c, const struct provider *p,
		       const struct settings *set, struct error *err)
{
	const char *env = key_env_of(p, set);
	struct vertex_place place = { 0 };
	const char *value;

	if (endpoint_text(p, "project", &place.project, err) < 0 ||
	    endpoint_text(p, "location", &place.location, err) < 0 ||
	    endpoint_text(p, "api_key_env", &env, err) < 0)
		return -1;
	c->key_env = xstrdup(env);
	value = settings_env(set, env);
	if (value) {
		struct str key = str_trim(str_of(value));

		c->api_key = xstrndup(key.ptr ? key.ptr : "", key.len);
		c->key_from = settings_credential_name(set, env);
	}
	return vertex_account_open(c, set, &place, err);
}

/* Returns the API version that the user has set for a vendor such as Azure, or
 * NULL. Such an API is called dated here, because its versions are dates. */
static const char *dated_version(const struct provider *p,
				 const struct settings *set)
{
	const char *version = NULL;

	for (size_t i = 0; i < 2 && p->preset && !version; i++)
		if (p->preset->version_env[i])
			version = settings_env(set, p->preset->version_env[i]);
	return version;
}

/* Returns the address of a dated API, owned. NULL if no version is set or the
 * address has a path already. */
static char *dated_url(struct model_choice *c, const struct provider *p,
		       const struct settings *set, const char *raw)
{
	const char *version = dated_version(p, set);
	struct str url = str_trim(str_of(raw));

	while (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	if (!version || !strstr(raw, "://") || url_path(url).len)
		return NULL;
	c->version = xstrdup(version);
	return xasprintf("%.*s%s", (int)url.len, url.ptr,
			 p->preset->dated_path);
}

/* Sets c->url_unused. */
static void find_unused_url(struct model_choice *c, const struct provider *p,
			    const struct settings *set)
{
	const char *key = key_env_of(p, set);

	if (!key || settings_env_source(set, key) != SOURCE_STORED ||
	    c->url_from)
		return;
	for (size_t i = 0; i < 2 && p->preset && !c->url_unused; i++)
		if (p->preset->url_env[i])
			c->url_unused = settings_address_unused(
				set, p->name, p->preset->url_env[i],
				c->base_url);
}

/* Sets c->base_url. *own is set if the address is the user's and not the
 * vendor's. */
static int find_url(struct model_choice *c, const struct provider *p,
		    const struct wire *wire, const struct settings *set,
		    bool *own, struct error *err)
{
	const char *url = NULL;
	char *made = NULL;

	if (own_url(p, set, &url, &c->url_from, err) < 0)
		return -1;
	*own = url != NULL;
	if (!url)
		url = preset_url(p, wire);
	if (!url && c->aws)
		url = made = bedrock_account_url(c->aws);
	if (!url && c->vertex)
		url = made = vertex_account_url(c->vertex);
	if (!url) {
		(void)error_set(err, ERR_CONFIG, "provider %s has no address",
				p->name);
		if (p->preset && p->preset->url_env[0])
			return error_hint(err, "set %s", p->preset->url_env[0]);
		return error_hint(err, "Set base_url in [models.providers.%s].",
				  p->name);
	}
	/* Ollama's variable may be what its server listens on: "0.0.0.0" */
	if (*own && p->preset && p->preset->listen_port && !strstr(url, "://"))
		made = listen_to_url(url, p->preset->listen_port);
	if (!made)
		made = dated_url(c, p, set, url);
	c->base_url = finish_url(p, wire, made ? made : url, err);
	free(made);
	if (!c->base_url && c->url_from)
		error_add(err, " (%s)", c->url_from);
	if (c->base_url)
		find_unused_url(c, p, set);
	return c->base_url ? 0 : -1;
}

/* Sets c->api_key. A missing key is an error. Exceptions: presets that need no
 * key, and the user's own address on this machine if api_key_env is not set. */
static int find_key(struct model_choice *c, const struct provider *p,
		    const struct settings *set, bool own, struct error *err)
{
	const char *env = usual_env(p, set);
	const char *named = NULL;
	const char *value;

	if (endpoint_text(p, "api_key_env", &named, err) < 0)
		return -1;
	if (named)
		env = named;
	if (!env)
		return 0;
	c->key_env = xstrdup(env);
	value = key_value(p, set, env, &c->project_key);
	c->key_from = value ? settings_credential_name(set, env) : NULL;
	if (value) {
		struct str key = str_trim(str_of(value));

		c->api_key = xstrndup(key.ptr ? key.ptr : "", key.len);
		return 0;
	}
	if (!named && ((p->preset && p->preset->keyless) ||
		       (own && loopback_url(str_of(c->base_url)))))
		return 0;
	(void)error_set(err, ERR_AUTH,
			"No credentials found for provider '%s'. Please set "
			"the %s environment variable.",
			p->name, env);
	(void)error_case(err, CASE_NO_KEY);
	return error_hint(err,
			  "export %s=…, put it into ~/.deepagents/.env, or run "
			  "dcode auth set %s",
			  env, p->name);
}

/* Refuses to send a key over plain HTTP, where anyone on the network could read
 * it. */
static int check_http(const struct model_choice *c, const struct provider *p,
		      struct error *err)
{
	const struct toml_value *allow = endpoint_member(p, "allow_http");

	if (allow && allow->kind != TOML_BOOL)
		return error_set(err, ERR_CONFIG,
				 "config.toml:%d:%d: models.providers.%s."
				 "allow_http must be true or false",
				 allow->line, allow->column, p->name);
	if ((!c->api_key && !c->aws && !c->vertex) ||
	    !str_starts(str_of(c->base_url), "http://") ||
	    loopback_url(str_of(c->base_url)) || (allow && allow->integer))
		return 0;
	(void)error_set(err, ERR_CONFIG,
			"refusing to send the key of %s to %.200s: https is "
			"required",
			p->name, c->base_url);
	if (c->url_from)
		error_add(err, " (%s)", c->url_from);
	return error_hint(err,
			  "If you accept that others on the network can read "
			  "it, set allow_http = true in [models.providers.%s] "
			  "of ~/.deepagents/config.toml.",
			  p->name);
}

/* Some vendors offer a second wire, at their own address, which can do more.
 * Returns it, unless the user has chosen a wire or an address. */
static const struct wire *own_wire(struct model_choice *c,
				   const struct provider *p,
				   const struct wire *wire)
{
	const struct preset *preset = p->preset;

	if (!preset || !preset->own_wire || endpoint_member(p, "wire") ||
	    endpoint_member(p, "class_path") ||
	    strcmp(c->base_url, preset->base_url) != 0)
		return wire;
	if (preset->own_base_url) {
		free(c->base_url);
		c->base_url = xstrdup(preset->own_base_url);
	}
	return wire_find(preset->own_wire);
}

/* Returns the wire for Vertex AI: Anthropic's for Claude models, Gemini's for
 * all others. */
static const struct wire *vertex_wire(const struct model_choice *c,
				      const struct provider *p,
				      const struct wire *wire,
				      struct error *err)
{
	struct str model = str_of(c->model);

	if (!endpoint_member(p, "wire") && !endpoint_member(p, "class_path") &&
	    (str_starts(model, "claude") || str_starts(model, "anthropic/") ||
	     str_starts(model, "publishers/anthropic/")))
		wire = &wire_anthropic;
	if (wire == &wire_gemini || wire == &wire_anthropic)
		return wire;
	(void)error_set(err, ERR_CONFIG,
			"models.providers.%s.wire must be \"gemini\" or "
			"\"anthropic\", not \"%s\"",
			p->name, wire->name);
	return NULL;
}

/* Fills wire, base_url, api_key and key_env of a choice that has a model
 * already. */
static int endpoint_fill(struct model_choice *c, const struct provider *p,
			 const struct settings *set, struct error *err)
{
	const struct wire *wire = endpoint_wire(p, err);
	bool own;

	if (wire && in_google_cloud(p))
		wire = vertex_wire(c, p, wire, err);
	if (!wire)
		return -1;
	if (wire->aws && find_aws(c, p, set, err) < 0)
		return -1;
	if (in_google_cloud(p) && find_vertex(c, p, set, err) < 0)
		return -1;
	if (find_url(c, p, wire, set, &own, err) < 0)
		return -1;
	c->wire = xstrdup(own_wire(c, p, wire)->name);
	if (!wire->aws && !c->vertex && find_key(c, p, set, own, err) < 0)
		return -1;
	return check_http(c, p, err);
}

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
		err, "Use anthropic, openai, google_genai, ollama, openrouter, "
		     "groq, mistral, ... or your own [models.providers.NAME] "
		     "in ~/.deepagents/config.toml.");
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

/* Returns the first enabled provider in config.toml that has the model in its
 * `models` list, or NULL. */
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

/* Returns the provider of a bare name such as "gemini-2.5-pro": the vendor's
 * own API, or Vertex AI if the user has configured only that. */
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

/* True if the user has a key for the provider. arg: the settings. A project's
 * key does not count: a repository must not decide which account is used. */
static bool has_key(void *arg, const char *name)
{
	const struct settings *set = arg;
	struct provider p;

	return endpoint_find(&p, set, name) && !endpoint_disabled(&p) &&
	       endpoint_has_key(&p, set, false);
}

/* True if a name may be a short one. Of a vendor's name with a number
 * ("gpt-7.2"), only the vendor can say whether it exists. */
static bool may_be_short(const char *model)
{
	struct model_facts facts;
	const char *vendor = preset_infer(model);

	return !vendor || (!strpbrk(model, "0123456789") &&
			   !model_facts(NULL, vendor, model, &facts));
}

/* Finds the provider of a bare model name: config.toml first, then the short
 * names, then the presets. *model becomes the full name of a short one. */
static int infer_provider(const struct settings *set, const char **name,
			  const char **provider, struct error *err)
{
	const char *model = *name;
	const char *full = NULL;
	const char *vendor = NULL;
	struct buf near = BUF_INIT(128);

	*provider = listed_by(set, model);
	if (!*provider && may_be_short(model))
		full = short_name_find(str_of(model), has_key, (void *)set,
				       &vendor);
	if (!*provider)
		*provider = infer_vendor(set, full ? full : model);
	/* Others than the vendor offer models with its name in theirs. */
	if (full &&
	    strcmp(preset_infer(full) ? preset_infer(full) : "", vendor) != 0)
		*provider = vendor;
	if (full)
		*name = full;
	if (*provider)
		return 0;
	(void)error_set(err, ERR_CONFIG,
			"Unknown model '%.120s': no provider is known for it",
			model);
	short_name_suggest(str_of(model), &near);
	(void)error_hint(err,
			 "%s`dcode models list` shows known models. Write any "
			 "other as PROVIDER:MODEL, for example anthropic:%s.",
			 near.len ? near.ptr : "",
			 short_name_default("anthropic"));
	buf_release(&near);
	return -1;
}

/* Fills the choice for a provider and a model. */
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

static int refuse_empty_name(const char *spec, struct error *err)
{
	(void)error_set(err, ERR_CONFIG,
			"Invalid model spec '%.120s': model name is required",
			spec);
	return error_hint(err,
			  "Write provider:model, for example anthropic:%s.",
			  short_name_default("anthropic"));
}

/* Splits "provider:model", ":model" or "model". */
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

	*provider = NULL;
	*model_name = model;
	if (!model[0] && refuse_empty_name(spec, err) < 0)
		return -1;
	if (!colon || colon == spec) {
		*model_name = bare;
		if (infer_provider(set, model_name, &found, err) < 0)
			return -1;
		*provider = xstrdup(found);
		return 0;
	}
	name = xstrndup(spec, (size_t)(colon - spec));
	if (endpoint_find(&p, set, name)) {
		*provider = xstrdup(name);
	} else if ((found = listed_by(set, spec)) != NULL) {
		*provider = xstrdup(found); /* "qwen3:8b" */
		*model_name = spec;
	} else {
		(void)unknown_provider(name, spec, err);
	}
	free(name);
	return *provider ? 0 : -1;
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

/* True if the user has a key of any model vendor. If so, a key in a
 * repository's .env must not decide which vendor is used. */
static bool has_own_key(const struct settings *set)
{
	const struct settings *unless = set;

	settings_each_credential(set, is_own_model_key, &unless);
	return !unless;
}

/* Returns the default model of the first provider in the list that has a key,
 * or NULL. by_project: a key in a project's .env counts too. */
static const char *first_with_key(const struct settings *set, bool by_project,
				  const char **provider)
{
	static const char *const vendors[] = { "openai", "anthropic",
					       "google_genai" };

	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		struct provider p;

		*provider = vendors[i];
		if (endpoint_find(&p, set, vendors[i]) &&
		    !endpoint_disabled(&p) &&
		    endpoint_has_key(&p, set, by_project))
			return short_name_default(vendors[i]);
	}
	return NULL;
}

/* Chooses the first vendor that the user has a key for. Keys in a project's
 * .env count only if the user has no key at all. */
static int choose_by_key(struct model_choice *c, const struct settings *set,
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
	(void)error_case(err, CASE_NO_KEYS);
	return error_hint(err,
			  "Run dcode auth set anthropic (or openai, "
			  "google_genai), or export ANTHROPIC_API_KEY, "
			  "OPENAI_API_KEY or GOOGLE_API_KEY. Local models and "
			  "other vendors: dcode help models.");
}

/* Chooses the model of spec, else models.default, else the model used last,
 * else the default model of a vendor with a key. */
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
		return choose_by_key(c, set, err);
	return resolve_spec(c, set, spec, err);
}

/* Adds the profile's output limit as max_tokens, unless a parameter sets a
 * limit. Each wire renames max_tokens as its vendor needs. */
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

/* Finds the number of retries. The first of these that is set counts:
 * --max-retries, retries.PROVIDER, retries, params. */
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
	/* A user who sets a number of retries does not want more of them, so a
	 * busy server gets no extra ones. */
	if (json_get(params, "max_retries") || own ||
	    settings_source(set, NULL, "retries.max_retries") > SOURCE_DEFAULT)
		busy = 0;
	c->busy_ms = busy * 1000;
	return 0;
}

/* Reads DEEPAGENTS_CODE_STREAM_IDLE_SECONDS, which may be a fraction. */
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

/* Chooses between OpenAI's two wires by use_responses_api, a parameter of the
 * Python client. */
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

/* Adds the reasoning effort. --effort and /effort were given for this model, so
 * a level that it does not support is an error. [models] effort is for all
 * models and applies only to those that support it. */
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

/* Merges the parameters and finds what depends on them: retries, wire, output
 * limit and effort. */
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

/* Checks models.allowed, a list of full names and "provider:*". An empty list
 * allows no model. */
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

/* Returns the file types that the model cannot read. If the built-in table does
 * not have the model, it is assumed to read all, unless its profile says
 * otherwise. */
static unsigned known_lacks(const struct model_choice *c,
			    const struct settings *set)
{
	/* find_params() has reported this error */
	struct error ignored = { 0 };
	struct model_facts facts;

	if (!model_facts(NULL, c->provider, c->model, &facts))
		facts.takes = MODEL_TAKES_IMAGES | MODEL_TAKES_PDF;
	(void)profile_apply(&facts, model_config(set, c->provider), c->model,
			    &ignored);
	return ~facts.takes & (MODEL_TAKES_IMAGES | MODEL_TAKES_PDF);
}

/* Refuses a model whose profile says that it does not support tools: an agent
 * needs them. */
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
	free(c->url_unused);
	free(c->api_key);
	free(c->key_env);
	free(c->key_from);
	free(c->params);
	bedrock_account_free(c->aws);
	vertex_account_free(c->vertex);
	*c = (struct model_choice){ 0 };
}
