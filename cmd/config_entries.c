/* config_entries.c - collects every setting with its effective value. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at config_collect(). It goes through the rows of the schema,
 * and adds for a table setting what config.toml contains. An entry does not
 * have the value of a secret, only whether it is set: rows say which settings
 * are secret, and in tables their names (setting_looks_secret()).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/config.h"

enum { LARGEST = 1 << 20 }; /* bytes of one value */

static struct config_entry *append_entry(struct config_entries *e, char *key)
{
	struct config_entry *entry;

	if ((e->n & (e->n - 1)) == 0)
		e->list = xrealloc(e->list, e->n ? e->n * 2 : 1,
				   sizeof(*e->list));
	entry = &e->list[e->n++];
	*entry = (struct config_entry){ .key = key };
	return entry;
}

static void set_value(struct config_entry *entry, struct buf *text,
		      struct buf *json)
{
	entry->text = buf_detach(text);
	entry->json = buf_detach(json);
}

/* Shows a secret only as configured or not configured. */
static void set_presence(struct config_entry *entry, bool present)
{
	entry->text = xstrdup(present ? "configured" : "not configured");
	entry->json = xasprintf("\"%s\"", entry->text);
}

static void add_list(struct buf *text, struct buf *json,
		     const char *const *list, size_t n)
{
	buf_addc(json, '[');
	for (size_t i = 0; i < n; i++) {
		buf_adds(text, i ? ", " : "");
		buf_adds(text, list[i]);
		buf_adds(json, i ? "," : "");
		json_quote(json, str_of(list[i]));
	}
	buf_addc(json, ']');
}

/* Appends the value of the setting row as text and as JSON. -1 with err if the
 * value is invalid. */
static int read_row(struct buf *text, struct buf *json,
		    const struct settings *set, const char *group,
		    const struct setting *row, struct error *err)
{
	const char *string = NULL;
	const char *const *list;
	int64_t number = 0;
	bool is = false;
	size_t n;

	switch (row->type) {
	case SETTING_STRING:
		if (settings_string(set, group, row->key, &string, err) < 0)
			return -1;
		buf_adds(text, string ? string : "");
		json_quote(json, str_of(string));
		return 0;
	case SETTING_INT:
		if (settings_int(set, group, row->key, &number, err) < 0)
			return -1;
		buf_addf(text, "%" PRId64, number);
		break;
	case SETTING_BOOL:
		if (settings_bool(set, group, row->key, &is, err) < 0)
			return -1;
		buf_adds(text, is ? "true" : "false");
		break;
	case SETTING_LIST:
		if (settings_list(set, group, row->key, &list, &n, err) < 0)
			return -1;
		add_list(text, json, list, n);
		return 0;
	case SETTING_TABLE:
		buf_adds(json, "null");
		return 0;
	}
	buf_addstr(json, buf_str(text));
	return 0;
}

static char *source_text(const struct settings *set, const char *group,
			 const struct setting *row)
{
	const char *name =
		setting_source_name(settings_source(set, group, row->key));
	const char *variable = settings_variable(set, group, row->key);

	return variable ? xasprintf("%s (%s)", name, variable) : xstrdup(name);
}

static char *row_path(const char *group, const struct setting *row)
{
	return group ? xasprintf("sandboxes.providers.%s.params.%s", group,
				 row->key)
		     : xstrdup(row->key);
}

/* Adds one setting with its source and its value. An invalid value is replaced
 * by the error. */
static void add_row(struct config_entries *e, const struct settings *set,
		    const char *group, const struct setting *row)
{
	char *key = row_path(group, row);
	struct config_entry *entry = append_entry(e, key);
	enum setting_source source = settings_source(set, group, row->key);
	struct buf text = BUF_INIT(LARGEST);
	struct buf json = BUF_INIT(LARGEST);
	struct error err = { 0 };
	int rc;

	entry->row = row;
	entry->group = group ? xasprintf("sandboxes.providers.%s", group)
			     : xstrndup(key, strcspn(key, "."));
	entry->secret = row->flags & SETTING_SECRET;
	entry->set = source > SOURCE_DEFAULT;
	entry->source = source_text(set, group, row);
	rc = read_row(&text, &json, set, group, row, &err);
	if (rc < 0)
		entry->error = xstrdup(err.message);
	else if (entry->secret)
		set_presence(entry, source != SOURCE_NONE);
	else if (source != SOURCE_NONE && row->type != SETTING_TABLE)
		set_value(entry, &text, &json);
	buf_wipe(&text);
	buf_wipe(&json);
	if (!entry->json)
		entry->json = xstrdup("null");
}

/* True for an address with a password, such as
 * "https://user:password@host/". */
static bool has_password(const char *text)
{
	const char *host = strstr(text, "://");
	size_t len = host ? strcspn(host + 3, "/?#") : 0;

	return host && memchr(host + 3, '@', len);
}

static void add_value(struct buf *text, struct buf *json,
		      const struct toml_value *v);

static void add_array(struct buf *text, struct buf *json,
		      const struct toml_value *v)
{
	buf_addc(json, '[');
	for (size_t i = 0; i < v->n_items; i++) {
		buf_adds(text, i ? ", " : "");
		buf_adds(json, i ? "," : "");
		add_value(text, json, &v->items[i]);
	}
	buf_addc(json, ']');
}

static void add_float(struct buf *text, struct buf *json, double real)
{
	buf_addf(text, "%.17g", real);
	if (isfinite(real))
		buf_addf(json, "%.17g", real);
	else
		buf_addf(json, "\"%.17g\"", real);
}

/* A table inside an array is shown as {...}, without its members. */
static void add_value(struct buf *text, struct buf *json,
		      const struct toml_value *v)
{
	switch (v->kind) {
	case TOML_TABLE:
		buf_adds(text, "{...}");
		buf_adds(json, "{}");
		break;
	case TOML_ARRAY:
		add_array(text, json, v);
		break;
	case TOML_INT:
		buf_addf(text, "%" PRId64, v->integer);
		buf_addf(json, "%" PRId64, v->integer);
		break;
	case TOML_BOOL:
		buf_adds(text, v->integer ? "true" : "false");
		buf_adds(json, v->integer ? "true" : "false");
		break;
	case TOML_FLOAT:
		add_float(text, json, v->real);
		break;
	default:
		buf_add(text, v->text, v->text_len);
		json_quote(json, (struct str){ v->text, v->text_len });
	}
}

static bool is_bare(const char *key)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return key[0] && !key[strspn(key, bare)];
}

/* True if the key is a setting that a provider's own table of rows
 * describes. */
static bool has_row(const struct setting_group *groups, const char *key)
{
	bool found = false;

	for (; !found && (groups->name || groups->rows); groups++)
		for (const struct setting *row = groups->rows;
		     !found && groups->name && row && row->key; row++) {
			char *path = row_path(groups->name, row);

			found = !strcmp(path, key);
			free(path);
		}
	return found;
}

static void add_leaf(struct config_entries *e, char *key, const char *group,
		     const struct toml_value *v, bool secret)
{
	struct config_entry *entry = append_entry(e, key);
	struct buf text = BUF_INIT(LARGEST);
	struct buf json = BUF_INIT(LARGEST);

	entry->group = xstrdup(group);
	entry->set = true;
	entry->secret =
		secret || (v->kind == TOML_STRING && has_password(v->text));
	entry->source = xstrdup(setting_source_name(SOURCE_CONFIG));
	if (entry->secret) {
		set_presence(entry, true);
		return;
	}
	add_value(&text, &json, v);
	set_value(entry, &text, &json);
}

/* Arguments of the recursive walk through a table of config.toml. */
struct walk {
	struct config_entries *e;
	const struct setting_group *groups;
	const char *group; /* outermost nested table of the walk; NULL at its
			      start */
};

/* Adds all values in config.toml below path, including nested tables. */
static void add_leaves(const struct walk *w, const char *path,
		       const struct toml_value *table, bool secret)
{
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		char *key = xasprintf(is_bare(v->key) ? "%s.%s" : "%s.\"%s\"",
				      path, v->key);
		bool hidden = secret || setting_looks_secret(v->key) ||
			      str_ends(str_of(v->key), "headers");
		struct walk below = { w->e, w->groups,
				      w->group ? w->group : key };

		if (v->kind == TOML_TABLE)
			add_leaves(&below, key, v, hidden);
		else if (!has_row(w->groups, key)) {
			add_leaf(w->e, key, w->group ? w->group : path, v,
				 hidden);
			continue;
		}
		free(key);
	}
}

/* Adds the members of a table in config.toml, or the setting itself if the
 * table is empty or missing. */
static void add_table(struct config_entries *e, const struct settings *set,
		      const struct setting_group *groups,
		      const struct setting *row)
{
	const struct toml_value *v = settings_toml(set, row->key);
	struct walk w = { e, groups, NULL };

	if (v && v->kind == TOML_TABLE && v->n_items)
		add_leaves(&w, row->key, v, false);
	else
		add_row(e, set, NULL, row);
}

void config_collect(struct config_entries *e, const struct settings *set,
		    const struct setting_group *groups)
{
	for (const struct setting_group *g = groups; g->name || g->rows; g++)
		for (const struct setting *row = g->rows; row && row->key;
		     row++) {
			if (row->type == SETTING_TABLE && !g->name)
				add_table(e, set, groups, row);
			else
				add_row(e, set, g->name, row);
		}
}

void config_release(struct config_entries *e)
{
	for (size_t i = 0; i < e->n; i++) {
		struct config_entry *entry = &e->list[i];

		free(entry->key);
		free(entry->group);
		free(entry->source);
		free(entry->text);
		free(entry->json);
		free(entry->error);
	}
	free(e->list);
	*e = (struct config_entries){ 0 };
}
