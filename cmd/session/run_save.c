/* run_save.c - what a run's sandbox holds that has not come back. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mem.h"
#include "cmd/session/run.h"
#include "cmd/session/shared.h"
#include "cmd/session/tree.h"
#include "workspace/review.h"

enum { CHECK_MS = 30000 };

void run_save(void *arg, struct sandbox *sb, const struct stop *stop)
{
	struct run *r = arg;
	struct error err = { 0 };
	struct workspace w;
	struct save_terms terms = { .stop = stop,
				    .include = r->options.include,
				    .n_include = r->options.n_include,
				    .quiet = r->options.quiet };
	int rc;

	/* A setup script can fail before there is a thread. */
	terms.thread = r->session ? session_id(r->session) : r->box.label;
	terms.name = r->session ? terms.thread : tree_short_name(r->box.label);
	rc = tree_find(&w, r->app, settings_cwd(r->app->settings), r->box.label,
		       stop, &err);
	terms.elsewhere = rc > 0;
	if (rc > 0)
		rc = tree_find_label(&w, r->app, r->box.label, stop, &err);
	if (rc > 0 && !run_bound_directory(sb))
		run_report_lost(r, false);
	if (rc < 0)
		app_warn("cannot save the sandbox's changes: %s", err.message);
	if (rc < 0 && save_is_on(r->app)) {
		free(r->saved.failed);
		r->saved.failed = xstrdup(err.message);
	}
	if (rc != 0)
		return;
	if (save_is_on(r->app))
		save_sandbox(&r->saved, r->app, &w, sb, &terms);
	else if (!r->applied.len)
		run_report_lost(r, true);
	workspace_close(&w);
}

/* Of those that came; 0 where it cannot be told. */
static size_t count_files(const struct workspace *w, const struct fetch *f,
			  const struct stop *stop)
{
	struct review changes = { 0 };
	struct error ignored = { 0 };
	size_t n = 0;

	if (review_read(&changes, &w->git, w->base, f->theirs, stop,
			&ignored) == 0)
		n = changes.n;
	review_release(&changes);
	return n;
}

bool run_has_unreturned_work(struct run *r, size_t *files)
{
	struct stop limit = stop_cleanup(CHECK_MS);
	struct error err = { 0 };
	const struct fetch_request with = { .sandbox = &r->box.sandbox,
					    .include = r->options.include,
					    .n_include = r->options.n_include };
	bool may_have = r->wrote.any || r->box.resumed || !r->box.ours;
	struct fetch f = { 0 };
	struct workspace w;
	bool same;

	*files = 0;
	if (run_bound_directory(&r->box.sandbox))
		return false;
	if (!may_have || tree_find(&w, r->app, settings_cwd(r->app->settings),
				   r->box.label, &limit, &err) != 0)
		return r->wrote.any;
	same = tree_fetch_from(&w, r->app, &with, &f, &limit, &err) == 0 &&
	       (f.same || shared_is_branched(&w, f.theirs, &limit)) &&
	       !f.n_left && !f.n_refused;
	if (!same && !err.code)
		*files = count_files(&w, &f, &limit);
	fetch_release(&f);
	workspace_close(&w);
	if (same) /* all of it has come back */
		run_wrote_release(&r->wrote);
	return !same;
}
