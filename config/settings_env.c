/* settings_env.c - the environment that a program of the user's is given. */
/* SPDX-License-Identifier: MIT */
#include "config/settings_env.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/proc.h"
#include "config/settings_impl.h"

struct list {
	char **env;
	size_t n;
};

static void drop(char *line)
{
	sodium_memzero(line, strlen(line));
	free(line);
}

/* Instead of what there was of this name; without a value only away. */
static void put(struct list *l, const char *name, const char *value)
{
	size_t len = strlen(name);
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		char *line = l->env[i];

		if (!strncmp(line, name, len) && line[len] == '=')
			drop(line);
		else
			l->env[kept++] = line;
	}
	l->n = kept;
	l->env = xrealloc(l->env, l->n + 2, sizeof(*l->env));
	if (value)
		l->env[l->n++] = xasprintf("%s=%s", name, value);
	l->env[l->n] = NULL;
}

static void put_keys(const struct settings *s, const char *provider,
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
			put(l, slot->row->env, settings_env(s, slot->row->env));
	}
	for (size_t i = 0; named && i < named->n_items; i++)
		if (named->items[i].kind == TOML_STRING)
			put(l, named->items[i].text,
			    settings_env(s, named->items[i].text));
}

const char *settings_exported(const struct settings *s, const char *name)
{
	const struct env_var *v = env_get(&s->env, name);

	return v && v->source == SOURCE_ENV ? v->value : NULL;
}

static struct list exported(const struct settings *s)
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
	return exported(s).env;
}

char **settings_environ(const struct settings *s, const char *provider)
{
	struct list l = exported(s);
	char *path = proc_absolute_path(settings_exported(s, "PATH"));

	put(&l, "PATH", path);
	free(path);
	if (provider)
		put_keys(s, provider, &l);
	return l.env;
}

static void drop_key(void *arg, const char *name, const char *value)
{
	static const char prefix[] = "DEEPAGENTS_CODE_";
	char *with = xasprintf("%s%s", prefix, name);

	(void)value;
	put(arg, name, NULL);
	put(arg, with, NULL);
	free(with);
}

char **settings_environ_keyless(const struct settings *s)
{
	struct list l = { settings_environ(s, NULL), 0 };

	while (l.env[l.n])
		l.n++;
	settings_each_key(s, drop_key, &l);
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
	put(&l, "PATH", path);
	free(path);
	return l.env;
}

void settings_environ_free(char **env)
{
	for (char **e = env; e && *e; e++)
		drop(*e);
	free(env);
}

static void wipe_entry(char *entry)
{
	char *value = strchr(entry, '=');

	if (value)
		sodium_memzero(value + 1, strlen(value + 1));
}

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
