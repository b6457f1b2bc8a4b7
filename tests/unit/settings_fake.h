/* settings_fake.h - settings that a test sets by hand, for provider tests. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_SETTINGS_FAKE_H
#define UNIT_SETTINGS_FAKE_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/settings_env.h"

/* Include once per program: these stand in for config/settings.c. */
struct settings {
	char home[256];
	char cwd[512];
	char dir[300];
	struct {
		const char *key;
		const char *value;
	} rows[16]; /* a list is one string, split at commas by nobody */
	const char *list[8];
	size_t nlist;
};

static const char *fake_row(const struct settings *s, const char *key)
{
	for (size_t i = 0; i < 16 && s->rows[i].key; i++)
		if (!strcmp(s->rows[i].key, key))
			return s->rows[i].value;
	return NULL;
}

const char *settings_home(const struct settings *s)
{
	return s->home;
}

const char *settings_cwd(const struct settings *s)
{
	return s->cwd;
}

const char *settings_dir(const struct settings *s)
{
	return s->dir;
}

int settings_string(const struct settings *s, const char *group,
		    const char *key, const char **value, struct error *err)
{
	(void)group;
	(void)err;
	*value = fake_row(s, key);
	return 0;
}

int settings_directory(const struct settings *s, const char *group,
		       const char *key, const char **value, struct error *err)
{
	return settings_string(s, group, key, value, err);
}

int settings_int(const struct settings *s, const char *group, const char *key,
		 int64_t *value, struct error *err)
{
	const char *text = fake_row(s, key);

	(void)group;
	(void)err;
	if (text)
		*value = strtoll(text, NULL, 10);
	return 0;
}

int settings_bool(const struct settings *s, const char *group, const char *key,
		  bool *value, struct error *err)
{
	const char *text = fake_row(s, key);

	(void)group;
	(void)err;
	if (text)
		*value = !strcmp(text, "true");
	return 0;
}

int settings_list(const struct settings *s, const char *group, const char *key,
		  const char *const **list, size_t *n, struct error *err)
{
	(void)group;
	(void)err;
	*list = s->list;
	*n = strcmp(key, "protect") ? s->nlist : 0;
	return 0;
}

enum setting_source settings_source(const struct settings *s, const char *group,
				    const char *key)
{
	(void)s;
	(void)group;
	(void)key;
	return SOURCE_NONE;
}

const char *settings_env(const struct settings *s, const char *name)
{
	(void)s;
	(void)name;
	return NULL;
}

const struct toml_value *settings_toml(const struct settings *s,
				       const char *dotted)
{
	(void)s;
	(void)dotted;
	return NULL;
}

const struct toml_value *settings_policy(const struct settings *s,
					 const char *dotted)
{
	(void)s;
	(void)dotted;
	return NULL;
}

size_t settings_files(const struct settings *s,
		      const struct settings_file **list)
{
	(void)s;
	*list = NULL;
	return 0;
}

char *settings_address_name(const struct settings *s, const char *variable)
{
	(void)s;
	return xstrdup(variable);
}

bool settings_address_is_shared(const struct settings *s, const char *variable)
{
	(void)s;
	(void)variable;
	return false;
}

char *settings_address_unused(const struct settings *s, const char *vendor,
			      const char *variable, const char *used)
{
	(void)s;
	(void)vendor;
	(void)variable;
	(void)used;
	return NULL;
}

char *settings_credential_name(const struct settings *s, const char *variable)
{
	(void)s;
	return xstrdup(variable);
}

const char *settings_setup_value(const struct settings *s, const char *name,
				 enum setting_source *source)
{
	(void)s;
	(void)name;
	*source = SOURCE_NONE;
	return NULL;
}

char **settings_environ_exported(const struct settings *s)
{
	extern char **environ;
	char **env;
	size_t n = 0;

	(void)s;
	while (environ[n])
		n++;
	env = xcalloc(n + 1, sizeof(*env));
	for (size_t i = 0; i < n; i++)
		env[i] = xstrdup(environ[i]);
	return env;
}

void settings_hide(const struct settings *s, const char *name,
		   const char *value)
{
	(void)s;
	(void)name;
	(void)value;
}

const struct vault_entry *settings_vault_entry(const struct settings *s,
					       const char *name)
{
	(void)s;
	(void)name;
	return NULL;
}

char **settings_environ(const struct settings *s, const char *provider)
{
	(void)provider;
	return settings_environ_exported(s);
}

const char *settings_exported(const struct settings *s, const char *name)
{
	(void)s;
	return getenv(name);
}

void settings_environ_free(char **env)
{
	for (char **e = env; *e; e++)
		free(*e);
	free(env);
}

#endif
