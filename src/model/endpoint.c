/* endpoint.c - where a provider is, how to speak to it and with what key. */
/* SPDX-License-Identifier: MIT */
#include "model/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/model_config.h"
#include "model/wire.h"
#include "model/wires/bedrock_account.h"
#include "model/wires/vertex_account.h"
#include "net/loopback.h"

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

/* The variable of a preset's key, or NULL: of its token where only that is
 * there. */
static const char *usual_env(const struct provider *p,
			     const struct settings *set)
{
	const char *key = p->preset ? preset_key_env(p->preset) : NULL;
	const char *token = p->preset ? p->preset->token_env : NULL;

	return token && !settings_env(set, key) && settings_env(set, token)
		       ? token
		       : key;
}

/* The variable its key is read from, or NULL when it needs none. */
static const char *key_env_of(const struct provider *p,
			      const struct settings *set)
{
	const char *env = usual_env(p, set);
	struct error ignored = { 0 };

	/* a mistyped one is reported by endpoint_fill() */
	(void)endpoint_text(p, "api_key_env", &env, &ignored);
	return env;
}

/* Its key; *project as in settings_credential(). An api_key_env of its own does
 * not make a preset another vendor: whoever has the usual key has a key. */
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

/* The URL of "h", "h:1", ":1" or "0.0.0.0:1", where a server listens; port is
 * for those that name none. */
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

/* The vendor's own address for this wire, or NULL. */
static const char *preset_url(const struct provider *p, const struct wire *wire)
{
	const struct preset *preset = p->preset;

	if (preset && preset->own_base_url &&
	    strcmp(wire->name, preset->own_wire) == 0)
		return preset->own_base_url;
	return preset ? preset->base_url : NULL;
}

/* Checks an address and completes one that has no path. */
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

/* A variable that dcode alone reads; *hides: it is there, perhaps empty. */
static const char *read_prefixed(const struct settings *set, const char *name,
				 bool *hides)
{
	char *own = xasprintf("DEEPAGENTS_CODE_%s", name);
	const char *value = settings_env_plain(set, own);

	*hides = *hides || value;
	free(own);
	return value && value[0] ? value : NULL;
}

/*
 * Where a stored key may go, apart from config.toml: to the address of a
 * prefixed variable, else to the one stored with it, else to the vendor's own.
 * OPENAI_BASE_URL and its like are set for other programs, with other keys: a
 * personal key must not go to a proxy of somebody's.
 */
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
	/* One that config.toml alone names is the user's word for it. */
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

/* base_url's setting, file and line. */
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

/* The user's own address, or NULL: config, then the environment; *from is
 * owned. */
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
	if (!*url && key && settings_env_source(set, key) == SOURCE_STORED) {
		*url = stored_key_url(p, set, env);
		if (*url)
			*from = xstrdup("stored with the key, or set for it");
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

/* A bearer token, else AWS's own ways to a key. */
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

/* A token in a variable, else gcloud's. Never that of a project's .env: with it
 * the repository would choose whose account reads the conversation. */
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

/* The version of a dated API that the user asks for, or NULL. */
static const char *dated_version(const struct provider *p,
				 const struct settings *set)
{
	const char *version = NULL;

	for (size_t i = 0; i < 2 && p->preset && !version; i++)
		if (p->preset->version_env[i])
			version = settings_env(set, p->preset->version_env[i]);
	return version;
}

/* Of a dated API, which is below an address that has no path of its own; NULL
 * for every other. */
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
	if (*own && p->preset && p->preset->listen_port && !strstr(url, "://"))
		made = listen_to_url(url, p->preset->listen_port);
	if (!made)
		made = dated_url(c, p, set, url);
	c->base_url = finish_url(p, wire, made ? made : url, err);
	free(made);
	if (!c->base_url && c->url_from)
		error_add(err, " (%s)", c->url_from);
	return c->base_url ? 0 : -1;
}

/* A key may be missing where nobody asks for one: presets that say so, own
 * servers without api_key_env, and this machine's own. */
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
	snprintf(err->reason, sizeof(err->reason), MODEL_NO_KEY);
	return error_hint(err,
			  "export %s=…, put it into ~/.deepagents/.env, or run "
			  "dcode auth set %s",
			  env, p->name);
}

/* Whoever is on the way reads a key that goes by http. */
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
	return error_hint(
		err,
		"If everybody on the way may read it, set allow_http = true in "
		"[models.providers.%s] of ~/.deepagents/config.toml.",
		p->name);
}

/* Where nobody named a wire, a vendor's own address has the better one. */
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

/* Claude has its own wire there, in an envelope of Google's. */
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

int endpoint_fill(struct model_choice *c, const struct provider *p,
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
