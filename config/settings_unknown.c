/* settings_unknown.c - keys of config.toml that nothing reads. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "config/foreign.h"
#include "config/settings_impl.h"

/* Of [models.providers.NAME]: those that only the Python program reads. */
static const char *const model_keys[] = { "api_key_url", "class_path",
					  "display_name", "short_name" };

static const char params_end[] = ".params";
static const char providers[] = "sandboxes.providers.";

enum {
	FOREIGN_BYTES = 300,
	MOST_UNKNOWN = 10, /* lines */
};

struct names {
	const char **list; /* owned array of borrowed or kept strings */
	char **kept;       /* owned */
	size_t n;
};

/* The part of a known path that stands below prefix: "default" of
 * "models.default" below "models". */
static void add_part(struct names *names, const char *path, const char *prefix)
{
	size_t len = strlen(prefix);
	const char *rest = path + len + (len > 0);

	if (strncmp(path, prefix, len) != 0 || (len && path[len] != '.'))
		return;
	names->list = xrealloc(names->list, names->n + 1, sizeof(char *));
	names->kept = xrealloc(names->kept, names->n + 1, sizeof(char *));
	names->kept[names->n] = xstrndup(rest, strcspn(rest, "."));
	names->list[names->n] = names->kept[names->n];
	names->n++;
}

/* The keys of a table among settings_keys. */
static void add_table(struct names *names, const char *table)
{
	for (const struct setting_key *k = settings_keys; k->key; k++)
		if (!strcmp(k->table, table))
			add_part(names, k->key, "");
}

static bool has_name(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->list[i], name))
			return true;
	return false;
}

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->kept[i]);
	free(names->kept);
	free(names->list);
}

static void collect(const struct settings *s, const char *prefix,
		    struct names *names)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (!(s->slots[i].row->flags & SETTING_ENV_ONLY))
			add_part(names, s->slots[i].path, prefix);
}

/* What is met while keys are looked at. */
struct unknown {
	struct buf foreign; /* names of the Python program's */
	size_t n;           /* unknown ones */
};

static void warn_unknown(struct settings *s, const struct toml_value *v,
			 const char *path, const struct names *names,
			 struct unknown *u)
{
	struct str key = { v->key, strlen(v->key) };
	const char *near;
	size_t far = key.len / 3 + 1;

	/* The line after the last one says how many more there are. */
	if (++u->n >= MOST_UNKNOWN + 1)
		return;
	near = nearest_name(key, names->list, names->n);
	if (near && nearest_distance(key, str_of(near)) > far)
		near = NULL;
	settings_warn(s, "%s:%d:%d: %s is not a known setting; ignored%s%s%s",
		      s->files[FILE_CONFIG].path, v->line, v->column, path,
		      near ? " (did you mean " : " (dcode help toml",
		      near ? near : "", near ? "?)" : ")");
}

/* True for a row, and for a table on the way to one. */
static bool leads_somewhere(const struct settings *s, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < s->n_slots; i++)
		if (!strncmp(s->slots[i].path, path, len) &&
		    (!s->slots[i].path[len] || s->slots[i].path[len] == '.'))
			return true;
	return false;
}

static bool is_row(const struct settings *s, const char *path)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (!strcmp(s->slots[i].path, path))
			return true;
	return false;
}

/* The entries of one table, whose name is path. */
static void check_entries(struct settings *s, const struct toml_value *table,
			  const char *path, const struct names *names,
			  struct unknown *u)
{
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		char *whole;

		if (has_name(names, v->key))
			continue;
		whole = xasprintf("%s.%s", path, v->key);
		warn_unknown(s, v, whole, names, u);
		free(whole);
	}
}

static void check_model_providers(struct settings *s,
				  const struct toml_value *all,
				  struct unknown *u)
{
	struct names names = { 0 };

	add_table(&names, "models.providers.NAME");
	for (size_t i = 0; i < sizeof(model_keys) / sizeof(*model_keys); i++)
		add_part(&names, model_keys[i], "");
	for (size_t i = 0; i < all->n_items; i++) {
		char *path =
			xasprintf("models.providers.%s", all->items[i].key);

		if (all->items[i].kind == TOML_TABLE)
			check_entries(s, &all->items[i], path, &names, u);
		free(path);
	}
	names_release(&names);
}

/* A misspelt cap is none. */
static void check_limits(struct settings *s, const struct toml_value *limits,
			 struct unknown *u)
{
	struct names names = { 0 };

	add_table(&names, "limits");
	check_entries(s, limits, "limits", &names, u);
	names_release(&names);
}

/* A program or a service of the user's: its params are its own. */
static bool runs_itself(const struct toml_value *entry)
{
	return toml_get(entry, "command") || toml_get(entry, "class_path") ||
	       toml_get(entry, "http");
}

/* Below this path names are the user's own, or read by somebody else. */
static bool is_free(const struct settings *s, const char *path,
		    const struct toml_value *v)
{
	struct str p = str_of(path);

	if (str_starts(p, providers) && str_ends(p, params_end))
		return !leads_somewhere(s, path);
	if (str_starts(p, "retries.") && v->kind == TOML_TABLE)
		return true;
	/* the other keys of an entry are checked where it is read */
	return str_starts(p, providers) && v->kind != TOML_TABLE &&
	       !strstr(path, ".params.");
}

/* True when the keys of the table at this path are checked, too. */
static bool goes_on(const struct settings *s, const struct toml_value *v,
		    const char *path, bool entry)
{
	if (v->kind != TOML_TABLE || is_free(s, path, v))
		return false;
	if (entry)
		return !runs_itself(v);
	return !is_row(s, path) || !strcmp(path, "sandboxes.providers")
		       ? leads_somewhere(s, path)
		       : false;
}

static void add_foreign(struct buf *names, const char *path)
{
	size_t before = names->len;

	if (names->over)
		return;
	buf_addf(names, "%s%s", before ? ", " : "", path);
	if (names->over && before)
		names->ptr[names->len = before] = '\0';
}

/* Names those of the Python program that dcode does not have, in one line. */
static void note_foreign(struct settings *s, const struct buf *names)
{
	if (names->len)
		s->foreign = xasprintf("%s: dcode does not have these settings "
				       "of the Python program: %s%s; ignored",
				       s->files[FILE_CONFIG].path, names->ptr,
				       names->over ? ", ..." : "");
}

static void check_table(struct settings *s, const struct toml_value *table,
			const char *prefix, struct unknown *u);

struct key_level { /* one table */
	const char *prefix;
	struct names names; /* collected for the first unknown key */
};

static void check_key(struct settings *s, const struct toml_value *v,
		      const char *path, struct key_level *l, struct unknown *u)
{
	bool entry = !strcmp(l->prefix, "sandboxes.providers");
	bool leads = leads_somewhere(s, path);

	if (!strcmp(path, "models.providers") && v->kind == TOML_TABLE)
		check_model_providers(s, v, u);
	else if (!strcmp(path, "limits") && v->kind == TOML_TABLE)
		check_limits(s, v, u);
	else if ((entry || leads) && goes_on(s, v, path, entry))
		check_table(s, v, path, u);
	else if (!leads && foreign_key_find(path))
		add_foreign(&u->foreign, path);
	else if (!entry && !leads && !is_free(s, path, v) &&
		 (str_ends(str_of(l->prefix), params_end) ||
		  !str_starts(str_of(l->prefix), providers))) {
		if (!l->names.n && u->n < MOST_UNKNOWN)
			collect(s, l->prefix, &l->names);
		warn_unknown(s, v, path, &l->names, u);
	}
}

static void check_table(struct settings *s, const struct toml_value *table,
			const char *prefix, struct unknown *u)
{
	struct key_level l = { .prefix = prefix };

	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		char *path = xasprintf("%s%s%s", prefix, prefix[0] ? "." : "",
				       v->key);

		check_key(s, v, path, &l, u);
		free(path);
	}
	names_release(&l.names);
}

void settings_check_unknown(struct settings *s)
{
	struct unknown u = { .foreign = BUF_INIT(FOREIGN_BYTES) };

	check_table(s, &s->config, "", &u);
	note_foreign(s, &u.foreign);
	buf_release(&u.foreign);
	if (u.n <= MOST_UNKNOWN)
		return;
	/* The place of the last line. */
	free(s->warnings[--s->n_warnings]);
	settings_warn(s, "%s: and %zu more unknown settings; ignored",
		      s->files[FILE_CONFIG].path, u.n - MOST_UNKNOWN + 1);
}

void settings_check_variables(struct settings *s)
{
	struct buf names = BUF_INIT(FOREIGN_BYTES);
	char *before = s->foreign;

	for (size_t i = 0; i < s->env.n; i++)
		if (foreign_variable(s->env.vars[i].name))
			add_foreign(&names, s->env.vars[i].name);
	if (names.len && before)
		s->foreign = xasprintf("%s; nor these variables: %s%s", before,
				       names.ptr, names.over ? ", ..." : "");
	else if (names.len)
		s->foreign = xasprintf("dcode does not have these variables of "
				       "the Python program: %s%s; ignored",
				       names.ptr, names.over ? ", ..." : "");
	if (names.len)
		free(before);
	buf_release(&names);
}
