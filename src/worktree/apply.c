/* apply.c - applies a sandbox's changes to the user's tree, and undoes that. */
/* SPDX-License-Identifier: MIT */
/*
 * apply_merge() makes a plan of the difference between the user's tree and the
 * merged one. It checks every name, link and repository in the plan, computes
 * the base that both sides share afterwards, and has the journal write the
 * plan. Nothing is written before all of that has succeeded.
 *
 * apply_undo() reads the last plan, reverses it, drops what the user has
 * changed since, and writes it through the journal in the same way.
 */
#include "worktree/apply.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/name.h"
#include "worktree/odb.h"
#include "worktree/user_repo.h"

enum {
	SECRET_FILE_MAX = 16 << 20, /* larger files are not searched */
	TARGET_MAX = 4096,
	GITLINK = 0160000, /* the mode of a submodule */
};

struct apply_work { /* all borrowed, except blobs */
	struct apply_result *result;
	struct journal *journal;
	const struct apply_request *request;
	const struct stop *stop;
	struct odb_file *blobs; /* contents before and after the changes */
	size_t n_blobs;
};

void apply_add_path(char ***list, size_t *n, const char *path)
{
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = xstrdup(path);
}

static void release_paths(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

void apply_result_release(struct apply_result *r)
{
	release_paths(r->blocked, r->n_blocked);
	release_paths(r->changed, r->n_changed);
	release_paths(r->kept, r->n_kept);
	for (size_t i = 0; i < r->n; i++)
		free(r->files[i].path);
	free(r->files);
	merge_release(&r->merge);
	*r = (struct apply_result){ 0 };
}

static void list_change(struct apply_result *r, const struct plan_change *c,
			bool secret)
{
	r->files = xrealloc(r->files, r->n + 1, sizeof(*r->files));
	r->files[r->n++] = (struct apply_file){
		.path = xstrdup(c->path),
		.letter = !c->before.mode  ? 'A'
			  : !c->after.mode ? 'D'
					   : 'M',
		.secret = secret,
	};
}

/* Adds a blob to w->blobs: odb_write_files() will write it to the journal's
 * file of that side ("before" or "after") and hash it. */
static void add_blob(struct apply_work *w, const char *side, unsigned id,
		     const char *oid)
{
	struct odb_file *f;

	w->blobs = xrealloc(w->blobs, w->n_blobs + 1, sizeof(*w->blobs));
	f = &w->blobs[w->n_blobs++];
	*f = (struct odb_file){ .path = journal_file(w->journal, side, id) };
	snprintf(f->oid, sizeof(f->oid), "%s", oid);
}

/* Sets ERR_PROTOCOL: the sandbox sent something that is never allowed.
 * ERR_POLICY would mean that a setting of the user forbids it. */
static int refuse_path(const char *path, const char *why, struct error *err)
{
	error_set(err, ERR_POLICY, "%s %s: nothing was written", path, why);
	err->code = ERR_PROTOCOL;
	return -1;
}

/* An odb_sink: handles a difference between the local tree and the merged
 * one. */
static int add_change(void *arg, const struct odb_record *d, struct error *err)
{
	struct apply_work *w = arg;
	const char *why = name_refuse(str_of(d->path),
				      d->new_mode ? d->new_mode : d->old_mode);
	struct plan_change *c;

	/* A submodule in place of a file that git lost in the merge: it is
	 * reported as a conflict. */
	if (w->result->merge.unwritable && d->new_mode == GITLINK)
		return 0;
	if (why)
		return refuse_path(d->path, why, err);
	c = plan_add(&w->journal->plan, d->path);
	c->before.mode = d->old_mode;
	c->after.mode = d->new_mode;
	if (d->old_mode)
		add_blob(w, "before", c->id, d->old_oid);
	if (d->new_mode)
		add_blob(w, "after", c->id, d->new_oid);
	return 0;
}

/* Copies the hashes of the blobs into the plan. They are in the order in which
 * add_change() added them. */
static void set_hashes(struct apply_work *w)
{
	struct apply_plan *p = &w->journal->plan;
	size_t b = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct plan_change *c = &p->changes[i];

		if (c->before.mode)
			memcpy(c->before.hash, w->blobs[b++].hash,
			       TREEFILE_HASH);
		if (c->after.mode)
			memcpy(c->after.hash, w->blobs[b++].hash,
			       TREEFILE_HASH);
	}
}

/* Refuses a plan that would create a bare repository or complete one that
 * exists: git would run commands that its configuration names. */
static int check_repositories(const struct journal *j, struct error *err)
{
	struct bare_repos made = { 0 };
	struct tree_dir disk;
	int rc = tree_dir_open(&disk, j->plan.root, err);

	for (size_t i = 0; i < j->plan.n; i++)
		if (j->plan.changes[i].after.mode)
			bare_repo_add(&made, str_of(j->plan.changes[i].path));
	for (size_t i = 0; rc == 0 && i < j->plan.n; i++) {
		const char *path = j->plan.changes[i].path;

		if (bare_repo_find(&made, &disk, path) >= 0)
			rc = refuse_path(path, bare_repo_refused, err);
	}
	tree_dir_close(&disk);
	bare_repo_release(&made);
	return rc;
}

/* Refuses links that lead out of the tree or into .git. Their targets are known
 * only after the journal's files were written. */
static int check_links(const struct journal *j, struct error *err)
{
	for (size_t i = 0; i < j->plan.n; i++) {
		const struct plan_change *c = &j->plan.changes[i];
		struct buf target = BUF_INIT(TARGET_MAX);
		const char *why = NULL;
		char *path;
		int rc;

		if (c->after.mode != NAME_LINK)
			continue;
		path = journal_file(j, "after", c->id);
		rc = path_read(path, &target, err);
		free(path);
		if (rc == 0)
			why = name_refuse_target(str_of(c->path),
						 buf_str(&target));
		buf_release(&target);
		if (rc < 0)
			return -1;
		if (why)
			return refuse_path(c->path, why, err);
	}
	return 0;
}

/* True if the new bytes contain a secret, that is, masking would change
 * them. */
static bool holds_secret(const struct apply_work *w,
			 const struct plan_change *c)
{
	struct buf text = BUF_INIT(SECRET_FILE_MAX);
	char *path = journal_file(w->journal, "after", c->id);
	struct error ignored = { 0 };
	bool found = false;

	if (path_read(path, &text, &ignored) == 0)
		found = mask_holds(mask_values(w->request->mask),
				   buf_str(&text));
	free(path);
	buf_release(&text);
	return found;
}

static void on_blocked(void *arg, const char *path)
{
	struct apply_work *w = arg;

	apply_add_path(&w->result->blocked, &w->result->n_blocked, path);
}

static void on_changed(void *arg, const char *path)
{
	struct apply_work *w = arg;

	apply_add_path(&w->result->changed, &w->result->n_changed, path);
}

/* Determines the permissions of a new executable by creating a file: umask()
 * can only be read by changing it, which other threads could notice. */
static int program_perm(const struct journal *j, mode_t *perm,
			struct error *err)
{
	char *probe = path_join(j->dir, "umask");
	int fd = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777);
	struct stat st;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = error_errno(err, "writing %s", probe);
	else
		*perm = st.st_mode & 0777;
	if (fd >= 0)
		close(fd);
	unlink(probe);
	free(probe);
	return rc;
}

/* If the user replaced a directory by a link, git invents a new name for that
 * link, at which it may lead out of the tree. Then reports an unwritable
 * conflict instead of an error. */
static int check_merged_links(struct apply_work *w, struct error *err)
{
	struct merge *m = &w->result->merge;
	struct error why = { 0 };

	if (check_links(w->journal, &why) == 0)
		return 0;
	for (size_t i = 0; why.code == ERR_PROTOCOL && i < m->n; i++)
		if (!strcmp(m->conflicts[i].kind, MERGE_FILE_DIRECTORY))
			m->unwritable = true;
	if (m->unwritable)
		return 0;
	*err = why;
	return -1;
}

/* Makes the plan and its files, and checks them against the tree. */
static int make_plan(struct apply_work *w, struct error *err)
{
	const struct apply_request *q = w->request;
	struct journal *j = w->journal;
	struct plan_report report = { on_blocked, on_changed, w };
	mode_t perm = 0;

	if (journal_begin(j, err) < 0)
		return -1;
	if (q->label) {
		j->plan.label = xstrdup(q->label);
		snprintf(j->plan.base_before, GIT_OID, "%s", q->base_before);
	}
	if (odb_tree_diff(q->git, q->ours, w->result->merge.tree,
			  &(struct odb_sink){ add_change, w }, w->stop,
			  err) < 0 ||
	    odb_write_files(q->git, w->blobs, w->n_blobs, w->stop, err) < 0)
		return -1;
	set_hashes(w);
	if (check_merged_links(w, err) < 0 || check_repositories(j, err) < 0 ||
	    program_perm(j, &perm, err) < 0 ||
	    plan_check(&j->plan, j->root, perm, &report, err) < 0)
		return -1;
	for (size_t i = 0; i < j->plan.n; i++) {
		const struct plan_change *c = &j->plan.changes[i];

		list_change(w->result, c,
			    c->after.mode && q->mask && holds_secret(w, c));
	}
	if (j->plan.n) /* else there is nothing to stage */
		j->plan.index = xstrdup(q->index);
	j->plan.unrecorded = !j->plan.n && !w->result->merge.n;
	return 0;
}

/* A path on both sides of a comparison; mode 0: absent. */
struct path_sides {
	char *path; /* owned */
	unsigned before, after;
	char before_oid[GIT_OID], after_oid[GIT_OID];
};

struct side_list { /* sorted by path */
	struct path_sides *list;
	size_t n;
};

/*
 * Computes the base after the merge's tree is written, that is, what both sides
 * share then. The base of a path is updated only if the written tree contains
 * the sandbox's content: unchanged, merged, or between conflict markers.
 * Otherwise (a binary file, a link, a deletion on one side) the user's version
 * stays in the tree and the base stays unchanged. So the sandbox's version is
 * still a change of the sandbox, which diff shows and the next apply offers
 * again.
 */
struct shared_base {
	const struct apply_request *request;
	/* in: the merge; out: kept */
	struct apply_result *result;
	/* changes from the base to the sandbox's tree */
	struct side_list changes;
	/* changes from the sandbox's tree to the merged tree */
	struct side_list written;
	const char **paths; /* paths of the merge's stages, sorted */
	const char **oids;  /* object ids of the merge's stages, sorted */
	/* for each of changes: true if the base of its path stays unchanged */
	bool *kept;
	size_t n_kept;
};

static bool is_regular(unsigned mode)
{
	return (mode & 0170000) == 0100000;
}

static int add_sides(void *arg, const struct odb_record *d, struct error *err)
{
	struct side_list *l = arg;
	struct path_sides *one;

	(void)err;
	if (!(l->n & (l->n - 1)))
		l->list = xrealloc(l->list, l->n ? 2 * l->n : 1,
				   sizeof(*l->list));
	one = &l->list[l->n++];
	*one = (struct path_sides){ .path = xstrdup(d->path),
				    .before = d->old_mode,
				    .after = d->new_mode };
	if (d->old_mode)
		memcpy(one->before_oid, d->old_oid, strlen(d->old_oid) + 1);
	if (d->new_mode)
		memcpy(one->after_oid, d->new_oid, strlen(d->new_oid) + 1);
	return 0;
}

static int compare_sides(const void *a, const void *b)
{
	return strcmp(((const struct path_sides *)a)->path,
		      ((const struct path_sides *)b)->path);
}

static int read_sides(struct side_list *l, const struct git *g,
		      const char *before, const char *after,
		      const struct stop *stop, struct error *err)
{
	int rc = odb_tree_diff(g, before, after,
			       &(struct odb_sink){ add_sides, l }, stop, err);

	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), compare_sides);
	return rc;
}

static const struct path_sides *find_sides(const struct side_list *l,
					   const char *path)
{
	const struct path_sides key = { .path = (char *)path };

	return l->n ? bsearch(&key, l->list, l->n, sizeof(*l->list),
			      compare_sides)
		    : NULL;
}

static void release_sides(struct side_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->list[i].path);
	free(l->list);
}

static bool has_text(const char **sorted, size_t n, const char *text)
{
	return n && bsearch(&text, sorted, n, sizeof(*sorted), str_compare);
}

static void sort_stages(struct shared_base *b)
{
	const struct merge *m = &b->result->merge;

	b->paths = xcalloc(m->n_stages + 1, sizeof(*b->paths));
	b->oids = xcalloc(m->n_stages + 1, sizeof(*b->oids));
	for (size_t i = 0; i < m->n_stages; i++) {
		b->paths[i] = m->stages[i].path;
		b->oids[i] = m->stages[i].oid;
	}
	if (m->n_stages) {
		qsort(b->paths, m->n_stages, sizeof(*b->paths), str_compare);
		qsort(b->oids, m->n_stages, sizeof(*b->oids), str_compare);
	}
}

/* True if path in the merged tree has the content that the sandbox's change c
 * made. */
static bool is_theirs(const struct shared_base *b, const char *path,
		      const struct path_sides *c)
{
	const struct path_sides *w = find_sides(&b->written, path);

	if (!w)
		return !strcmp(path, c->path);
	return w->after == c->after &&
	       (!w->after || !strcmp(w->after_oid, c->after_oid));
}

/* True if path in the merged tree contains the lines of both sides. Only a
 * merge of lines creates content that neither side has; where git cannot merge
 * lines, it takes one side. */
static bool is_marked(const struct shared_base *b, const char *path,
		      const struct path_sides *c)
{
	const struct path_sides *w = find_sides(&b->written, path);

	return w && is_regular(w->after) && is_regular(c->after) &&
	       !has_text(b->oids, b->result->merge.n_stages, w->after_oid);
}

/* True for the names that git invents next to "d": "d~sandbox",
 * "d~sandbox_1". */
static bool is_beside(const char *path, const char *invented)
{
	size_t len = strlen(path);

	return !strncmp(path, invented, len) && invented[len] == '~';
}

/* If the user or git has renamed the file of c, returns the unmerged path with
 * the new name that has the sandbox's version; else NULL. */
static const char *find_renamed(const struct shared_base *b,
				const struct path_sides *c)
{
	const struct merge *m = &b->result->merge;

	for (size_t i = 0; i < m->n_stages; i++) {
		const struct merge_stage *stage = &m->stages[i];
		const struct path_sides *own;

		if (stage->stage != 3 || strcmp(stage->oid, c->after_oid) != 0)
			continue;
		own = find_sides(&b->changes, stage->path);
		if (!own || strcmp(own->after_oid, c->after_oid) != 0)
			return stage->path;
	}
	return NULL;
}

static bool has_renames(const struct merge *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct str kind = str_of(m->conflicts[i].kind);

		if (str_starts(kind, "rename/") ||
		    str_starts(kind, "directory rename"))
			return true;
	}
	return false;
}

/* True if the written tree does not contain the sandbox's version of c. Also
 * true if that is unknown: the change then remains a change of the sandbox. */
static bool stays_there(const struct shared_base *b, const struct path_sides *c)
{
	const struct path_sides *w = find_sides(&b->written, c->path);
	const struct merge *m = &b->result->merge;
	const char *renamed;

	if (is_theirs(b, c->path, c))
		return false;
	if (has_text(b->paths, m->n_stages, c->path))
		return !is_marked(b, c->path, c);
	if (w && w->after) /* both are files: merged without a conflict */
		return !is_regular(w->after) || !is_regular(c->after);
	renamed = find_renamed(b, c);
	if (renamed)
		return is_beside(c->path, renamed) ||
		       (!is_theirs(b, renamed, c) && !is_marked(b, renamed, c));
	return has_renames(m);
}

/* Decides for each changed path whether its base stays unchanged. */
static void choose_kept(struct shared_base *b)
{
	struct apply_result *r = b->result;

	sort_stages(b);
	b->kept = xcalloc(b->changes.n + 1, sizeof(*b->kept));
	for (size_t i = 0; i < b->changes.n; i++) {
		const struct path_sides *c = &b->changes.list[i];

		if (!stays_there(b, c))
			continue;
		b->kept[i] = true;
		b->n_kept++;
		apply_add_path(&r->kept, &r->n_kept, c->path);
	}
}

/* Restores the base's version of the paths that b->kept marks in the commit.
 * Deletions come first: a file may replace a directory, or the reverse. */
static int put_back(const struct shared_base *b, struct odb_commit *to,
		    struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < b->changes.n; i++)
		if (b->kept[i] && !b->changes.list[i].before)
			rc = odb_commit_delete(
				to, str_of(b->changes.list[i].path), err);
	for (size_t i = 0; rc == 0 && i < b->changes.n; i++) {
		const struct path_sides *c = &b->changes.list[i];

		if (b->kept[i] && c->before)
			rc = odb_commit_blob(to, c->before, str_of(c->path),
					     c->before_oid, err);
	}
	return rc;
}

/* Makes a commit of the sandbox's tree with the base's version of the paths
 * that b->kept marks. */
static int commit_base(const struct shared_base *b, char after[GIT_OID],
		       const struct stop *stop, struct error *err)
{
	const struct apply_request *q = b->request;
	char *ref = odb_ref_name(q->label, "shared");
	struct odb_commit_info info = { .ref = ref,
					.parent = q->theirs,
					.message = "what was applied" };
	struct error ignored = { 0 };
	struct odb_commit *c;
	int rc = odb_commit_begin(&c, q->git, &info, stop, err);

	if (rc == 0 && put_back(b, c, err) < 0) {
		odb_commit_abort(c);
		rc = -1;
	} else if (rc == 0) {
		rc = odb_commit_end(c, after, err);
	}
	/* The ref was needed only to make the commit: git keeps objects without
	 * a reference for two weeks (workspace_pack()). */
	if (rc == 0)
		(void)odb_ref_set(q->git, ref, NULL, stop, &ignored);
	free(ref);
	return rc;
}

/* Sets the plan's base_after: the sandbox's commit if all of it is written, the
 * old base if nothing is. */
static int set_base_after(struct apply_work *w, struct error *err)
{
	const struct apply_request *q = w->request;
	const struct merge *m = &w->result->merge;
	struct shared_base b = { .request = q, .result = w->result };
	char *after = w->journal->plan.base_after;
	int rc = 0;

	memcpy(after, q->theirs, strlen(q->theirs) + 1);
	if (!m->n)
		return 0;
	rc = read_sides(&b.changes, q->git, q->base, q->theirs, w->stop, err);
	if (rc == 0)
		rc = read_sides(&b.written, q->git, q->theirs, m->tree, w->stop,
				err);
	if (rc == 0)
		choose_kept(&b);
	if (rc == 0 && b.n_kept == b.changes.n)
		memcpy(after, q->base, strlen(q->base) + 1);
	else if (rc == 0 && b.n_kept)
		rc = commit_base(&b, after, w->stop, err);
	release_sides(&b.changes);
	release_sides(&b.written);
	free(b.kept);
	free(b.paths);
	free(b.oids);
	return rc;
}

/* Lets the caller make the new index, then replaces the user's index by it. */
static int write_staged_index(struct apply_work *w, struct error *err)
{
	const struct apply_request *q = w->request;
	char *before = path_join(w->journal->dir, "index.before");
	char *after = path_join(w->journal->dir, "index.after");
	int rc = q->stage(q->stage_arg, before, after, w->result->files,
			  w->result->n, err);

	if (rc == 0)
		rc = journal_write_index(w->journal, err);
	free(before);
	free(after);
	return rc;
}

/* Seals the plan, writes it and finishes it. After a crash in between, the next
 * dcode undoes it. */
static int write_merge(struct apply_work *w, struct error *err)
{
	struct journal *j = w->journal;

	if (stop_check(w->stop, err) < 0 ||
	    (w->request->label && set_base_after(w, err) < 0) ||
	    journal_seal(j, err) < 0)
		return journal_fail(j, err);
	if (journal_write(j, err) < 0)
		return -1;
	if (j->plan.index && write_staged_index(w, err) < 0)
		return journal_fail(j, err);
	if (journal_finish(j, err) < 0)
		return -1;
	w->result->applied = true;
	return 0;
}

int apply_merge(struct apply_result *r, struct journal *j,
		const struct apply_request *q, const struct stop *stop,
		struct error *err)
{
	struct apply_work w = {
		.result = r, .journal = j, .request = q, .stop = stop
	};
	struct error ignored = { 0 };
	int rc = make_plan(&w, err);

	/* All or nothing: one blocked or changed file, or a conflict without
	 * --conflicts, and nothing is written. */
	if (rc == 0 && !r->n_blocked && !r->n_changed &&
	    (!r->merge.n || (q->conflicts && !r->merge.unwritable)))
		rc = write_merge(&w, err);
	else
		(void)journal_abandon(j, &ignored);
	for (size_t i = 0; i < w.n_blobs; i++)
		free(w.blobs[i].path);
	free(w.blobs);
	return rc;
}

/* Hard-links the content of one change from one side ("before" or "after") of a
 * record to a side of the new journal. */
static int link_side(const struct journal *j, const char *record,
		     const char *from, const char *to, unsigned id,
		     struct error *err)
{
	char *old = xasprintf("%s/%s/%u", record, from, id);
	char *new = journal_file(j, to, id);
	int rc = 0;

	if (link(old, new) < 0)
		rc = error_errno(err, "writing %s", new);
	free(old);
	free(new);
	return rc;
}

static int copy_link_target(int dir, const char *name, int to)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n < 0 || io_write_all(to, target, (size_t)n) < 0 ? -1 : 0;
}

/* Saves the user's current file, which an undo with force will overwrite, so
 * that it can be restored after a crash. */
static int copy_current(const struct journal *j, struct plan_change *c,
			struct error *err)
{
	char *path = journal_file(j, "before", c->id);
	unsigned char hash[TREEFILE_HASH];
	const char *name;
	int dir = treefile_parent(j->root, c->path, &name);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int from = -1;
	int rc = 0;

	if (dir >= 0 && c->before.mode != NAME_LINK)
		from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0 || dir < 0 ||
	    (c->before.mode == NAME_LINK ? copy_link_target(dir, name, to)
	     : from < 0                  ? -1
					 : treefile_copy(from, to, hash)) < 0)
		rc = error_errno(err, "keeping %s", c->path);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (dir >= 0)
		close(dir);
	free(path);
	return rc;
}

/* False for directories and devices, which force does not remove. */
static bool is_plain(const struct treefile *t)
{
	return t->mode == 0 || t->mode == NAME_FILE ||
	       t->mode == NAME_PROGRAM || t->mode == NAME_LINK;
}

/* Prepares a reversed change: links its bytes into the new journal. If the user
 * has changed the file since the apply, force overwrites it; without force
 * *stays is set. */
static int prepare_change(struct journal *j, const char *record,
			  struct plan_change *c, bool force, bool *stays,
			  struct error *err)
{
	struct treefile now;
	bool same;

	*stays = false;
	if (treefile_stat(j->root, c->path, &now, err) < 0)
		return -1;
	/* A directory is in the file's place: check_directories() checks what
	 * is in it. */
	if (!c->before.mode && now.mode == TREEFILE_DIR)
		now.mode = 0;
	if (now.mode == TREEFILE_BLOCKED)
		now.mode = 0;
	same = treefile_equal(&now, &c->before);
	if (!same && (!force || !is_plain(&now))) {
		*stays = !treefile_equal(&now, &c->after);
		if (*stays)
			return 0;
	}
	c->before = now;
	if (c->after.mode &&
	    link_side(j, record, "before", "after", c->id, err) < 0)
		return -1;
	return now.mode ? copy_current(j, c, err) : 0;
}

static void add_blocked_change(void *arg, const char *path)
{
	struct apply_result *r = arg;

	apply_add_path(&r->changed, &r->n_changed, path);
}

/* If a directory is in the place of a file to restore and the user has put
 * something into it, the change is dropped. */
static int check_directories(struct apply_result *r, struct journal *j,
			     struct error *err)
{
	struct plan_report report = { .blocked = add_blocked_change, .arg = r };

	for (size_t i = 0; i < j->plan.n;) {
		const struct plan_change *c = &j->plan.changes[i];
		size_t before = r->n_changed;
		struct treefile now;

		if (treefile_stat(j->root, c->path, &now, err) < 0)
			return -1;
		if (c->after.mode && now.mode == TREEFILE_DIR &&
		    plan_check_directory(&j->plan, j->root, c->path, &report,
					 err) < 0)
			return -1;
		if (r->n_changed > before)
			plan_remove(&j->plan, i);
		else
			i++;
	}
	return 0;
}

/* Prepares each change of the reversed plan. Changes that stay are removed from
 * the plan. */
static int prepare_changes(struct apply_result *r, struct journal *j,
			   const char *record, bool force, struct error *err)
{
	for (size_t i = 0; i < j->plan.n;) {
		struct plan_change *c = &j->plan.changes[i];
		bool stays;

		if (prepare_change(j, record, c, force, &stays, err) < 0)
			return -1;
		if (stays) {
			apply_add_path(&r->changed, &r->n_changed, c->path);
			plan_remove(&j->plan, i);
		} else {
			i++;
		}
	}
	return check_directories(r, j, err);
}

struct undo_work {
	struct apply_result *result;
	struct journal *journal;
	const struct apply_undo_request *request;
	char *record; /* owned: directory of the apply that is undone */
};

/* Makes index.after, which will replace the user's index. 1: made; 0: the user
 * has changed the index since, so it stays. */
static int make_index(const struct undo_work *w, struct error *err)
{
	const struct journal *j = w->journal;
	char *applied = path_join(w->record, "index.after");
	char *before = path_join(w->record, "index.before");
	char *after = path_join(j->dir, "index.after");
	struct apply_unstage q = { before, applied, after };
	int rc;

	if (user_index_same(j->plan.index, applied))
		rc = user_index_copy(before, after, err) < 0 ? -1 : 1;
	else
		rc = w->request->unstage(w->request->arg, &q, err);
	free(applied);
	free(before);
	free(after);
	return rc;
}

/* Removes the index from the plan if the user has changed it since the
 * apply. */
static int prepare_index(struct undo_work *w, struct error *err)
{
	struct journal *j = w->journal;
	int rc = j->plan.index ? make_index(w, err) : 1;

	if (rc == 0) {
		w->result->index_changed = true;
		free(j->plan.index);
		j->plan.index = NULL;
	}
	return rc < 0 ? -1 : 0;
}

/* Makes index.after again, now that the index is locked: the user may have
 * changed the index before. */
static int write_undone_index(const struct undo_work *w, struct error *err)
{
	int rc = make_index(w, err);

	if (rc == 0)
		rc = error_set(err, ERR_BUSY, "%s changed while it was undone",
			       w->journal->plan.index);
	return rc < 0 ? -1 : journal_write_index(w->journal, err);
}

/* Follows the same steps as write_merge(). */
static int write_undo(const struct undo_work *w, struct error *err)
{
	struct journal *j = w->journal;
	bool index = j->plan.index != NULL;

	if (journal_seal(j, err) < 0)
		return journal_fail(j, err);
	if (journal_write(j, err) < 0)
		return -1;
	if (index && write_undone_index(w, err) < 0)
		return journal_fail(j, err);
	if (journal_finish(j, err) < 0)
		return -1;
	w->result->applied = true;
	w->result->unstaged = index;
	return 0;
}

/* Makes the reverse of p the journal's plan, with a new token. */
static int prepare_undo(struct undo_work *w, struct apply_plan *p,
			struct error *err)
{
	struct journal *j = w->journal;

	if (journal_begin(j, err) < 0)
		return -1;
	free(p->token);
	p->token = j->plan.token;
	j->plan.token = NULL;
	plan_release(&j->plan);
	j->plan = *p;
	*p = (struct apply_plan){ 0 };
	plan_reverse(&j->plan);
	if (prepare_changes(w->result, j, w->record, w->request->force, err) <
		    0 ||
	    prepare_index(w, err) < 0)
		return -1;
	for (size_t i = 0; i < j->plan.n; i++)
		list_change(w->result, &j->plan.changes[i], false);
	return 0;
}

int apply_undo(struct apply_result *r, struct journal *j,
	       const struct apply_undo_request *q, struct error *err)
{
	struct undo_work w = { .result = r, .journal = j, .request = q };
	struct error ignored = { 0 };
	struct apply_plan p = { 0 };
	int rc = journal_last(j, &p, &w.record, err);

	if (rc == 0)
		rc = prepare_undo(&w, &p, err);
	if (rc == 0 && (r->n || (!r->n_changed && !r->index_changed)))
		rc = write_undo(&w, err);
	else
		(void)journal_abandon(j, &ignored);
	plan_release(&p);
	free(w.record);
	return rc;
}
