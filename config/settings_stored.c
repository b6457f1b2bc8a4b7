/* settings_stored.c - finds keys: stored, exported, or in a project's .env. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at settings_env(). The user's own keys have precedence. A
 * project's key (setting_slot_project()) is used only if the user has none for
 * the same vendor. The vault is opened when a key is first needed, since that
 * may ask for a passphrase.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/settings.h"
#include "config/settings_slots.h"

static const char core_names[] = "credentials.";
/* "secret:GITHUB" is the value of [secrets.GITHUB]; no variable has such a
 * name. */
static const char secret_names[] = "secret:";

typedef bool each_fn(void *arg, const struct settings_credential *c);

struct stored_search {
	const char *name;
	char *variable; /* name of the variable whose key is stored; owned */
};

struct naming {
	const char *variable;
	char *name; /* owned */
};

/* Returns the name under which this row's key is stored, or NULL. Owned. */
static char *row_name(const struct settings *s, const struct setting_slot *slot)
{
	const char *group = slot->group;

	if (!(slot->row->flags & SETTING_SECRET) || !slot->row->env)
		return NULL;
	if (!group)
		return strncmp(slot->row->key, core_names,
			       sizeof(core_names) - 1)
			       ? NULL
			       : xstrdup(slot->row->key + sizeof(core_names) -
					 1);
	/* A provider's first secret is stored under the provider's name
	 * alone. */
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].group && s->slots[i].row->env &&
		    s->slots[i].row->flags & SETTING_SECRET &&
		    !strcmp(s->slots[i].group, group))
			return &s->slots[i] == slot ? xstrdup(group)
						    : xasprintf("%s.%s", group,
								slot->row->key);
	return NULL;
}

/* Returns the variable in [models.providers.NAME] api_key_env = "...", or
 * NULL. */
static const char *named_env(const struct toml_value *provider)
{
	const struct toml_value *v = provider->kind == TOML_TABLE
					     ? toml_get(provider, "api_key_env")
					     : NULL;

	return v && v->kind == TOML_STRING && v->text[0] ? v->text : NULL;
}

const struct toml_value *settings_credentials(const struct toml_value *entry)
{
	const struct toml_value *v = entry && entry->kind == TOML_TABLE
					     ? toml_get(entry, "credentials")
					     : NULL;

	return v && v->kind == TOML_ARRAY ? v : NULL;
}

/* Returns the next ${NAME} in the headers of [sandboxes.providers.X.http].
 * *item and *at hold the position between calls; set both to 0 first. Owned, or
 * NULL. */
static char *next_header_env(const struct toml_value *provider, size_t *item,
			     size_t *at)
{
	const struct toml_value *http = provider->kind == TOML_TABLE
						? toml_get(provider, "http")
						: NULL;
	const struct toml_value *all = http && http->kind == TOML_TABLE
					       ? toml_get(http, "headers")
					       : NULL;

	for (; all && *item < all->n_items; ++*item, *at = 0) {
		const struct toml_value *v = &all->items[*item];
		const char *name = v->kind == TOML_STRING
					   ? strstr(v->text + *at, "${")
					   : NULL;
		size_t len = name ? strcspn(name + 2, "}") : 0;

		if (!len || !name[2 + len])
			continue;
		*at = (size_t)(name + 2 + len - v->text);
		return xstrndup(name + 2, len);
	}
	return NULL;
}

static char *header_env(const struct toml_value *provider)
{
	size_t item = 0;
	size_t at = 0;

	return next_header_env(provider, &item, &at);
}

/* True if the user has a key for one of the headers. Then the project's .env
 * must not supply the variables of the others: one in a header such as
 * X-Organization could decide what the user's key is used for. */
static bool user_has_header(const struct settings *s,
			    const struct toml_value *provider)
{
	bool found = false;
	size_t item = 0;
	size_t at = 0;
	char *name;

	while (!found && (name = next_header_env(provider, &item, &at))) {
		found = env_resolve(&s->env, name) || settings_stored(s, name);
		free(name);
	}
	return found;
}

/* Returns the i-th variable that holds a key of an entry of
 * sandboxes.providers: first those in its headers, then those in its
 * credentials. Owned, or NULL. */
static char *service_variable(const struct toml_value *entry, size_t i)
{
	const struct toml_value *list = settings_credentials(entry);
	char *header = header_env(entry);

	if (header && i == 0)
		return header;
	i -= header ? 1 : 0;
	free(header);
	if (!list || i >= list->n_items || list->items[i].kind != TOML_STRING)
		return NULL;
	return xstrdup(list->items[i].text);
}

/* True for the name of a model vendor: a key stored under it is not a
 * sandbox's. */
static bool is_of_models(const struct settings *s, const char *name)
{
	const struct toml_value *own = settings_toml(s, "models.providers");
	bool found = own && own->kind == TOML_TABLE && toml_get(own, name);

	for (size_t i = 0; i < s->n_slots && !found; i++) {
		char *row =
			s->slots[i].group ? NULL : row_name(s, &s->slots[i]);

		found = row && !strcmp(row, name);
		free(row);
	}
	return found;
}

/* Returns the name under which a service's key is stored. For the service's
 * first key it is the provider's name alone. Owned. */
static char *service_name(const struct settings *s, const char *key, size_t i,
			  const char *variable)
{
	char *name;

	if (i == 0 && !is_of_models(s, key))
		return xstrdup(key);
	name = xasprintf("%s.%s", key, variable);
	for (char *c = name + strlen(key); *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return name;
}

static bool has_row(const struct settings *s, const char *variable)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].row->env &&
		    s->slots[i].row->flags & SETTING_SECRET &&
		    !strcmp(s->slots[i].row->env, variable))
			return true;
	return false;
}

static bool is_named_before(const struct toml_value *entry, size_t i,
			    const char *variable)
{
	bool same = false;

	for (size_t j = 0; j < i && !same; j++) {
		char *other = service_variable(entry, j);

		same = other && !strcmp(other, variable);
		free(other);
	}
	return same;
}

/* Calls each for the keys of one entry of sandboxes.providers. */
static bool each_of_entry(const struct settings *s,
			  const struct toml_value *entry, each_fn *each,
			  void *arg)
{
	bool on = true;
	char *env;

	for (size_t i = 0; on && (env = service_variable(entry, i)); i++) {
		char *name = service_name(s, entry->key, i, env);
		struct settings_credential c = { name, env, entry->key, true,
						 false };

		if (!has_row(s, env) && !is_named_before(entry, i, env))
			on = each(arg, &c);
		free(name);
		free(env);
	}
	return on;
}

/* Calls each for the values of [secrets]. */
static bool each_secret(const struct settings *s, each_fn *each, void *arg)
{
	const struct toml_value *all = settings_toml(s, "secrets");
	bool on = true;

	for (size_t i = 0;
	     on && all && all->kind == TOML_TABLE && i < all->n_items; i++) {
		char *name = xasprintf("%s%s", secret_names, all->items[i].key);
		struct settings_credential c = { name, name, NULL, true, true };

		on = each(arg, &c);
		free(name);
	}
	return on;
}

/* Calls each for the keys of the sandbox services that config.toml defines. */
static bool each_service(const struct settings *s, each_fn *each, void *arg)
{
	const struct toml_value *all = settings_toml(s, "sandboxes.providers");
	bool on = true;

	for (size_t i = 0;
	     on && all && all->kind == TOML_TABLE && i < all->n_items; i++)
		on = each_of_entry(s, &all->items[i], each, arg);
	return on;
}

void settings_each_credential(const struct settings *s,
			      bool (*each)(void *arg,
					   const struct settings_credential *c),
			      void *arg)
{
	const struct toml_value *own = settings_toml(s, "models.providers");
	bool on = true;

	for (size_t i = 0; on && i < s->n_slots; i++) {
		const struct setting_slot *slot = &s->slots[i];
		char *name = row_name(s, slot);
		struct settings_credential c = {
			name, slot->row->env, slot->group,
			slot->row->flags & SETTING_REQUIRED,
			slot->row->flags & SETTING_SERVICE
		};

		if (name)
			on = each(arg, &c);
		free(name);
	}
	for (size_t i = 0;
	     on && own && own->kind == TOML_TABLE && i < own->n_items; i++) {
		const char *env = named_env(&own->items[i]);
		struct settings_credential c = { own->items[i].key, env, NULL,
						 true, false };

		if (env)
			on = each(arg, &c);
	}
	if (on && each_service(s, each, arg))
		(void)each_secret(s, each, arg);
}

static bool match_name(void *arg, const struct settings_credential *c)
{
	struct stored_search *s = arg;

	if (!strcmp(c->name, s->name))
		s->variable = xstrdup(c->variable);
	return !s->variable;
}

/* Opens the vault and passes its keys to the caller's found(), which masks
 * them. Warns if the vault cannot be opened. */
static void open_vault(struct settings *s)
{
	const struct settings_store *store = s->store;
	const struct vault_entry *list;
	struct error err = { 0 };
	char *dir = path_join(s->dir, ".state");
	size_t n;

	if (vault_open(&s->vault, dir, &store->ask, &err) < 0) {
		char *line = xasprintf("stored keys are not used: %s%s%s",
				       err.message, err.hint[0] ? ": " : "",
				       err.hint);

		store->warn(line);
		free(line);
	} else {
		n = vault_list(s->vault, &list);
		for (size_t i = 0; i < n; i++)
			store->found(store->arg, list[i].name, list[i].key);
	}
	free(dir);
}

/* Returns a stored entry. The first call, on any thread, opens the vault. */
static const struct vault_entry *find_entry(const struct settings *set,
					    const char *name)
{
	struct settings *s = (struct settings *)set;
	const struct vault_entry *e = NULL;

	pthread_mutex_lock(&s->vault_lock);
	if (!s->vault_tried)
		open_vault(s);
	s->vault_tried = true;
	if (s->vault)
		e = vault_find(s->vault, name);
	pthread_mutex_unlock(&s->vault_lock);
	return e;
}

/* True if opening the stored keys would ask for a passphrase, because there is
 * no key file. */
static bool is_phrase_needed(const struct settings *set)
{
	struct settings *s = (struct settings *)set;
	char *sealed = path_join(s->dir, ".state/credentials");
	char *key = path_join(s->dir, ".state/credentials.key");
	bool asks;

	pthread_mutex_lock(&s->vault_lock);
	asks = s->store && !s->vault_tried && access(key, F_OK) < 0 &&
	       access(sealed, F_OK) == 0;
	pthread_mutex_unlock(&s->vault_lock);
	free(sealed);
	free(key);
	return asks;
}

const char *settings_env_unasked(const struct settings *s, const char *name)
{
	const struct env_var *v;

	if (!is_phrase_needed(s))
		return settings_env(s, name);
	v = env_resolve(&s->env, name);
	return v && v->value[0] ? v->value : NULL;
}

/* True if DEEPAGENTS_CODE_variable is set, even if empty. */
static bool is_overruled(const struct settings *s, const char *variable)
{
	return env_prefixed(&s->env, variable) != NULL;
}

static bool match_variable(void *arg, const struct settings_credential *c)
{
	struct naming *s = arg;

	if (!strcmp(c->variable, s->variable))
		s->name = xstrdup(c->name);
	return !s->name;
}

/* Returns the name under which this variable's key is stored, or NULL.
 * Owned. */
static char *name_of(const struct settings *s, const char *variable)
{
	const struct toml_value *own = settings_toml(s, "models.providers");
	struct naming search = { variable, NULL };

	if (str_starts(str_of(variable), secret_names))
		return xstrdup(variable);
	for (size_t i = 0; i < s->n_slots; i++) {
		const struct setting *row = s->slots[i].row;
		char *name = row->flags & SETTING_SECRET && row->env &&
					     !strcmp(row->env, variable)
				     ? row_name(s, &s->slots[i])
				     : NULL;

		if (name)
			return name;
	}
	for (size_t i = 0; own && own->kind == TOML_TABLE && i < own->n_items;
	     i++) {
		const char *env = named_env(&own->items[i]);

		if (env && !strcmp(env, variable))
			return xstrdup(own->items[i].key);
	}
	(void)each_service(s, match_variable, &search);
	return search.name;
}

const char *settings_stored(const struct settings *s, const char *variable)
{
	const struct vault_entry *e = NULL;
	char *name;

	if (!s->store)
		return NULL;
	name = name_of(s, variable);
	if (name && !is_overruled(s, variable))
		e = find_entry(s, name);
	free(name);
	return e ? e->key : NULL;
}

/* True if stored keys were needed and could not be opened. */
static bool store_failed(const struct settings *set)
{
	struct settings *s = (struct settings *)set;
	bool failed;

	pthread_mutex_lock(&s->vault_lock);
	failed = s->vault_tried && !s->vault;
	pthread_mutex_unlock(&s->vault_lock);
	return failed;
}

/* True if config.toml names this variable as the key of a model vendor or of a
 * service that dcode itself contacts. */
static bool names_key(const struct settings *s, const char *variable)
{
	const struct toml_value *own = settings_toml(s, "models.providers");
	const struct toml_value *all = settings_toml(s, "sandboxes.providers");
	bool found = false;

	for (size_t i = 0; own && own->kind == TOML_TABLE && i < own->n_items;
	     i++) {
		const char *env = named_env(&own->items[i]);

		found = found || (env && !strcmp(env, variable));
	}
	for (size_t i = 0; all && all->kind == TOML_TABLE && i < all->n_items;
	     i++) {
		char *env = header_env(&all->items[i]);

		found = found || (env && !strcmp(env, variable) &&
				  !user_has_header(s, &all->items[i]));
		free(env);
	}
	return found;
}

static const char *url_owner(const struct settings *s, const char *variable,
			     bool *first)
{
	return s->store && s->store->url_owner
		       ? s->store->url_owner(variable, first)
		       : NULL;
}

/* Returns the stored address for this variable, or NULL. */
static const char *find_stored_url(const struct settings *s,
				   const char *variable)
{
	bool first = false;
	const char *name = url_owner(s, variable, &first);
	struct stored_search search = { name, NULL };
	const struct vault_entry *e = NULL;

	if (!name || !first || is_overruled(s, variable))
		return NULL;
	settings_each_credential(s, match_name, &search);
	/* A stored address is used only together with its stored key. */
	if (search.variable && !is_overruled(s, search.variable))
		e = find_entry(s, name);
	free(search.variable);
	return e && e->url[0] ? e->url : NULL;
}

void settings_hide(const struct settings *s, const char *name,
		   const char *value)
{
	if (s->store)
		s->store->found(s->store->arg, name, value);
}

const struct vault_entry *settings_vault_entry(const struct settings *s,
					       const char *name)
{
	return s->store ? find_entry(s, name) : NULL;
}

void settings_store_changed(struct settings *s)
{
	if (s->vault) {
		s->old_vaults = xrealloc(s->old_vaults, s->n_old_vaults + 1,
					 sizeof(struct vault *));
		s->old_vaults[s->n_old_vaults++] = s->vault;
	}
	s->vault = NULL;
	s->vault_tried = false;
}

void settings_store_close(struct settings *s)
{
	for (size_t i = 0; i < s->n_old_vaults; i++)
		vault_close(s->old_vaults[i]);
	free(s->old_vaults);
	vault_close(s->vault);
	pthread_mutex_destroy(&s->vault_lock);
}

static const char *find_stored_value(const struct settings *s, const char *name)
{
	const char *value = settings_stored(s, name);

	return value ? value : find_stored_url(s, name);
}

const char *settings_env(const struct settings *s, const char *name)
{
	const char *value = find_stored_value(s, name);
	const struct env_var *v = env_resolve(&s->env, name);

	if (value)
		return value;
	return v && v->value[0] ? v->value : NULL;
}

enum setting_source settings_env_source(const struct settings *s,
					const char *name)
{
	const struct env_var *v = env_resolve(&s->env, name);

	if (find_stored_value(s, name))
		return SOURCE_STORED;
	return v && v->value[0] ? v->source : SOURCE_NONE;
}

const struct toml_value *settings_toml(const struct settings *s,
				       const char *dotted)
{
	return toml_path(&s->config, dotted);
}

/*
 * The project's .env is part of a repository. A repository must not decide
 * whose account is used: with an attacker's RUNLOOP_API_KEY in that file, the
 * user's files and tokens would go into the attacker's sandbox. So the file
 * supplies a credential only if the user has none of that vendor. Otherwise it
 * supplies only variables that a setup script names. Other code must not read
 * it.
 */

static const char *find_project_value(const struct settings *s,
				      const char *name)
{
	return dotenv_get(&s->project, str_of(name));
}

/* True if the user has set this variable. An empty value counts: that is how
 * users turn a credential off. */
static bool user_has(const struct settings *s, const char *variable)
{
	return env_resolve(&s->env, variable) || settings_stored(s, variable);
}

static bool is_same_vendor(const struct setting_slot *a,
			   const struct setting_slot *b)
{
	return a == b || (a->group && b->group && !strcmp(a->group, b->group));
}

/* True if the user has any credential of the slot's vendor. A vendor may accept
 * several variables: a VERCEL_OIDC_TOKEN from the project would override the
 * user's VERCEL_TOKEN. */
static bool user_has_vendor(const struct settings *s,
			    const struct setting_slot *slot)
{
	for (size_t i = 0; i < s->n_slots; i++) {
		const struct setting_slot *other = &s->slots[i];

		if (!(other->row->flags & SETTING_SECRET) ||
		    !is_same_vendor(slot, other))
			continue;
		if (other->source != SOURCE_NONE ||
		    (other->row->env && user_has(s, other->row->env)))
			return true;
	}
	return false;
}

static const struct setting_slot *slot_of(const struct settings *s,
					  const char *variable)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].row->flags & SETTING_SECRET &&
		    s->slots[i].row->env &&
		    !strcmp(s->slots[i].row->env, variable))
			return &s->slots[i];
	return NULL;
}

const char *settings_credential(const struct settings *s, const char *variable,
				const char **project)
{
	const struct setting_slot *slot = slot_of(s, variable);
	const char *value = settings_env(s, variable);
	const char *other = value ? NULL : find_project_value(s, variable);

	if (!other || !other[0])
		return value;
	if (slot ? user_has_vendor(s, slot)
		 : user_has(s, variable) || !names_key(s, variable))
		return NULL;
	if (store_failed(s))
		/* the stored keys could not be read: the user may have one
		 * there */
		return NULL;
	if (project && !*project)
		*project = slot ? slot->row->env : variable;
	return other;
}

const char *setting_slot_project(const struct settings *s,
				 const struct setting_slot *slot)
{
	const char *project = NULL;
	const char *value = NULL;

	if (slot->row->flags & SETTING_SECRET && slot->row->env &&
	    slot->source == SOURCE_NONE)
		value = settings_credential(s, slot->row->env, &project);
	return project ? value : NULL;
}

const char *settings_setup_value(const struct settings *s, const char *name,
				 enum setting_source *source)
{
	const struct env_var *v = env_get(&s->env, name);

	*source = v ? v->source : SOURCE_DOTENV_PROJECT;
	return v ? v->value : find_project_value(s, name);
}

char *settings_address_name(const struct settings *s, const char *variable)
{
	const struct env_var *v = env_resolve(&s->env, variable);

	if (find_stored_url(s, variable))
		return xasprintf("the address stored by dcode auth set, in "
				 "place of %s",
				 variable);
	if (!v || v->source != SOURCE_DOTENV_USER)
		return xstrdup(v ? v->name : variable);
	return xasprintf("%s, %s line %d", v->name,
			 s->files[FILE_USER_ENV].path, v->line);
}

struct owner_search {
	const struct settings *s;
	const char *vendor;
	bool stored;
};

/* Notes whether a key of the vendor is stored and in use. */
static bool find_stored_key(void *arg, const struct settings_credential *c)
{
	struct owner_search *o = arg;

	if (!strcmp(c->group ? c->group : c->name, o->vendor) &&
	    settings_stored(o->s, c->variable))
		o->stored = true;
	return !o->stored;
}

bool settings_address_is_shared(const struct settings *s, const char *variable)
{
	bool first;
	struct owner_search o = { s, url_owner(s, variable, &first), false };
	const struct env_var *v = env_resolve(&s->env, variable);

	/* a variable with the prefix is found first, under its own name */
	if (!o.vendor || !v || !v->value[0] || strcmp(v->name, variable) != 0 ||
	    find_stored_url(s, variable))
		return false;
	settings_each_credential(s, find_stored_key, &o);
	return o.stored;
}

char *settings_address_unused(const struct settings *s, const char *vendor,
			      const char *variable, const char *used)
{
	const struct env_var *v = env_get(&s->env, variable);
	struct str url = str_trim(str_of(v ? v->value : NULL));

	while (str_ends(url, "/"))
		url.len--;
	/* dcode adds a path to an address that has none */
	if (!url.len || strncmp(used, url.ptr, url.len) == 0)
		return NULL;
	return xasprintf("The stored key goes to %.80s, not to %s. To change "
			 "that: dcode auth set %s --base-url URL, or set "
			 "DEEPAGENTS_CODE_%s.",
			 used, variable, vendor, variable);
}

char *settings_credential_name(const struct settings *s, const char *variable)
{
	const char *project = NULL;
	const struct env_var *v = env_resolve(&s->env, variable);

	if (settings_stored(s, variable))
		return xasprintf("the key stored by dcode auth set, in place "
				 "of %s",
				 variable);
	if (settings_credential(s, variable, &project) && project)
		return xasprintf("%s of %s", variable,
				 s->files[FILE_PROJECT_ENV].path);
	if (!v || v->source != SOURCE_DOTENV_USER)
		return xstrdup(v ? v->name : variable);
	return xasprintf("%s of %s", v->name, s->files[FILE_USER_ENV].path);
}
