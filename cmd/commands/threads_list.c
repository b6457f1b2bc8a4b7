/* threads_list.c - dcode threads list. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/commands/sandbox.h"
#include "cmd/commands/threads.h"
#include "cmd/print.h"
#include "cmd/session/saved_patch.h"
#include "model/money.h"

enum { LIMIT = 20, CELL_MOST = 1 << 14 };

struct thread_table {
	struct app *app;
	struct store *store;
	struct thread *threads; /* owned */
	size_t n;
	bool verbose, absolute;
};

static bool add_thread(void *arg, struct thread *t)
{
	struct thread_table *l = arg;

	/* grows at powers of two, so that no capacity need be kept */
	if (!(l->n & (l->n - 1)))
		l->threads =
			xrealloc(l->threads, l->n ? l->n * 2 : 1, sizeof(*t));
	l->threads[l->n++] = *t;
	*t = (struct thread){ 0 };
	return true;
}

/* A cell, masked and clean, exactly so wide; 0: as wide as it is. */
static void print_cell(struct app *app, const char *text, int width)
{
	struct buf line = BUF_INIT(CELL_MOST);
	struct str shown;
	size_t chars;

	print_add_line(app, &line, text[0] ? text : "-");
	shown = buf_str(&line);
	if (width)
		shown.len = str_char_offset(shown, (size_t)width);
	chars = str_chars(shown);
	printf("%.*s%*s", (int)shown.len, shown.ptr,
	       width ? width - (int)chars + 2 : 0, "");
	buf_release(&line);
}

static const char *show_time(const struct thread_table *l, int64_t ms,
			     char room[THREADS_SHORT])
{
	return l->absolute ? sandbox_time(ms / 1000, room)
			   : print_age(ms, room);
}

char *threads_short_path(const struct app *app, const char *path)
{
	const char *home = settings_home(app->settings);
	size_t len = home ? strlen(home) : 0;

	if (len > 1 && str_starts(str_of(path), home) &&
	    (path[len] == '/' || !path[len]))
		return xasprintf("~%s", path + len);
	return xstrdup(path);
}

/* On a line of its own: the name is as long as the table is wide. */
static void print_patch(struct thread_table *l, const struct thread *t)
{
	char *path = saved_patch_find(l->app, t->id);
	char *shown = path ? threads_short_path(l->app, path) : NULL;

	if (path) {
		printf("%*s", THREADS_ID + 2, "");
		fputs("saved patch: ", stdout);
		print_cell(l->app, shown, 0);
		putchar('\n');
	}
	free(path);
	free(shown);
}

/* What of it has no price is not in the sum. */
static const char *show_cost(const struct thread *t,
			     char room[2 * THREADS_SHORT])
{
	char sum[MONEY_SIZE];

	if (t->cost < 0)
		return "-";
	if (t->unpriced && !t->cost)
		return "unknown";
	snprintf(room, 2 * THREADS_SHORT, "%s%s", t->unpriced ? ">" : "",
		 t->unpriced && t->cost < METER_DOLLAR / 100
			 ? "$0.00"
			 : money_short(t->cost, sum));
	return room;
}

static void print_row(struct thread_table *l, const struct thread *t)
{
	struct thread_sandbox box;
	char room[2 * THREADS_SHORT];
	char id[THREADS_ID + 1];
	char *cwd = threads_short_path(l->app, t->cwd);

	threads_read_sandbox(l->store, t->label, &box);
	snprintf(id, sizeof(id), "%s", t->id);
	print_cell(l->app, id, THREADS_ID);
	print_cell(l->app, show_time(l, t->updated, room),
		   l->absolute ? 16 : 8);
	if (l->verbose) {
		print_cell(l->app, show_time(l, t->created, room),
			   l->absolute ? 16 : 8);
		print_cell(l->app, t->branch, 16);
		print_cell(l->app, t->agent[0] ? t->agent : "agent", 12);
	}
	print_cell(l->app, t->model, 26);
	snprintf(room, sizeof(room), "%" PRId64, t->messages);
	print_cell(l->app, room, 4);
	print_cell(l->app, threads_count(t->input + t->output, room), 6);
	print_cell(l->app, show_cost(t, room), 9);
	print_cell(l->app, threads_place(t, &box, room), 14);
	print_cell(l->app, cwd, l->verbose ? 40 : 24);
	print_cell(l->app, t->title, l->verbose ? 0 : 48);
	if (t->pid)
		printf(" (in use)");
	putchar('\n');
	print_patch(l, t);
	free(cwd);
}

static void print_table(struct thread_table *l, int64_t limit)
{
	int when = l->absolute ? 16 : 8;

	printf("%-13s  %-*s  ", "THREAD", when, "USED");
	if (l->verbose)
		printf("%-*s  %-16s  %-12s  ", when, "BEGUN", "BRANCH",
		       "AGENT");
	printf("%-26s  %-4s  %-6s  %-9s  %-14s  %-*s  %s\n", "MODEL", "MSGS",
	       "TOKENS", "COST", "SANDBOX", l->verbose ? 40 : 24, "DIRECTORY",
	       "TITLE");
	for (size_t i = 0; i < l->n; i++)
		print_row(l, &l->threads[i]);
	if ((int64_t)l->n == limit)
		printf("Showing the last %zu threads; -n N or "
		       "DA_CLI_RECENT_THREADS=N shows more.\n",
		       l->n);
}

static void print_json(struct thread_table *l)
{
	struct buf out = BUF_INIT(256 << 20);

	buf_addc(&out, '[');
	for (size_t i = 0; i < l->n; i++) {
		buf_adds(&out, i ? ",{" : "{");
		threads_add_json(l->app, l->store, &l->threads[i], &out);
		buf_addc(&out, '}');
	}
	buf_addc(&out, ']');
	app_envelope("threads list", &out);
	buf_release(&out);
}

static void print_none(const struct thread_filter *f)
{
	const char *const what[] = { "agent", "branch", "directory" };
	const char *const value[] = { f->agent, f->branch, f->cwd };
	const char *lead = "for";

	printf("No threads found");
	for (size_t i = 0; i < 3; i++) {
		if (!value[i])
			continue;
		printf(" %s %s %s", lead, what[i], value[i]);
		lead = "and";
	}
	puts(".");
}

static int read_limit(const struct args *args, int64_t *limit,
		      struct error *err)
{
	const char *text = args_value(args, "limit");
	const char *env = getenv("DA_CLI_RECENT_THREADS");

	*limit = LIMIT;
	if (!text && env && str_to_int(str_of(env), limit) && *limit >= 1)
		return 0;
	if (!text) {
		*limit = LIMIT;
		return 0;
	}
	if (!str_to_int(str_of(text), limit) || *limit < 1)
		return error_set(err, ERR_USAGE,
				 "argument -n/--limit: must be a positive "
				 "integer (>= 1), got %s",
				 text);
	return 0;
}

/* The directory as threads have it; owned, NULL: any. */
static char *read_directory(const struct app *app, const struct args *args)
{
	const char *given = args_value(args, "cwd");
	char *path;
	char *real;

	if (!given)
		return NULL;
	if (given == args_bare || !given[0])
		return xstrdup(settings_cwd(app->settings));
	path = path_join(settings_cwd(app->settings), given);
	real = realpath(path, NULL);
	if (!real) {
		app_warn("--cwd %s: not a directory", given);
		return path;
	}
	free(path);
	return real;
}

static int read_filter(struct thread_filter *f, const struct args *args,
		       struct error *err)
{
	const char *sort = args_value(args, "sort");

	f->branch = args_value(args, "branch");
	f->agent = args_value(args, "agent");
	f->by_created = sort && !strcmp(sort, "created");
	if (sort && strcmp(sort, "created") && strcmp(sort, "updated"))
		return error_set(
			err, ERR_USAGE,
			"argument --sort: invalid choice: '%s' (choose "
			"from 'created', 'updated')",
			sort);
	return read_limit(args, &f->limit, err);
}

int threads_cmd_list(struct app *app, const struct args *args)
{
	struct thread_table l = {
		.app = app,
		.verbose = args_flag(args, "verbose"),
		.absolute = args_flag(args, "no-relative"),
	};
	struct thread_filter filter = { 0 };
	struct error err = { 0 };
	char *directory = NULL;
	int rc = read_filter(&filter, args, &err);

	if (rc == 0)
		rc = app_store(app, &l.store, &err);
	if (rc == 0) {
		filter.cwd = directory = read_directory(app, args);
		rc = thread_each(l.store, &filter, add_thread, &l, &err);
	}
	if (rc == 0 && app->json)
		print_json(&l);
	else if (rc == 0 && !l.n)
		print_none(&filter);
	else if (rc == 0)
		print_table(&l, filter.limit);
	for (size_t i = 0; i < l.n; i++)
		thread_release(&l.threads[i]);
	free(l.threads);
	free(directory);
	return rc == 0 ? 0 : app_fail(app, &err);
}
