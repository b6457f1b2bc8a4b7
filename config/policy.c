/* policy.c - the machine's policy: settings that go over everything else. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/foreign.h"
#include "config/settings_impl.h"
#include "config/toml_impl.h"

enum { PATH_BYTES = 512, STEPS_LEAST = 25, STEPS_MOST = 100000 };

static void refuse(struct settings *s, const struct toml_value *v,
		   const char *path, const char *why)
{
	if (!s->policy_error)
		s->policy_error =
			xasprintf("%s:%d:%d: %s %s", s->files[FILE_POLICY].path,
				  v->line, v->column, path, why);
}

/* A row's key, or something inside a row that is a table. */
static const struct setting_slot *slot_of(const struct settings *s,
					  const char *path)
{
	for (size_t i = 0; i < s->n_slots; i++) {
		const struct setting_slot *slot = &s->slots[i];
		size_t len = strlen(slot->path);

		if (strncmp(slot->path, path, len) == 0 &&
		    (!path[len] ||
		     (slot->row->type == SETTING_TABLE && path[len] == '.')))
			return slot;
	}
	return NULL;
}

static bool is_text(const struct toml_value *v, const char *text)
{
	return v->kind == TOML_STRING && !strcmp(v->text, text);
}

/*
 * The file is the Python program's too. What it says of parts that dcode does
 * not have holds by itself; what demands such a part cannot be honoured.
 */
static void check_foreign(struct settings *s, const struct toml_value *v,
			  const char *path)
{
	const struct foreign_key *key = foreign_key_find(path);

	if (!key)
		refuse(s, v, path,
		       "is not a setting that dcode knows, so it cannot be "
		       "enforced");
	else if (key->kinds && !(key->kinds & 1U << v->kind))
		refuse(s, v, path, "has a value of the wrong type");
	else if (!strcmp(path, "interpreter.enable_interpreter") && v->integer)
		refuse(s, v, path,
		       "cannot be enforced: dcode does not have it");
	else if (!strcmp(path, "startup.mode") && !is_text(v, "manual"))
		refuse(s, v, path, "must be \"manual\" here");
	else if (!strcmp(path, "runtime.recursion_limit") &&
		 (v->integer < STEPS_LEAST || v->integer > STEPS_MOST))
		refuse(s, v, path, "must be from 25 to 100000");
}

static void check_keys(struct settings *s, const struct toml_value *table,
		       const char *prefix)
{
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		char *path = xasprintf("%s%s%s", prefix, prefix[0] ? "." : "",
				       v->key);
		const struct setting_slot *slot = slot_of(s, path);

		if (slot && slot->row->flags & SETTING_ENV_ONLY)
			refuse(s, v, path,
			       "is only read from the environment, so it "
			       "cannot be enforced");
		else if (!slot && v->kind == TOML_TABLE && v->n_items)
			check_keys(s, v, path);
		else if (!slot)
			check_foreign(s, v, path);
		free(path);
	}
}

/* Tables grow into each other, anything else is replaced. Empties from. */
static void merge(struct toml_value *into, struct toml_value *from)
{
	for (size_t i = 0; i < from->n_items; i++) {
		struct toml_value *v = &from->items[i];
		struct toml_value *old =
			(struct toml_value *)toml_get(into, v->key);

		if (old && old->kind == TOML_TABLE && v->kind == TOML_TABLE) {
			merge(old, v);
			toml_release(v);
			continue;
		}
		if (old)
			toml_release(old);
		else
			old = toml_append(into);
		*old = *v;
	}
	from->n_items = 0;
	toml_release(from);
}

/* After the user's file, before anything is resolved. */
void settings_read_policy(struct settings *s)
{
	struct settings_file *file = &s->files[FILE_POLICY];
	struct toml_value copy = { 0 };
	struct error err = { 0 };

	if (settings_read_toml(file, &s->policy, &err) < 0 ||
	    (s->policy.n_items && settings_read_toml(file, &copy, &err) < 0)) {
		file->state = SETTINGS_FILE_BROKEN;
		s->policy_error = xstrdup(err.message);
		toml_release(&s->policy);
		return;
	}
	settings_join_names(s, file, &s->policy);
	settings_join_names(s, file, &copy);
	merge(&s->config, &copy);
}

/* Once every row is resolved. */
void settings_check_policy(struct settings *s)
{
	check_keys(s, &s->policy, "");
	settings_guard_tables(s, FILE_POLICY, &s->policy, &s->policy_error);
	for (size_t i = 0; i < s->n_slots && !s->policy_error; i++) {
		struct error err = { 0 };

		if (s->slots[i].source == SOURCE_POLICY &&
		    setting_slot_check(s, &s->slots[i], &err) < 0)
			s->policy_error = xstrdup(err.message);
	}
	if (s->policy_error)
		s->files[FILE_POLICY].state = SETTINGS_FILE_BROKEN;
}

const char *settings_policy_error(const struct settings *s)
{
	return s->policy_error;
}

const struct toml_value *settings_policy(const struct settings *s,
					 const char *dotted)
{
	return toml_path(&s->policy, dotted);
}
