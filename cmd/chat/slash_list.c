/* slash_list.c - what completion offers behind a command: files and
 * subcommands. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/mention.h"
#include "cmd/chat/slash_cmd.h"

enum {
	MOST_FILES = 5000,
	MOST_DEEP = 8, /* directories within one another */
	LIST_BYTES = 4 << 20,
};

void slash_list_subcommands(const struct command *c, struct buf *out)
{
	for (size_t i = 0; c->subs[i].name; i++)
		if (c->subs[i].name[0])
			buf_addf(out, "%s\t%s\n", c->subs[i].name,
				 c->subs[i].summary ? c->subs[i].summary : "");
}

/* As a word of a command line; a name with controls is left out. */
static void add_path(struct str path, struct buf *out)
{
	struct buf clean = BUF_INIT(LIST_BYTES);

	sanitize_line(path, &clean);
	if (str_eq(buf_str(&clean), path)) {
		for (size_t i = 0; i < path.len; i++) {
			char c = path.ptr[i];

			if (c == ' ' || c == '\\' || c == '"' || c == '\'')
				buf_addc(out, '\\');
			buf_addc(out, c);
		}
		buf_adds(out, "\t\n");
	}
	buf_release(&clean);
}

/* Of one directory below the top; hidden names are left out. */
static void walk(const char *top, const char *below, int deep, size_t *n,
		 struct buf *out)
{
	char *path = below[0] ? path_join(top, below) : xstrdup(top);
	DIR *d = opendir(path);
	const struct dirent *e;

	while (d && *n < MOST_FILES && (e = readdir(d))) {
		char *name = below[0] ? path_join(below, e->d_name)
				      : xstrdup(e->d_name);

		if (e->d_name[0] != '.') {
			add_path(str_of(name), out);
			(*n)++;
		}
		if (e->d_name[0] != '.' && e->d_type == DT_DIR && deep)
			walk(top, name, deep - 1, n, out);
		free(name);
	}
	if (d)
		closedir(d);
	free(path);
}

void slash_list_here(struct run *r, struct buf *out)
{
	size_t n = 0;

	walk(settings_cwd(r->app->settings), "", MOST_DEEP, &n, out);
}

void slash_list_there(struct run *r, struct buf *out)
{
	struct buf names = BUF_INIT(LIST_BYTES);
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };
	struct str rest;
	struct str line;

	if (mention_list(r, &names, &stop, &ignored) == 0) {
		rest = buf_str(&names);
		while (str_split(&rest, '\n', &line))
			if (line.len)
				add_path(line, out);
	}
	buf_release(&names);
}
