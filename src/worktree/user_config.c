/* user_config.c - reads the user's own git configuration. */
/* SPDX-License-Identifier: MIT */
/*
 * Which files count can depend on the repository: [includeIf "gitdir:~/work/"].
 * git decides that by its own git directory, but dcode never starts git in the
 * user's repository (user_repo.h). So git only lists the settings of one file
 * at a time, and dcode decides here which files are included, by the rules of
 * git-config(1). Begin with user_config_value().
 */
#include "worktree/user_config.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum {
	CONFIG_MAX = 1 << 20, /* bytes of a file, and of git's list of it */
	INCLUDES_MAX = 10,    /* depth of includes, as in git */
	FILES_MAX = 100,      /* files that are read for one value */
};

struct config_search {
	const struct user_repo *repo;
	const char *home;
	const char *key;
	const struct git *git;
	struct buf *out;
	const struct stop *stop;
	int depth;
	int files; /* read so far */
};

/* Matches one name of a path with a pattern without "/". */
static bool match_name(struct str pattern, struct str name, int flags)
{
	char *p = xstrndup(pattern.ptr, pattern.len);
	char *n = xstrndup(name.ptr, name.len);
	bool is_match = fnmatch(p, n, flags) == 0;

	free(p);
	free(n);
	return is_match;
}

/* Matches a path name by name; "**" stands for any number of names, but at the
 * end for at least one. */
static bool match_path(struct str pattern, struct str path, int flags)
{
	struct str part;
	struct str name;

	while (str_split(&pattern, '/', &part)) {
		if (str_is(part, "**") && !pattern.ptr)
			return path.ptr != NULL;
		if (str_is(part, "**")) {
			while (!match_path(pattern, path, flags))
				if (!str_split(&path, '/', &name))
					return false;
			return true;
		}
		if (!str_split(&path, '/', &name) ||
		    !match_name(part, name, flags))
			return false;
	}
	return !path.ptr;
}

/* Returns git_dir below the directory of $PWD, which may have links in it: git
 * compares both paths. Owned; NULL if they are the same, or if git_dir is not
 * in the working tree. */
static char *linked_path(const char *git_dir)
{
	const char *pwd = getenv("PWD");
	char *real = pwd && pwd[0] == '/' ? realpath(pwd, NULL) : NULL;
	size_t root = strlen(git_dir) - strlen("/.git");
	char *linked = NULL;

	if (real && str_ends(str_of(git_dir), "/.git") &&
	    !strncmp(real, git_dir, root) &&
	    (!real[root] || real[root] == '/') &&
	    str_ends(str_of(pwd), real + root))
		linked = xasprintf("%.*s/.git",
				   (int)(strlen(pwd) - strlen(real + root)),
				   pwd);
	free(real);
	return linked;
}

/* Returns the pattern of a gitdir condition as git completes it. Owned. file is
 * the config that contains it. */
static char *complete_pattern(const struct config_search *k,
			      const char *pattern, const char *file)
{
	char *whole = path_expand(pattern, k->home);
	const char *end = str_ends(str_of(pattern), "/") ? "**" : "";
	char *real = realpath(file, NULL);
	char *complete;

	if (str_starts(str_of(whole), "./") && real)
		complete =
			xasprintf("%.*s%s%s", (int)(strrchr(real, '/') - real),
				  real, whole + 1, end);
	else
		complete = xasprintf("%s%s%s", whole[0] == '/' ? "" : "**/",
				     whole, end);
	free(real);
	free(whole);
	return complete;
}

static bool is_git_dir(const struct config_search *k, const char *pattern,
		       const char *file, int flags)
{
	const char *git_dir = k->repo->git_dir;
	char *whole = complete_pattern(k, pattern, file);
	char *real = git_dir ? realpath(git_dir, NULL) : NULL;
	/* git compares "./" only with the real path. */
	bool both = real && !str_starts(str_of(pattern), "./");
	char *linked = both ? linked_path(real) : NULL;
	bool is_match =
		(real && match_path(str_of(whole), str_of(real), flags)) ||
		(linked && match_path(str_of(whole), str_of(linked), flags));

	free(linked);
	free(real);
	free(whole);
	return is_match;
}

static bool is_branch(const struct config_search *k, const char *pattern)
{
	char *whole = xasprintf("%s%s", pattern,
				str_ends(str_of(pattern), "/") ? "**" : "");
	bool is_match = k->repo->branch[0] &&
			match_path(str_of(whole), str_of(k->repo->branch), 0);

	free(whole);
	return is_match;
}

/* True if the key includes a file: "include.path", or
 * "includeif.CONDITION.path" with a condition that holds. */
static bool is_include(const struct config_search *k, struct str key,
		       const char *file)
{
	static const char start[] = "includeif.";
	size_t around = strlen(start) + strlen(".path");
	char *condition;
	bool holds = false;

	if (str_is(key, "include.path"))
		return true;
	if (!str_starts(key, start) || !str_ends(key, ".path") ||
	    key.len <= around)
		return false;
	condition = xstrndup(key.ptr + strlen(start), key.len - around);
	if (str_starts(str_of(condition), "gitdir:"))
		holds = is_git_dir(k, condition + strlen("gitdir:"), file, 0);
	else if (str_starts(str_of(condition), "gitdir/i:"))
		holds = is_git_dir(k, condition + strlen("gitdir/i:"), file,
				   FNM_CASEFOLD);
	else if (str_starts(str_of(condition), "onbranch:"))
		holds = is_branch(k, condition + strlen("onbranch:"));
	free(condition);
	return holds;
}

static void read_file(struct config_search *k, const char *file);

/* Reads an included file; its path is relative to the file that names it. */
static void read_included(struct config_search *k, const char *file,
			  struct str value)
{
	char *name = xstrndup(value.ptr, value.len);
	char *whole = path_expand(name, k->home);
	char *dir = xstrndup(file, (size_t)(strrchr(file, '/') - file));
	char *path = whole[0] == '/' ? xstrdup(whole) : path_join(dir, whole);

	read_file(k, path);
	free(path);
	free(dir);
	free(whole);
	free(name);
}

/* Goes through a file in order: a later value replaces an earlier one, also one
 * of an included file. A file that cannot be read is ignored. */
static void read_file(struct config_search *k, const char *file)
{
	static const char *const argv[] = {
		"config", "--no-includes", "-z", "-f", "-", "--list", NULL
	};
	struct buf text = BUF_INIT(CONFIG_MAX);
	struct buf list = BUF_INIT(2 * CONFIG_MAX);
	struct git_request r = { .argv = argv, .out = &list };
	struct error ignored = { 0 };
	struct str rest = { 0 };
	struct str record;

	if (k->depth >= INCLUDES_MAX || k->files >= FILES_MAX)
		return;
	k->depth++;
	k->files++;
	if (path_read_regular(file, &text, &ignored) == 0) {
		r.input = buf_str(&text);
		if (git_run(k->git, &r, k->stop, &ignored) == 0)
			rest = buf_str(&list);
	}
	while (str_split(&rest, '\0', &record)) {
		struct str key = { record.ptr, str_find(record, '\n') };
		struct str value = str_skip(record, key.len + 1);

		if (value.len && str_is_nocase(key, k->key)) {
			buf_clear(k->out);
			buf_addstr(k->out, value);
		} else if (value.len && is_include(k, key, file)) {
			read_included(k, file, value);
		}
	}
	k->depth--;
	buf_release(&text);
	buf_release(&list);
}

bool user_config_value(const struct user_repo *u, const char *home,
		       const char *key, const struct git *g, struct buf *out,
		       const struct stop *stop)
{
	struct config_search k = { u, home, key, g, out, stop, 0, 0 };
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char *files[2];

	/* git reads the second file last. */
	files[0] = xdg && xdg[0] == '/' ? path_join(xdg, "git/config")
					: path_join(home, ".config/git/config");
	files[1] = path_join(home, ".gitconfig");
	buf_clear(out);
	for (int i = 0; i < 2; i++) {
		read_file(&k, files[i]);
		free(files[i]);
	}
	return out->len > 0;
}
