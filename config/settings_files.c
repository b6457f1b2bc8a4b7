/* settings_files.c - finds and reads config.toml and the .env files. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/str.h"
#include "config/settings_impl.h"

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

/* Opens a regular file; never waits (a .env may be a FIFO). -1 with errno,
 * ENOENT also for /dev/null and its like, EINVAL for what is no file. */
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

/* Closes fd. -1 with errno; EFBIG when the file does not fit. */
static int read_file(int fd, const struct stat *st, struct buf *out)
{
	size_t size = (size_t)st->st_size + 1; /* one more to see the end */
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

static const char *reason(int number, char *room, size_t size)
{
	return strerror_r(number, room, size);
}

static void break_config(struct settings *s, const char *why,
			 const char *detail)
{
	free(s->broken);
	s->broken = xasprintf("%s: %s", why, detail);
	s->unguarded = s->unguarded ? s->unguarded : xstrdup(detail);
	s->files[FILE_CONFIG].state = SETTINGS_FILE_BROKEN;
	settings_warn(s, "%s (the file is not used)", detail);
}

/* The user has a file, elsewhere, which is not there now. */
static bool is_dangling(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) &&
	       stat(path, &st) < 0;
}

int settings_read_toml(struct settings_file *file, struct toml_value *root,
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
			       ? error_set(err, ERR_SYSTEM,
					   "%s: a link to nothing", file->path)
			       : 0;
	file->state = SETTINGS_FILE_OK;
	if (fd < 0 || read_file(fd, &st, &text) < 0)
		rc = error_set(err, ERR_SYSTEM, "%s: %s", file->path,
			       errno == EINVAL
				       ? "not a regular file"
				       : reason(errno, room, sizeof(room)));
	else
		rc = toml_parse(root, buf_str(&text), file->path, err);
	buf_wipe(&text);
	return rc;
}

static struct toml_value *member(struct toml_value *table, const char *key)
{
	return (struct toml_value *)toml_get(table, key);
}

static bool describes_own(const struct toml_value *v)
{
	return v->kind != TOML_TABLE || toml_get(v, "class_path") ||
	       toml_get(v, "command") || toml_get(v, "http");
}

void settings_join_names(struct settings *s, const struct settings_file *file,
			 struct toml_value *root)
{
	struct toml_value *all =
		(struct toml_value *)toml_path(root, "sandboxes.providers");

	if (!all || all->kind != TOML_TABLE)
		return;
	for (const struct setting_group *g = s->groups;
	     g && (g->name || g->rows); g++) {
		struct toml_value *v = g->also ? member(all, g->also) : NULL;

		if (!v || describes_own(v))
			continue;
		if (member(all, g->name)) {
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

	if (settings_read_toml(&s->files[FILE_CONFIG], &s->config, &err) < 0)
		break_config(s,
			     err.code == ERR_SYSTEM
				     ? "could not read config file"
				     : "invalid TOML syntax",
			     err.message);
	else
		settings_join_names(s, &s->files[FILE_CONFIG], &s->config);
}

/* Also EACCES when a folder above cannot be searched: that says nothing. */
static bool there_but_closed(const char *path)
{
	struct stat st;

	return errno == EACCES && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A file that somebody else put above us, in /tmp perhaps, is not ours. */
static bool counts(struct settings *s, const char *dir, const char *path,
		   uid_t owner)
{
	struct error err = { 0 };
	int rc = project_check(dir, path, owner, &err);

	if (rc < 0)
		settings_warn(s, "%s; ignored", err.message);
	return rc == 0;
}

/* The nearest .env that counts from cwd upwards, its path owned, or NULL; *fd
 * is -1 when it is there but cannot be read. */
static char *find_project(struct settings *s, int *fd, struct stat *st)
{
	uid_t owner = project_owner(s->cwd);
	size_t len = strlen(s->cwd);
	char *found = NULL;

	do {
		char *dir = xstrndup(s->cwd, len);
		char *path = path_join(dir, ".env");

		*fd = open_file(path, st);
		if ((*fd >= 0 || there_but_closed(path)) &&
		    counts(s, dir, path, owner) &&
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

static const char *exported(void *arg, const char *name)
{
	const struct env_var *v = env_get(arg, name);

	return v ? v->value : NULL;
}

static void parse(struct settings *s, struct settings_file *file, int fd,
		  const struct stat *st, struct dotenv *d)
{
	struct buf text = BUF_INIT(DOTENV_LARGEST);
	struct dotenv_input in = {
		.file = file->path,
		.owner = file == &s->files[FILE_PROJECT_ENV] ? DOTENV_PROJECT
							     : DOTENV_USER,
		.lookup = exported,
		.arg = &s->env,
	};
	char room[128];

	file->state = SETTINGS_FILE_OK;
	if (read_file(fd, st, &text) < 0) {
		file->state = SETTINGS_FILE_BROKEN;
		settings_warn(s, "%s: %s; ignored", file->path,
			      reason(errno, room, sizeof(room)));
	} else {
		in.text = buf_str(&text);
		dotenv_parse(d, &in);
	}
	buf_wipe(&text);
	for (size_t i = 0; i < d->n_warnings; i++)
		settings_warn(s, "%s", d->warnings[i]);
}

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
		close(fd); /* below ~/.deepagents: it is the user's own */
		free(path);
		return;
	}
	free((char *)file->path);
	file->path = path;
	file->state = SETTINGS_FILE_BROKEN;
	if (fd < 0) {
		settings_warn(s, "%s: cannot be read; ignored", path);
	} else {
		parse(s, file, fd, &st, &s->project);
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
		parse(s, user, fd, &st, &d);
	for (size_t i = 0; i < d.n; i++)
		env_add(&s->env, str_of(d.vars[i].name), d.vars[i].value,
			SOURCE_DOTENV_USER, d.vars[i].line);
	dotenv_release(&d);
}
