/* settings_env.c - environments of programs, and which variables are secret. */
/* SPDX-License-Identifier: MIT */
/*
 * The first part decides which variables are secret: because of their rows in
 * the schema, because config.toml names them, or because of their own names.
 * Then come the four environments for programs. The last part wipes the secrets
 * from dcode's own environment.
 */
#include "config/settings_env.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "config/settings.h"
#include "config/settings_slots.h"

/* minimum bytes of a variable that is secret only by its name */
enum { SHORTEST = 8 };

struct each {
	void (*call)(void *arg, const char *name, const char *value);
	void *arg;
};

static bool has_suffix_nocase(struct str s, const char *suffix)
{
	size_t len = strlen(suffix);

	return s.len >= len &&
	       str_is_nocase((struct str){ s.ptr + s.len - len, len }, suffix);
}

bool setting_looks_secret(const char *name)
{
	static const char *const words[] = {
		"authorization", "cookie", "key", "pass", "passwd", "pat", NULL,
	};
	static const char *const endings[] = {
		"apikey", "passphrase", "password", "secret", "token", NULL,
	};
	struct str s = str_of(name);
	struct str word = s;

	for (size_t i = 0; i < s.len; i++)
		if (strchr("_-.", s.ptr[i]))
			word = str_skip(s, i + 1);
	for (size_t i = 0; words[i]; i++)
		if (str_is_nocase(word, words[i]))
			return true;
	for (size_t i = 0; endings[i]; i++)
		if (has_suffix_nocase(s, endings[i]))
			return true;
	return false;
}

static void report_var(const struct env_var *v, size_t shortest,
		       const struct each *each)
{
	if (v && v->value[0] && strlen(v->value) >= shortest)
		each->call(each->arg, v->name, v->value);
}

/* Reports all values of a variable, from the user and from the project. Values
 * that another source overrides are secret too. */
static void each_of_name(const struct settings *s, const char *name,
			 size_t shortest, const struct each *each)
{
	const char *other = dotenv_get(&s->project, str_of(name));

	report_var(env_prefixed(&s->env, name), shortest, each);
	report_var(env_get(&s->env, name), shortest, each);
	if (other && other[0] && strlen(other) >= shortest)
		each->call(each->arg, name, other);
}

/* Reports the values of all SETTING_SECRET rows. */
static void each_row(const struct settings *s, const struct each *each)
{
	for (size_t i = 0; i < s->n_slots; i++) {
		const struct setting_slot *slot = &s->slots[i];
		const struct setting *row = slot->row;
		const char *value = slot->text;

		if (!(row->flags & SETTING_SECRET))
			continue;
		if (slot->toml && slot->toml->kind == TOML_STRING)
			value = slot->toml->text;
		if (value && value[0])
			each->call(each->arg, row->env ? row->env : row->key,
				   value);
		if (row->env)
			each_of_name(s, row->env, 1, each);
	}
}

static bool is_secret_row(const struct settings *s, const char *name)
{
	static const char prefix[] = "DEEPAGENTS_CODE_";

	if (!strncmp(name, prefix, sizeof(prefix) - 1))
		name += sizeof(prefix) - 1;
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].row->flags & SETTING_SECRET &&
		    s->slots[i].row->env && !strcmp(s->slots[i].row->env, name))
			return true;
	return false;
}

/* Reports variables with a secret-looking name, including values that another
 * source overrides. */
static void each_variable(const struct settings *s, const struct each *each)
{
	for (size_t i = 0; i < s->env.n; i++) {
		const struct env_var *v = &s->env.vars[i];

		if (strlen(v->value) >= SHORTEST &&
		    setting_looks_secret(v->name))
			each->call(each->arg, v->name, v->value);
	}
	for (size_t i = 0; i < s->project.n; i++) {
		const struct dotenv_var *v = &s->project.vars[i];

		if (strlen(v->value) >= SHORTEST &&
		    setting_looks_secret(v->name))
			each->call(each->arg, v->name, v->value);
	}
	for (size_t i = 0; i < s->env.n_shadowed; i++) {
		const struct env_var *v = &s->env.shadowed[i];

		if (strlen(v->value) >= SHORTEST &&
		    (setting_looks_secret(v->name) ||
		     is_secret_row(s, v->name)))
			each->call(each->arg, v->name, v->value);
	}
}

/* Reports the values of the variables that a string of config.toml names as
 * ${NAME}. */
static void each_named(const struct settings *s, const char *text,
		       const struct each *each)
{
	const char *at = text;

	while ((at = strstr(at, "${"))) {
		size_t len = strcspn(at + 2, "}");
		char *name = xstrndup(at + 2, len);

		each_of_name(s, name, SHORTEST, each);
		free(name);
		at += 2;
	}
}

/* Reports the variables that [secrets] names. */
static void each_secret_table(const struct settings *s,
			      const struct toml_value *all,
			      const struct each *each)
{
	for (size_t i = 0; all->kind == TOML_TABLE && i < all->n_items; i++) {
		const struct toml_value *v =
			all->items[i].kind == TOML_TABLE
				? toml_get(&all->items[i], "value_env")
				: NULL;

		if (v && v->kind == TOML_STRING)
			each_of_name(s, v->text, 1, each);
	}
}

/* Reports the secrets in a table of config.toml. A member is secret because of
 * its own name or because of the name of a table around it. Members named
 * ..._env or credentials contain names of secret variables. */
static void each_member(const struct settings *s, const struct toml_value *v,
			bool secret, const struct each *each)
{
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];
		const char *name = item->key ? item->key : v->key;
		bool hidden = secret || (name && setting_looks_secret(name));

		/* [secrets.TOKEN] has hosts and names, but no value */
		if (v == &s->config && name && !strcmp(name, "secrets")) {
			each_secret_table(s, item, each);
			continue;
		}
		if (item->kind == TOML_STRING)
			each_named(s, item->text, each);
		if (item->kind == TOML_TABLE || item->kind == TOML_ARRAY) {
			each_member(s, item, hidden, each);
		} else if (item->kind == TOML_STRING && name &&
			   (has_suffix_nocase(str_of(name), "_env") ||
			    !strcmp(name, "credentials"))) {
			/* A stored key is not reported here but when the store
			 * is opened. */
			each_of_name(s, item->text, 1, each);
		} else if (item->kind == TOML_STRING && hidden && name) {
			each->call(each->arg, name, item->text);
		}
	}
}

/* Like settings_each_secret(), but without variables that are secret only by
 * their name. */
static void settings_each_key(const struct settings *s,
			      void (*each)(void *arg, const char *name,
					   const char *value),
			      void *arg)
{
	struct each call = { each, arg };

	each_row(s, &call);
	each_member(s, &s->config, false, &call);
}

void settings_each_secret(const struct settings *s,
			  void (*each)(void *arg, const char *name,
				       const char *value),
			  void *arg)
{
	struct each call = { each, arg };

	settings_each_key(s, each, arg);
	each_variable(s, &call);
}

struct list {
	char **env;
	size_t n;
};

static void wipe_line(char *line)
{
	sodium_memzero(line, strlen(line));
	free(line);
}

/* Replaces the variable of this name. Without a value, removes it. */
static void set_var(struct list *l, const char *name, const char *value)
{
	size_t len = strlen(name);
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		char *line = l->env[i];

		if (!strncmp(line, name, len) && line[len] == '=')
			wipe_line(line);
		else
			l->env[kept++] = line;
	}
	l->n = kept;
	l->env = xrealloc(l->env, l->n + 2, sizeof(*l->env));
	if (value)
		l->env[l->n++] = xasprintf("%s=%s", name, value);
	l->env[l->n] = NULL;
}

/* Adds the keys that a sandbox provider's program needs. */
static void set_keys(const struct settings *s, const char *provider,
		     struct list *l)
{
	const struct toml_value *all = settings_toml(s, "sandboxes.providers");
	const struct toml_value *entry =
		all && all->kind == TOML_TABLE ? toml_get(all, provider) : NULL;
	const struct toml_value *named = settings_credentials(entry);

	for (size_t i = 0; i < s->n_slots; i++) {
		const struct setting_slot *slot = &s->slots[i];

		if (slot->group && !strcmp(slot->group, provider) &&
		    slot->row->env && slot->row->flags & SETTING_SECRET)
			set_var(l, slot->row->env,
				settings_env(s, slot->row->env));
	}
	for (size_t i = 0; named && i < named->n_items; i++)
		if (named->items[i].kind == TOML_STRING)
			set_var(l, named->items[i].text,
				settings_env(s, named->items[i].text));
}

const char *settings_exported(const struct settings *s, const char *name)
{
	const struct env_var *v = env_get(&s->env, name);

	return v && v->source == SOURCE_ENV ? v->value : NULL;
}

static struct list list_exported(const struct settings *s)
{
	struct list l = { xcalloc(s->env.n + 1, sizeof(*l.env)), 0 };

	for (size_t i = 0; i < s->env.n; i++)
		if (s->env.vars[i].source == SOURCE_ENV)
			l.env[l.n++] = xasprintf("%s=%s", s->env.vars[i].name,
						 s->env.vars[i].value);
	return l;
}

char **settings_environ_exported(const struct settings *s)
{
	return list_exported(s).env;
}

char **settings_environ(const struct settings *s, const char *provider)
{
	struct list l = list_exported(s);
	char *path = proc_absolute_path(settings_exported(s, "PATH"));

	set_var(&l, "PATH", path);
	free(path);
	if (provider)
		set_keys(s, provider, &l);
	return l.env;
}

static void unset_key(void *arg, const char *name, const char *value)
{
	static const char prefix[] = "DEEPAGENTS_CODE_";
	char *with = xasprintf("%s%s", prefix, name);

	(void)value;
	set_var(arg, name, NULL);
	set_var(arg, with, NULL);
	free(with);
}

char **settings_environ_keyless(const struct settings *s)
{
	struct list l = { settings_environ(s, NULL), 0 };

	while (l.env[l.n])
		l.n++;
	settings_each_key(s, unset_key, &l);
	return l.env;
}

static bool is_plain(const char *name)
{
	static const char *const names[] = {
		"HOME", "LOGNAME", "PATH", "SHELL",
		"TERM", "USER",    "LANG", "TMPDIR"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return true;
	return !strncmp(name, "LC_", 3);
}

char **settings_environ_project(const struct settings *s)
{
	struct list l = { xcalloc(s->env.n + 2, sizeof(*l.env)), 0 };
	char *path = proc_absolute_path(settings_exported(s, "PATH"));

	for (size_t i = 0; i < s->env.n; i++)
		if (s->env.vars[i].source == SOURCE_ENV &&
		    is_plain(s->env.vars[i].name))
			l.env[l.n++] = xasprintf("%s=%s", s->env.vars[i].name,
						 s->env.vars[i].value);
	set_var(&l, "PATH", path);
	free(path);
	return l.env;
}

void settings_environ_free(char **env)
{
	for (char **e = env; e && *e; e++)
		wipe_line(*e);
	free(env);
}

static void wipe_entry(char *entry)
{
	char *value = strchr(entry, '=');

	if (value)
		sodium_memzero(value + 1, strlen(value + 1));
}

/* Overwrites a variable's value in dcode's own environment, for the name with
 * the DEEPAGENTS_CODE_ prefix and without. */
static void wipe_name(void *arg, const char *name, const char *value)
{
	static const char prefix[] = "DEEPAGENTS_CODE_";
	size_t len = strlen(name);

	(void)value;
	for (char **e = arg; *e; e++) {
		const char *bare = *e;

		if (!strncmp(bare, prefix, sizeof(prefix) - 1))
			bare += sizeof(prefix) - 1;
		if ((!strncmp(bare, name, len) && bare[len] == '=') ||
		    (!strncmp(*e, name, len) && (*e)[len] == '='))
			wipe_entry(*e);
	}
}

void settings_wipe_environ(const struct settings *s, char **environ)
{
	settings_each_secret(s, wipe_name, environ);
	for (char **e = environ; *e; e++) {
		char *name = xstrndup(*e, strcspn(*e, "="));

		if (setting_looks_secret(name))
			wipe_entry(*e);
		free(name);
	}
}
