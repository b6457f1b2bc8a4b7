/* threads_prune.c - dcode threads prune. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "base/str.h"
#include "cmd/commands/threads.h"
#include "cmd/commands/threads_history_sweep.h"
#include "cmd/print.h"
#include "cmd/session/record_expiry.h"
#include "cmd/session/saved_patch.h"
#include "session/ledger.h"

struct pruned {
	struct app *app;
	struct store *store;
	struct buf json;
	size_t n, alive, patches;
	bool dry;
};

struct leftover {
	const struct thread *thread; /* it is deleted by now */
	size_t alive;
};

static bool count_alive(void *arg, const struct ledger_row *row)
{
	struct leftover *l = arg;

	l->alive += !strcmp(row->label, l->thread->label) ||
		    !strcmp(row->thread, l->thread->id);
	return true;
}

static void report(void *arg, const struct thread *t)
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

/* "90d" in milliseconds. */
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
		app_warn("%zu of their sandboxes still exist: dcode sandbox "
			 "list",
			 p->alive);
	if (p->patches)
		app_warn("%zu of them leave a saved patch in "
			 "~/.deepagents/.state/patches",
			 p->patches);
}

int threads_cmd_prune(struct app *app, const struct args *args)
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
		rc = thread_prune(p.store, &what, report, &p, &err);
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
