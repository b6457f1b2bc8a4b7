/* credential.c - finds, asks for and stores API keys. */
/* SPDX-License-Identifier: MIT */
/*
 * For dcode auth, dcode install, the first start and every command that needs a
 * stored key. Three parts: variables whose address a stored key does not go to
 * (credential_ask_address()), the passphrase of the stored keys
 * (credential_store()), and keys by name: which one is meant
 * (credential_find()), where it comes from (credential_state()), and how it is
 * stored (credential_store_key()). config/vault.h encrypts them.
 */
#include "cmd/credential.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/secret.h"
#include "config/settings_env.h"
#include "model/presets.h"
#include "net/resolve.h"
#include "providers/registry.h"
#include "web/search.h"

enum {
	LOCK_MS = 30000,
	ADDRESSES_MOST = 8, /* address variables of one provider */
};

static const char phrase_env[] = "DEEPAGENTS_CODE_AUTH_PASSPHRASE";

/* Returns the provider whose server this environment variable sets, or NULL. A
 * stored address replaces only the first address variable of a provider. */
static const char *url_owner(const char *variable, bool *first)
{
	*first = true;
	if (!strcmp(variable, SEARCH_URL_ENV))
		return SEARCH_VENDOR;
	for (size_t i = 0; sandbox_providers[i]; i++) {
		const struct sandbox_provider *p = sandbox_providers[i];

		for (size_t k = 0; p->url_env && p->url_env[k]; k++) {
			*first = k == 0;
			if (!strcmp(p->url_env[k], variable))
				return p->name;
		}
	}
	*first = true;
	for (const struct preset *p = presets; p->name; p++)
		for (size_t k = 0; k < PRESET_URLS && p->url_env[k]; k++) {
			*first = k == 0;
			if (!strcmp(p->url_env[k], variable) &&
			    preset_key_env(p))
				return p->name;
		}
	return NULL;
}

/* Copies the address variables of a provider that has a server of its own.
 * *local: a server on this machine may get the stored key. Returns their
 * number. */
static size_t address_variables(const char *name, const char **list,
				bool *local)
{
	const struct sandbox_provider *p = sandbox_provider_find(name);
	const struct preset *preset = preset_find(name);
	size_t n = 0;

	*local = !preset;
	if (!strcmp(name, SEARCH_VENDOR))
		list[n++] = SEARCH_URL_ENV;
	for (; preset && preset->base_url && n < PRESET_URLS; n++)
		if (!(list[n] = preset->url_env[n]))
			break;
	for (; !preset && p && p->url_env && n < ADDRESSES_MOST; n++)
		if (!(list[n] = p->url_env[n]))
			break;
	return n;
}

/* Returns the address in a variable without a prefix, if a stored key must not
 * go there unasked. */
static const char *shared_value(const struct settings *set, const char *name,
				const char *variable, bool local)
{
	const char *value = settings_env_plain(set, variable);
	const struct preset *preset = preset_find(name);
	struct str url = str_trim(str_of(value));
	const char *own = preset ? preset->base_url : NULL;

	while (str_ends(url, "/"))
		url.len--;
	if (!str_starts(url, "http") || (local && loopback_url(url)) ||
	    (own && strncmp(own, url.ptr, url.len) == 0))
		return NULL;
	return value;
}

/* Finds a variable, exported for all programs, whose address a stored key of
 * this provider is not sent to. NULL if there is none. */
static const char *find_shared_address(const struct settings *set,
				       const char *name)
{
	const char *list[ADDRESSES_MOST];
	const char *found = NULL;
	bool local;
	size_t n = address_variables(name, list, &local);

	for (size_t i = 0; i < n; i++) {
		char *own = xasprintf("DEEPAGENTS_CODE_%s", list[i]);
		bool named = settings_env_plain(set, own) != NULL;

		free(own);
		if (named)
			return NULL;
		if (!found && shared_value(set, name, list[i], local))
			found = list[i];
	}
	return found;
}

void credential_print_address(const struct settings *set, const char *name,
			      FILE *out)
{
	const char *variable = find_shared_address(set, name);

	if (variable)
		fprintf(out,
			"The key does not go to the address in %s, which may "
			"belong to another key. To change that: dcode auth set "
			"%s --base-url URL, or set DEEPAGENTS_CODE_%s.\n",
			variable, name, variable);
}

int credential_ask_address(struct app *app, const char *name, const char **url,
			   struct error *err)
{
	const char *variable = find_shared_address(app->settings, name);
	struct buf shown = BUF_INIT(1 << 14);
	char *question;
	int rc;

	if (!variable)
		return 0;
	sanitize_line(str_of(settings_env_plain(app->settings, variable)),
		      &shown);
	question = xasprintf("%s is set to %.500s. Send this key to that "
			     "address? [y/N] ",
			     variable, shown.len ? shown.ptr : "");
	rc = secret_confirm(app, question, err);
	if (rc > 0)
		*url = settings_env_plain(app->settings, variable);
	else if (rc == 0)
		credential_print_address(app->settings, name, stderr);
	free(question);
	buf_release(&shown);
	return rc < 0 ? -1 : 0;
}

/* On the first attempt copies the passphrase that is in the environment or was
 * typed before, and returns its length. Returns 0 if there is none, or if it
 * was wrong (later attempts). */
static int known_passphrase(struct app *app, int attempt, char *room,
			    size_t size)
{
	const char *value = settings_env_plain(app->settings, phrase_env);

	if (!value || !value[0])
		value = app->passphrase;
	if (attempt || !value || !value[0] || strlen(value) > size)
		return 0;
	memcpy(room, value, strlen(value));
	return (int)strlen(value);
}

/* Keeps the passphrase in locked memory: an MCP login that is renewed hours
 * later is stored with it again. */
static void remember_passphrase(struct app *app, const char *room, int n)
{
	secret_free(app->passphrase);
	app->passphrase = secret_room((size_t)n + 1);
	memcpy(app->passphrase, room, (size_t)n);
	app->passphrase[n] = '\0';
}

/* vault_ask callback: asks for the passphrase on the terminal, unless it is
 * known. */
static int prompt_passphrase(void *arg, int attempt, char *room, size_t size,
			     struct error *err)
{
	struct app *app = arg;
	const char *value = settings_env_plain(app->settings, phrase_env);
	int n = known_passphrase(app, attempt, room, size);

	if (n)
		return n;
	if (value && value[0])
		return -1;
	if (!secret_terminal(app))
		return error_set(err, ERR_CONFIG, "%s is not set", phrase_env);
	n = secret_ask(app,
		       attempt ? "Wrong passphrase. Try again: "
			       : "Passphrase of the stored keys: ",
		       room, size, err);
	if (n > 0)
		remember_passphrase(app, room, n);
	return n;
}

static int get_known_passphrase(void *arg, int attempt, char *room, size_t size,
				struct error *err)
{
	int n = known_passphrase(arg, attempt, room, size);

	return n ? n : error_set(err, ERR_CONFIG, "%s is not set", phrase_env);
}

struct vault_ask credential_ask_nobody(struct app *app)
{
	return (struct vault_ask){ get_known_passphrase, app };
}

static void mask_key(void *arg, const char *name, const char *value)
{
	struct app *app = arg;
	char *shown = xasprintf("%s key", name);

	if (app->mask)
		(void)mask_add(app->mask, shown, str_of(value));
	free(shown);
}

struct settings_store credential_store(struct app *app)
{
	return (struct settings_store){
		.ask = { prompt_passphrase, app },
		.warn = app_warn_line,
		.found = mask_key,
		.url_owner = url_owner,
		.arg = app,
	};
}

char *credential_dir(const struct settings *set)
{
	return path_join(settings_dir(set), ".state");
}

struct credential_search {
	const char *name;
	struct credential *c;
};

static bool match_credential(void *arg, const struct settings_credential *c)
{
	struct credential_search *s = arg;

	if (strcmp(c->name, s->name) != 0 && strcmp(c->variable, s->name) != 0)
		return true;
	*s->c = (struct credential){ xstrdup(c->name), xstrdup(c->variable),
				     xstrdup(c->group), c->required };
	return false;
}

static bool list_name(void *arg, const struct settings_credential *c)
{
	struct buf *out = arg;

	buf_addf(out, "%s%s", out->len ? ", " : "", c->name);
	return true;
}

/* Explains why no credential has this name, and lists the known names. */
static int fail_unknown(const struct settings *set, const char *name,
			struct error *err)
{
	const struct toml_value *own = settings_toml(set, "models.providers");
	struct buf names = BUF_INIT(240);

	if (!strcmp(name, "openai_codex"))
		return error_set(err, ERR_CONFIG,
				 "openai_codex signs in to ChatGPT, which "
				 "dcode cannot do; use openai with an API key");
	if (sandbox_provider_is_built_in(name))
		return error_set(err, ERR_CONFIG,
				 "sandbox provider %s needs no key", name);
	if (own && own->kind == TOML_TABLE && toml_get(own, name)) {
		error_set(err, ERR_CONFIG,
			  "[models.providers.%.80s] does not name the variable "
			  "of its key",
			  name);
		return error_hint(err, "Set its api_key_env in "
				       "~/.deepagents/config.toml first.");
	}
	error_set(err, ERR_CONFIG, "Unknown provider '%.80s'", name);
	settings_each_credential(set, list_name, &names);
	error_hint(err, "Known: %s", names.len ? names.ptr : "");
	buf_release(&names);
	return -1;
}

/* True for "secret:GITHUB": the value of [secrets.GITHUB], which need not be in
 * config.toml yet. */
static bool is_secret_name(const char *name)
{
	static const char prefix[] = "secret:";
	const char *rest = name + sizeof(prefix) - 1;

	return str_starts(str_of(name), prefix) && rest[0] &&
	       strlen(name) <= VAULT_NAME_MAX &&
	       !rest[strspn(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

int credential_find(struct credential *c, struct app *app, const char *name,
		    struct error *err)
{
	const struct preset *preset = preset_find(name);
	struct credential_search search = { name, c };
	struct settings *set;

	*c = (struct credential){ 0 };
	if (app_settings(app, &set, err) < 0)
		return -1;
	settings_each_credential(set, match_credential, &search);
	if (!c->name && preset) {
		search.name = preset->name;
		settings_each_credential(set, match_credential, &search);
	}
	if (!c->name && is_secret_name(name))
		*c = (struct credential){ xstrdup(name), xstrdup(name), NULL,
					  true };
	return c->name ? 0 : fail_unknown(set, name, err);
}

void credential_release(struct credential *c)
{
	free(c->name);
	free(c->variable);
	free(c->group);
	*c = (struct credential){ 0 };
}

static bool is_in_auth_json(const struct settings *set, const char *name)
{
	const struct vault_entry *e = settings_vault_entry(set, name);

	return e && e->plain;
}

/* Vertex AI can get its tokens from gcloud (vertex_account.h), without a stored
 * key. If gcloud is installed, appends that to label and returns true. */
static bool add_gcloud(const struct settings *set, const struct preset *p,
		       struct buf *label)
{
	char *program =
		p && p->google_cloud
			? proc_find("gcloud", settings_exported(set, "PATH"))
			: NULL;
	bool found;

	if (program)
		buf_addf(label, "access token from %s", program);
	found = program != NULL;
	free(program);
	return found;
}

/* Checks the possible sources of a key in order of precedence. */
enum credential_state credential_state(const struct settings *set,
				       const char *name, const char *variable,
				       struct buf *label)
{
	const struct preset *preset = preset_find(name);
	char *own = xasprintf("DEEPAGENTS_CODE_%s", variable);
	enum setting_source source = settings_env_source(set, variable);
	const char *project = NULL;
	enum credential_state state = CREDENTIAL_ENV;

	if (source == SOURCE_STORED) {
		bool plain = is_in_auth_json(set, name);

		state = plain ? CREDENTIAL_PLAIN : CREDENTIAL_STORED;
		buf_adds(label, plain ? "stored in auth.json" : "stored");
	} else if (source != SOURCE_NONE) {
		buf_addf(label, "env: %s",
			 settings_env_plain(set, own) ? own : variable);
		if (source != SOURCE_ENV)
			buf_addf(label, " (%s)", setting_source_name(source));
	} else if (settings_credential(set, variable, &project) && project) {
		buf_addf(label, "env: %s (%s)", variable,
			 setting_source_name(SOURCE_DOTENV_PROJECT));
	} else if (preset && preset->keyless) {
		state = CREDENTIAL_OPTIONAL;
		buf_adds(label, "local provider");
	} else if (add_gcloud(set, preset, label)) {
		state = CREDENTIAL_OPTIONAL;
	} else {
		state = CREDENTIAL_MISSING;
		buf_adds(label, "missing");
	}
	free(own);
	return state;
}

int credential_store_key(struct app *app, const struct vault_change *change,
			 bool *changed, struct error *err)
{
	struct stop stop = app_stop(app);
	struct vault_ask ask = { prompt_passphrase, app };
	struct settings *set;
	char *dir;
	int rc;

	if (app_settings(app, &set, err) < 0)
		return -1;
	stop = stop_within(&stop, LOCK_MS);
	dir = credential_dir(set);
	rc = vault_change(dir, &ask, change, changed, &stop, err);
	free(dir);
	return rc;
}

/* The typed key is only in locked memory. */
int credential_ask(struct app *app, const char *name, struct error *err)
{
	struct vault_change change = { .name = name };
	char *room = secret_room(VAULT_KEY_MAX);
	char *prompt = xasprintf("API key for %s (not shown): ", name);
	int n = secret_ask(app, prompt, room, VAULT_KEY_MAX, err);
	int rc = -1;

	change.key = (struct str){ room, n > 0 ? (size_t)n : 0 };
	if (n == 0)
		error_set(err, ERR_CONFIG, "no API key was entered");
	else if (n > 0 && !vault_key_ok(change.key))
		error_set(err, ERR_CONFIG,
			  "not an API key: the input contains spaces or "
			  "non-ASCII characters");
	else if (n > 0 &&
		 credential_ask_address(app, name, &change.url, err) == 0)
		rc = credential_store_key(app, &change, NULL, err);
	secret_free(room);
	free(prompt);
	return rc;
}

/* Returns the regions of the credential's sandbox provider; an empty list if it
 * has none or is not built in. */
static const struct sandbox_region *regions_of(const struct credential *c)
{
	static const struct sandbox_region none[] = { { 0 } };
	const struct sandbox_provider *p =
		c->group ? sandbox_provider_find(c->group) : NULL;

	return p && p->regions ? p->regions : none;
}

/* Replaces the name of a region by the region's address, then checks the
 * address. */
int credential_base_url(const struct credential *c, const char *given,
			const char **url, struct error *err)
{
	const struct sandbox_region *regions = regions_of(c);
	struct buf names = BUF_INIT(256);
	struct str s;
	int rc = 0;

	*url = given;
	if (!given)
		return 0;
	for (size_t i = 0; regions[i].name; i++) {
		if (!strcmp(given, regions[i].name))
			*url = regions[i].url;
		buf_addf(&names, "%s%s", i ? " or " : ", ", regions[i].name);
	}
	s = str_of(*url);
	for (size_t i = 0; i < s.len && rc == 0; i++)
		if (s.ptr[i] <= ' ' || s.ptr[i] >= 0x7F)
			rc = error_set(err, ERR_CONFIG,
				       "--base-url contains spaces or "
				       "non-ASCII characters");
	if (rc == 0 &&
	    ((!str_starts(s, "https://") && !str_starts(s, "http://")) ||
	     s.len > VAULT_KEY_MAX))
		rc = error_set(err, ERR_CONFIG,
			       "--base-url must be an http:// or https:// "
			       "address%s",
			       names.len ? names.ptr : "");
	buf_release(&names);
	return rc;
}
