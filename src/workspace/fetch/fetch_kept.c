/* fetch_kept.c - what stays behind, but is still as the user uploaded it. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/quote.h"
#include "workspace/fetch/fetch_impl.h"

enum {
	COMMAND_MAX = 48 << 10, /* bytes: of names that are asked about */
	ANSWER_MAX = 1 << 18,
	ASK_MS = 60000,
};

/* A line for each file: its SHA-256 and "  -", or what is no hash. */
static const char script[] =
	"; do sha256sum <\"$f\" 2>/dev/null || echo missing; done";

struct kept {
	size_t *list; /* indices of the listing of uploads; owned */
	size_t n;
	struct buf command, answer;
};

/* One that is too large. */
static struct fetch_item *find_left(const struct fetch *f, const char *path)
{
	for (size_t i = 0; i < f->n_left; i++)
		if (f->left[i].size && !strcmp(f->left[i].path, path))
			return &f->left[i];
	return NULL;
}

/* One that git ignores, or the directory above it that stands for it. */
static struct fetch_item *find_ignored(const struct fetch *f, const char *path)
{
	for (size_t i = 0; i < f->n_ignored_names; i++) {
		struct fetch_item *item = &f->ignored_names[i];
		size_t len = strlen(item->path);

		if (item->size ? !strncmp(item->path, path, len)
			       : !strcmp(item->path, path))
			return item;
	}
	return NULL;
}

static void ask_about(struct fetching *g, struct kept *k)
{
	const struct fetch *f = g->f;

	buf_adds(&k->command, "for f in");
	for (size_t i = 0; i < g->uploaded.n; i++) {
		const struct listing_entry *e = &g->uploaded.entries[i];

		if (e->mode == LISTING_LINK ||
		    k->command.len + 4 * strlen(e->path) > COMMAND_MAX ||
		    (!find_left(f, e->path) && !find_ignored(f, e->path)))
			continue;
		buf_adds(&k->command, " ./");
		quote_word(&k->command, str_of(e->path));
		k->list[k->n++] = i;
	}
	buf_adds(&k->command, script);
}

static int take(void *arg, enum exec_stream stream, struct str chunk,
		struct buf *reply, struct error *err)
{
	struct kept *k = arg;

	(void)reply;
	(void)err;
	if (stream == EXEC_STDOUT)
		buf_addstr(&k->answer, chunk);
	return 0;
}

static void drop_item(struct fetch_item *items, size_t *n,
		      struct fetch_item *item)
{
	size_t after = *n - (size_t)(item - items) - 1;

	free(item->path);
	memmove(item, item + 1, after * sizeof(*item));
	(*n)--;
}

static void drop(struct fetch *f, const char *path)
{
	struct fetch_item *item = find_left(f, path);

	if (item) {
		drop_item(f->left, &f->n_left, item);
		return;
	}
	item = find_ignored(f, path);
	f->ignored--;
	if (item->size > 1)
		item->size--;
	else
		drop_item(f->ignored_names, &f->n_ignored_names, item);
}

void fetch_drop_kept(struct fetching *g)
{
	struct kept k = { .command = BUF_INIT(2 * COMMAND_MAX),
			  .answer = BUF_INIT(ANSWER_MAX) };
	struct exec_request req = { .cwd = sandbox_tree_dir(
					    g->request->sandbox),
				    .timeout_ms = ASK_MS,
				    .output = take,
				    .arg = &k };
	struct exec_result res = { 0 };
	struct error ignored = { 0 };
	const struct listing_entry *all = g->uploaded.entries;
	struct str rest, line;

	if (!g->uploaded.n || (!g->f->n_left && !g->f->n_ignored_names))
		return;
	k.list = xcalloc(g->uploaded.n, sizeof(*k.list));
	ask_about(g, &k);
	req.command = buf_str(&k.command);
	/* Who does not answer has changed all of them. */
	if (k.n && sandbox_execute(g->request->sandbox, &req, &res, g->stop,
				   &ignored) == 0) {
		rest = buf_str(&k.answer);
		for (size_t i = 0; i < k.n && str_split(&rest, '\n', &line);
		     i++)
			if (str_starts(line, all[k.list[i]].hash))
				drop(g->f, all[k.list[i]].path);
	}
	free(k.list);
	buf_release(&k.command);
	buf_release(&k.answer);
}
