/* move.c - takes a thread's work along to another sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * A move creates the new sandbox as always, which includes that the user's tree
 * is sent to it, and then sends the difference between that tree and the files
 * of the old sandbox. The new sandbox gets the base of the old one, so that
 * `dcode apply` merges the same changes as before. Nothing is trusted: at the
 * end the trees of both sandboxes are fetched and must be equal. Until then the
 * thread belongs to the old sandbox. Begin reading at move_open().
 */
#include "cmd/session/move.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/tree.h"
#include "worktree/checkpoint.h"
#include "worktree/restore.h"

enum { LIST_MAX = 256 << 20 };

static int fail_nothing(struct error *err, const char *why)
{
	error_set(err, ERR_USAGE, "%s", why);
	return error_hint(err, "/sandbox switch PROVIDER continues in another "
			       "sandbox without the files. /download copies "
			       "files to this machine.");
}

/* Returns the first file that matters, or NULL: dcode's own pipes in a sandbox
 * whose working directory is /tmp do not. */
static const struct fetch_item *first_item(const struct fetch_item *items,
					   size_t n)
{
	size_t i = 0;

	while (i < n && str_starts(str_of(items[i].path), ".dcode-exec"))
		i++;
	return i < n ? &items[i] : NULL;
}

/* Fails if files of a sandbox could not be fetched. */
static int check_complete(const struct fetch *f, struct error *err)
{
	const struct fetch_item *it = first_item(f->refused, f->n_refused);

	if (!it)
		it = first_item(f->left, f->n_left);
	if (!it)
		return 0;
	error_set(err, ERR_REMOTE, "cannot move %s: it %s", it->path, it->why);
	return error_hint(err, "Delete it in the sandbox or add it to "
			       ".gitignore, then try again. The sandbox is "
			       "unchanged.");
}

/* Fetches all files of a sandbox's tree as a commit. */
static int fetch_tree(const struct move *m, struct workspace *w,
		      struct sandbox *sb, struct fetch *f, const char *which,
		      struct error *err)
{
	char *ref = odb_ref_name(w->label, which);
	const struct fetch_request q = { .sandbox = sb,
					 .include = m->include,
					 .n_include = m->n_include,
					 .ref = ref };
	int rc = tree_fetch_from(w, m->app, &q, f, m->stop, err);

	free(ref);
	return rc == 0 ? check_complete(f, err) : -1;
}

static int count_file(void *arg, const struct odb_record *r, struct error *err)
{
	(void)r;
	(void)err;
	++*(size_t *)arg;
	return 0;
}

/* Makes the base of the old sandbox that of the new one. */
static int set_base(const struct move *m, struct workspace *to,
		    struct error *err)
{
	const struct stop *stop = m->stop;
	struct listing l = { 0 };
	int lock = workspace_lock_base(to, stop, err);
	int rc = lock < 0 ? -1 : workspace_read_listing(to, &l, stop, err);

	if (rc == 0)
		rc = workspace_relist(&l, &to->git, to->base, m->from.base,
				      stop, err);
	if (rc == 0)
		rc = workspace_write_listing(to, &l, m->from.base, err);
	if (rc == 0)
		rc = workspace_set_base(to, m->from.base, stop, err);
	if (lock >= 0)
		close(lock);
	listing_release(&l);
	return rc;
}

/* Copies a list of the old sandbox, if there is one. */
static int copy_list(const struct move *m, const struct workspace *to,
		     const char *kind, struct error *err)
{
	char *from =
		xasprintf("%s/%s.%s", m->from.directory, m->from.label, kind);
	char *file = xasprintf("%s/%s.%s", to->directory, to->label, kind);
	struct buf text = BUF_INIT(LIST_MAX);
	int rc = 0;

	if (access(from, F_OK) == 0)
		rc = path_read(from, &text, err);
	if (rc == 0 && text.len)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(from);
	free(file);
	return rc;
}

static int fail_different(const char *path, struct error *err)
{
	error_set(err, ERR_REMOTE,
		  "%s is not the same in the new sandbox as in the old one",
		  path);
	return error_hint(err, "The thread stays in the old sandbox. If a "
			       "command there still writes files, wait for its "
			       "end, then try again.");
}

/* An odb_sink: the first difference is an error. */
static int refuse_difference(void *arg, const struct odb_record *r,
			     struct error *err)
{
	(void)arg;
	return fail_different(r->path, err);
}

/* Compares the files of both sandboxes, as they are now. */
static int compare_trees(struct move *m, struct workspace *to,
			 struct sandbox *sb, struct error *err)
{
	const struct odb_sink sink = { refuse_difference, NULL };
	struct fetch after = { 0 };
	struct fetch old = { 0 };
	int rc = fetch_tree(m, to, sb, &after, "sandbox", err);

	if (rc == 0)
		rc = fetch_tree(m, &m->from, m->sandbox, &old, "move", err);
	if (rc == 0)
		rc = odb_tree_diff(&to->git, old.theirs, after.theirs, &sink,
				   m->stop, err);
	fetch_release(&after);
	fetch_release(&old);
	return rc;
}

/* Implements move.fill. */
static int fill(struct move *m, struct workspace *to, struct sandbox *sb,
		struct error *err)
{
	char sent[GIT_OID];
	struct restore u = { .w = to,
			     .sandbox = sb,
			     .stop = m->stop,
			     .from = sent,
			     .to = m->commit };
	int rc;

	memcpy(sent, to->base, sizeof(sent));
	rc = restore_run(&u, err);
	for (size_t i = 0; i < u.n && rc == 0; i++)
		if (!u.lines[i].taken)
			rc = fail_different(u.lines[i].path, err);
	restore_release(&u);
	if (rc == 0)
		rc = set_base(m, to, err);
	if (rc == 0)
		rc = copy_list(m, to, "included", err);
	if (rc == 0)
		rc = copy_list(m, to, "uploaded", err);
	if (rc == 0)
		rc = checkpoints_copy(to, &m->from, m->commit, m->stop, err);
	if (rc == 0)
		rc = compare_trees(m, to, sb, err);
	m->filled = rc == 0;
	return rc < 0 ? error_wrap(err, "moving the files") : 0;
}

int move_open(struct move *m, const char *cwd, struct error *err)
{
	const struct odb_sink count = { count_file, &m->files };
	struct fetch f = { 0 };
	int rc;

	m->fill = fill;
	if (!m->label[0])
		return fail_nothing(err, "dcode did not create this sandbox, "
					 "so it cannot move what is in it");
	if (m->sandbox->mounts.n)
		return fail_nothing(err, "this sandbox uses your directory "
					 "itself (--workspace bind): there is "
					 "nothing to move");
	rc = tree_find(&m->from, m->app, cwd, m->label, m->stop, err);
	if (rc > 0 || (rc == 0 && !m->from.base[0]))
		return fail_nothing(err, "this sandbox has no copy of this "
					 "directory, so dcode does not know "
					 "which files to move");
	if (rc == 0)
		rc = fetch_tree(m, &m->from, m->sandbox, &f, "move", err);
	if (rc == 0)
		rc = odb_tree_diff(&m->from.git, m->from.base, f.theirs, &count,
				   m->stop, err);
	memcpy(m->commit, f.theirs, sizeof(m->commit));
	m->ignored = f.ignored;
	fetch_release(&f);
	return rc;
}

void move_close(struct move *m)
{
	struct error ignored = { 0 };
	char *ref;

	if (m->from.label) {
		ref = odb_ref_name(m->from.label, "move");
		(void)odb_ref_set(&m->from.git, ref, NULL, m->stop, &ignored);
		free(ref);
	}
	workspace_close(&m->from);
}

int move_confirm(const struct move *m, const char *from, const char *to,
		 struct error *err)
{
	char *question;
	int rc;

	print_line(m->app,
		   "A new sandbox of %.100s gets a copy of this repository, "
		   "and the %zu changed file%s of the %s sandbox.",
		   to, m->files, m->files == 1 ? "" : "s", from);
	if (m->ignored)
		print_line(m->app,
			   "New files that git ignores stay behind: %lld",
			   (long long)m->ignored);
	question = xasprintf("Move this thread to %.100s? [y/N] ", to);
	rc = secret_confirm(m->app, question, err);
	free(question);
	return rc;
}
