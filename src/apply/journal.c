/* journal.c - writes to the user's tree that a crash cannot leave half done. */
/* SPDX-License-Identifier: MIT */
#include "apply/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/replay.h"
#include "base/durable.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "tree/user_index.h"

enum { PLAN_MAX = 256 << 20, TOKEN = 8 };

static char *in_store(const struct journal *j, const char *name)
{
	return xasprintf("%s/%s", j->store, name);
}

static bool exists(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

static int sync_dir(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

static void say_path(const struct journal *j, const char *before,
		     const char *path, const char *after)
{
	struct buf line = BUF_INIT(1 << 14);

	buf_adds(&line, before);
	sanitize_line(str_of(path), &line);
	buf_adds(&line, after);
	j->hooks.line(j->hooks.arg, line.ptr);
	buf_release(&line);
}

static void on_left(void *arg, const char *path)
{
	say_path(arg, "", path, " changed in the meantime and stays as it is");
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

/* What was index.after goes; anything else in its place is the user's. */
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

static int take_back(struct journal *j, struct error *err)
{
	struct replay r = { .plan = &j->plan,
			    .dir = j->dir,
			    .root = j->root,
			    .back = true,
			    .left = on_left,
			    .arg = j };

	if (replay_clean(&r, err) < 0 || replay_run(&r, err) < 0 ||
	    restore_index(j, err) < 0)
		return -1;
	return remove_dir(j->dir, err);
}

/* The highest number of a record; 0: there is none. *n: how many. */
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

/* The record keeps what this undo did not take back: files, the index. The base
 * has been moved, once and for all. */
static int shorten_record(struct journal *j, struct error *err)
{
	char *dir = record_dir(j, j->plan.undoes);
	struct apply_plan old = { 0 };
	int rc = exists(dir, "plan") ? load_plan(&old, dir, err) : 0;

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

/* What follows the mark "done"; begun again after a crash. */
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

static void forget_plan(struct journal *j)
{
	plan_release(&j->plan);
	free(j->dir);
	j->dir = NULL;
	j->sealed = false;
}

static int recover(struct journal *j, struct error *err)
{
	int rc = load_plan(&j->plan, j->dir, err);

	if (rc == 0 && exists(j->dir, "done")) {
		rc = record_end(j, err);
	} else if (rc == 0) {
		size_t n = j->plan.n;
		char line[80];

		rc = take_back(j, err);
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
	if (rc == 0 && exists(store, "journal")) {
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

static int sync_file(const struct journal *j, const char *side, unsigned id,
		     struct error *err)
{
	char *path = journal_file(j, side, id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 || io_fsync(fd) < 0
			 ? error_errno(err, "writing %s", path)
			 : 0;

	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

/* One wait for all of them. 0: each has to be synced; 1; -1. */
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

static int sync_sides(const struct journal *j, struct error *err)
{
	static const char *const sides[] = { "before", "after" };
	int all = sync_store(j, err);
	int rc = all < 0 ? -1 : 0;

	for (size_t i = 0; rc == 0 && !all && i < j->plan.n; i++) {
		const struct plan_change *c = &j->plan.changes[i];

		if (c->before.mode)
			rc = sync_file(j, sides[0], c->id, err);
		if (rc == 0 && c->after.mode)
			rc = sync_file(j, sides[1], c->id, err);
	}
	for (int i = 0; rc == 0 && i < 2; i++) {
		char *path = xasprintf("%s/%s", j->dir, sides[i]);

		rc = sync_dir(path, err);
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
		rc = sync_dir(j->dir, err);
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
	return sync_dir(j->store, err);
}

int journal_write(struct journal *j, struct error *err)
{
	struct replay r = { .plan = &j->plan, .dir = j->dir, .root = j->root };

	return replay_run(&r, err) == 0 ? 0 : journal_fail(j, err);
}

int journal_lock_index(struct journal *j, struct error *err)
{
	return user_index_lock(j->plan.index, j->plan.token, err);
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
		rc = sync_dir(j->dir, err);
	if (rc < 0) { /* without the mark the next dcode takes it back */
		(void)unlink(done);
		rc = journal_fail(j, err);
	} else if (record_end(j, err) < 0) {
		rc = error_add(err, "; the files are written, the next dcode "
				    "finishes the rest");
	}
	free(done);
	forget_plan(j);
	return rc;
}

int journal_abandon(struct journal *j, struct error *err)
{
	int rc = 0;

	if (j->sealed)
		rc = take_back(j, err);
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
