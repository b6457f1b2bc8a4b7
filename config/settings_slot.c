/* settings_slot.c - the value of one setting, checked by its type. */
/* SPDX-License-Identifier: MIT */

/*
 * A slot has either text (from a flag, a variable or a stored key) or a value
 * of config.toml. Each function here reads one type from either of them, or
 * says what is wrong and where. Begin reading at setting_slot_check().
 */
#include <string.h>

#include "base/str.h"
#include "config/settings.h"
#include "config/settings_slots.h"
#include "config/toml.h"

const char *setting_source_name(enum setting_source source)
{
	static const char *const names[] = {
		[SOURCE_NONE] = "unset",
		[SOURCE_DEFAULT] = "default",
		[SOURCE_CONFIG] = "config.toml",
		[SOURCE_DOTENV_USER] = "user .env",
		[SOURCE_DOTENV_PROJECT] = "project .env",
		[SOURCE_ENV] = "env",
		[SOURCE_STORED] = "stored",
		[SOURCE_FLAG] = "flag",
		[SOURCE_POLICY] = "managed",
	};

	return names[source];
}

const struct env_var *setting_slot_variable(const struct settings *s,
					    const struct setting *row)
{
	const struct env_var *v;

	if (!row->env)
		return NULL;
	v = row->flags & SETTING_PREFIX_ONLY ? env_prefixed(&s->env, row->env)
					     : env_resolve(&s->env, row->env);
	return v && v->value[0] ? v : NULL;
}

/* Sets the error for a value of the wrong type. The message starts with where
 * to look: "DEEPAGENTS_CODE_X" or "file:3:5: models.default". */
static int set_type_error(const struct settings *s,
			  const struct setting_slot *slot, const char *wanted,
			  struct error *err)
{
	const struct setting *row = slot->row;
	bool secret = row->flags & SETTING_SECRET;
	const struct env_var *v =
		slot->text ? setting_slot_variable(s, row) : NULL;

	if (slot->toml)
		return error_set(
			err, ERR_CONFIG, "%s:%d:%d: %s must be %s, not %s %s",
			slot->source == SOURCE_POLICY
				? s->files[FILE_POLICY].path
				: s->files[FILE_CONFIG].path,
			slot->toml->line, slot->toml->column, slot->path,
			wanted,
			strchr("ai", toml_kind_name(slot->toml->kind)[0]) ? "an"
									  : "a",
			toml_kind_name(slot->toml->kind));
	return error_set(
		err, slot->source == SOURCE_FLAG ? ERR_USAGE : ERR_CONFIG,
		"%s (%s) must be %s%s%s%s",
		slot->source == SOURCE_FLAG || !v ? slot->path : v->name,
		setting_source_name(slot->source), wanted,
		secret ? "" : ", not '", secret ? "" : slot->text,
		secret ? "" : "'");
}

int setting_slot_string(const struct settings *s,
			const struct setting_slot *slot, const char **value,
			struct error *err)
{
	*value = slot->text;
	if (!slot->toml)
		return 0;
	if (slot->toml->kind != TOML_STRING)
		return set_type_error(s, slot, "a string", err);
	if (strlen(slot->toml->text) != slot->toml->text_len)
		return set_type_error(s, slot, "a string without NUL", err);
	*value = slot->toml->text;
	return 0;
}

int setting_slot_int(const struct settings *s, const struct setting_slot *slot,
		     int64_t *value, struct error *err)
{
	int64_t number = 0;

	if (slot->source == SOURCE_NONE)
		return 0;
	if (slot->text ? !str_to_int(str_trim(str_of(slot->text)), &number)
		       : slot->toml->kind != TOML_INT)
		return set_type_error(s, slot, "an integer", err);
	*value = slot->text ? number : slot->toml->integer;
	return 0;
}

static bool is_one_of(struct str text, const char *const *words)
{
	for (; *words; words++)
		if (str_is_nocase(text, *words))
			return true;
	return false;
}

int setting_slot_bool(const struct settings *s, const struct setting_slot *slot,
		      bool *value, struct error *err)
{
	static const char *const yes[] = { "1", "true", "yes", "on", NULL };
	static const char *const no[] = { "0", "false", "no", "off", NULL };
	struct str text = str_trim(str_of(slot->text));
	bool is = slot->text && is_one_of(text, yes);

	if (slot->source == SOURCE_NONE)
		return 0;
	if (slot->text ? !is && !is_one_of(text, no)
		       : slot->toml->kind != TOML_BOOL)
		return set_type_error(s, slot, "true or false", err);
	*value = slot->text ? is : slot->toml->integer;
	return 0;
}

int setting_slot_list(const struct settings *s, const struct setting_slot *slot,
		      struct error *err)
{
	const struct toml_value *v = slot->toml;
	bool good = !v || v->kind == TOML_STRING || v->kind == TOML_ARRAY;

	for (size_t i = 0; good && v && i < v->n_items; i++)
		good = v->items[i].kind == TOML_STRING;
	return good ? 0 : set_type_error(s, slot, "a list of strings", err);
}

int setting_slot_check(const struct settings *s,
		       const struct setting_slot *slot, struct error *err)
{
	const char *text;
	int64_t number;
	bool is;

	switch (slot->row->type) {
	case SETTING_STRING:
		return setting_slot_string(s, slot, &text, err);
	case SETTING_INT:
		return setting_slot_int(s, slot, &number, err);
	case SETTING_BOOL:
		return setting_slot_bool(s, slot, &is, err);
	case SETTING_LIST:
		return setting_slot_list(s, slot, err);
	case SETTING_TABLE:
		if (slot->toml && slot->toml->kind != TOML_TABLE)
			return set_type_error(s, slot, "a table", err);
	}
	return 0;
}
