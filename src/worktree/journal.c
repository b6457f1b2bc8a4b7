/* journal.c - writes to the user's tree that survive a crash. */
/* SPDX-License-Identifier: MIT */
/*
 * An apply prepares everything in STORE/journal.new: the plan, and the contents
 * of each file before and after. journal_seal() syncs that to disk and renames
 * it to STORE/journal. From then on, after a crash, the next journal_open()
 * undoes the apply. journal_write() carries out the plan. Once the file "done"
 * exists, a crash no longer undoes the apply: the remaining steps (the base,
 * the record for undo) are completed instead.
 *
 * Files are written next to their targets under names with the plan's token,
 * synced, and renamed. Each step checks that the file is still in the state
 * that the plan expects (worktree/treefile.h). replay_plan() writes the tree.
 */
#include "worktree/journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "worktree/user_repo.h"

enum {
	PLAN_MAX = 256 << 20,
	TOKEN = 8,         /* characters */
	STAGED_TOKEN = 64, /* a plan's token, "-" and a change's number */
	/* file systems within one tree that are synced as a whole */
	FILESYSTEMS = 16,
	BATCH_FILES = 4096,
	BATCH_BYTES = 256 << 20,
};

struct replay { /* all borrowed */
	const struct apply_plan *plan;
	const char *dir; /* the journal's directory: before/ID, after/ID */
	int root;        /* descriptor of the tree's root */
	bool back;       /* undo: replay from after to before */
	/* Reports a file that is in neither state and is left unchanged. NULL:
	 * such a file is an error, ERR_BUSY. */
	void (*left)(void *arg, const char *path);
	void *arg;
};

/* Returns the state before (from) or after the replay of a change. */
static const struct treefile *state_of(const struct replay *r,
				       const struct plan_change *c, bool from)
{
	return from == r->back ? &c->after : &c->before;
}

/* Opens the file with the content that a change writes. */
static int open_source(const struct replay *r, const struct plan_change *c,
		       struct error *err)
{
	char *path = xasprintf("%s/%s/%u", r->dir, r->back ? "before" : "after",
			       c->id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		error_errno(err, "reading %s", path);
	free(path);
	return fd;
}

/* Returns 1 if the file must be written, 0 if it is already written or stays
 * unchanged, -1 on failure. */
static int check_now(const struct replay *r, const struct plan_change *c,
		     struct error *err)
{
	struct treefile now;

	if (!r->left)
		return 1; /* the write itself compares the file with the plan */
	if (treefile_stat(r->root, c->path, &now, err) < 0)
		return -1;
	if (treefile_equal(&now, state_of(r, c, false)))
		return 0;
	if (treefile_equal(&now, state_of(r, c, true)))
		return 1;
	r->left(r->arg, c->path);
	return 0;
}

/* Returns the write that replays a change. token: buffer of STAGED_TOKEN
 * bytes. */
static struct treefile_write write_of(const struct replay *r,
				      const struct plan_change *c, char *token)
{
	snprintf(token, STAGED_TOKEN, "%s-%u", r->plan->token, c->id);
	return (struct treefile_write){ .root = r->root,
					.path = c->path,
					.from = state_of(r, c, true),
					.to = state_of(r, c, false),
					.source = -1,
					.token = token };
}

/* Removes the files that the plan deletes. Call before files are written: one
 * may have to make room for a directory. */
static int remove_files(const struct replay *r, struct error *err)
{
	for (size_t i = 0; i < r->plan->n; i++) {
		const struct plan_change *c = &r->plan->changes[i];
		char token[STAGED_TOKEN];
		struct treefile_write w = write_of(r, c, token);
		int rc = w.to->mode ? 0 : check_now(r, c, err);

		if (rc > 0)
			rc = treefile_remove(&w, err);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* Files that are written next to their targets, synced, then renamed: changes
 * first to last - 1 of the plan. */
struct placement {
	const struct replay *replay;
	size_t first, last;
	bool *staged; /* for each change of the plan: its file was written */
	size_t n;     /* number of staged files */
	int64_t bytes;
};

/* Writes change i next to its target, if necessary. */
static int stage_file(struct placement *b, size_t i, struct error *err)
{
	const struct replay *r = b->replay;
	const struct plan_change *c = &r->plan->changes[i];
	char token[STAGED_TOKEN];
	struct treefile_write w = write_of(r, c, token);
	struct stat st;
	int rc = w.to->mode ? check_now(r, c, err) : 0;

	if (rc <= 0)
		return rc;
	w.source = open_source(r, c, err);
	if (w.source < 0)
		return -1;
	rc = treefile_stage(&w, err);
	if (fstat(w.source, &st) == 0)
		b->bytes += st.st_size;
	close(w.source);
	b->staged[i] = rc == 0;
	b->n += rc == 0;
	return rc;
}

static int each_staged(const struct placement *b,
		       int (*act)(const struct treefile_write *w,
				  struct error *err),
		       struct error *err)
{
	int rc = 0;

	for (size_t i = b->first; rc == 0 && i < b->last; i++) {
		char token[STAGED_TOKEN];
		struct treefile_write w = write_of(
			b->replay, &b->replay->plan->changes[i], token);

		if (b->staged[i])
			rc = act(&w, err);
	}
	return rc;
}

/* Syncs each file system of the tree once. Returns 1 if that worked, 0 if each
 * file must be synced separately, -1 on failure. */
static int sync_filesystems(const struct placement *b, struct error *err)
{
	dev_t seen[FILESYSTEMS];
	size_t n = 0;

	/* A tree may have mounts: each directory's device is looked up, and
	 * every device seen is synced once. */
	for (size_t i = b->first; i < b->last; i++) {
		const char *path = b->replay->plan->changes[i].path;
		const char *name;
		struct stat st;
		size_t at = 0;
		int dir;
		int rc = 1;

		if (!b->staged[i])
			continue;
		dir = treefile_parent(b->replay->root, path, &name);
		if (dir < 0 || fstat(dir, &st) < 0)
			rc = -1;
		while (rc > 0 && at < n && seen[at] != st.st_dev)
			at++;
		if (rc > 0 && at == n)
			rc = n < FILESYSTEMS ? durable_filesystem(dir) : 0;
		if (rc > 0 && at == n)
			seen[n++] = st.st_dev;
		if (rc < 0)
			error_errno(err, "writing %s", path);
		if (dir >= 0)
			close(dir);
		if (rc <= 0)
			return rc;
	}
	return 1;
}

/* Writes the files in batches, because files next to their targets need disk
 * space twice. */
static int put_files(const struct replay *r, struct error *err)
{
	struct placement b = { .replay = r,
			       .staged =
				       xcalloc(r->plan->n + 1, sizeof(bool)) };
	int rc = 0;

	while (rc == 0 && b.last < r->plan->n) {
		int synced = 0;

		b.first = b.last;
		b.n = 0;
		b.bytes = 0;
		while (rc == 0 && b.last < r->plan->n && b.n < BATCH_FILES &&
		       b.bytes < BATCH_BYTES)
			rc = stage_file(&b, b.last++, err);
		if (rc == 0 && b.n > DURABLE_FEW)
			synced = sync_filesystems(&b, err);
		if (synced < 0)
			rc = -1;
		if (rc == 0 && !synced)
			rc = each_staged(&b, treefile_sync, err);
		if (rc == 0)
			rc = each_staged(&b, treefile_put, err);
	}
	free(b.staged);
	return rc;
}

/* Removals come first, then directories, then files. When undoing, changes that
 * are already undone are skipped. */
static int replay_plan(const struct replay *r, struct error *err)
{
	const struct apply_plan *p = r->plan;
	const struct plan_dirs *drop = r->back ? &p->make : &p->drop;
	const struct plan_dirs *make = r->back ? &p->drop : &p->make;

	if (remove_files(r, err) < 0)
		return -1;
	for (size_t i = drop->n; i > 0; i--)
		if (treefile_rmdir(r->root, drop->list[i - 1].path, err) < 0)
			return -1;
	for (size_t i = 0; i < make->n; i++)
		if (treefile_mkdir(r->root, make->list[i].path,
				   make->list[i].perm, err) < 0)
			return -1;
	return put_files(r, err);
}

/* Call first after a crash: removes the files that were written next to their
 * targets. */
static int clean_staged(const struct replay *r, struct error *err)
{
	for (size_t i = 0; i < r->plan->n; i++) {
		const struct plan_change *c = &r->plan->changes[i];
		char token[STAGED_TOKEN];
		struct treefile_write w = write_of(r, c, token);
		bool saved;

		if (treefile_clean(&w, &saved, err) < 0)
			return -1;
		if (saved && r->left)
			r->left(r->arg, c->path);
	}
	return 0;
}

/* Returns "STORE/NAME", owned. */
static char *in_store(const struct journal *j, const char *name)
{
	return xasprintf("%s/%s", j->store, name);
}

static bool has_file(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

/* Syncs a file (flags: 0) or a directory (O_DIRECTORY). */
static int sync_path(const char *path, int flags, struct error *err)
{
	int fd = open(path, O_RDONLY | flags | O_CLOEXEC);
	int rc = fd < 0 || io_fsync(fd) < 0
			 ? error_errno(err, "writing %s", path)
			 : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

static int remove_dir(const char *path, struct error *err)
{
	return access(path, F_OK) < 0 ? 0 : path_remove_tree(path, err);
}

static void report_left(void *arg, const char *path)
{
	const struct journal *j = arg;
	struct buf line = BUF_INIT(1 << 14);

	sanitize_line(str_of(path), &line);
	buf_adds(&line, " changed in the meantime and is left unchanged");
	j->hooks.line(j->hooks.arg, line.ptr);
	buf_release(&line);
}

char *journal_file(const struct journal *j, const char *side, unsigned id)
{
	return xasprintf("%s/%s/%u", j->dir, side, id);
}

static int load_plan(struct apply_plan *p, const char *dir, struct error *err)
{
	struct buf text = BUF_INIT(PLAN_MAX);
	char *path = path_join(dir, "plan");
	int rc = path_read(path, &text, err);

	if (rc == 0 && plan_read(p, buf_str(&text), err) < 0)
		rc = error_wrap(err, "%s", path);
	free(path);
	buf_release(&text);
	return rc;
}

static int save_plan(const struct apply_plan *p, const char *dir,
		     struct error *err)
{
	struct buf text = BUF_INIT(PLAN_MAX);
	char *path = path_join(dir, "plan");
	int rc;

	plan_write(p, &text);
	rc = buf_check(&text, "the plan of an apply", err);
	if (rc == 0)
		rc = path_write(path, buf_str(&text), 0600, err);
	buf_release(&text);
	free(path);
	return rc;
}

/* Restores index.before if the index is still index.after. If it has changed
 * since, the user's version stays. */
static int restore_index(struct journal *j, struct error *err)
{
	char *before = path_join(j->dir, "index.before");
	char *after = path_join(j->dir, "index.after");
	const char *index = j->plan.index;
	int rc = 0;

	if (index && access(after, F_OK) == 0 && user_index_same(index, after))
		rc = user_index_copy(before, index, err);
	if (index)
		user_index_unlock(index, j->plan.token);
	free(before);
	free(after);
	return rc;
}

/* Undoes the written part of a sealed plan and removes the journal. */
static int roll_back(struct journal *j, struct error *err)
{
	struct replay r = { .plan = &j->plan,
			    .dir = j->dir,
			    .root = j->root,
			    .back = true,
			    .left = report_left,
			    .arg = j };

	if (clean_staged(&r, err) < 0 || replay_plan(&r, err) < 0 ||
	    restore_index(j, err) < 0)
		return -1;
	return remove_dir(j->dir, err);
}

/* Returns the highest number of a record; 0: none. *n: number of records. */
static unsigned last_record(const struct journal *j, unsigned *lowest,
			    unsigned *n)
{
	char *path = in_store(j, "applied");
	DIR *dir = opendir(path);
	const struct dirent *d;
	unsigned last = 0;

	*n = 0;
	*lowest = 0;
	while (dir && (d = readdir(dir))) {
		int64_t number;

		if (!str_to_int(str_of(d->d_name), &number) || number < 1 ||
		    number > INT32_MAX)
			continue;
		(*n)++;
		if (number > last)
			last = (unsigned)number;
		if (!*lowest || number < *lowest)
			*lowest = (unsigned)number;
	}
	if (dir)
		closedir(dir);
	free(path);
	return last;
}

static char *record_dir(const struct journal *j, unsigned number)
{
	return xasprintf("%s/applied/%u", j->store, number);
}

/* Makes the journal the newest record. If there are JOURNAL_RECORDS already,
 * removes the oldest. */
static int keep_record(struct journal *j, struct error *err)
{
	char *applied = in_store(j, "applied");
	unsigned lowest, n;
	unsigned last = last_record(j, &lowest, &n);
	char *to = record_dir(j, last + 1);
	char *old = record_dir(j, lowest);
	int rc = path_mkdirs(applied, 0700, err);

	if (rc == 0 && n >= JOURNAL_RECORDS)
		rc = remove_dir(old, err);
	if (rc == 0 && rename(j->dir, to) < 0)
		rc = error_errno(err, "keeping %s", to);
	free(applied);
	free(to);
	free(old);
	return rc;
}

static void forget_text(char **text)
{
	free(*text);
	*text = NULL;
}

/* Keeps in the record what this undo did not restore: files, the index. The
 * base is removed from the record: this undo has reset it, and another undo of
 * the record must not reset it again. */
static int shorten_record(struct journal *j, struct error *err)
{
	char *dir = record_dir(j, j->plan.undoes);
	struct apply_plan old = { 0 };
	int rc = has_file(dir, "plan") ? load_plan(&old, dir, err) : 0;

	for (size_t i = old.n; rc == 0 && i > 0; i--)
		if (plan_find(&j->plan, old.changes[i - 1].path))
			plan_remove(&old, i - 1);
	if (j->plan.index)
		forget_text(&old.index);
	forget_text(&old.label);
	if (rc == 0)
		rc = old.n || old.index ? save_plan(&old, dir, err)
					: remove_dir(dir, err);
	plan_release(&old);
	free(dir);
	return rc;
}

/* Does everything that follows the mark "done"; can be repeated after a
 * crash. */
static int record_end(struct journal *j, struct error *err)
{
	int rc = 0;

	if (j->plan.index)
		user_index_unlock(j->plan.index, j->plan.token);
	if (j->plan.label && j->plan.base_after[0])
		rc = j->hooks.set_base(j->hooks.arg, &j->plan, err);
	if (rc == 0 && !j->plan.undoes && !j->plan.unrecorded)
		return keep_record(j, err);
	if (rc == 0 && j->plan.undoes)
		rc = shorten_record(j, err);
	return rc == 0 ? remove_dir(j->dir, err) : -1;
}

/* Releases the plan after it was carried out or undone. */
static void forget_plan(struct journal *j)
{
	plan_release(&j->plan);
	free(j->dir);
	j->dir = NULL;
	j->sealed = false;
}

/* Handles the journal of a crash: completed if it is marked as done, else
 * undone. */
static int recover(struct journal *j, struct error *err)
{
	int rc = load_plan(&j->plan, j->dir, err);

	if (rc == 0 && has_file(j->dir, "done")) {
		rc = record_end(j, err);
	} else if (rc == 0) {
		size_t n = j->plan.n;
		char line[80];

		rc = roll_back(j, err);
		snprintf(line, sizeof(line),
			 "undid an interrupted apply (%zu file%s)", n,
			 n == 1 ? "" : "s");
		if (rc == 0)
			j->hooks.line(j->hooks.arg, line);
	}
	return rc == 0 ? 0 : error_wrap(err, "recovering %s", j->dir);
}

int journal_open(struct journal *j, const char *store, const char *root,
		 const struct journal_hooks *hooks, const struct stop *stop,
		 struct error *err)
{
	char *lock;
	char *fresh;
	int rc = path_mkdirs(store, 0700, err);

	j->store = xstrdup(store);
	j->hooks = *hooks;
	lock = in_store(j, "journal.lock");
	fresh = in_store(j, "journal.new");
	if (rc == 0)
		j->lock = path_lock(lock, stop, err);
	if (j->lock >= 0)
		j->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->lock >= 0 && j->root < 0)
		error_errno(err, "opening %s", root);
	rc = j->root < 0 ? -1 : remove_dir(fresh, err);
	free(fresh);
	free(lock);
	if (rc == 0 && has_file(store, "journal")) {
		j->dir = in_store(j, "journal");
		rc = recover(j, err);
		forget_plan(j);
	}
	return rc;
}

int journal_begin(struct journal *j, struct error *err)
{
	char self[32];
	char token[TOKEN + 1];
	char *root;
	int rc = 0;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", j->root);
	root = realpath(self, NULL);
	ids_random(token, TOKEN);
	plan_release(&j->plan);
	j->plan.root = root ? root : xstrdup("");
	j->plan.token = xstrdup(token);
	free(j->dir);
	j->dir = in_store(j, "journal.new");
	rc = remove_dir(j->dir, err);
	for (int i = 0; rc == 0 && i < 3; i++) {
		static const char *const names[] = { "", "/before", "/after" };
		char *path = xasprintf("%s%s", j->dir, names[i]);

		rc = path_mkdirs(path, 0700, err);
		free(path);
	}
	return rc;
}

static int sync_side(const struct journal *j, const char *side, unsigned id,
		     struct error *err)
{
	char *path = journal_file(j, side, id);
	int rc = sync_path(path, 0, err);

	free(path);
	return rc;
}

/* Syncs the store's file system if there are many files. Returns 1 if that
 * worked, 0 if each file must be synced separately, -1 on failure. */
static int sync_store(const struct journal *j, struct error *err)
{
	int fd = j->plan.n > DURABLE_FEW
			 ? open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			 : -1;
	int rc = fd < 0 ? 0 : durable_filesystem(fd);

	if (rc < 0)
		error_errno(err, "writing %s", j->dir);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Syncs all files of before/ and after/. */
static int sync_sides(const struct journal *j, struct error *err)
{
	static const char *const sides[] = { "before", "after" };
	int all = sync_store(j, err);
	int rc = all < 0 ? -1 : 0;

	for (size_t i = 0; rc == 0 && !all && i < j->plan.n; i++) {
		const struct plan_change *c = &j->plan.changes[i];

		if (c->before.mode)
			rc = sync_side(j, sides[0], c->id, err);
		if (rc == 0 && c->after.mode)
			rc = sync_side(j, sides[1], c->id, err);
	}
	for (int i = 0; rc == 0 && i < 2; i++) {
		char *path = xasprintf("%s/%s", j->dir, sides[i]);

		rc = sync_path(path, O_DIRECTORY, err);
		free(path);
	}
	return rc;
}

int journal_seal(struct journal *j, struct error *err)
{
	char *sealed = in_store(j, "journal");
	char *before = path_join(j->dir, "index.before");
	int rc = 0;

	plan_sort(&j->plan);
	if (j->plan.index && access(j->plan.index, F_OK) == 0)
		rc = user_index_copy(j->plan.index, before, err);
	if (rc == 0)
		rc = sync_sides(j, err);
	if (rc == 0)
		rc = save_plan(&j->plan, j->dir, err);
	if (rc == 0)
		rc = sync_path(j->dir, O_DIRECTORY, err);
	if (rc == 0 && rename(j->dir, sealed) < 0)
		rc = error_errno(err, "writing %s", sealed);
	free(before);
	if (rc < 0) {
		free(sealed);
		return -1;
	}
	free(j->dir);
	j->dir = sealed;
	j->sealed = true;
	if (sync_path(j->store, O_DIRECTORY, err) < 0)
		return -1;
	if (j->plan.index)
		return user_index_lock(j->plan.index, j->plan.token, err);
	return 0;
}

int journal_write(struct journal *j, struct error *err)
{
	struct replay r = { .plan = &j->plan, .dir = j->dir, .root = j->root };

	return replay_plan(&r, err) == 0 ? 0 : journal_fail(j, err);
}

int journal_write_index(struct journal *j, struct error *err)
{
	char *before = path_join(j->dir, "index.before");
	char *after = path_join(j->dir, "index.after");
	int rc = 0;

	if (!user_index_same(j->plan.index, before))
		rc = error_set(err, ERR_BUSY, "%s changed in the meantime",
			       j->plan.index);
	if (rc == 0)
		rc = user_index_copy(after, j->plan.index, err);
	free(before);
	free(after);
	return rc;
}

int journal_finish(struct journal *j, struct error *err)
{
	char *done = path_join(j->dir, "done");
	int rc = path_write(done, STR("done\n"), 0600, err);

	if (rc == 0)
		rc = sync_path(j->dir, O_DIRECTORY, err);
	if (rc < 0) { /* without the mark the next dcode would undo the apply */
		(void)unlink(done);
		rc = journal_fail(j, err);
	} else if (record_end(j, err) < 0) {
		rc = error_add(err, "; the files are written, and the next "
				    "dcode finishes the rest");
	}
	free(done);
	forget_plan(j);
	return rc;
}

int journal_abandon(struct journal *j, struct error *err)
{
	int rc = 0;

	if (j->sealed)
		rc = roll_back(j, err);
	else if (j->dir)
		rc = remove_dir(j->dir, err);
	forget_plan(j);
	return rc;
}

int journal_fail(struct journal *j, struct error *err)
{
	struct error why = { 0 };

	if (journal_abandon(j, &why) == 0)
		return error_add(err, "; nothing was changed");
	return error_add(err,
			 "; undoing it failed, the next dcode tries again: %s",
			 why.message);
}

void journal_close(struct journal *j)
{
	forget_plan(j);
	free(j->store);
	if (j->root >= 0)
		close(j->root);
	if (j->lock >= 0)
		close(j->lock);
	*j = (struct journal){ .lock = -1, .root = -1 };
}

int journal_last(const struct journal *j, struct apply_plan *p, char **dir,
		 struct error *err)
{
	unsigned lowest, n;
	unsigned last = last_record(j, &lowest, &n);
	char *path = record_dir(j, last);

	if (!last) {
		free(path);
		return error_set(err, ERR_NOT_FOUND,
				 "there is no apply to undo here");
	}
	if (load_plan(p, path, err) < 0) {
		free(path);
		return -1;
	}
	p->undoes = last;
	*dir = path;
	return 0;
}
