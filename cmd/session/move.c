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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/tree.h"
#include "sandbox/files/glob_match.h"
#include "worktree/checkpoint.h"
#include "worktree/restore.h"
#include "worktree/select.h"

enum { LIST_MAX = 256 << 20, HELD_MOST = 100 };

static int fail_nothing(struct error *err, const char *why)
{
	error_set(err, ERR_USAGE, "%s", why);
	return error_hint(err, "/sandbox switch PROVIDER continues in another "
			       "sandbox without the files. /download copies "
			       "files to this machine.");
}

/* Returns the first file that matters, or NULL: dcode's own pipes in a sandbox
 * whose working directory is /tmp do not. They are in .dcode-exec/JOB, for each
 * user .dcode-exec.USER/JOB. */
static const struct fetch_item *first_item(const struct fetch_item *items,
					   size_t n)
{
	size_t i = 0;

	while (i < n && (str_starts(str_of(items[i].path), ".dcode-exec/") ||
			 (str_starts(str_of(items[i].path), ".dcode-exec.") &&
			  strchr(items[i].path, '/'))))
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
		rc = workspace_relist(&l, &to->git, to->base, m->base, stop,
				      err);
	if (rc == 0)
		rc = workspace_write_listing(to, &l, m->base, err);
	if (rc == 0)
		rc = workspace_set_base(to, m->base, stop, err);
	if (lock >= 0)
		close(lock);
	listing_release(&l);
	return rc;
}

static bool is_left(const struct move *m, struct str path)
{
	for (size_t i = 0; !m->takes_held && i < m->n_held; i++)
		if (str_is(path, m->held[i].path))
			return true;
	return false;
}

/* Reads LABEL.KIND; empty if there is none. */
static int read_list(const struct workspace *w, const char *kind,
		     struct buf *text, struct error *err)
{
	char *file = xasprintf("%s/%s.%s", w->directory, w->label, kind);
	int rc = access(file, F_OK) == 0 ? path_read(file, text, err) : 0;

	free(file);
	return rc;
}

static int write_list(const struct workspace *w, const char *kind,
		      const struct buf *text, struct error *err)
{
	char *file = xasprintf("%s/%s.%s", w->directory, w->label, kind);
	int rc = text->len ? path_write(file, buf_str(text), 0600, err) : 0;

	free(file);
	return rc;
}

/* Copies what is stored for the old sandbox: the list of uploads, the paths
 * that are sent again without --include, and what the model is not told yet. */
static int copy_lists(const struct move *m, const struct workspace *to,
		      struct error *err)
{
	struct buf uploaded = BUF_INIT(LIST_MAX);
	struct buf included = BUF_INIT(LIST_MAX);
	struct buf undone = BUF_INIT(LIST_MAX);
	struct buf old = BUF_INIT(LIST_MAX);
	struct str path;
	struct str rest;
	int rc = read_list(&m->from, "uploaded", &uploaded, err);

	if (rc == 0)
		rc = write_list(to, "uploaded", &uploaded, err);
	if (rc == 0)
		rc = read_list(&m->from, "undone", &undone, err);
	if (rc == 0)
		rc = write_list(to, "undone", &undone, err);
	if (rc == 0)
		rc = read_list(to, "included", &included, err);
	if (rc == 0)
		rc = read_list(&m->from, "included", &old, err);
	rest = buf_str(&old);
	while (str_split(&rest, '\0', &path))
		if (path.len && !is_left(m, path)) {
			buf_addstr(&included, path);
			buf_addc(&included, '\0');
		}
	if (rc == 0)
		rc = buf_check(&included, "the list of included files", err);
	if (rc == 0)
		rc = write_list(to, "included", &included, err);
	buf_release(&uploaded);
	buf_release(&included);
	buf_release(&undone);
	buf_release(&old);
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
	return is_left(arg, str_of(r->path)) ? 0 : fail_different(r->path, err);
}

/* Compares the files of both sandboxes, as they are now. */
static int compare_trees(struct move *m, struct workspace *to,
			 struct sandbox *sb, struct error *err)
{
	const struct odb_sink sink = { refuse_difference, m };
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

/* Replaces a commit by one without the files that stay. */
static int leave_out(const struct move *m, char commit[GIT_OID],
		     struct error *err)
{
	char *ref = odb_ref_name(m->from.label, "move");
	const struct odb_commit_info info = { .ref = ref,
					      .parent = commit,
					      .message = "move\n" };
	struct odb_commit *c = NULL;
	char made[GIT_OID];
	int rc = odb_commit_begin(&c, &m->from.git, &info, m->stop, err);

	for (size_t i = 0; i < m->n_held && rc == 0; i++)
		rc = odb_commit_delete(c, str_of(m->held[i].path), err);
	if (rc == 0) {
		rc = odb_commit_end(c, made, err);
		c = NULL;
	}
	odb_commit_abort(c);
	if (rc == 0)
		memcpy(commit, made, sizeof(made));
	free(ref);
	return rc;
}

static int count_files(struct move *m, struct error *err)
{
	const struct odb_sink count = { count_file, &m->files };

	m->files = 0;
	return odb_tree_diff(&m->from.git, m->base, m->commit, &count, m->stop,
			     err);
}

/* The base is without the files that stay, too: else they would count as
 * deleted, and `dcode apply` would delete the user's. */
static int leave_held(struct move *m, struct error *err)
{
	return leave_out(m, m->base, err) < 0 ||
			       leave_out(m, m->commit, err) < 0
		       ? -1
		       : count_files(m, err);
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
	int rc = m->n_held && !m->takes_held ? leave_held(m, err) : 0;

	memcpy(sent, to->base, sizeof(sent));
	if (rc == 0)
		rc = restore_run(&u, err);
	for (size_t i = 0; i < u.n && rc == 0; i++)
		if (!u.lines[i].taken)
			rc = fail_different(u.lines[i].path, err);
	restore_release(&u);
	if (rc == 0)
		rc = set_base(m, to, err);
	if (rc == 0)
		rc = copy_lists(m, to, err);
	if (rc == 0)
		rc = checkpoints_copy(to, &m->from, m->commit,
				      m->old_held ||
					      (m->n_held && !m->takes_held),
				      m->stop, err);
	if (rc == 0)
		rc = compare_trees(m, to, sb, err);
	m->filled = rc == 0;
	return rc < 0 ? error_wrap(err, "moving the files") : 0;
}

/* The files of the commit while those to hold are looked for. */
struct held_search {
	struct move *m;
	struct glob **include;
	char **paths; /* owned */
	size_t n;
	struct buf oids; /* one per line */
	struct buf head; /* of the blob that is read */
	size_t at;       /* index of it; SIZE_MAX: none yet */
	int64_t size;
};

/* An odb_sink. */
static int add_path(void *arg, const struct odb_record *r, struct error *err)
{
	struct held_search *s = arg;

	(void)err;
	if (!r->new_mode)
		return 0;
	if (!(s->n & (s->n - 1)))
		s->paths = xrealloc(s->paths, s->n ? 2 * s->n : 1,
				    sizeof(*s->paths));
	s->paths[s->n++] = xstrdup(r->path);
	buf_addf(&s->oids, "%s\n", r->new_oid);
	return 0;
}

/* Holds the file that was read, if it is one to hold. */
static void end_blob(struct held_search *s)
{
	struct move *m = s->m;
	const char *why;
	char *path;

	if (s->at >= s->n)
		return;
	path = s->paths[s->at];
	why = select_secret(path, s->size, buf_str(&s->head));
	for (size_t i = 0; i < m->n_include && why; i++)
		if (glob_match(s->include[i], str_of(path)))
			why = NULL;
	if (!why)
		return;
	m->held = xrealloc(m->held, m->n_held + 1, sizeof(*m->held));
	m->held[m->n_held++] = (struct move_held){ xstrdup(path), why };
}

/* odb_reader callbacks. */
static int begin_blob(void *arg, const struct odb_object *o, struct error *err)
{
	struct held_search *s = arg;

	(void)err;
	end_blob(s);
	buf_clear(&s->head);
	s->at = o->i;
	s->size = o->size;
	return 0;
}

static int add_head(void *arg, struct str bytes, struct error *err)
{
	struct held_search *s = arg;
	size_t room = SELECT_HEAD - s->head.len;

	(void)err;
	buf_add(&s->head, bytes.ptr, bytes.len < room ? bytes.len : room);
	return 0;
}

/* Finds the files that are not sent without --include, with the rules for the
 * user's tree (worktree/select.h). */
static int find_held(struct move *m, const char *before, const char *commit,
		     struct error *err)
{
	struct held_search s = { .m = m,
				 .include = xcalloc(m->n_include + 1,
						    sizeof(void *)),
				 .oids = BUF_INIT(LIST_MAX),
				 .head = BUF_INIT(SELECT_HEAD),
				 .at = SIZE_MAX };
	struct odb_reader reader = { .begin = begin_blob,
				     .data = add_head,
				     .arg = &s };
	int rc = 0;

	for (size_t i = 0; i < m->n_include && rc == 0; i++)
		rc = glob_new(&s.include[i], str_of(m->include[i]), GLOB_HIDDEN,
			      err);
	if (rc == 0)
		rc = odb_tree_diff(&m->from.git, before, commit,
				   &(struct odb_sink){ add_path, &s }, m->stop,
				   err);
	if (rc == 0)
		rc = buf_check(&s.oids, "the list of files", err);
	if (rc == 0 && s.n)
		rc = odb_read(&m->from.git, buf_str(&s.oids), &reader, m->stop,
			      err);
	if (rc == 0)
		end_blob(&s);
	for (size_t i = 0; i < s.n; i++)
		free(s.paths[i]);
	for (size_t i = 0; i < m->n_include; i++)
		glob_free(s.include[i]);
	free(s.include);
	free(s.paths);
	buf_release(&s.oids);
	buf_wipe(&s.head);
	return rc;
}

static void release_held(struct move *m)
{
	for (size_t i = 0; i < m->n_held; i++)
		free(m->held[i].path);
	free(m->held);
	m->held = NULL;
	m->n_held = 0;
}

/* Sets old_held, from what checkpoints have that the files of now do not. */
static int find_old_held(struct move *m, struct error *err)
{
	struct checkpoints c = { 0 };
	int rc = checkpoints_read(&c, &m->from, m->stop, err);

	for (size_t i = 0; i < c.n && rc == 0 && !m->old_held; i++) {
		struct move old = *m;

		old.held = NULL;
		old.n_held = 0;
		rc = find_held(&old, m->commit, c.list[i].oid, err);
		m->old_held = old.n_held > 0;
		release_held(&old);
	}
	checkpoints_release(&c);
	return rc;
}

int move_open(struct move *m, const char *cwd, struct error *err)
{
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
	memcpy(m->base, m->from.base, sizeof(m->base));
	memcpy(m->commit, f.theirs, sizeof(m->commit));
	m->ignored = f.ignored;
	fetch_release(&f);
	if (rc == 0)
		rc = count_files(m, err);
	if (rc == 0)
		rc = find_held(m, NULL, m->commit, err);
	if (rc == 0)
		rc = find_old_held(m, err);
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
	release_held(m);
	workspace_close(&m->from);
}

static void print_held(const struct move *m)
{
	char why[64];

	for (size_t i = 0; i < m->n_held && i < HELD_MOST; i++) {
		snprintf(why, sizeof(why), " (%s)", m->held[i].why);
		print_name(m->app, "  ", m->held[i].path, why);
	}
	if (m->n_held > HELD_MOST)
		print_text(m->app, "  and more; --include PATTERN names them",
			   "", "");
}

static int confirm_held(struct move *m, const char *to, struct error *err)
{
	char *question;
	int rc = 0;

	print_text(m->app,
		   "These files of the sandbox are not sent, because "
		   "they may hold secrets:",
		   "", "");
	print_held(m);
	question = xasprintf("Send them to %.100s, too? [y/N] ", to);
	if (m->n_held <= HELD_MOST)
		rc = secret_confirm(m->app, question, err);
	m->takes_held = rc > 0;
	free(question);
	return rc;
}

void move_print_left(const struct move *m, const char *from)
{
	if (m->old_held || (m->n_held && !m->takes_held))
		print_text(m->app,
			   "Undo of earlier turns stays with the old sandbox: "
			   "their files may hold secrets.",
			   "", "");
	if (!m->n_held || m->takes_held)
		return;
	print_text(m->app, "Left in the old sandbox, of ", from, ":");
	print_held(m);
}

int move_confirm(struct move *m, const char *from, const char *to, bool asks,
		 struct error *err)
{
	char *question;
	int rc;

	if (!asks && m->n_held) {
		print_held(m);
		error_set(err, ERR_USAGE,
			  "nothing was moved: %zu file%s of the sandbox may "
			  "hold secrets",
			  m->n_held, m->n_held == 1 ? "" : "s");
		return error_hint(err, "--include PATTERN takes a file along. "
				       "Or delete it in the sandbox. A move "
				       "that asks can leave it there.");
	}
	if (!asks)
		return 1;
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
	if (rc > 0 && m->n_held && confirm_held(m, to, err) < 0)
		return -1;
	return rc;
}
