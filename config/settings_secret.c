/* settings_secret.c - which values must never be shown. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/settings_impl.h"

enum { SHORTEST = 8 }; /* bytes of a variable that only looks secret */

struct each {
	void (*call)(void *arg, const char *name, const char *value);
	void *arg;
};

static bool ends_nocase(struct str s, const char *suffix)
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
		if (ends_nocase(s, endings[i]))
			return true;
	return false;
}

static void tell(const struct env_var *v, size_t shortest,
		 const struct each *each)
{
	if (v && v->value[0] && strlen(v->value) >= shortest)
		each->call(each->arg, v->name, v->value);
}

/* The user's values and a project's: not only the one that counts, for those
 * behind it are secrets as well. */
static void each_of_name(const struct settings *s, const char *name,
			 size_t shortest, const struct each *each)
{
	const char *other = dotenv_get(&s->project, str_of(name));

	tell(env_prefixed(&s->env, name), shortest, each);
	tell(env_get(&s->env, name), shortest, each);
	if (other && other[0] && strlen(other) >= shortest)
		each->call(each->arg, name, other);
}

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

/* ${NAME} within a string of config.toml. */
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

/* A member is secret by its name or by that of a table around it; one named
 * ..._env or credentials names variables that hold secrets. */
static void each_member(const struct settings *s, const struct toml_value *v,
			bool secret, const struct each *each)
{
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];
		const char *name = item->key ? item->key : v->key;
		bool hidden = secret || (name && setting_looks_secret(name));

		if (item->kind == TOML_STRING)
			each_named(s, item->text, each);
		if (item->kind == TOML_TABLE || item->kind == TOML_ARRAY) {
			each_member(s, item, hidden, each);
		} else if (item->kind == TOML_STRING && name &&
			   (ends_nocase(str_of(name), "_env") ||
			    !strcmp(name, "credentials"))) {
			/* A stored one is told when the store is opened. */
			each_of_name(s, item->text, 1, each);
		} else if (item->kind == TOML_STRING && hidden && name) {
			each->call(each->arg, name, item->text);
		}
	}
}

void settings_each_key(const struct settings *s,
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
