/* settings_env.c - the environment that a program of the user's is given. */
/* SPDX-License-Identifier: MIT */
#include "config/settings_env.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
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

char **settings_environ(const struct settings *s, const char *provider)
{
	struct list l = { xcalloc(s->env.n + 1, sizeof(*l.env)), 0 };

	for (size_t i = 0; i < s->env.n; i++)
		l.env[l.n++] = xasprintf("%s=%s", s->env.vars[i].name,
					 s->env.vars[i].value);
	if (provider)
		put_keys(s, provider, &l);
	return l.env;
}

void settings_environ_free(char **env)
{
	for (char **e = env; e && *e; e++)
		drop(*e);
	free(env);
}
