/* threads_current_patch.c - what a thread's sandbox has now, as a saved patch.
 */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/threads_current_patch.h"

#include <stdlib.h>

#include "cmd/commands/threads.h"
#include "cmd/commands/tree_session.h"
#include "cmd/session/options.h"
#include "cmd/session/saved_patch.h"
#include "worktree/patch.h"

struct current_work {
	struct app *app;
	const struct thread *thread;
	struct tree_session tree;
	struct fetch fetch;
	struct stop stop;
};

static int fetch_tree(struct current_work *a, struct error *err)
{
	struct fetch_request with = { 0 };
	const char **include = include_read(a->app, NULL, &with.n_include, err);
	int rc = include ? 0 : -1;

	with.include = include;
	if (rc == 0)
		rc = tree_fetch(&a->tree, a->app, &with, &a->fetch, &a->stop,
				err);
	free(include);
	return rc;
}

static int save_patch(struct current_work *a, char **path, struct error *err)
{
	char *folder = saved_patch_folder(a->app);
	const struct patch_save q = { .directory = folder,
				      .thread = a->thread->id,
				      .workspace = &a->tree.workspace,
				      .fetch = &a->fetch };
	int rc = patch_save(&q, path, &a->stop, err);

	free(folder);
	return rc;
}

int current_patch_save(struct app *app, struct store *s, const struct thread *t,
		       char **path, struct error *err)
{
	const struct tree_place place = { t->cwd, t->label };
	struct current_work a = { .app = app,
				  .thread = t,
				  .stop = app_stop(app) };
	struct thread_sandbox box;
	int rc;

	*path = NULL;
	threads_read_sandbox(s, t->label, &box);
	if (!box.exists)
		return 1;
	rc = tree_open_label(&a.tree, app, &place, &a.stop, err);
	if (rc == 0)
		rc = fetch_tree(&a, err);
	if (rc == 0 && !a.fetch.same)
		rc = save_patch(&a, path, err);
	if (rc == 0)
		tree_report(app, &a.fetch, false);
	fetch_release(&a.fetch);
	tree_close(&a.tree);
	if (rc >= 0 || err->code == ERR_CANCELLED)
		return rc;
	app_warn("cannot read the sandbox's changes: %s", err->message);
	*err = (struct error){ 0 };
	return 1;
}
