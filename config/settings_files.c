/* settings_files.c - reads config.toml, the machine's policy and .env files. */
/* SPDX-License-Identifier: MIT */
/*
 * In order: reads config.toml and the .env files; finds settings that only the
 * Python program has; finds unknown keys; applies the machine's policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/str.h"
#include "config/settings.h"
#include "config/settings_slots.h"
#include "config/toml.h"

struct foreign_key {
	const char *path; /* full key: "interpreter.enable_interpreter" */
	/* bit set of the TOML kinds that match (1 << toml_kind); 0: any */
	unsigned kinds;
	bool part; /* path is a table: every key in it matches */
};

enum {
	LARGEST_CONFIG = 8 << 20, /* bytes of config.toml */
	MOST_WARNINGS = 50,
};

void settings_warn(struct settings *s, const char *fmt, ...)
{
	char line[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < s->n_warnings; i++)
		if (!strcmp(s->warnings[i], line))
			return;
	if (s->n_warnings == MOST_WARNINGS) {
		s->untold++;
		return;
	}
	s->warnings =
		xrealloc(s->warnings, s->n_warnings + 1, sizeof(*s->warnings));
	s->warnings[s->n_warnings++] = xstrdup(line);
}

/* Opens a regular file without blocking (a .env may be a FIFO). Returns -1 with
 * errno: ENOENT also for character devices like /dev/null, EINVAL for anything
 * else that is not a file. */
static int open_file(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	errno = S_ISCHR(st->st_mode) ? ENOENT : EINVAL;
	return -1;
}

/* Reads the file and closes fd. -1 with errno; EFBIG if the file does not fit
 * into out. */
static int read_file(int fd, const struct stat *st, struct buf *out)
{
	/* One byte more than the file has, so that read() can detect its
	 * end. */
	size_t size = (size_t)st->st_size + 1;
	ssize_t n = 0;
	char *room;

	if ((uintmax_t)st->st_size > out->max)
		size = out->max;
	while ((room = buf_room(out, size))) {
		n = read(fd, room, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_added(out, (size_t)n);
		if ((size_t)n < size && out->len == (size_t)st->st_size)
			break;
		size = 4096;
	}
	close(fd);
	if (!room)
		errno = EFBIG;
	return !room || n < 0 ? -1 : 0;
}

static const char *describe_errno(int number, char *room, size_t size)
{
	return strerror_r(number, room, size);
}

static void set_config_broken(struct settings *s, const char *why,
			      const char *detail)
{
	free(s->broken);
	s->broken = xasprintf("%s: %s", why, detail);
	s->unguarded = s->unguarded ? s->unguarded : xstrdup(detail);
	s->files[FILE_CONFIG].state = SETTINGS_FILE_BROKEN;
	settings_warn(s, "%s (the file is not used)", detail);
}

/* True for a symbolic link whose target does not exist: the user meant to have
 * a file here. */
static bool is_dangling(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) &&
	       stat(path, &st) < 0;
}

/* Parses a TOML file. A missing file gives an empty table. Fails with
 * ERR_SYSTEM or an error of toml_parse(). */
static int read_toml(struct settings_file *file, struct toml_value *root,
		     struct error *err)
{
	struct buf text = BUF_INIT(LARGEST_CONFIG);
	struct stat st;
	char room[128];
	int fd = open_file(file->path, &st);
	int rc = 0;

	file->state = SETTINGS_FILE_MISSING;
	*root = (struct toml_value){ .kind = TOML_TABLE };
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return is_dangling(file->path)
			       ? error_set(err, ERR_SYSTEM, "%s: broken link",
					   file->path)
			       : 0;
	file->state = SETTINGS_FILE_OK;
	if (fd < 0 || read_file(fd, &st, &text) < 0)
		rc = error_set(err, ERR_SYSTEM, "%s: %s", file->path,
			       errno == EINVAL ? "not a regular file"
					       : describe_errno(errno, room,
								sizeof(room)));
	else
		rc = toml_parse(root, buf_str(&text), file->path, err);
	buf_wipe(&text);
	return rc;
}

static struct toml_value *get_member(struct toml_value *table, const char *key)
{
	return (struct toml_value *)toml_get(table, key);
}

/* Renames the table [sandboxes.providers.podman] to docker: both names mean the
 * same provider. Not if the table describes a provider that the user
 * defined. */
static void join_names(struct settings *s, const struct settings_file *file,
		       struct toml_value *root)
{
	struct toml_value *all =
		(struct toml_value *)toml_path(root, "sandboxes.providers");

	if (!all || all->kind != TOML_TABLE)
		return;
	for (const struct setting_group *g = s->groups;
	     g && (g->name || g->rows); g++) {
		struct toml_value *v =
			g->also ? get_member(all, g->also) : NULL;

		if (!v || v->kind != TOML_TABLE || entry_is_user_defined(v))
			continue;
		if (get_member(all, g->name)) {
			settings_warn(
				s,
				"%s:%d:%d: sandboxes.providers.%s and .%s "
				"are the same provider; %s is ignored",
				file->path, v->line, v->column, g->name,
				g->also, g->also);
			continue;
		}
		free(v->key);
		v->key = xstrdup(g->name);
		v->key_len = strlen(g->name);
	}
}

void settings_read_config(struct settings *s)
{
	struct error err = { 0 };

	if (read_toml(&s->files[FILE_CONFIG], &s->config, &err) < 0)
		set_config_broken(s,
				  err.code == ERR_SYSTEM
					  ? "could not read config file"
					  : "invalid TOML syntax",
				  err.message);
	else
		join_names(s, &s->files[FILE_CONFIG], &s->config);
}

/* True if the file exists but cannot be opened. False if a directory above
 * denies access (EACCES): whether the file exists is then unknown. */
static bool is_unreadable(const char *path)
{
	struct stat st;

	return errno == EACCES && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* True if the .env file and the directories on its path are trusted. Attack:
 * another user puts a .env into a directory above, such as /tmp. */
static bool is_counted(struct settings *s, const char *dir, const char *path,
		       uid_t owner)
{
	struct error err = { 0 };
	int rc = project_check(dir, path, owner, &err);

	if (rc < 0)
		settings_warn(s, "%s; ignored", err.message);
	return rc == 0;
}

/* Finds the nearest trusted .env in cwd or a directory above. Returns its path
 * (owned), or NULL. *fd is -1 if the file exists but cannot be read. */
static char *find_project(struct settings *s, int *fd, struct stat *st)
{
	uid_t owner = project_owner(s->cwd);
	size_t len = strlen(s->cwd);
	char *found = NULL;

	do {
		char *dir = xstrndup(s->cwd, len);
		char *path = path_join(dir, ".env");

		*fd = open_file(path, st);
		if ((*fd >= 0 || is_unreadable(path)) &&
		    is_counted(s, dir, path, owner) &&
		    (*fd < 0 || project_trusts(st, owner)))
			found = path;
		else if (*fd >= 0)
			close(*fd);
		if (!found)
			free(path);
		free(dir);
	} while (!found && project_go_up(s->cwd, &len, owner));
	return found;
}

static const char *lookup_exported(void *arg, const char *name)
{
	const struct env_var *v = env_get(arg, name);

	return v ? v->value : NULL;
}

/* Parses an open .env file and reports its warnings. Closes fd. */
static void parse_dotenv(struct settings *s, struct settings_file *file, int fd,
			 const struct stat *st, struct dotenv *d)
{
	struct buf text = BUF_INIT(DOTENV_LARGEST);
	struct dotenv_input in = {
		.file = file->path,
		.owner = file == &s->files[FILE_PROJECT_ENV] ? DOTENV_PROJECT
							     : DOTENV_USER,
		.lookup = lookup_exported,
		.arg = &s->env,
	};
	char room[128];

	file->state = SETTINGS_FILE_OK;
	if (read_file(fd, st, &text) < 0) {
		file->state = SETTINGS_FILE_BROKEN;
		settings_warn(s, "%s: %s; ignored", file->path,
			      describe_errno(errno, room, sizeof(room)));
	} else {
		in.text = buf_str(&text);
		dotenv_parse(d, &in);
	}
	buf_wipe(&text);
	for (size_t i = 0; i < d->n_warnings; i++)
		settings_warn(s, "%s", d->warnings[i]);
}

/* Reads the project's .env. Skips it if it is the same file as the user's own
 * .env. */
static void read_project(struct settings *s, const struct stat *user_file)
{
	struct settings_file *file = &s->files[FILE_PROJECT_ENV];
	struct stat st;
	int fd;
	char *path = find_project(s, &fd, &st);

	file->state = SETTINGS_FILE_MISSING;
	if (!path)
		return;
	if (fd >= 0 && st.st_dev == user_file->st_dev &&
	    st.st_ino == user_file->st_ino) {
		/* the file is in ~/.deepagents or below, so it is the user's
		 * own */
		close(fd);
		free(path);
		return;
	}
	free((char *)file->path);
	file->path = path;
	file->state = SETTINGS_FILE_BROKEN;
	if (fd < 0) {
		settings_warn(s, "%s: cannot be read; ignored", path);
	} else {
		parse_dotenv(s, file, fd, &st, &s->project);
	}
}

void settings_read_dotenv(struct settings *s, bool project)
{
	struct settings_file *user = &s->files[FILE_USER_ENV];
	struct dotenv d = { 0 };
	struct stat st = { 0 };
	int fd = open_file(user->path, &st);

	user->state = SETTINGS_FILE_MISSING;
	if (fd < 0 && errno != ENOENT && errno != ENOTDIR) {
		user->state = SETTINGS_FILE_BROKEN;
		settings_warn(s, "%s: cannot be read; ignored", user->path);
	}
	if (project)
		read_project(s, &st);
	else
		s->files[FILE_PROJECT_ENV].state = SETTINGS_FILE_DISABLED;
	if (fd >= 0)
		parse_dotenv(s, user, fd, &st, &d);
	for (size_t i = 0; i < d.n; i++)
		env_add(&s->env, str_of(d.vars[i].name), d.vars[i].value,
			SOURCE_DOTENV_USER, d.vars[i].line);
	dotenv_release(&d);
}

enum {
	ANY = 0,
	BOOL = 1 << TOML_BOOL,
	INT = 1 << TOML_INT,
	TEXT = 1 << TOML_STRING,
	LIST = 1 << TOML_ARRAY,
};

/* Keys of the Python program that dcode does not have, from its documentation
 * ("Configuration", version 0.1.59 and later). The first match counts, so a key
 * comes before the table that contains it. */
static const struct foreign_key keys[] = {
	{ "agents", ANY, true },
	{ "async_subagents", ANY, true },
	{ "display", ANY, true },
	{ "effort", ANY, true },
	{ "extensions", ANY, true },
	{ "features", ANY, true },
	{ "goals", ANY, true },
	{ "interpreter.enable_interpreter", BOOL, false },
	{ "interpreter.ptc", TEXT | LIST, false },
	{ "interpreter.ptc_acknowledge_unsafe", BOOL, false },
	{ "interpreter", ANY, true },
	{ "mcp", ANY, true },
	{ "memory", ANY, true },
	{ "models.auto_classifier", TEXT, false },
	{ "models.auto_classifier_timeout", ANY, false },
	{ "models.ollama_discovery", BOOL, false },
	{ "models.openai_prompt_cache_key", BOOL, false },
	{ "models.summarization_default", TEXT, false },
	{ "plugins", ANY, true },
	{ "runtime.recursion_limit", INT, false },
	{ "runtime", ANY, true },
	{ "skills", ANY, true },
	{ "startup.mode", TEXT, false },
	{ "startup.recent", TEXT, false },
	{ "startup.yolo_switcher", BOOL, false },
	{ "threads", ANY, true },
	{ "tracing.langsmith_redact", BOOL, false },
	{ "tracing", ANY, true },
	{ "ui", ANY, true },
	{ "update", ANY, true },
	{ "warnings", ANY, true },
};

/* Variables of the Python program for which config.toml has no key, or for
 * which dcode's key has another name. */
static const char *const variables[] = {
	"AUTO_CLASSIFIER_MODEL",
	"AUTO_CLASSIFIER_TIMEOUT",
	"AUTO_UPDATE",
	"COLLAPSE_PASTES",
	"CURSOR_BLINK",
	"CURSOR_STYLE",
	"DANGEROUSLY_ENABLE_PROJECT_MCP_SERVERS",
	"DEBUG",
	"DEBUG_CONSOLE_CLICK_TO_COPY",
	"DEBUG_FILE",
	"DISABLED_PROJECT_MCP_SERVERS",
	"EXPERIMENTAL",
	"EXTERNAL_EVENT_SOCKET",
	"EXTERNAL_EVENT_SOCKET_PATH",
	"EXTRAS",
	"FORKED_SUBAGENTS",
	"GOAL_AUTO_ACCEPT_CRITERIA",
	"HIDE_CWD",
	"HIDE_GIT_BRANCH",
	"HIDE_LANGSMITH_TRACING",
	"HIDE_SPLASH_TIPS",
	"HIDE_SPLASH_VERSION",
	"KITTY_KEYBOARD",
	"LANGSMITH_PROJECT",
	"LANGSMITH_REDACT",
	"LANGSMITH_REPLICA_PROJECTS",
	"LOG_LEVEL",
	"MEMORY_AUTO_SAVE",
	"NO_TERMINAL_ESCAPE",
	"NO_UPDATE_CHECK",
	"OFFLINE",
	"OLLAMA_DISCOVERY",
	"ONBOARDING",
	"ONBOARDING_INTEGRATIONS_SCREEN",
	"OPENAI_PROMPT_CACHE_KEY",
	"PLUGIN_AUTO_UPDATE",
	"PLUGIN_CACHE_DIR",
	"PRICES_AUTO_UPDATE",
	"RECURSION_LIMIT",
	"RESUME_TERM_PROGRAM",
	"RIPGREP_INSTALLER",
	"SHOW_HEADER",
	"SHOW_LANGSMITH_REPLICA_TRACING",
	"SHOW_MESSAGE_TIMESTAMPS",
	"SHOW_REASONING",
	"SHOW_SCROLLBAR",
	"SHOW_URL_OPEN_TOAST",
	"SHOW_USAGE_STATS",
	"SPLASH_SHOW_CWD",
	"SPLASH_SHOW_MODEL",
	"SUPPRESS_ENV_OVERRIDE_WARNING",
	"TERMINAL_PROGRESS",
	"USER_ID",
	"YOLO_SWITCHER",
};

/* Returns the row of keys[] for this key or for a table that contains it; NULL
 * if there is none. */
static const struct foreign_key *foreign_key_find(const char *path)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t len = strlen(keys[i].path);

		if (strncmp(path, keys[i].path, len) == 0 &&
		    (!path[len] || (keys[i].part && path[len] == '.')))
			return &keys[i];
	}
	return NULL;
}

static int compare(const void *name, const void *row)
{
	return strcmp(name, *(const char *const *)row);
}

/* True for a DEEPAGENTS_CODE_X variable that only the Python program reads. */
static bool foreign_variable(const char *name)
{
	static const char prefix[] = "DEEPAGENTS_CODE_";

	return !strncmp(name, prefix, sizeof(prefix) - 1) &&
	       bsearch(name + sizeof(prefix) - 1, variables,
		       sizeof(variables) / sizeof(variables[0]),
		       sizeof(variables[0]), compare);
}

/* Keys of [models.providers.NAME] that only the Python program reads. */
static const char *const model_keys[] = { "api_key_url", "class_path",
					  "display_name", "short_name" };

static const char params_end[] = ".params";

static const char providers[] = "sandboxes.providers.";

enum {
	FOREIGN_BYTES = 300,
	MOST_UNKNOWN = 10, /* warning lines */
};

struct names {
	/* the array is owned; its strings are borrowed or in kept */
	const char **list;
	char **kept; /* owned */
	size_t n;
};

/* Results of the check for unknown keys. */
struct unknown {
	struct buf foreign; /* names of the Python program's settings */
	size_t n;           /* number of unknown keys */
};

static void check_table(struct settings *s, const struct toml_value *table,
			const char *prefix, struct unknown *u);

struct key_level { /* a table whose keys are being checked */
	const char *prefix;
	/* known names in this table; filled when the first unknown key is
	 * found */
	struct names names;
};

/* Adds the part of a known path that is directly below prefix: for
 * "models.default" and prefix "models" that is "default". */
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

/* Adds the keys that settings_keys has for this table. */
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

static void collect_names(const struct settings *s, const char *prefix,
			  struct names *names)
{
	for (size_t i = 0; i < s->n_slots; i++)
		if (!(s->slots[i].row->flags & SETTING_ENV_ONLY))
			add_part(names, s->slots[i].path, prefix);
}

/* Warns about an unknown key and suggests a similar name. */
static void warn_unknown(struct settings *s, const struct toml_value *v,
			 const char *path, const struct names *names,
			 struct unknown *u)
{
	struct str key = { v->key, strlen(v->key) };
	const char *near;
	size_t far = key.len / 3 + 1;

	/* Beyond MOST_UNKNOWN keys are only counted: settings_check_unknown()
	 * then replaces the last line by their number. */
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

/* True if path is a setting or a table that contains one. */
static bool is_setting_or_table(const struct settings *s, const char *path)
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

/* Warns about unknown keys in one table. path: the table's full key. */
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

/* Checks the keys in each table of [models.providers]. */
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

/* Warns about unknown names in [limits]: a misspelt cap would silently not
 * apply. */
static void check_limits(struct settings *s, const struct toml_value *limits,
			 struct unknown *u)
{
	struct names names = { 0 };

	add_table(&names, "limits");
	check_entries(s, limits, "limits", &names, u);
	names_release(&names);
}

/* True if the names below this path are chosen by the user or checked by other
 * code. */
static bool is_free(const struct settings *s, const char *path,
		    const struct toml_value *v)
{
	struct str p = str_of(path);

	if (str_starts(p, providers) && str_ends(p, params_end))
		return !is_setting_or_table(s, path);
	if ((str_starts(p, "retries.") || !strcmp(path, "themes") ||
	     !strcmp(path, "secrets")) &&
	    v->kind == TOML_TABLE)
		return true;
	/* the code that reads an entry checks its other keys */
	return str_starts(p, providers) && v->kind != TOML_TABLE &&
	       !strstr(path, ".params.");
}

/* True if the keys of the table at this path must be checked too. */
static bool has_checked_keys(const struct settings *s,
			     const struct toml_value *v, const char *path,
			     bool entry)
{
	if (v->kind != TOML_TABLE || is_free(s, path, v))
		return false;
	if (entry)
		return !entry_is_user_defined(v);
	return !is_row(s, path) || !strcmp(path, "sandboxes.providers")
		       ? is_setting_or_table(s, path)
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

/* Stores one line that names the Python program's settings found. */
static void store_foreign(struct settings *s, const struct buf *names)
{
	if (names->len)
		s->foreign = xasprintf("%s: dcode does not have these settings "
				       "of the Python program: %s%s; ignored",
				       s->files[FILE_CONFIG].path, names->ptr,
				       names->over ? ", ..." : "");
}

/* Checks one key: descends into tables and warns if the key is unknown. */
static void check_key(struct settings *s, const struct toml_value *v,
		      const char *path, struct key_level *l, struct unknown *u)
{
	bool entry = !strcmp(l->prefix, "sandboxes.providers");
	bool leads = is_setting_or_table(s, path);

	if (!strcmp(path, "models.providers") && v->kind == TOML_TABLE)
		check_model_providers(s, v, u);
	else if (!strcmp(path, "limits") && v->kind == TOML_TABLE)
		check_limits(s, v, u);
	else if ((entry || leads) && has_checked_keys(s, v, path, entry))
		check_table(s, v, path, u);
	else if (!leads && foreign_key_find(path))
		add_foreign(&u->foreign, path);
	else if (!entry && !leads && !is_free(s, path, v) &&
		 (str_ends(str_of(l->prefix), params_end) ||
		  !str_starts(str_of(l->prefix), providers))) {
		if (!l->names.n && u->n < MOST_UNKNOWN)
			collect_names(s, l->prefix, &l->names);
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
	store_foreign(s, &u.foreign);
	buf_release(&u.foreign);
	if (u.n <= MOST_UNKNOWN)
		return;
	/* The number of the rest takes the place of the last warning. */
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
		s->foreign = xasprintf(
			"%s. dcode also ignores these variables: %s%s", before,
			names.ptr, names.over ? ", ..." : "");
	else if (names.len)
		s->foreign = xasprintf("dcode does not have these variables of "
				       "the Python program: %s%s; ignored",
				       names.ptr, names.over ? ", ..." : "");
	if (names.len)
		free(before);
	buf_release(&names);
}

/* Returns the slot of a key, or of the table setting that contains it. */
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

enum { STEPS_LEAST = 25, STEPS_MOST = 100000 };

static void refuse_key(struct settings *s, const struct toml_value *v,
		       const char *path, const char *why)
{
	if (!s->policy_error)
		s->policy_error =
			xasprintf("%s:%d:%d: %s %s", s->files[FILE_POLICY].path,
				  v->line, v->column, path, why);
}

static bool is_text(const struct toml_value *v, const char *text)
{
	return v->kind == TOML_STRING && !strcmp(v->text, text);
}

/*
 * The Python program uses the same policy file. A policy for a feature that
 * dcode lacks needs no enforcement. A policy that requires such a feature
 * cannot be obeyed: that is an error.
 */
static void check_foreign(struct settings *s, const struct toml_value *v,
			  const char *path)
{
	const struct foreign_key *key = foreign_key_find(path);

	if (!key)
		refuse_key(s, v, path,
			   "is not a setting that dcode knows, so it cannot be "
			   "enforced");
	else if (key->kinds && !(key->kinds & 1U << v->kind))
		refuse_key(s, v, path, "has a value of the wrong type");
	else if (!strcmp(path, "interpreter.enable_interpreter") && v->integer)
		refuse_key(
			s, v, path,
			"cannot be enforced: dcode does not have this feature");
	else if (!strcmp(path, "startup.mode") && !is_text(v, "manual"))
		refuse_key(s, v, path, "must be \"manual\" here");
	else if (!strcmp(path, "runtime.recursion_limit") &&
		 (v->integer < STEPS_LEAST || v->integer > STEPS_MOST))
		refuse_key(s, v, path, "must be from 25 to 100000");
}

/* Reports the keys in the policy that dcode cannot enforce. */
static void check_keys(struct settings *s, const struct toml_value *table,
		       const char *prefix)
{
	for (size_t i = 0; i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		char *path = xasprintf("%s%s%s", prefix, prefix[0] ? "." : "",
				       v->key);
		const struct setting_slot *slot = slot_of(s, path);

		if (slot && slot->row->flags & SETTING_ENV_ONLY)
			refuse_key(s, v, path,
				   "is only read from the environment, so it "
				   "cannot be enforced");
		else if (!slot && v->kind == TOML_TABLE && v->n_items)
			check_keys(s, v, path);
		else if (!slot)
			check_foreign(s, v, path);
		free(path);
	}
}

/* Moves the members of `from` into `into`. Tables on both sides are merged;
 * other values of `into` are replaced. Leaves `from` empty. */
static void merge_tables(struct toml_value *into, struct toml_value *from)
{
	for (size_t i = 0; i < from->n_items; i++) {
		struct toml_value *v = &from->items[i];
		struct toml_value *old =
			(struct toml_value *)toml_get(into, v->key);

		if (old && old->kind == TOML_TABLE && v->kind == TOML_TABLE) {
			merge_tables(old, v);
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

/* Reads the policy. Call after the user's file and before settings are
 * resolved. */
void settings_read_policy(struct settings *s)
{
	struct settings_file *file = &s->files[FILE_POLICY];
	struct toml_value copy = { 0 };
	struct error err = { 0 };

	if (read_toml(file, &s->policy, &err) < 0 ||
	    (s->policy.n_items && read_toml(file, &copy, &err) < 0)) {
		file->state = SETTINGS_FILE_BROKEN;
		s->policy_error = xstrdup(err.message);
		toml_release(&s->policy);
		return;
	}
	join_names(s, file, &s->policy);
	join_names(s, file, &copy);
	merge_tables(&s->config, &copy);
}

/* Checks the policy. Call after all rows are resolved. */
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
