/* settings_value.c - the value of a row from its layers, by type. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/settings_impl.h"
#include "config/toml_impl.h"

static bool same_group(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

struct setting_slot *setting_slot_find(const struct settings *s,
				       const char *group, const char *key)
{
	uint64_t code = hash_code(str_of(key), 0);
	size_t cursor = 0;
	uint32_t i;

	while (hash_next(&s->slot_index, code, &cursor, &i))
		if (!strcmp(s->slots[i].row->key, key) &&
		    same_group(s->slots[i].group, group))
			return &s->slots[i];
	return NULL;
}

void setting_slot_release(struct setting_slot *slot)
{
	for (size_t i = 0; i < slot->n_list; i++)
		free(slot->list[i]);
	free(slot->list);
	slot->list = NULL;
	slot->n_list = 0;
	toml_release(&slot->fallback);
	free(slot->flag);
	free(slot->path);
	slot->flag = NULL;
	slot->path = NULL;
}

static void add_item(struct setting_slot *slot, struct str item)
{
	item = str_trim(item);
	if (!item.len)
		return;
	slot->list =
		xrealloc(slot->list, slot->n_list + 1, sizeof(*slot->list));
	slot->list[slot->n_list++] = xstrndup(item.ptr, item.len);
}

static void split(struct setting_slot *slot, struct str text)
{
	struct str item = { 0 };

	while (str_split(&text, ',', &item))
		add_item(slot, item);
}

static void fill_list(struct setting_slot *slot)
{
	const struct toml_value *v = slot->toml;

	for (size_t i = 0; i < slot->n_list; i++)
		free(slot->list[i]);
	slot->n_list = 0;
	if (slot->text)
		split(slot, str_of(slot->text));
	else if (v && v->kind == TOML_STRING)
		split(slot, (struct str){ v->text, v->text_len });
	else if (v && v->kind == TOML_ARRAY)
		for (size_t i = 0; i < v->n_items; i++)
			if (v->items[i].kind == TOML_STRING)
				add_item(slot, str_of(v->items[i].text));
}

static const struct env_var *variable(const struct settings *s,
				      const struct setting *row)
{
	const struct env_var *v;

	if (!row->env)
		return NULL;
	v = row->flags & SETTING_PREFIX_ONLY ? env_prefixed(&s->env, row->env)
					     : env_resolve(&s->env, row->env);
	return v && v->value[0] ? v : NULL;
}

static bool is_empty(const struct toml_value *v)
{
	return v->kind == TOML_STRING && !v->text_len;
}

static void from_fallback(struct setting_slot *slot)
{
	struct error err = { 0 };

	if (!slot->row->fallback)
		return;
	if (!slot->fallback.line &&
	    toml_parse_value(&slot->fallback, str_of(slot->row->fallback),
			     slot->path, &err) < 0)
		return;
	slot->source = SOURCE_DEFAULT;
	slot->toml = &slot->fallback;
}

void setting_slot_resolve(struct settings *s, struct setting_slot *slot)
{
	const struct env_var *v = variable(s, slot->row);
	const struct toml_value *t = NULL;
	const struct toml_value *p = toml_path(&s->policy, slot->path);

	slot->source = SOURCE_NONE;
	slot->text = NULL;
	slot->toml = NULL;
	if (!slot->flag && !v && !(slot->row->flags & SETTING_ENV_ONLY))
		t = toml_path(&s->config, slot->path);
	if (p && slot->row->type != SETTING_TABLE) {
		slot->source = SOURCE_POLICY;
		slot->toml = p;
	} else if (slot->flag) {
		slot->source = SOURCE_FLAG;
		slot->text = slot->flag;
	} else if (v) {
		slot->source = v->source;
		slot->text = v->value;
	} else if (t && !is_empty(t)) {
		slot->source = SOURCE_CONFIG;
		slot->toml = t;
	} else {
		from_fallback(slot);
	}
	if (slot->row->type == SETTING_LIST)
		fill_list(slot);
}

/* "DEEPAGENTS_CODE_X", "file:3:5: models.default": what to look at. */
static int wrong(const struct settings *s, const struct setting_slot *slot,
		 const char *wanted, struct error *err)
{
	const struct setting *row = slot->row;
	bool secret = row->flags & SETTING_SECRET;
	const struct env_var *v = slot->text ? variable(s, row) : NULL;

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

static struct setting_slot *get(const struct settings *s, const char *group,
				const char *key, struct error *err)
{
	struct setting_slot *slot = setting_slot_find(s, group, key);

	if (!slot)
		error_set(err, ERR_CONFIG, "unknown setting %s%s%s",
			  group ? group : "", group ? "." : "", key);
	return slot;
}

static int slot_string(const struct settings *s,
		       const struct setting_slot *slot, const char **value,
		       struct error *err)
{
	*value = slot->text;
	if (!slot->toml)
		return 0;
	if (slot->toml->kind != TOML_STRING)
		return wrong(s, slot, "a string", err);
	if (strlen(slot->toml->text) != slot->toml->text_len)
		return wrong(s, slot, "a string without NUL", err);
	*value = slot->toml->text;
	return 0;
}

static int slot_int(const struct settings *s, const struct setting_slot *slot,
		    int64_t *value, struct error *err)
{
	int64_t number = 0;

	if (slot->source == SOURCE_NONE)
		return 0;
	if (slot->text ? !str_to_int(str_trim(str_of(slot->text)), &number)
		       : slot->toml->kind != TOML_INT)
		return wrong(s, slot, "an integer", err);
	*value = slot->text ? number : slot->toml->integer;
	return 0;
}

static bool one_of(struct str text, const char *const *words)
{
	for (; *words; words++)
		if (str_is_nocase(text, *words))
			return true;
	return false;
}

static int slot_bool(const struct settings *s, const struct setting_slot *slot,
		     bool *value, struct error *err)
{
	static const char *const yes[] = { "1", "true", "yes", "on", NULL };
	static const char *const no[] = { "0", "false", "no", "off", NULL };
	struct str text = str_trim(str_of(slot->text));
	bool is = slot->text && one_of(text, yes);

	if (slot->source == SOURCE_NONE)
		return 0;
	if (slot->text ? !is && !one_of(text, no)
		       : slot->toml->kind != TOML_BOOL)
		return wrong(s, slot, "true or false", err);
	*value = slot->text ? is : slot->toml->integer;
	return 0;
}

static int slot_list(const struct settings *s, const struct setting_slot *slot,
		     struct error *err)
{
	const struct toml_value *v = slot->toml;
	bool good = !v || v->kind == TOML_STRING || v->kind == TOML_ARRAY;

	for (size_t i = 0; good && v && i < v->n_items; i++)
		good = v->items[i].kind == TOML_STRING;
	return good ? 0 : wrong(s, slot, "a list of strings", err);
}

const char *setting_type_name(enum setting_type type)
{
	static const char *const names[] = {
		[SETTING_STRING] = "string", [SETTING_INT] = "integer",
		[SETTING_BOOL] = "boolean",  [SETTING_LIST] = "list",
		[SETTING_TABLE] = "table",
	};

	return names[type];
}

int setting_slot_check(const struct settings *s,
		       const struct setting_slot *slot, struct error *err)
{
	const char *text;
	int64_t number;
	bool is;

	switch (slot->row->type) {
	case SETTING_STRING:
		return slot_string(s, slot, &text, err);
	case SETTING_INT:
		return slot_int(s, slot, &number, err);
	case SETTING_BOOL:
		return slot_bool(s, slot, &is, err);
	case SETTING_LIST:
		return slot_list(s, slot, err);
	case SETTING_TABLE:
		if (slot->toml && slot->toml->kind != TOML_TABLE)
			return wrong(s, slot, "a table", err);
	}
	return 0;
}

/* The stored key of a row, which load() did not look for. */
static const char *slot_stored(const struct settings *s,
			       const struct setting_slot *slot)
{
	if (!(slot->row->flags & SETTING_SECRET) || !slot->row->env ||
	    slot->source == SOURCE_FLAG)
		return NULL;
	return settings_stored(s, slot->row->env);
}

int settings_string(const struct settings *s, const char *group,
		    const char *key, const char **value, struct error *err)
{
	const struct setting_slot *slot = get(s, group, key, err);
	const char *kept = slot ? slot_stored(s, slot) : NULL;

	if (kept) {
		*value = kept;
		return 0;
	}
	return slot ? slot_string(s, slot, value, err) : -1;
}

int settings_directory(const struct settings *s, const char *group,
		       const char *key, const char **value, struct error *err)
{
	if (settings_string(s, group, key, value, err) < 0)
		return -1;
	return *value && **value != '/'
		       ? error_set(err, ERR_CONFIG,
				   "%s must be an absolute path", key)
		       : 0;
}

int settings_int(const struct settings *s, const char *group, const char *key,
		 int64_t *value, struct error *err)
{
	const struct setting_slot *slot = get(s, group, key, err);

	return slot ? slot_int(s, slot, value, err) : -1;
}

int64_t settings_int_default(const struct settings *s, const char *key)
{
	struct error ignored = { 0 };
	const struct setting_slot *slot = get(s, NULL, key, &ignored);
	int64_t number = 0;

	if (slot && slot->row->fallback)
		(void)str_to_int(str_of(slot->row->fallback), &number);
	return number;
}

int settings_bool(const struct settings *s, const char *group, const char *key,
		  bool *value, struct error *err)
{
	const struct setting_slot *slot = get(s, group, key, err);

	return slot ? slot_bool(s, slot, value, err) : -1;
}

int settings_list(const struct settings *s, const char *group, const char *key,
		  const char *const **list, size_t *n, struct error *err)
{
	const struct setting_slot *slot = get(s, group, key, err);

	*list = NULL;
	*n = 0;
	if (!slot || slot_list(s, slot, err) < 0)
		return -1;
	*list = (const char *const *)slot->list;
	*n = slot->n_list;
	return 0;
}

enum setting_source settings_source(const struct settings *s, const char *group,
				    const char *key)
{
	const struct setting_slot *slot = setting_slot_find(s, group, key);

	if (slot && slot_stored(s, slot))
		return SOURCE_STORED;
	if (slot && setting_slot_project(s, slot))
		return SOURCE_DOTENV_PROJECT;
	return slot ? slot->source : SOURCE_NONE;
}

const char *settings_variable(const struct settings *s, const char *group,
			      const char *key)
{
	const struct setting_slot *slot = setting_slot_find(s, group, key);
	const struct env_var *v;

	if (slot && setting_slot_project(s, slot))
		return slot->row->env;
	if (!slot || !slot->text || slot->source == SOURCE_FLAG ||
	    slot_stored(s, slot))
		return NULL;
	v = variable(s, slot->row);
	return v ? v->name : NULL;
}
