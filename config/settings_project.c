/* settings_project.c - what a project's .env file may supply. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/settings_impl.h"

/*
 * The file comes with a repository, which must not decide whose account is
 * used: with an attacker's RUNLOOP_API_KEY the user's files and tokens would go
 * to the attacker's sandbox. So it supplies a credential only where the user
 * has none of that vendor's, and otherwise only what a setup script names.
 * Nothing else in the program can read it.
 */

static const char *find(const struct settings *s, const char *name)
{
	return dotenv_get(&s->project, str_of(name));
}

/* Even an empty one: that is how a user turns a credential off. */
static bool user_has(const struct settings *s, const char *variable)
{
	return env_resolve(&s->env, variable) || settings_stored(s, variable);
}

static bool same_vendor(const struct setting_slot *a,
			const struct setting_slot *b)
{
	return a == b || (a->group && b->group && !strcmp(a->group, b->group));
}

/* A vendor takes one of several variables: VERCEL_OIDC_TOKEN of a project would
 * come before the user's VERCEL_TOKEN. */
static bool user_has_vendor(const struct settings *s,
			    const struct setting_slot *slot)
{
	for (size_t i = 0; i < s->n_slots; i++) {
		const struct setting_slot *other = &s->slots[i];

		if (!(other->row->flags & SETTING_SECRET) ||
		    !same_vendor(slot, other))
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
	const char *other = value ? NULL : find(s, variable);

	if (!other || !other[0])
		return value;
	if (slot ? user_has_vendor(s, slot)
		 : user_has(s, variable) || !settings_names_key(s, variable))
		return NULL;
	if (settings_store_failed(s))
		return NULL; /* the user may well have one */
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
	return v ? v->value : find(s, name);
}

char *settings_address_name(const struct settings *s, const char *variable)
{
	const struct env_var *v = env_resolve(&s->env, variable);

	if (settings_stored_url(s, variable))
		return xasprintf("the address stored by dcode auth set, in "
				 "place of %s",
				 variable);
	if (!v || v->source != SOURCE_DOTENV_USER)
		return xstrdup(v ? v->name : variable);
	return xasprintf("%s, %s line %d", v->name,
			 s->files[FILE_USER_ENV].path, v->line);
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
