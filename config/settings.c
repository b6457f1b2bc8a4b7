/* settings.c - every option's value, resolved once, with its source. */
/* SPDX-License-Identifier: MIT */
#include "config/settings.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/str.h"
#include "config/settings_impl.h"

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

/* HOME, else what the system knows of this user. Owned, or NULL. */
static char *find_home(const char *home)
{
	struct passwd entry;
	struct passwd *found = NULL;
	char room[4096];

	if (home && home[0] == '/') /* else it would be a repository's */
		return xstrdup(home);
	if (getpwuid_r(getuid(), &entry, room, sizeof(room), &found) != 0 ||
	    !found || !found->pw_dir || !found->pw_dir[0])
		return NULL;
	return xstrdup(found->pw_dir);
}

/* DEEPAGENTS_HOME as it was exported, else ~/.deepagents. No .env file can set
 * it: they are read later. */
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
	if (s->dir[0] == '/') /* else it would be a repository's */
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

/* Put together by hand: xasprintf() for each of 160 rows was a tenth of what
 * reading the settings costs. Owned. */
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

/* When the answer cannot be read, the project's file stays unread. */
static bool wants_project(struct settings *s)
{
	static const char key[] = "startup.read_project_dotenv";
	struct setting_slot *slot = setting_slot_find(s, NULL, key);
	struct error err = { 0 };
	bool wanted = true;

	if (!slot)
		return true;
	setting_slot_resolve(s, slot);
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

/* What is written where only a table makes sense. */
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

/* Values that no reader could use are told here, once, with their place. */
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

/* Whoever expects another root of the project has to be told. */
static void warn_about_git(struct settings *s)
{
	char *line = project_ignored_git(s->cwd);

	if (line)
		settings_warn(s, "%s", line);
	free(line);
}

/* The last warning makes room for how many there are beside it. */
static void tell_rest(struct settings *s)
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
				 "HOME is not set, so settings have no place");
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
	settings_read_policy(s);
	settings_read_dotenv(s, wants_project(s));
	if (!in->quiet)
		warn_about_git(s);
	if (!in->quiet)
		settings_check_variables(s);
	for (size_t i = 0; i < s->n_slots; i++)
		setting_slot_resolve(s, &s->slots[i]);
	settings_check_policy(s);
	settings_guard_values(s);
	check_values(s);
	tell_rest(s);
	*out = s;
	return 0;
}

void settings_free(struct settings *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_slots; i++)
		setting_slot_release(&s->slots[i]);
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

static const char *stored(const struct settings *s, const char *name)
{
	const char *value = settings_stored(s, name);

	return value ? value : settings_stored_url(s, name);
}

const char *settings_env(const struct settings *s, const char *name)
{
	const char *value = stored(s, name);
	const struct env_var *v = env_resolve(&s->env, name);

	if (value)
		return value;
	return v && v->value[0] ? v->value : NULL;
}

const char *settings_env_plain(const struct settings *s, const char *name)
{
	const struct env_var *v = env_get(&s->env, name);

	return v ? v->value : NULL;
}

enum setting_source settings_env_source(const struct settings *s,
					const char *name)
{
	const struct env_var *v = env_resolve(&s->env, name);

	if (stored(s, name))
		return SOURCE_STORED;
	return v && v->value[0] ? v->source : SOURCE_NONE;
}

const struct toml_value *settings_toml(const struct settings *s,
				       const char *dotted)
{
	return toml_path(&s->config, dotted);
}

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
	setting_slot_resolve(s, slot);
	if (setting_slot_check(s, slot, err) == 0)
		return 0;
	free(slot->flag);
	slot->flag = NULL;
	setting_slot_resolve(s, slot);
	return -1;
}
