/* settings.c - resolves the value of every setting, with its source. */
/* SPDX-License-Identifier: MIT */
/*
 * A slot holds one row of the schema together with its value. If several
 * sources set the value, the first of these counts: the machine's policy, flag,
 * exported variable, stored key, .env files, config.toml, default. Begin
 * reading at settings_load(). settings_files.c reads the files,
 * settings_stored.c finds keys, settings_guard.c checks types, settings_env.c
 * makes the environments of programs.
 */
#include "config/settings.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/str.h"
#include "config/settings_slots.h"
#include "config/toml.h"

/* True if two groups have the same name. NULL is the name of the core's
 * group. */
static bool is_same_group(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct setting_slot *find_slot(const struct settings *s,
				      const char *group, const char *key)
{
	uint64_t code = hash_code(str_of(key), 0);
	size_t cursor = 0;
	uint32_t i;

	while (hash_next(&s->slot_index, code, &cursor, &i))
		if (!strcmp(s->slots[i].row->key, key) &&
		    is_same_group(s->slots[i].group, group))
			return &s->slots[i];
	return NULL;
}

static void release_slot(struct setting_slot *slot)
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

static void split_list(struct setting_slot *slot, struct str text)
{
	struct str item = { 0 };

	while (str_split(&text, ',', &item))
		add_item(slot, item);
}

/* Converts the slot's value to a list of strings. */
static void fill_list(struct setting_slot *slot)
{
	const struct toml_value *v = slot->toml;

	for (size_t i = 0; i < slot->n_list; i++)
		free(slot->list[i]);
	slot->n_list = 0;
	if (slot->text)
		split_list(slot, str_of(slot->text));
	else if (v && v->kind == TOML_STRING)
		split_list(slot, (struct str){ v->text, v->text_len });
	else if (v && v->kind == TOML_ARRAY)
		for (size_t i = 0; i < v->n_items; i++)
			if (v->items[i].kind == TOML_STRING)
				add_item(slot, str_of(v->items[i].text));
}

static bool is_empty(const struct toml_value *v)
{
	return v->kind == TOML_STRING && !v->text_len;
}

static void use_fallback(struct setting_slot *slot)
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

/* True if the policy's value of this setting is an upper limit for the user's
 * value, and not a replacement for it: see sandbox/network/choose.c. Docker's
 * `network` is a string, the name of an engine's network. */
static bool is_limited(const struct setting_slot *slot)
{
	return slot->row->type == SETTING_LIST &&
	       !strcmp(slot->row->key,
		       slot->group ? "network" : "network.allow");
}

/* Removes the value at the slot's path from the user's settings and returns it.
 * Without a key if there is none. */
static struct toml_value take_value(struct settings *s,
				    const struct setting_slot *slot)
{
	const char *dot = strrchr(slot->path, '.');
	char *parent = xstrndup(slot->path, (size_t)(dot - slot->path));
	struct toml_value *table =
		(struct toml_value *)toml_path(&s->config, parent);
	struct toml_value taken = { 0 };
	struct toml_value *v;

	free(parent);
	v = table && table->kind == TOML_TABLE
		    ? (struct toml_value *)toml_get(table, dot + 1)
		    : NULL;
	if (!v)
		return taken;
	taken = *v;
	table->n_items--;
	memmove(v, v + 1,
		(size_t)(table->items + table->n_items - v) * sizeof(*v));
	return taken;
}

/* Puts a value of take_value() back. If the policy has replaced the table that
 * contained it, the value is dropped. */
static void put_value(struct settings *s, const struct setting_slot *slot,
		      struct toml_value *v)
{
	const char *dot = strrchr(slot->path, '.');
	char *parent = xstrndup(slot->path, (size_t)(dot - slot->path));
	struct toml_value *table =
		(struct toml_value *)toml_path(&s->config, parent);

	free(parent);
	if (v->key && table && table->kind == TOML_TABLE)
		*toml_append(table) = *v;
	else if (v->key)
		toml_release(v);
}

/* Merges the policy into the user's settings, except what it only limits. */
static void merge_policy(struct settings *s)
{
	struct toml_value *own = xcalloc(s->n_slots + 1, sizeof(*own));

	for (size_t i = 0; i < s->n_slots; i++)
		if (is_limited(&s->slots[i]))
			own[i] = take_value(s, &s->slots[i]);
	settings_read_policy(s);
	for (size_t i = 0; i < s->n_slots; i++) {
		struct toml_value limit;

		if (!is_limited(&s->slots[i]))
			continue;
		limit = take_value(s, &s->slots[i]);
		if (limit.key)
			toml_release(&limit);
		put_value(s, &s->slots[i], &own[i]);
	}
	free(own);
}

/* Sets the slot to its value of highest precedence. */
static void resolve_slot(struct settings *s, struct setting_slot *slot)
{
	const struct env_var *v = setting_slot_variable(s, slot->row);
	const struct toml_value *t = NULL;
	const struct toml_value *p = toml_path(&s->policy, slot->path);

	slot->source = SOURCE_NONE;
	slot->text = NULL;
	slot->toml = NULL;
	if (!slot->flag && !v && !(slot->row->flags & SETTING_ENV_ONLY))
		t = toml_path(&s->config, slot->path);
	if (p && slot->row->type != SETTING_TABLE && !(t && is_limited(slot))) {
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
		use_fallback(slot);
	}
	if (slot->row->type == SETTING_LIST)
		fill_list(slot);
}

/* Returns the slot, or NULL with err. An unknown key is a bug in dcode. */
static struct setting_slot *require_slot(const struct settings *s,
					 const char *group, const char *key,
					 struct error *err)
{
	struct setting_slot *slot = find_slot(s, group, key);

	if (!slot)
		error_set(err, ERR_CONFIG, "unknown setting %s%s%s",
			  group ? group : "", group ? "." : "", key);
	return slot;
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

/* Returns the stored key of a row. settings_load() does not look it up, because
 * that may ask for the passphrase. */
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
	const struct setting_slot *slot = require_slot(s, group, key, err);
	const char *kept = slot ? slot_stored(s, slot) : NULL;

	if (kept) {
		*value = kept;
		return 0;
	}
	return slot ? setting_slot_string(s, slot, value, err) : -1;
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
	const struct setting_slot *slot = require_slot(s, group, key, err);

	return slot ? setting_slot_int(s, slot, value, err) : -1;
}

int64_t settings_int_default(const struct settings *s, const char *key)
{
	struct error ignored = { 0 };
	const struct setting_slot *slot = require_slot(s, NULL, key, &ignored);
	int64_t number = 0;

	if (slot && slot->row->fallback)
		(void)str_to_int(str_of(slot->row->fallback), &number);
	return number;
}

int settings_bool(const struct settings *s, const char *group, const char *key,
		  bool *value, struct error *err)
{
	const struct setting_slot *slot = require_slot(s, group, key, err);

	return slot ? setting_slot_bool(s, slot, value, err) : -1;
}

int settings_list(const struct settings *s, const char *group, const char *key,
		  const char *const **list, size_t *n, struct error *err)
{
	const struct setting_slot *slot = require_slot(s, group, key, err);

	*list = NULL;
	*n = 0;
	if (!slot || setting_slot_list(s, slot, err) < 0)
		return -1;
	*list = (const char *const *)slot->list;
	*n = slot->n_list;
	return 0;
}

enum setting_source settings_source(const struct settings *s, const char *group,
				    const char *key)
{
	const struct setting_slot *slot = find_slot(s, group, key);

	if (slot && slot_stored(s, slot))
		return SOURCE_STORED;
	if (slot && setting_slot_project(s, slot))
		return SOURCE_DOTENV_PROJECT;
	return slot ? slot->source : SOURCE_NONE;
}

const char *settings_variable(const struct settings *s, const char *group,
			      const char *key)
{
	const struct setting_slot *slot = find_slot(s, group, key);
	const struct env_var *v;

	if (slot && setting_slot_project(s, slot))
		return slot->row->env;
	if (!slot || !slot->text || slot->source == SOURCE_FLAG ||
	    slot_stored(s, slot))
		return NULL;
	v = setting_slot_variable(s, slot->row);
	return v ? v->name : NULL;
}

/* Returns HOME if it is an absolute path, else the home directory in the user
 * database. Owned, or NULL. */
static char *find_home(const char *home)
{
	struct passwd entry;
	struct passwd *found = NULL;
	char room[4096];

	/* a relative path would lead into a repository */
	if (home && home[0] == '/')
		return xstrdup(home);
	if (getpwuid_r(getuid(), &entry, room, sizeof(room), &found) != 0 ||
	    !found || !found->pw_dir || !found->pw_dir[0])
		return NULL;
	return xstrdup(found->pw_dir);
}

/* Sets s->dir to the exported DEEPAGENTS_HOME, else to ~/.deepagents. Called
 * before the .env files are read, so they cannot set it. */
static int find_dir(struct settings *s, struct error *err)
{
	const struct env_var *given = env_get(&s->env, "DEEPAGENTS_HOME");
	size_t len;

	if (!given || !given->value[0]) {
		s->dir = path_join(s->home, ".deepagents");
		return 0;
	}
	s->dir = path_expand(given->value, s->home);
	for (len = strlen(s->dir); len > 1 && s->dir[len - 1] == '/'; len--)
		s->dir[len - 1] = '\0';
	if (s->dir[0] == '/') /* a relative path would lead into a repository */
		return 0;
	return error_set(err, ERR_CONFIG,
			 "DEEPAGENTS_HOME = \"%.200s\" is not an absolute path",
			 given->value);
}

static void name_files(struct settings *s)
{
	s->files[FILE_POLICY].name = "managed config";
	s->files[FILE_POLICY].path = xstrdup(SETTINGS_POLICY_FILE);
	s->files[FILE_CONFIG].name = "config.toml";
	s->files[FILE_CONFIG].path = path_join(s->dir, "config.toml");
	s->files[FILE_PROJECT_ENV].name = "project .env";
	s->files[FILE_PROJECT_ENV].path = path_join(s->cwd, ".env");
	s->files[FILE_USER_ENV].name = "user .env";
	s->files[FILE_USER_ENV].path = path_join(s->dir, ".env");
}

/* Returns the full key of a provider's parameter, owned. Does not use
 * xasprintf(): for 160 rows that took a tenth of the time to load the
 * settings. */
static char *param_path(const char *provider, const char *key)
{
	static const char before[] = "sandboxes.providers.";
	static const char between[] = ".params.";
	char *path = xcalloc(sizeof(before) + strlen(provider) +
				     sizeof(between) + strlen(key),
			     1);
	char *at = stpcpy(path, before);

	at = stpcpy(at, provider);
	at = stpcpy(at, between);
	memcpy(at, key, strlen(key) + 1);
	return path;
}

/* Adds a slot for each row of the group. */
static void add_slots(struct settings *s, const struct setting_group *group)
{
	const struct setting *row = group->rows;

	for (; row && row->key; row++) {
		struct setting_slot *slot = &s->slots[s->n_slots];

		hash_add(&s->slot_index, hash_code(str_of(row->key), 0),
			 (uint32_t)s->n_slots++);
		slot->row = row;
		slot->group = group->name;
		slot->path = group->name ? param_path(group->name, row->key)
					 : xstrdup(row->key);
	}
}

static void make_slots(struct settings *s, const struct setting_group *groups)
{
	size_t n = 0;

	for (const struct setting_group *g = groups; g && (g->name || g->rows);
	     g++)
		for (size_t i = 0; g->rows && g->rows[i].key; i++)
			n++;
	s->slots = xcalloc(n, sizeof(*s->slots));
	for (const struct setting_group *g = groups; g && (g->name || g->rows);
	     g++)
		add_slots(s, g);
}

/* True if the project's .env file must be read. False also if the setting that
 * controls it is invalid. */
static bool may_read_project_env(struct settings *s)
{
	static const char key[] = "startup.read_project_dotenv";
	struct setting_slot *slot = find_slot(s, NULL, key);
	struct error err = { 0 };
	bool wanted = true;

	if (!slot)
		return true;
	resolve_slot(s, slot);
	if (settings_bool(s, NULL, key, &wanted, &err) == 0)
		return wanted;
	settings_warn(s, "%s; the project's .env file is not read",
		      err.message);
	return false;
}

static const struct toml_value *not_a_table(const struct settings *s,
					    const char *path)
{
	const struct toml_value *v = toml_path(&s->config, path);

	return v && v->kind != TOML_TABLE ? v : NULL;
}

/* Warns about values at keys that must be tables. */
static void check_tables(struct settings *s)
{
	const char *file = s->files[FILE_CONFIG].path;
	const struct toml_value *v = not_a_table(s, "sandboxes");

	if (v) {
		s->broken = xstrdup("[sandboxes] is not a table");
		settings_warn(s,
			      "%s:%d:%d: [sandboxes] is not a table; ignored",
			      file, v->line, v->column);
		return;
	}
	v = toml_path(&s->config, "sandboxes.providers");
	for (size_t i = 0; v && v->kind == TOML_TABLE && i < v->n_items; i++)
		if (v->items[i].kind != TOML_TABLE)
			settings_warn(s,
				      "%s:%d:%d: sandboxes.providers.%s is "
				      "not a table; ignored",
				      file, v->items[i].line,
				      v->items[i].column, v->items[i].key);
}

/* Warns once about each value of the wrong type and gives its file and line. */
static void check_values(struct settings *s)
{
	for (size_t i = 0; i < s->n_slots; i++) {
		struct error err = { 0 };

		if (!strcmp(s->slots[i].path, "startup.read_project_dotenv"))
			continue;
		if (setting_slot_check(s, &s->slots[i], &err) < 0)
			settings_warn(s, "%s", err.message);
	}
}

/* Warns if a .git that is not trusted is ignored: the project's root is then
 * not where the user expects it. */
static void warn_about_git(struct settings *s)
{
	char *line = project_ignored_git(s->cwd);

	if (line)
		settings_warn(s, "%s", line);
	free(line);
}

/* Replaces the last warning by the number of warnings that were left out. */
static void summarize_warnings(struct settings *s)
{
	char **last;

	if (!s->untold)
		return;
	last = &s->warnings[s->n_warnings - 1];
	free(*last);
	*last = xasprintf("and %zu more warnings about the settings",
			  s->untold + 1);
}

int settings_load(struct settings **out, const struct settings_input *in,
		  struct error *err)
{
	struct settings *s;
	char *home = find_home(in->home);

	if (!home)
		return error_set(err, ERR_CONFIG,
				 "HOME is not set, so dcode cannot find its "
				 "settings directory");
	s = xcalloc(1, sizeof(*s));
	s->home = home;
	s->store = in->store;
	pthread_mutex_init(&s->vault_lock, NULL);
	s->cwd = xstrdup(in->cwd ? in->cwd : "/");
	env_add_all(&s->env, in->environ);
	if (find_dir(s, err) < 0) {
		settings_free(s);
		return -1;
	}
	name_files(s);
	make_slots(s, in->groups);
	s->groups = in->groups;
	settings_read_config(s);
	check_tables(s);
	settings_guard_tables(s, FILE_CONFIG, &s->config, &s->unguarded);
	if (!in->quiet)
		settings_check_unknown(s);
	merge_policy(s);
	settings_read_dotenv(s, may_read_project_env(s));
	if (!in->quiet)
		warn_about_git(s);
	if (!in->quiet)
		settings_check_variables(s);
	for (size_t i = 0; i < s->n_slots; i++)
		resolve_slot(s, &s->slots[i]);
	settings_check_policy(s);
	settings_guard_values(s);
	check_values(s);
	summarize_warnings(s);
	*out = s;
	return 0;
}

void settings_free(struct settings *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_slots; i++)
		release_slot(&s->slots[i]);
	free(s->slots);
	hash_release(&s->slot_index);
	for (size_t i = 0; i < FILES; i++)
		free((char *)s->files[i].path);
	for (size_t i = 0; i < s->n_warnings; i++)
		free(s->warnings[i]);
	free(s->warnings);
	free(s->broken);
	free(s->unguarded);
	free(s->policy_error);
	toml_release(&s->policy);
	toml_release(&s->config);
	env_release(&s->env);
	dotenv_release(&s->project);
	settings_store_close(s);
	free(s->foreign);
	free(s->dir);
	free(s->cwd);
	free(s->home);
	free(s);
}

size_t settings_warnings(const struct settings *s, const char *const **list)
{
	*list = (const char *const *)s->warnings;
	return s->n_warnings;
}

const char *settings_foreign(const struct settings *s)
{
	return s->foreign;
}

const char *settings_broken(const struct settings *s)
{
	return s->broken;
}

size_t settings_files(const struct settings *s,
		      const struct settings_file **list)
{
	*list = s->files;
	return FILES;
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

const char *settings_env_plain(const struct settings *s, const char *name)
{
	const struct env_var *v = env_get(&s->env, name);

	return v ? v->value : NULL;
}

/* Returns the slot with this full key in config.toml. */
static struct setting_slot *slot_by_path(const struct settings *s,
					 const char *path)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (!strcmp(s->slots[i].path, path))
			return &s->slots[i];
	return NULL;
}

int settings_set_flag(struct settings *s, const char *key, const char *value,
		      struct error *err)
{
	struct setting_slot *slot = slot_by_path(s, key);

	if (!slot || slot->row->type == SETTING_TABLE)
		return error_set(err, ERR_USAGE, "unknown setting %s", key);
	free(slot->flag);
	slot->flag = xstrdup(value);
	resolve_slot(s, slot);
	if (setting_slot_check(s, slot, err) == 0)
		return 0;
	free(slot->flag);
	slot->flag = NULL;
	resolve_slot(s, slot);
	return -1;
}
