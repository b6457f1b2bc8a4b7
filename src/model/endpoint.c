/* endpoint.c - where a provider is, how to speak to it and with what key. */
/* SPDX-License-Identifier: MIT */
#include "model/endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/wire.h"
#include "net/loopback.h"

const struct toml_value *endpoint_config(const struct settings *set,
					 const char *name)
{
	const struct toml_value *all = settings_toml(set, "models.providers");
	const struct preset *preset = preset_find(name);
	const struct toml_value *found = NULL;

	if (all && all->kind == TOML_TABLE)
		found = toml_get(all, name);
	if (!found && preset && all && all->kind == TOML_TABLE) {
		found = toml_get(all, preset->name);
		if (!found && preset->alias)
			found = toml_get(all, preset->alias);
	}
	return found && found->kind == TOML_TABLE ? found : NULL;
}

bool endpoint_find(struct provider *p, const struct settings *set,
		   const char *name)
{
	*p = (struct provider){
		.name = name,
		.preset = preset_find(name),
		.config = endpoint_config(set, name),
	};
	if (p->preset)
		p->name = p->preset->name;
	return p->preset || p->config;
}

static const struct toml_value *member(const struct provider *p,
				       const char *key)
{
	return p->config ? toml_get(p->config, key) : NULL;
}

/* A string that is set and not empty; *value stays as it was otherwise. */
static int read_text(const struct provider *p, const char *key,
		     const char **value, struct error *err)
{
	const struct toml_value *v = member(p, key);

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

bool endpoint_disabled(const struct provider *p)
{
	const struct toml_value *v = member(p, "enabled");

	return v && v->kind == TOML_BOOL && !v->integer;
}

/* The variable its key is read from, or NULL when it needs none. */
static const char *key_env_of(const struct provider *p)
{
	const char *env = p->preset ? preset_key_env(p->preset) : NULL;
	struct error ignored = { 0 };

	/* a mistyped one is reported by endpoint_fill() */
	(void)read_text(p, "api_key_env", &env, &ignored);
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
	const char *env = key_env_of(p);
	const char *project = NULL;

	return env && key_value(p, set, env, &project) &&
	       (by_project || !project);
}

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
		error_hint(err, "remove it, and set wire = %s", names.ptr);
	} else {
		(void)error_set(err, ERR_CONFIG,
				"models.providers.%s.class_path '%s' is a "
				"Python class, which dcode cannot run",
				p->name, class_path);
		error_hint(err,
			   "set wire = %s instead, whichever the server speaks",
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
			"provider '%s' speaks a protocol that dcode does not",
			p->name);
	error_hint(err, "reach its models through an OpenAI-compatible "
			"server: [models.providers.NAME] base_url");
}

/* NULL with err when there is none that dcode speaks. */
static const struct wire *find_wire(const struct provider *p, struct error *err)
{
	const struct wire *wire;
	const char *class_path = NULL;
	const char *name = NULL;

	if (read_text(p, "wire", &name, err) < 0 ||
	    read_text(p, "class_path", &class_path, err) < 0)
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

/* Checks an address and completes one that has no path. */
static char *finish_url(const struct provider *p, const struct wire *wire,
			const char *raw, struct error *err)
{
	const char *preset = p->preset ? p->preset->base_url : NULL;
	struct str path = str_of(wire->base_path);
	struct str url = str_trim(str_of(raw));

	if (!str_starts(url, "http://") && !str_starts(url, "https://")) {
		(void)error_set(err, ERR_CONFIG,
				"the address of provider %s, '%.200s', is no "
				"http:// or https:// URL",
				p->name, raw);
		return NULL;
	}
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.ptr[i] <= ' ') {
			(void)error_set(err, ERR_CONFIG,
					"the address of provider %s holds "
					"white space",
					p->name);
			return NULL;
		}
	while (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	if (p->preset && p->preset->base_path)
		path = str_of(p->preset->base_path);
	else if (preset)
		path = url_path(str_of(preset));
	if (url_path(url).len || !wire->base_path)
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
			 p->config->key, file, member(p, "base_url")->line);
}

/* The user's own address, or NULL: config, then the environment; *from is
 * owned. */
static int own_url(const struct provider *p, const struct settings *set,
		   const char **url, char **from, struct error *err)
{
	const char *key = key_env_of(p);
	const char *env = NULL;

	if (read_text(p, "base_url", url, err) < 0 ||
	    read_text(p, "base_url_env", &env, err) < 0)
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

static int find_url(struct model_choice *c, const struct provider *p,
		    const struct wire *wire, const struct settings *set,
		    bool *own, struct error *err)
{
	const char *url = NULL;
	char *made = NULL;

	if (own_url(p, set, &url, &c->url_from, err) < 0)
		return -1;
	*own = url != NULL;
	if (!url && p->preset)
		url = p->preset->base_url;
	if (!url) {
		(void)error_set(err, ERR_CONFIG, "provider %s has no address",
				p->name);
		if (p->preset && p->preset->url_env[0])
			return error_hint(err, "set %s", p->preset->url_env[0]);
		return error_hint(err, "set base_url in [models.providers.%s]",
				  p->name);
	}
	if (*own && p->preset && p->preset->listen_port && !strstr(url, "://"))
		made = listen_to_url(url, p->preset->listen_port);
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
	const char *env = p->preset ? preset_key_env(p->preset) : NULL;
	const char *named = NULL;
	const char *value;

	if (read_text(p, "api_key_env", &named, err) < 0)
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
	return error_hint(err,
			  "export %s=…, put it into ~/.deepagents/.env, or run "
			  "dcode auth set %s",
			  env, p->name);
}

/* Whoever is on the way reads a key that goes by http. */
static int check_http(const struct model_choice *c, const struct provider *p,
		      struct error *err)
{
	const struct toml_value *allow = member(p, "allow_http");

	if (allow && allow->kind != TOML_BOOL)
		return error_set(err, ERR_CONFIG,
				 "config.toml:%d:%d: models.providers.%s."
				 "allow_http must be true or false",
				 allow->line, allow->column, p->name);
	if (!c->api_key || !str_starts(str_of(c->base_url), "http://") ||
	    loopback_url(str_of(c->base_url)) || (allow && allow->integer))
		return 0;
	(void)error_set(err, ERR_CONFIG,
			"refusing to send the key of %s to %.200s: https is "
			"required",
			p->name, c->base_url);
	if (c->url_from)
		error_add(err, " (%s)", c->url_from);
	return error_hint(err,
			  "set allow_http = true in [models.providers.%s] of "
			  "~/.deepagents/config.toml if everybody on the way "
			  "may read it",
			  p->name);
}

int endpoint_fill(struct model_choice *c, const struct provider *p,
		  const struct settings *set, struct error *err)
{
	const struct wire *wire = find_wire(p, err);
	bool own;

	if (!wire)
		return -1;
	c->wire = xstrdup(wire->name);
	if (find_url(c, p, wire, set, &own, err) < 0)
		return -1;
	if (find_key(c, p, set, own, err) < 0)
		return -1;
	return check_http(c, p, err);
}
