/* gitconfig.c - files that a repository's own config makes git use. */
/* SPDX-License-Identifier: MIT */
#include "providers/local/gitconfig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum { CONFIG_MAX = 1 << 20, INCLUDES_MAX = 4 };

struct gitconfig_reader {
	const char *root;
	char *top; /* owned: where the hooks run */
	void (*each)(void *arg, const char *path, enum named_kind kind);
	void *arg;
	int depth;
};

/* "a/c" from "a/b" and "../c"; NULL when it leaves the root. Owned. */
static char *join_inside(const char *root, const char *base, const char *name)
{
	size_t len = strlen(root);
	struct buf out = BUF_INIT(1 << 16);
	char *whole;
	struct str left;
	struct str part;
	bool inside = true;

	if (!strncmp(name, root, len) && name[len] == '/')
		whole = xstrdup(name + len + 1);
	else if (name[0] == '/' || name[0] == '~')
		return NULL;
	else
		whole = xasprintf("%s/%s", base, name);
	left = str_of(whole);
	while (inside && str_split(&left, '/', &part)) {
		if (str_is(part, "..")) {
			inside = out.len > 0;
			while (out.len && out.ptr[--out.len] != '/')
				;
		} else if (part.len && !str_is(part, ".")) {
			buf_adds(&out, out.len ? "/" : "");
			buf_addstr(&out, part);
		}
	}
	free(whole);
	whole = inside && out.len ? xstrndup(out.ptr, out.len) : NULL;
	buf_release(&out);
	return whole;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return xstrndup(path, slash ? (size_t)(slash - path) : 0);
}

static void read_config(struct gitconfig_reader *r, const char *path);

static void name_file(struct gitconfig_reader *r, const char *base,
		      const char *value, enum named_kind kind)
{
	char *path = join_inside(r->root, base, value);

	if (!path)
		return;
	r->each(r->arg, path, kind);
	if (kind == NAMED_CONFIG && r->depth < INCLUDES_MAX)
		read_config(r, path);
	free(path);
}

static bool names_program(struct str key)
{
	static const char *const keys[] = {
		"askpass",  "clean",     "cmd",        "driver",   "editor",
		"external", "fsmonitor", "helper",     "pager",    "process",
		"program",  "smudge",    "sshcommand", "textconv",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (str_is_nocase(key, keys[i]))
			return true;
	return false;
}

/* value: without quotes and comment. */
static void read_key(struct gitconfig_reader *r, const char *dir,
		     struct str key, char *value)
{
	if (str_is_nocase(key, "path")) {
		name_file(r, dir, value, NAMED_CONFIG);
	} else if (str_is_nocase(key, "hookspath")) {
		name_file(r, r->top, value, NAMED_HOOKS);
	} else if (str_is_nocase(key, "worktree")) {
		free(r->top);
		r->top = join_inside(r->root, dir, value);
		if (!r->top)
			r->top = xstrdup("");
	} else if (names_program(key)) {
		value[strcspn(value, " \t")] = '\0';
		name_file(r, r->top, value, NAMED_PROGRAM);
	}
}

static void read_line(struct gitconfig_reader *r, const char *dir,
		      struct str line)
{
	char *value;
	size_t n = 0;
	size_t at;
	bool quoted = false;

	line = str_trim(line);
	if (line.len && line.ptr[0] == '[') /* [include] path = x */
		line = str_trim(str_skip(line, str_find(line, ']') + 1));
	at = str_find(line, '=');
	if (at >= line.len)
		return;
	value = xstrndup(line.ptr + at + 1, line.len - at - 1);
	line.len = at;
	for (const char *c = value + strspn(value, " \t"); *c; c++) {
		if (*c == '"')
			quoted = !quoted;
		else if (!quoted && (*c == '#' || *c == ';'))
			break;
		else if (*c != '\\' || *++c)
			value[n++] = *c;
	}
	while (n && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		n--;
	value[n] = '\0';
	if (n)
		read_key(r, dir, str_trim(line), value);
	free(value);
}

static void read_config(struct gitconfig_reader *r, const char *path)
{
	struct buf text = BUF_INIT(CONFIG_MAX);
	char *whole = path_join(r->root, path);
	char *dir = directory_of(path);
	struct error ignored = { 0 };
	struct stat st;
	struct str left;
	struct str line;

	r->depth++;
	/* A FIFO that the model made would be waited for. */
	if (stat(whole, &st) == 0 && S_ISREG(st.st_mode) &&
	    path_read(whole, &text, &ignored) == 0) {
		left = (struct str){ text.ptr, text.len };
		while (str_split(&left, '\n', &line))
			read_line(r, dir, line);
	}
	r->depth--;
	buf_release(&text);
	free(dir);
	free(whole);
}

void gitconfig_each(const char *root, const char *git_dir,
		    void (*each)(void *arg, const char *path,
				 enum named_kind kind),
		    void *arg)
{
	static const char *const names[] = { "config", "config.worktree" };
	struct gitconfig_reader r = { root, directory_of(git_dir), each, arg,
				      0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *path = git_dir[0] ? path_join(git_dir, names[i])
					: xstrdup(names[i]);

		read_config(&r, path);
		free(path);
	}
	free(r.top);
}
