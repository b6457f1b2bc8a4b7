/* threads.c - dcode threads: list, show, rename, delete and prune. */
/* SPDX-License-Identifier: MIT */
/*
 * threads_export.c has export and import. Begin reading at the table subs, at
 * the end.
 */
#include "cmd/commands/threads.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/print.h"
#include "cmd/scan_threads.h"
#include "cmd/session/saved_patch.h"
#include "cmd/session/target.h"
#include "cmd/session/undo.h"
#include "cmd/session/workspace.h"
#include "model/money.h"
#include "session/ledger.h"
#include "session/records.h"
#include "session/thread.h"
#include "ui/summary.h"

enum { TITLE_MOST = 1 << 16 };

static void report_rename(struct app *app, const struct thread *t)
{
	struct buf out = BUF_INIT(1 << 20);

	if (app->json) {
		buf_addc(&out, '{');
		print_add_member(app, &out, "thread_id", t->id);
		buf_addc(&out, ',');
		print_add_member(app, &out, "title", t->title);
		buf_addc(&out, '}');
		app_envelope("threads rename", &out);
	} else {
		print_add_line(app, &out, t->title);
		printf("Thread '%s' is now \"%s\".\n", t->id, out.ptr);
	}
	buf_release(&out);
}

static int rename_thread(struct app *app, const struct args *args,
			 struct error *err)
{
	struct buf title = BUF_INIT(TITLE_MOST);
	struct store *store;
	struct thread t = { 0 };
	char *id = NULL;
	int rc;

	for (int i = 1; i < args->argc; i++) {
		buf_adds(&title, i > 1 ? " " : "");
		buf_adds(&title, args->argv[i]);
	}
	rc = buf_check(&title, "the title", err);
	if (rc == 0 && !str_trim(buf_str(&title)).len)
		rc = error_set(err, ERR_USAGE, "the title is empty");
	if (rc == 0)
		rc = threads_find(app, args->argv[0], &store, &t, err);
	if (rc == 0)
		rc = thread_rename(store, &t, title.ptr, err);
	if (rc == 0) {
		id = t.id;
		t.id = NULL;
		thread_release(&t);
		rc = thread_find(store, id, NULL, &t, err);
	}
	if (rc == 0)
		report_rename(app, &t);
	thread_release(&t);
	free(id);
	buf_release(&title);
	return rc;
}

static int threads_cmd_rename(struct app *app, const struct args *args)
{
	struct error err = { 0 };

	return rename_thread(app, args, &err) == 0 ? 0 : app_fail(app, &err);
}

/* True if the database certainly does not have the thread. False if the
 * database cannot be read. */
static bool is_gone(struct store *s, const char *id)
{
	struct thread t = { 0 };
	struct error why = { 0 };

	if (thread_find(s, id, NULL, &t, &why) == 0) {
		thread_release(&t);
		return false;
	}
	return why.code == ERR_NOT_FOUND;
}

/* Deletes the files in folder whose thread no longer exists. */
static void delete_orphan_files(struct app *app, const char *folder,
				const char *ending)
{
	struct error ignored = { 0 };
	char *directory = app_state_path(app, folder, &ignored);
	DIR *d = directory ? opendir(directory) : NULL;
	struct dirent *entry;
	struct store *s = NULL;

	while (d && (entry = readdir(d))) {
		struct str name = str_of(entry->d_name);
		char *id;
		char *file;

		if (!str_ends(name, ending) || app_store(app, &s, &ignored) < 0)
			continue;
		id = xstrndup(name.ptr, name.len - strlen(ending));
		file = path_join(directory, entry->d_name);
		if (is_gone(s, id))
			(void)unlink(file);
		free(id);
		free(file);
	}
	if (d)
		closedir(d);
	free(directory);
}

/* Deletes the files of threads that are no longer in the database: old
 * histories (src/agent/history_text.h) and transcripts
 * (session/thread_file.h). */
static void history_sweep(struct app *app)
{
	delete_orphan_files(app, "conversation_history", ".md");
	delete_orphan_files(app, "transcripts", ".jsonl");
}

struct leaving {
	struct store *store;
	const struct thread *thread;
};

static bool report_label(void *arg, const struct thread_label *l)
{
	const struct leaving *d = arg;
	struct thread_sandbox box;

	threads_read_sandbox(d->store, l->label, &box);
	if (box.exists)
		app_warn("the sandbox of thread %s is still there (%s, %s); "
			 "dcode sandbox rm %s deletes it",
			 d->thread->id, l->provider, box.state, box.name);
	return true;
}

/* After a thread was deleted, prints what it leaves: sandboxes that cost money,
 * and its saved patch. */
static void report_remaining(struct app *app, struct store *s,
			     const struct thread *t)
{
	struct leaving d = { s, t };
	struct error ignored = { 0 };
	struct buf line = BUF_INIT(1 << 16);
	char *patch = saved_patch_find(app, t->id);

	(void)thread_label_each(s, t->no, NULL, report_label, &d, &ignored);
	if (patch) {
		print_add_line(app, &line, patch);
		app_warn("its saved patch is not deleted: %s", line.ptr);
	}
	buf_release(&line);
	free(patch);
}

static void report_deleted(struct app *app, struct buf *json,
			   const struct thread *t, bool dry)
{
	struct buf title = BUF_INIT(1 << 16);

	if (app->json) {
		buf_adds(json, json->len > 1 ? ",{" : "{");
		print_add_member(app, json, "thread_id", t->id);
		buf_addf(json, ",\"deleted\":%s}", dry ? "false" : "true");
		return;
	}
	print_add_line(app, &title, t->title);
	printf(dry ? "Would delete thread '%s' (%s).\n"
		   : "Thread '%s' deleted (%s).\n",
	       t->id, title.len ? title.ptr : "no title");
	buf_release(&title);
}

/* Adds the failed deletion to the JSON document. The reason was printed on
 * stderr. */
static void report_failed(struct app *app, struct buf *json, const char *name)
{
	buf_adds(json, json->len > 1 ? ",{" : "{");
	print_add_member(app, json, "thread_id", name);
	buf_adds(json, ",\"deleted\":false}");
}

static int refuse_used(const struct thread *t, struct error *err)
{
	error_set(err, ERR_BUSY,
		  "thread %s is in use by the dcode with process id %" PRId64,
		  t->id, t->pid);
	return error_hint(err, "Quit that dcode first.");
}

static int delete_thread(struct app *app, const char *name, bool dry,
			 struct buf *json, struct error *err)
{
	struct store *store;
	struct thread t = { 0 };
	int rc = threads_find(app, name, &store, &t, err);

	if (rc == 0 && t.pid)
		rc = refuse_used(&t, err);
	if (rc == 0)
		report_remaining(app, store, &t);
	if (rc == 0 && !dry)
		rc = thread_delete(store, &t, err);
	if (rc == 0)
		report_deleted(app, json, &t, dry);
	thread_release(&t);
	return rc;
}

static int threads_cmd_delete(struct app *app, const struct args *args)
{
	bool dry = args_flag(args, "dry-run");
	bool as_json = app->json;
	struct buf json = BUF_INIT(1 << 20);
	int status = 0;

	buf_addc(&json, '[');
	for (int i = 0; i < args->argc; i++) {
		struct error err = { 0 };

		if (delete_thread(app, args->argv[i], dry, &json, &err) == 0)
			continue;
		app->json = false; /* stdout gets only one JSON document: print
				      errors on stderr */
		status = app_fail(app, &err);
		app->json = as_json;
		report_failed(app, &json, args->argv[i]);
	}
	if (!dry) {
		unsent_sweep(app);
		history_sweep(app);
	}
	buf_addc(&json, ']');
	if (app->json)
		app_envelope("threads delete", &json);
	buf_release(&json);
	return status;
}

struct pruned {
	struct app *app;
	struct store *store;
	struct buf json;
	size_t n, alive, patches;
	bool dry;
};

struct leftover {
	const struct thread *thread; /* the thread that was just deleted */
	size_t alive;
};

static bool count_alive(void *arg, const struct ledger_row *row)
{
	struct leftover *l = arg;

	l->alive += !strcmp(row->label, l->thread->label) ||
		    !strcmp(row->thread, l->thread->id);
	return true;
}

/* Reports a pruned thread and counts the sandboxes and patches that remain. */
static void report_pruned(void *arg, const struct thread *t)
{
	struct pruned *p = arg;
	struct buf title = BUF_INIT(1 << 16);
	struct leftover left = { .thread = t };
	struct error ignored = { 0 };
	char *patch = saved_patch_find(p->app, t->id);

	(void)ledger_each(p->store, false, count_alive, &left, &ignored);
	p->alive += left.alive;
	p->patches += patch != NULL;
	free(patch);
	if (p->app->json) {
		buf_adds(&p->json, p->n ? ",{" : "{");
		print_add_member(p->app, &p->json, "thread_id", t->id);
		buf_addf(&p->json, ",\"deleted\":%s}",
			 p->dry ? "false" : "true");
	} else {
		print_add_line(p->app, &title, t->title);
		printf("%s '%s' (%s)\n", p->dry ? "Would delete" : "Deleted",
		       t->id, title.len ? title.ptr : "no title");
	}
	p->n++;
	buf_release(&title);
}

/* Parses an age such as "90d"; *ms is in milliseconds. */
static int read_age(const char *text, int64_t *ms, struct error *err)
{
	static const char units[] = "hdwy";
	static const int64_t hours[] = { 1, 24, 7 * 24, 365 * 24 };
	struct str s = str_of(text);
	const char *unit = s.len ? strchr(units, s.ptr[s.len - 1]) : NULL;
	int64_t n = -1;

	if (!unit || !*unit ||
	    !str_to_int((struct str){ s.ptr, s.len - 1 }, &n) || n < 0 ||
	    n > 100000)
		return error_set(err, ERR_USAGE,
				 "argument --older-than: '%s' is not an age; "
				 "use 90d, 8w, 12h or 1y",
				 text);
	*ms = n * hours[unit - units] * 3600 * 1000;
	return 0;
}

static int read_options(struct thread_prune *p, const struct args *args,
			struct error *err)
{
	const char *age = args_value(args, "older-than");
	const char *keep = args_value(args, "keep");
	int64_t ms = 0;

	p->keep = -1;
	p->dry_run = args_flag(args, "dry-run");
	if (!age && !keep)
		return error_set(err, ERR_USAGE,
				 "threads prune needs --older-than AGE, --keep "
				 "N, or both");
	if (keep && (!str_to_int(str_of(keep), &p->keep) || p->keep < 0))
		return error_set(err, ERR_USAGE,
				 "argument --keep: must be a non-negative "
				 "integer (>= 0), got %s",
				 keep);
	if (!age)
		return 0;
	if (read_age(age, &ms, err) < 0)
		return -1;
	p->before = clock_unix_ms() - ms;
	return 0;
}

static void print_end(struct pruned *p)
{
	if (p->app->json) {
		buf_addc(&p->json, ']');
		app_envelope("threads prune", &p->json);
	} else if (!p->n) {
		puts("Nothing to delete.");
	}
	if (p->alive)
		app_warn("%zu sandbox%s of these threads still exist%s. `dcode "
			 "sandbox list` shows %s",
			 p->alive, p->alive == 1 ? "" : "es",
			 p->alive == 1 ? "s" : "",
			 p->alive == 1 ? "it" : "them");
	if (p->patches)
		app_warn("%zu of them leave a saved patch in "
			 "~/.deepagents/.state/patches",
			 p->patches);
}

static int threads_cmd_prune(struct app *app, const struct args *args)
{
	struct pruned p = { .app = app, .json = BUF_INIT(64 << 20) };
	struct thread_prune what = { 0 };
	struct error err = { 0 };
	int rc = read_options(&what, args, &err);

	p.dry = what.dry_run;
	buf_addc(&p.json, '[');
	if (rc == 0)
		rc = app_store(app, &p.store, &err);
	if (rc == 0)
		rc = thread_prune(p.store, &what, report_pruned, &p, &err);
	if (rc == 0 && p.n && !p.dry)
		store_compact(p.store);
	if (rc == 0 && !p.dry) {
		unsent_sweep(app);
		history_sweep(app);
	}
	if (rc == 0)
		print_end(&p);
	buf_release(&p.json);
	return rc == 0 ? 0 : app_fail(app, &err);
}

static const struct arg_row list_options[] = {
	{ "cwd", 0, ARG_OPTIONAL, "PATH",
	  "Only threads of this directory; without PATH: the current one" },
	{ "branch", 0, ARG_VALUE, "NAME", "Only threads of this git branch" },
	{ "agent", 0, ARG_VALUE, "NAME", "Only threads of this agent" },
	{ "sort", 0, ARG_VALUE, "created|updated",
	  "Sort by this time, newest first (default updated)" },
	{ "limit", 'n', ARG_VALUE, "N",
	  "Show at most N threads (default 20, or DA_CLI_RECENT_THREADS)" },
	{ "verbose", 'v', ARG_FLAG, NULL,
	  "Also show creation time, git branch and agent" },
	{ "relative", 'r', ARG_FLAG, NULL,
	  "Show times as \"5m ago\" (default)" },
	{ "no-relative", 0, ARG_FLAG, NULL, "Show times as dates" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row json_options[] = { ARG_JSON, { 0 } };

static const struct arg_row delete_options[] = {
	{ "dry-run", 0, ARG_FLAG, NULL,
	  "Show what would be deleted, delete nothing" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row prune_options[] = {
	{ "older-than", 0, ARG_VALUE, "AGE",
	  "Delete threads not used for this long: 90d, 8w, 12h" },
	{ "keep", 0, ARG_VALUE, "N", "Keep the N most recently used threads" },
	{ "dry-run", 0, ARG_FLAG, NULL,
	  "Show what would be deleted, delete nothing" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row export_options[] = {
	{ "html", 0, ARG_FLAG, NULL,
	  "Write one HTML page that has no scripts and loads nothing" },
	{ "with-patch", 0, ARG_FLAG, NULL,
	  "Include the saved patch of the thread" },
	{ "force", 0, ARG_FLAG, NULL, "Replace FILE if it exists" },
	ARG_JSON,
	{ 0 },
};

static const char *threads_count(int64_t n, char room[THREADS_SHORT])
{
	if (n < 1000)
		snprintf(room, THREADS_SHORT, "%" PRId64, n);
	else if (n < 1000000)
		snprintf(room, THREADS_SHORT, "%.1fk", (double)n / 1e3);
	else
		snprintf(room, THREADS_SHORT, "%.1fM", (double)n / 1e6);
	return room;
}

enum {
	LIMIT = 20,
	CELL_MOST = 1 << 14,
	TIME_CELLS = 16,      /* of a date */
	DIRECTORY_CELLS = 40, /* with -v */
};

/* The columns of the table, from left to right. */
enum thread_column {
	COL_ID,
	COL_USED,
	COL_TURNS,
	COL_COST,
	COL_BRANCH,
	COL_BEGUN,
	COL_AGENT,
	COL_MESSAGES,
	COL_MODEL,
	COL_TOKENS,
	COL_SANDBOX,
	COL_DIRECTORY,
	COL_TITLE,
	N_COLUMNS
};

struct thread_table {
	struct app *app;
	struct store *store;
	struct thread *threads; /* owned */
	size_t n;
	bool verbose, absolute;
	struct print_table table;
};

static bool add_thread(void *arg, struct thread *t)
{
	struct thread_table *l = arg;

	/* the list grows by doubling, so that its capacity need not be
	 * stored */
	if (!(l->n & (l->n - 1)))
		l->threads =
			xrealloc(l->threads, l->n ? l->n * 2 : 1, sizeof(*t));
	l->threads[l->n++] = *t;
	*t = (struct thread){ 0 };
	return true;
}

static const struct print_column thread_columns[N_COLUMNS] = {
	[COL_ID] = { "THREAD", THREADS_ID, 0, false },
	[COL_USED] = { "USED", 8, 1, false },
	[COL_TURNS] = { "TURNS", 5, 3, true },
	[COL_COST] = { "COST", 9, 2, false },
	[COL_BRANCH] = { "BRANCH", 16, 5, false },
	[COL_BEGUN] = { "BEGUN", 8, 9, false },
	[COL_AGENT] = { "AGENT", 12, 10, false },
	[COL_MESSAGES] = { "MSGS", 4, 11, true },
	[COL_MODEL] = { "MODEL", 26, 6, false },
	[COL_TOKENS] = { "TOKENS", 6, 8, false },
	[COL_SANDBOX] = { "SANDBOX", 14, 4, false },
	[COL_DIRECTORY] = { "DIRECTORY", 24, 7, false },
	[COL_TITLE] = { "TITLE", 48, 0, false },
};

static void print_cell(const struct thread_table *l, size_t column,
		       const char *text)
{
	print_table_cell(&l->table, column, text, "");
}

static void print_number(const struct thread_table *l, size_t column, int64_t n)
{
	char text[THREADS_SHORT];

	snprintf(text, sizeof(text), "%" PRId64, n);
	print_cell(l, column, text);
}

static const char *show_time(const struct thread_table *l, int64_t ms,
			     char room[THREADS_SHORT])
{
	return l->absolute ? sandbox_time(ms / 1000, room)
			   : print_age(ms, room);
}

/* Prints the path of the saved patch on a separate line, because it would not
 * fit into the table. */
static void print_patch(struct thread_table *l, const struct thread *t)
{
	char *path = saved_patch_find(l->app, t->id);
	char *shown = path ? threads_short_path(l->app, path) : NULL;
	struct buf line = BUF_INIT(CELL_MOST);

	if (path) {
		printf("%*s", THREADS_ID + 2, "");
		fputs("saved patch: ", stdout);
		print_add_line(l->app, &line, shown);
		puts(line.ptr);
	}
	buf_release(&line);
	free(path);
	free(shown);
}

static void print_row(struct thread_table *l, const struct thread *t)
{
	struct thread_sandbox box;
	char room[2 * THREADS_SHORT];
	char id[THREADS_ID + 1];
	char *cwd = threads_short_path(l->app, t->cwd);

	threads_read_sandbox(l->store, t->label, &box);
	snprintf(id, sizeof(id), "%s", t->id);
	print_cell(l, COL_ID, id);
	print_cell(l, COL_USED, show_time(l, t->updated, room));
	print_number(l, COL_TURNS, t->turns);
	print_cell(l, COL_COST, threads_cost(t, room));
	print_cell(l, COL_BRANCH, t->branch);
	print_cell(l, COL_BEGUN, show_time(l, t->created, room));
	print_cell(l, COL_AGENT, t->agent[0] ? t->agent : "agent");
	print_number(l, COL_MESSAGES, t->messages);
	print_cell(l, COL_MODEL, t->model);
	print_cell(l, COL_TOKENS, threads_count(t->input + t->output, room));
	print_cell(l, COL_SANDBOX, threads_place(t, &box, room));
	print_cell(l, COL_DIRECTORY, cwd);
	snprintf(room, sizeof(room), "%s%s", t->headless ? " (-n)" : "",
		 t->pid ? " (in use)" : "");
	print_table_cell(&l->table, COL_TITLE, t->title, room);
	putchar('\n');
	print_patch(l, t);
	free(cwd);
}

static void print_table(struct thread_table *l, int64_t limit)
{
	struct print_table *t = &l->table;

	print_table_open(t, l->app, thread_columns, N_COLUMNS);
	t->shown[COL_BEGUN] = t->shown[COL_AGENT] = t->shown[COL_MESSAGES] =
		l->verbose;
	if (l->verbose) {
		t->width[COL_DIRECTORY] = DIRECTORY_CELLS;
		t->width[COL_TITLE] = 0;
	}
	if (l->absolute)
		t->width[COL_USED] = t->width[COL_BEGUN] = TIME_CELLS;
	print_table_head(t);
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

/* Reads the maximum number of threads from --limit, DA_CLI_RECENT_THREADS or
 * the default. */
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

/* Returns the path of --cwd in the form in which threads store it. Owned. NULL:
 * threads of any directory. */
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

static int threads_cmd_list(struct app *app, const struct args *args)
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

enum {
	TEXT_MOST = 64 << 20,
	MISSING_MOST = 20,
	EARLIER_MOST = 50, /* sandboxes that are shown; --json lists all */
	RESULT_LINES = 8,  /* of a tool result; --json has all */
};

struct showing {
	struct app *app;
	struct buf json;
	struct compaction_marks marks;
	struct undo_history changes;
	const char *thread;
	int64_t turn; /* prompts so far */
	size_t n;     /* messages printed so far */
};

struct missing_list {
	struct app *app;
	struct buf *json; /* receives the messages as JSON; NULL: print text */
	size_t n;
};

struct past_sandboxes {
	struct app *app;
	struct store *store;
	const char *label; /* label of the thread's current sandbox */
	struct buf *json; /* receives the sandboxes as JSON; NULL: print text */
	size_t n;
};

/* Prints text masked, cleaned and indented. Only the first `lines` lines are
 * printed; 0: all. */
static void print_clean(struct app *app, const char *text, const char *indent,
			int lines)
{
	struct buf clean = BUF_INIT(TEXT_MOST);
	struct str rest;
	struct str line;
	int n = 0;

	app_clean(app, CLEAN_TEXT, str_of(text), &clean);
	rest = str_trim(buf_str(&clean));
	while ((!lines || n < lines) && str_split(&rest, '\n', &line)) {
		printf("%s%.*s\n", indent, (int)line.len, line.ptr);
		n++;
	}
	if (rest.len)
		printf("%s...\n", indent);
	buf_release(&clean);
}

/* Prints the todo list that a tool call sets, one line per step. Returns false
 * if the call does not set one. */
static bool print_todos(struct app *app, const struct part *p)
{
	struct buf text = BUF_INIT(1 << 20);
	struct todos t = { 0 };
	bool sets = todos_read(&t, p);

	if (sets) {
		todo_view_count(&t, &text);
		printf("* %s: %s\n", p->name, text.ptr);
		buf_clear(&text);
		todo_view_text(&t, &text);
		print_clean(app, t.n ? text.ptr : "", "  ", 0);
	}
	buf_release(&text);
	todos_release(&t);
	return sets;
}

static void print_call(struct app *app, const struct part *p)
{
	struct buf line = BUF_INIT(TEXT_MOST);

	if (print_todos(app, p))
		return;
	print_add_line(app, &line, p->name);
	buf_addc(&line, ' ');
	print_add_line(app, &line, p->args);
	printf("* %.*s\n", (int)line.len, line.ptr);
	buf_release(&line);
}

static void print_part(struct app *app, enum role role, const struct part *p)
{
	if (p->kind == PART_TOOL_CALL)
		print_call(app, p);
	else if (p->kind == PART_TOOL_RESULT)
		print_clean(app, p->text, p->failed ? "  ! " : "  | ",
			    RESULT_LINES);
	else if (p->kind == PART_TEXT ||
		 (p->kind == PART_MEDIA && role == ROLE_USER))
		print_clean(app, p->text, role == ROLE_USER ? "> " : "", 0);
}

/* Prints a line for each compaction that was made at this point of the
 * thread. */
static void print_marks(struct showing *s)
{
	const struct compaction_mark *mark;
	char time[20];

	while ((mark = compaction_next(&s->marks, (int64_t)s->n)))
		printf("\n-- compacted here, %s: the model has a summary of "
		       "the messages above, plus the newest of them\n",
		       sandbox_time(mark->created / 1000, time));
}

/* Prints which files the last turn has changed. */
static void print_changes(const struct showing *s)
{
	const struct checkpoint_turn t = { s->thread, s->turn };
	struct buf names = BUF_INIT(1 << 16);
	struct buf line = BUF_INIT(TEXT_MOST);

	if (s->turn)
		undo_history_add(&s->changes, &t, &names);
	if (names.len) {
		print_add_line(s->app, &line, names.ptr);
		printf("\n-- turn %" PRId64 " changed %.*s (dcode diff %s "
		       "--turn %" PRId64 ")\n",
		       s->turn, (int)line.len, line.ptr, s->thread, s->turn);
	}
	buf_release(&names);
	buf_release(&line);
}

static bool print_message(void *arg, struct thread_message *m)
{
	struct showing *s = arg;

	if (m->message.role == ROLE_USER && !m->message.steering &&
	    !m->message.summary) {
		print_changes(s);
		s->turn++;
	}
	print_marks(s);
	s->n++;
	if (m->damaged)
		puts("(a message that cannot be read)");
	if (m->message.role == ROLE_USER)
		putchar('\n');
	for (size_t i = 0; i < m->message.n; i++)
		print_part(s->app, m->message.role, &m->message.parts[i]);
	if (m->message.refused)
		puts("(refused: no longer part of the conversation)");
	if (m->message.cut)
		puts("(interrupted: the rest of this answer is missing)");
	return true;
}

static void add_part(struct showing *s, const struct part *p, bool first)
{
	static const char *const kinds[] = {
		[PART_TEXT] = "text",
		[PART_THINKING] = "thinking",
		[PART_TOOL_CALL] = "tool_call",
		[PART_TOOL_RESULT] = "tool_result",
		[PART_MEDIA] = "media",
	};
	const struct {
		const char *key, *value;
	} members[] = { { "text", p->text },
			{ "id", p->id },
			{ "name", p->name },
			{ "args", p->args } };

	buf_adds(&s->json, first ? "{" : ",{");
	print_add_member(s->app, &s->json, "kind", kinds[p->kind]);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (!members[i].value)
			continue;
		buf_addc(&s->json, ',');
		print_add_member(s->app, &s->json, members[i].key,
				 members[i].value);
	}
	buf_adds(&s->json, p->failed ? ",\"failed\":true}" : "}");
}

static bool add_message(void *arg, struct thread_message *m)
{
	static const char *const roles[] = { "damaged", "user", "assistant",
					     "tool" };
	struct showing *s = arg;

	buf_addf(&s->json,
		 "%s{\"role\":\"%s\",\"created\":%" PRId64 ",\"refused\":%s,"
		 "%s\"usage\":",
		 s->n++ ? "," : "", roles[m->message.role], m->created,
		 m->message.refused ? "true" : "false",
		 m->message.cut ? "\"cut\":true," : "");
	usage_to_json(&m->usage, &s->json);
	buf_adds(&s->json, ",\"parts\":[");
	for (size_t i = 0; i < m->message.n; i++)
		add_part(s, &m->message.parts[i], i == 0);
	buf_adds(&s->json, "]}");
	return true;
}

static void print_fact(struct app *app, const char *name, const char *value)
{
	struct buf line = BUF_INIT(1 << 16);

	print_add_line(app, &line, value[0] ? value : "-");
	printf("%-10s%s\n", name, line.ptr);
	buf_release(&line);
}

static void add_missing(void *arg, struct str line)
{
	struct missing_list *m = arg;
	char *text = xstrndup(line.ptr, line.len);
	struct buf masked = BUF_INIT(TEXT_MOST);

	if (m->json) {
		app_clean(m->app, CLEAN_LATER, line, &masked);
		buf_adds(m->json, m->n ? "," : "");
		json_quote(m->json, buf_str(&masked));
	} else if (m->n < MISSING_MOST) {
		print_fact(m->app, "", text);
	}
	m->n++;
	buf_release(&masked);
	free(text);
}

/* Prints the path of the saved patch, and the changes that it does not
 * contain. */
static void print_whole_patch(struct app *app, const char *id)
{
	struct missing_list m = { .app = app };
	char *path = saved_patch_find(app, id);

	if (path) {
		print_fact(app, "patch", path);
		saved_patch_each_missing(path, add_missing, &m);
	}
	if (m.n > MISSING_MOST)
		printf("%-10s%zu more\n", "", m.n - MISSING_MOST);
	free(path);
}

static void add_patch_missing(struct app *app, const char *id, struct buf *out)
{
	struct missing_list m = { .app = app, .json = out };
	char *path = saved_patch_find(app, id);

	buf_adds(out, ",\"patch_missing\":[");
	if (path)
		saved_patch_each_missing(path, add_missing, &m);
	buf_addc(out, ']');
	free(path);
}

/* thread_label_each() callback: adds one sandbox of the thread to the
 * output. */
static bool add_sandbox(void *arg, const struct thread_label *l)
{
	struct past_sandboxes *p = arg;
	char room[4 * THREADS_SHORT];
	struct thread_sandbox box;

	threads_read_sandbox(p->store, l->label, &box);
	if (p->json) {
		buf_adds(p->json, p->n++ ? ",{" : "{");
		print_add_member(p->app, p->json, "label", l->label);
		buf_addc(p->json, ',');
		print_add_member(p->app, p->json, "provider", l->provider);
		buf_addc(p->json, ',');
		print_add_member(p->app, p->json, "state", box.state);
		buf_addc(p->json, '}');
	} else if (strcmp(l->label, p->label) != 0 && p->n < EARLIER_MOST) {
		snprintf(room, sizeof(room), "%.40s %s %s", l->provider,
			 box.state, box.name);
		print_fact(p->app, p->n++ ? "" : "earlier", room);
	}
	return true;
}

/* Prints everything that is stored about a thread, except its messages. */
static void print_facts(struct app *app, struct store *s,
			const struct thread *t)
{
	struct past_sandboxes past = { app, s, t->label, NULL, 0 };
	struct error ignored = { 0 };
	struct thread_sandbox box;
	char room[2 * THREADS_SHORT];
	char more[THREADS_SHORT];

	threads_read_sandbox(s, t->label, &box);
	print_fact(app, "thread", t->id);
	print_fact(app, "title", t->title);
	print_fact(app, "model", t->model);
	print_fact(app, "directory", t->cwd);
	print_fact(app, "branch", t->branch);
	print_whole_patch(app, t->id);
	print_fact(app, "sandbox", threads_place(t, &box, room));
	if (box.name[0])
		print_fact(app, "", box.name);
	(void)thread_label_each(s, t->no, NULL, add_sandbox, &past, &ignored);
	if (t->imported && !t->model[0] && t->sandbox[0])
		print_fact(app, "on offer", t->sandbox);
	if (t->imported)
		print_fact(app, "imported", t->origin);
	print_fact(app, "begun", sandbox_time(t->created / 1000, room));
	print_fact(app, "last used", sandbox_time(t->updated / 1000, room));
	printf("%-10s%" PRId64 ", %s tokens in, %s out\n", "messages",
	       t->messages, threads_count(t->input, room),
	       threads_count(t->output, more));
	if (t->pid)
		printf("%-10sdcode %" PRId64 "\n", "in use by", t->pid);
}

static int show_json(struct showing *s, struct store *store,
		     const struct thread *t, struct error *err)
{
	struct app *app = s->app;
	struct past_sandboxes past = { app, store, t->label, NULL, 0 };
	int rc;

	buf_addc(&s->json, '{');
	threads_add_json(app, store, t, &s->json);
	add_patch_missing(app, t->id, &s->json);
	past.json = &s->json;
	buf_adds(&s->json, ",\"sandboxes\":[");
	(void)thread_label_each(store, t->no, NULL, add_sandbox, &past, err);
	buf_addc(&s->json, ']');
	buf_adds(&s->json, ",\"compactions\":");
	compaction_marks_json(&s->marks, &s->json);
	buf_adds(&s->json, ",\"messages\":[");
	rc = thread_each_message(store, t->no, add_message, s, err);
	buf_adds(&s->json, "]}");
	if (rc == 0)
		rc = buf_check(&s->json, "the thread as JSON", err);
	if (rc == 0)
		app_envelope("threads show", &s->json);
	return rc;
}

static int threads_cmd_show(struct app *app, const struct args *args)
{
	struct showing s = { .app = app, .json = BUF_INIT(1 << 30) };
	struct store *store;
	struct thread t = { 0 };
	struct error err = { 0 };
	int rc = threads_find(app, args->argv[0], &store, &t, &err);

	if (rc == 0)
		rc = compaction_list(store, t.no, &s.marks, &err);
	if (rc == 0 && app->json) {
		rc = show_json(&s, store, &t, &err);
	} else if (rc == 0) {
		print_facts(app, store, &t);
		s.thread = t.id;
		undo_history_open(&s.changes, app, t.label);
		rc = thread_each_message(store, t.no, print_message, &s, &err);
		print_changes(&s);
		print_marks(&s);
		undo_history_close(&s.changes);
	}
	compaction_marks_release(&s.marks);
	buf_release(&s.json);
	thread_release(&t);
	return rc == 0 ? 0 : app_fail(app, &err);
}

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the stored threads, last used first",
	  .options = list_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_list },
	{ .name = "show",
	  .args = "ID",
	  .summary = "Show a thread with its messages; ID is an id, the start "
		     "of one, or latest",
	  .options = json_options,
	  .least = 1,
	  .most = 1,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_show },
	{ .name = "rename",
	  .args = "ID TITLE",
	  .summary = "Rename a thread",
	  .options = json_options,
	  .least = 2,
	  .most = -1,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_rename },
	{ .name = "delete",
	  .aliases = "rm",
	  .args = "ID...",
	  .summary = "Delete threads with all their messages",
	  .options = delete_options,
	  .least = 1,
	  .most = -1,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_delete },
	{ .name = "export",
	  .args = "ID [FILE]",
	  .summary = "Write a thread to a file (- is standard output), with "
		     "known secrets masked",
	  .options = export_options,
	  .least = 1,
	  .most = 2,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_export },
	{ .name = "import",
	  .args = "FILE",
	  .summary = "Store an exported thread; - is standard input",
	  .options = json_options,
	  .least = 1,
	  .most = 1,
	  .run = threads_cmd_import },
	{ .name = "scan",
	  .summary = "List where threads have credentials; status 3: found",
	  .options = json_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = scan_threads },
	{ .name = "prune",
	  .summary = "Delete old threads",
	  .options = prune_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_prune },
	{ 0 },
};

const struct command command_threads = {
	.name = "threads",
	.summary = "List, show, rename and delete conversations",
	.subs = subs,
};
