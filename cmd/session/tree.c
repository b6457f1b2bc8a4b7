/* tree.c - the copy of the user's tree in a sandbox: opens, fetches,
 * reports. */
/* SPDX-License-Identifier: MIT */

/*
 * If the user's tree was sent to a sandbox, there is a workspace (src/worktree)
 * with the sandbox's label. tree_find*() open it, for this directory or any
 * other. tree_fetch_from() asks the sandbox what changed. The rest reports what
 * was fetched, what was not, and which changes the user should check.
 */
#include "cmd/session/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/changes.h"
#include "cmd/session/options.h"
#include "worktree/send.h"
#include "worktree/user_repo.h"

enum {
	EXCLUDE_MAX = 1 << 20,
	TOLD_MAX = 20, /* maximum number of lines that are printed for each kind
			  of file */
	IGNORED_MOST = 12, /* names of ignored files in one line */
};

/* Before the tree is read, finishes or undoes an apply whose dcode was killed.
 * A workspace without a base counts as missing, because the tree was never sent
 * completely. */
int tree_find(struct workspace *w, struct app *app, const char *cwd,
	      const char *label, const struct stop *stop, struct error *err)
{
	struct error ignored = { 0 };
	bool repository;
	char *root = user_repo_root(cwd, &repository, &ignored);
	char *state = app_state_path(app, "", err);
	int rc = state ? 1 : -1;

	*w = (struct workspace){ .on_wait = app_warn_line };
	if (rc > 0 && root && workspace_exists(state, root, label))
		rc = workspace_open(w, state, root, label, stop, err);
	if (rc == 0 && changes_recover(app, w, stop, err) < 0) {
		workspace_close(w);
		rc = -1;
	}
	if (rc == 0 && !w->base[0]) {
		workspace_close(w);
		rc = 1;
	}
	free(root);
	free(state);
	return rc;
}

/* Opens dcode's records of the tree, without the user's directory. */
int tree_find_label(struct workspace *w, struct app *app, const char *label,
		    const struct stop *stop, struct error *err)
{
	char *state = app_state_path(app, "", err);
	int rc = -1;

	*w = (struct workspace){ .on_wait = app_warn_line };
	if (state)
		rc = workspace_open_label(w, state, settings_cwd(app->settings),
					  label, stop, err);
	free(state);
	return rc;
}

int tree_find_any(struct workspace *w, struct app *app,
		  const struct tree_place *p, bool *elsewhere,
		  const struct stop *stop, struct error *err)
{
	int rc = 1;

	*w = (struct workspace){ 0 };
	if (p->cwd)
		rc = tree_find(w, app, p->cwd, p->label, stop, err);
	if (rc > 0) /* the thread may have been continued in this directory */
		rc = tree_find(w, app, settings_cwd(app->settings), p->label,
			       stop, err);
	*elsewhere = rc > 0;
	return rc > 0 ? tree_find_label(w, app, p->label, stop, err) : rc;
}

/* Reads the size limits from the settings, unless the caller has set them. */
static int set_limits(struct app *app, struct fetch_request *r,
		      struct error *err)
{
	struct settings *set;

	if (r->total_max)
		return 0;
	return app_settings(app, &set, err) < 0 ? -1 : limits_read(set, r, err);
}

/* Also applies the user's .git/info/exclude, which is not in the sandbox's
 * copy. */
int tree_fetch_from(struct workspace *w, struct app *app,
		    const struct fetch_request *with, struct fetch *f,
		    const struct stop *stop, struct error *err)
{
	struct fetch_request r = *with;
	struct buf exclude = BUF_INIT(EXCLUDE_MAX);
	int rc = set_limits(app, &r, err);

	*f = (struct fetch){ 0 };
	if (rc == 0)
		rc = workspace_read_exclude(w, &exclude, err);
	r.exclude = buf_str(&exclude);
	if (rc == 0)
		rc = fetch_changes(w, &r, f, stop, err);
	buf_release(&exclude);
	return rc;
}

int tree_fetch_later(struct workspace *w, struct app *app,
		     const struct fetch_request *with, struct fetch *f,
		     const struct stop *stop, struct error *err)
{
	struct fetch_request r = *with;

	return set_limits(app, &r, err) < 0 ? -1
					    : fetch_later(w, &r, f, stop, err);
}

/* Prints the first items with size and reason. */
static void report_items(struct app *app, const char *what,
			 const struct fetch_item *items, size_t n)
{
	for (size_t i = 0; i < n && i < TOLD_MAX; i++) {
		struct buf line = BUF_INIT(1 << 14);
		char size[32] = "";

		print_add_name(app, &line, items[i].path);
		if (items[i].size)
			str_format_size(items[i].size, size);
		fprintf(stderr, "%s: %s%s%s%s %s\n", what,
			line.len ? line.ptr : "", *size ? " (" : "", size,
			*size ? ")" : "", items[i].why);
		buf_release(&line);
	}
	if (n > TOLD_MAX)
		fprintf(stderr, "%s: %zu more\n", what, n - TOLD_MAX);
}

/* Prints for example "Left in the sandbox: 8 new files that git ignores: dist/
 * (7 files), .env". */
static void report_ignored(struct app *app, const char *what,
			   const struct fetch *f)
{
	struct buf line = BUF_INIT(1 << 18);
	int64_t rest = f->ignored;

	if (!f->ignored)
		return;
	for (size_t i = 0; i < f->n_ignored_names && i < IGNORED_MOST; i++) {
		const struct fetch_item *it = &f->ignored_names[i];

		buf_adds(&line, i ? ", " : ": ");
		print_add_name(app, &line, it->path);
		if (it->size)
			buf_addf(&line, " (%" PRId64 " file%s)", it->size,
				 it->size == 1 ? "" : "s");
		rest -= it->size ? it->size : 1;
	}
	if (rest > 0 && f->n_ignored_names)
		buf_addf(&line, ", and %" PRId64 " more", rest);
	fprintf(stderr,
		"%s: %" PRId64 " new file%s that git ignores%s (to include "
		"them: --include PATTERN)\n",
		what, f->ignored, f->ignored == 1 ? "" : "s",
		line.len ? line.ptr : "");
	buf_release(&line);
}

void tree_report(struct app *app, const struct fetch *f, bool deleted)
{
	const char *left =
		deleted ? "Lost with the sandbox" : "Left in the sandbox";

	report_items(app, "Refused", f->refused, f->n_refused);
	report_items(app, left, f->left, f->n_left);
	report_ignored(app, left, f);
}

/* Files with refused names are never written. The question is whether to apply
 * the others. */
int tree_confirm(struct app *app, const struct fetch *f, bool partial,
		 struct error *err)
{
	int rc = 0;

	if (!f->n_refused || partial)
		return 0;
	report_items(app, "Refused", f->refused, f->n_refused);
	if (!app->unattended && !app->json && secret_terminal(app))
		rc = secret_confirm(app, "Apply the rest? [y/N] ", err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	error_set(err, ERR_REMOTE,
		  "nothing was written: the sandbox has %zu file name%s that "
		  "cannot be used on this machine",
		  f->n_refused, f->n_refused == 1 ? "" : "s");
	return error_hint(err, "`dcode apply --partial` applies the rest.");
}

/* Appends all items; unlike report_items(), without a limit. */
static void items_json(struct app *app, const char *key,
		       const struct fetch_item *items, size_t n,
		       struct buf *out)
{
	buf_addf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ",{" : "{");
		print_add_member(app, out, "path", items[i].path);
		buf_addc(out, ',');
		json_member(out, "why", str_of(items[i].why));
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

void tree_json(struct app *app, const struct fetch *f, struct buf *out)
{
	items_json(app, "refused", f->refused, f->n_refused, out);
	buf_addc(out, ',');
	items_json(app, "left", f->left, f->n_left, out);
	buf_addf(out, ",\"ignored\":%" PRId64 ",\"ignored_names\":[",
		 f->ignored);
	for (size_t i = 0; i < f->n_ignored_names; i++) {
		const struct fetch_item *it = &f->ignored_names[i];

		buf_adds(out, i ? ",{" : "{");
		print_add_member(app, out, "path", it->path);
		buf_addf(out, ",\"files\":%" PRId64 "}",
			 it->size ? it->size : 1);
	}
	buf_addc(out, ']');
}

const char *tree_short_name(const char *label)
{
	static const char prefix[] = "dcode-";

	return str_starts(str_of(label), prefix) ? label + strlen(prefix)
						 : label;
}

void loud_print(const struct app *app, const struct review *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct buf line = BUF_INIT(1 << 16);

		if (!v->files[i].loud)
			continue;
		print_add_name(app, &line, v->files[i].path);
		fprintf(stderr, "Check %s: it %s\n", line.len ? line.ptr : "",
			v->files[i].loud);
		buf_release(&line);
	}
}

int loud_changes(struct app *app, const struct workspace *w, const char *theirs,
		 const struct stop *stop, struct error *err)
{
	struct protect protect = { 0 };
	struct review v = { .protect = &protect };
	int rc = protect_load(&protect, app->settings, err);

	if (rc == 0)
		rc = review_read(&v, &w->git, w->base, theirs, stop, err);
	if (rc == 0)
		loud_print(app, &v);
	review_release(&v);
	return rc;
}

void tree_await_commit(struct app *app, const char *label, struct sandbox *sb,
		       const struct stop *stop)
{
	struct workspace w = { 0 };
	struct error err = { 0 };
	int rc = label[0] ? tree_find_label(&w, app, label, stop, &err) : 1;

	if (rc == 0)
		rc = commit_begin(&w, sb, &err);
	if (rc < 0)
		app_warn("cannot make the first commit in the sandbox's copy "
			 "of the repository: %s",
			 err.message);
	workspace_close(&w);
}
