/* user_git.c - writes objects and branches of the user's repository, with none
 * of its settings and hooks. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/user_git.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum { VALUE_MAX = 4096 };

/* A value of one of the user's own files, with what it includes. */
static bool read_value(const struct git *g, const char *file, const char *key,
		       struct buf *out, const struct stop *stop)
{
	const char *argv[] = { "config", "--file", file, "--includes",
			       "--get",  key,      NULL };
	struct error ignored = { 0 };
	int status = 0;
	struct git_request r = { .argv = argv, .out = out, .status = &status };

	buf_clear(out);
	if (access(file, R_OK) < 0 || git_run(g, &r, stop, &ignored) < 0 ||
	    status != 0)
		return false;
	while (out->len && out->ptr[out->len - 1] == '\n')
		out->ptr[--out->len] = '\0';
	return out->len > 0;
}

/* The user's own settings: what the first does not say, the second may. */
static void name_config(const char *home, char *files[2])
{
	const char *xdg = getenv("XDG_CONFIG_HOME");

	files[0] = path_join(home, ".gitconfig");
	files[1] = xdg && xdg[0] == '/' ? path_join(xdg, "git/config")
					: path_join(home, ".config/git/config");
}

/* The repository's, else the user's; only words that git knows. */
static void read_line_ends(struct user_git *u, const char *key, char *setting,
			   size_t size, const struct stop *stop)
{
	static const char *const known[] = { "true", "false", "input",
					     "lf",   "crlf",  "native" };
	const char *home = getenv("HOME");
	struct error ignored = { 0 };
	char *global[2];
	struct buf value = BUF_INIT(VALUE_MAX);

	name_config(home ? home : "/", global);
	if (user_repo_config(u->repo.common, key, &u->git, &value, stop,
			     &ignored) == 0 ||
	    read_value(&u->git, global[0], key, &value, stop) ||
	    read_value(&u->git, global[1], key, &value, stop))
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (str_is_nocase(buf_str(&value), known[i]))
				snprintf(setting, size, "%s=%s", key, known[i]);
	free(global[0]);
	free(global[1]);
	buf_release(&value);
}

static int check_format(struct user_git *u, const struct stop *stop,
			struct error *err)
{
	static const struct {
		const char *key, *value;
	} known[] = { { "extensions.objectformat", "sha1" },
		      { "extensions.refstorage", "files" } };
	struct buf value = BUF_INIT(VALUE_MAX);
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < 2; i++) {
		buf_clear(&value);
		rc = user_repo_config(u->repo.common, known[i].key, &u->git,
				      &value, stop, err);
		if (rc == 0 && !str_is_nocase(buf_str(&value), known[i].value))
			rc = error_set(err, ERR_USAGE,
				       "the repository's %s is not %s: dcode "
				       "cannot write to its working tree",
				       known[i].key, known[i].value);
	}
	buf_release(&value);
	return rc < 0 ? -1 : 0;
}

static int link_part(const struct user_git *u, const char *name,
		     struct error *err)
{
	char *from = path_join(u->repo.common, name);
	char *to = path_join(u->dir, name);
	struct stat st;
	int rc = 0;

	if (path_remove_tree(to, err) < 0 && access(to, F_OK) == 0)
		rc = -1;
	else if (lstat(from, &st) == 0 && !S_ISDIR(st.st_mode) &&
		 !S_ISREG(st.st_mode))
		rc = error_set(err, ERR_USAGE,
			       "dcode does not write to %s: it is a link, a "
			       "pipe or a device",
			       from);
	else if (lstat(from, &st) == 0 && symlink(from, to) < 0)
		rc = error_errno(err, "linking %s", to);
	free(from);
	free(to);
	return rc;
}

static int make_dir(struct user_git *u, const struct stop *stop,
		    struct error *err)
{
	static const char *const parts[] = { "refs", "packed-refs", "logs" };
	char *info = path_join(u->dir, "info");
	char *file = path_join(info, "attributes");
	struct error ignored = { 0 };
	int rc;

	(void)path_remove_tree(u->dir, &ignored);
	rc = path_mkdirs(info, 0700, err);
	if (rc == 0)
		rc = path_write(file, STR("\n"), 0600, err);
	if (rc == 0)
		rc = git_init(&u->git, stop, err);
	for (size_t i = 0; rc == 0 && i < 3; i++)
		rc = link_part(u, parts[i], err);
	free(info);
	free(file);
	return rc;
}

static int set_objects(struct user_git *u, struct error *err)
{
	struct stat st;

	u->objects = path_join(u->repo.common, "objects");
	if (lstat(u->objects, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_set(err, ERR_USAGE, "not a directory: %s",
				 u->objects);
	u->object_env = xasprintf("GIT_OBJECT_DIRECTORY=%s", u->objects);
	u->env[0] = u->object_env;
	u->git.env = u->env;
	u->git.users_modes = true;
	return 0;
}

int user_git_open(struct user_git *u, const struct workspace *w,
		  const struct stop *stop, struct error *err)
{
	int rc;

	*u = (struct user_git){ .autocrlf = "core.autocrlf=false",
				.eol = "core.eol=lf" };
	if (user_repo_open(&u->repo, w->root, &w->git, stop, err) < 0)
		return -1;
	u->dir = path_join(w->directory, "user.git");
	u->git = (struct git){ .program = w->program, .dir = u->dir };
	if (!u->repo.git_dir || !u->repo.common) {
		rc = error_set(err, ERR_USAGE,
			       "there is no git repository in %s that dcode "
			       "can write to",
			       w->root);
	} else {
		rc = make_dir(u, stop, err);
		if (rc == 0)
			rc = check_format(u, stop, err);
		if (rc == 0)
			rc = set_objects(u, err);
	}
	if (rc < 0) {
		user_git_close(u);
		return -1;
	}
	read_line_ends(u, "core.autocrlf", u->autocrlf, sizeof(u->autocrlf),
		       stop);
	read_line_ends(u, "core.eol", u->eol, sizeof(u->eol), stop);
	return 0;
}

void user_git_close(struct user_git *u)
{
	user_repo_release(&u->repo);
	free(u->dir);
	free(u->objects);
	free(u->object_env);
	*u = (struct user_git){ 0 };
}

/* git leaves these out of names and addresses, and others at their ends
 * (ident.c, crud()). */
static void add_half(struct buf *out, struct str value)
{
	static const char at_ends[] = ".,:;<>\"\\'";

	while (value.len && ((unsigned char)value.ptr[0] <= ' ' ||
			     strchr(at_ends, value.ptr[0])))
		value = str_skip(value, 1);
	while (value.len && ((unsigned char)value.ptr[value.len - 1] <= ' ' ||
			     strchr(at_ends, value.ptr[value.len - 1])))
		value.len--;
	for (size_t i = 0; i < value.len; i++)
		if (!strchr("<>\n\r", value.ptr[i]))
			buf_addc(out, value.ptr[i]);
}

/* One half of the identity. */
static bool read_half(const struct user_git *u, const char *home, bool email,
		      struct buf *out, const struct stop *stop)
{
	const char *key = email ? "user.email" : "user.name";
	const char *env =
		getenv(email ? "GIT_AUTHOR_EMAIL" : "GIT_AUTHOR_NAME");
	struct buf value = BUF_INIT(VALUE_MAX);
	struct error ignored = { 0 };
	char *files[2];

	name_config(home, files);
	if (env)
		add_half(out, str_of(env));
	if (!out->len && user_repo_config(u->repo.common, key, &u->git, &value,
					  stop, &ignored) == 0)
		add_half(out, buf_str(&value));
	for (int i = 0; i < 2; i++) {
		if (!out->len &&
		    read_value(&u->git, files[i], key, &value, stop))
			add_half(out, buf_str(&value));
		free(files[i]);
	}
	buf_release(&value);
	return out->len > 0;
}

int user_git_identity(const struct user_git *u, const char *home,
		      char **identity, const struct stop *stop,
		      struct error *err)
{
	struct buf name = BUF_INIT(VALUE_MAX);
	struct buf email = BUF_INIT(VALUE_MAX);
	int rc = 0;

	if (read_half(u, home, false, &name, stop) &&
	    read_half(u, home, true, &email, stop)) {
		*identity = xasprintf("%s <%s>", name.ptr, email.ptr);
	} else {
		rc = error_set(err, ERR_CONFIG,
			       "no author for the commit: git has no user.name "
			       "or user.email");
		error_hint(
			err,
			"Run git config --global user.name \"Your Name\" and "
			"git config --global user.email you@example.org");
	}
	buf_release(&name);
	buf_release(&email);
	return rc;
}
