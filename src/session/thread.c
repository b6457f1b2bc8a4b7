/* thread.c - lists, finds, locks and deletes stored conversations. */
/* SPDX-License-Identifier: MIT */

/*
 * Reads and changes the rows of threads. A thread in use is locked with the id
 * and start time of its process, so that a crash leaves no lock. When the
 * database reaches its capacity, the oldest unused threads are deleted, if the
 * user allowed that. session.c handles the thread that this process uses.
 */
#include "session/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "session/sql.h"
#include "session/store.h"

static int read_owner(struct store *s, int64_t no, struct process *owner,
		      struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_OWNER, err);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	rc = sqlite3_step(st);
	owner->pid = sqlite3_column_int64(st, 0);
	owner->started = sqlite3_column_int64(st, 1);
	snprintf(owner->place, sizeof(owner->place), "%s", store_text(st, 2));
	if (store_finish(s, st, rc, err) < 0)
		return -1;
	if (rc != SQLITE_ROW)
		return error_set(err, ERR_NOT_FOUND,
				 "the thread has been deleted");
	return 0;
}

static int check_owner(struct store *s, int64_t no, const struct process *self,
		       int64_t *pid, struct error *err)
{
	struct process owner = { 0 };

	*pid = 0;
	if (read_owner(s, no, &owner, err) < 0)
		return -1;
	if (!owner.pid || !process_lives(&owner, self) ||
	    (owner.pid == self->pid && owner.started == self->started))
		return 0;
	*pid = owner.pid;
	return error_set(err, ERR_BUSY,
			 "another dcode (pid %" PRId64 ") is using the thread",
			 owner.pid);
}

static int thread_check_unused(struct store *s, int64_t no, int64_t *pid,
			       struct error *err)
{
	struct process self = { 0 };

	process_self(&self);
	return check_owner(s, no, &self, pid, err);
}

static int set_owner(struct store *s, int64_t no, const struct process *self,
		     struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_LOCK, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	sqlite3_bind_int64(st, 2, self->pid);
	sqlite3_bind_int64(st, 3, self->started);
	store_bind(st, 4, self->place);
	return store_run(s, st, err);
}

int thread_lock(struct store *s, int64_t no, int64_t *pid, struct error *err)
{
	struct process self = { 0 };

	*pid = 0;
	process_self(&self);
	if (store_run_plain(s, SQL_BEGIN, err) < 0)
		return -1;
	if (check_owner(s, no, &self, pid, err) == 0 &&
	    set_owner(s, no, &self, err) == 0 &&
	    store_run_plain(s, SQL_COMMIT, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

void thread_unlock(struct store *s, int64_t no)
{
	struct error ignored = { 0 };
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_UNLOCK, &ignored);
	struct process self = { 0 };

	if (!st)
		return;
	process_self(&self);
	sqlite3_bind_int64(st, 1, no);
	sqlite3_bind_int64(st, 2, self.pid);
	sqlite3_bind_int64(st, 3, self.started);
	/* If this fails, the lock ends with the process. */
	(void)store_run(s, st, &ignored);
}

enum {
	TITLE_MOST = 72,  /* characters */
	TITLE_READ = 512, /* bytes of a prompt used to make a title */
	/* minimum length of a prefix of an id; not longer, because all ids
	 * begin with the time */
	PREFIX_LEAST = 4,
	NEAR_AMONG = 500, /* newest threads compared with a mistyped id */
	NEAR_MOST = 3, /* maximum number of wrong letters in a suggested id */
	/* one wrong letter is allowed for this many typed ones */
	NEAR_EACH = 4,
};

struct near {
	struct str name;
	char ids[2][40];
	size_t distances[2];
};

struct pruning {
	const struct thread_prune *what;
	struct thread *list; /* owned */
	size_t n;
	int64_t seen;
};

void thread_release(struct thread *t)
{
	free(t->id);
	free(t->title);
	free(t->model);
	free(t->provider);
	free(t->sandbox);
	free(t->label);
	free(t->cwd);
	free(t->branch);
	free(t->origin);
	free(t->agent);
	*t = (struct thread){ 0 };
}

/* Reads the columns in the order of THREAD_COLUMNS. */
static void read_thread(sqlite3_stmt *st, const struct process *self,
			struct thread *t)
{
	struct process owner = { .pid = sqlite3_column_int64(st, 14),
				 .started = sqlite3_column_int64(st, 15) };

	snprintf(owner.place, sizeof(owner.place), "%s", store_text(st, 16));
	*t = (struct thread){
		.no = sqlite3_column_int64(st, 0),
		.id = xstrdup(store_text(st, 1)),
		.title = xstrdup(store_text(st, 2)),
		.model = xstrdup(store_text(st, 3)),
		.provider = xstrdup(store_text(st, 4)),
		.sandbox = xstrdup(store_text(st, 5)),
		.label = xstrdup(store_text(st, 6)),
		.cwd = xstrdup(store_text(st, 7)),
		.branch = xstrdup(store_text(st, 8)),
		.created = sqlite3_column_int64(st, 9),
		.updated = sqlite3_column_int64(st, 10),
		.messages = sqlite3_column_int64(st, 11),
		.input = sqlite3_column_int64(st, 12),
		.output = sqlite3_column_int64(st, 13),
		.imported = sqlite3_column_int(st, 17) != 0,
		.origin = xstrdup(store_text(st, 18)),
		.cost = sqlite3_column_type(st, 19) == SQLITE_NULL
				? -1
				: sqlite3_column_int64(st, 19),
		.unpriced = sqlite3_column_type(st, 20) != SQLITE_NULL &&
			    !sqlite3_column_int(st, 20),
		.agent = xstrdup(store_text(st, 21)),
		.turns = sqlite3_column_int64(st, 22),
		.headless = sqlite3_column_int(st, 23) != 0,
	};
	if (owner.pid && process_lives(&owner, self))
		t->pid = owner.pid;
}

int thread_each(struct store *s, const struct thread_filter *f,
		bool (*each)(void *arg, struct thread *t), void *arg,
		struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_LIST, err);
	struct process self = { 0 };
	bool more = true;
	int rc = SQLITE_DONE;

	if (!st)
		return -1;
	process_self(&self);
	store_bind(st, 1, f->cwd);
	store_bind(st, 2, f->branch);
	sqlite3_bind_int(st, 3, f->by_created);
	sqlite3_bind_int64(st, 4, f->limit > 0 ? f->limit : -1);
	store_bind(st, 5, f->agent);
	store_bind(st, 6, f->below);
	sqlite3_bind_int(st, 7, (int)f->kind);
	store_bind(st, 8, f->first);
	while (more && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct thread t;

		read_thread(st, &self, &t);
		more = each(arg, &t);
		thread_release(&t);
	}
	return store_finish(s, st, rc, err);
}

static bool add_near(void *arg, struct thread *t)
{
	struct near *n = arg;
	size_t len = strlen(t->id);
	struct str id = { t->id, n->name.len < len ? n->name.len : len };
	size_t distance = nearest_distance(n->name, id);
	int at = distance < n->distances[0] ? 0 : 1;

	if (distance >= n->distances[at])
		return true;
	if (at == 0) {
		memcpy(n->ids[1], n->ids[0], sizeof(n->ids[0]));
		n->distances[1] = n->distances[0];
	}
	snprintf(n->ids[at], sizeof(n->ids[at]), "%s", t->id);
	n->distances[at] = distance;
	return true;
}

/* Reports an unknown thread, with similar ids as the hint. */
static int fail_unknown(struct store *s, const char *name, struct error *err)
{
	const struct thread_filter newest = { .limit = NEAR_AMONG };
	size_t most = strlen(name) / NEAR_EACH;
	struct near n = { .name = str_of(name) };

	if (most > NEAR_MOST)
		most = NEAR_MOST;
	n.distances[0] = n.distances[1] = most + 1;
	if (thread_each(s, &newest, add_near, &n, err) < 0)
		return -1;
	error_set(err, ERR_NOT_FOUND, "unknown thread %.64s", name);
	if (n.ids[1][0])
		return error_hint(err,
				  "Did you mean %s or %s? `dcode threads list` "
				  "lists them.",
				  n.ids[0], n.ids[1]);
	if (n.ids[0][0])
		return error_hint(
			err, "Did you mean %s? `dcode threads list` shows all.",
			n.ids[0]);
	return error_hint(err, "`dcode threads list` shows all.");
}

/* Reads the first row of st. Returns 1 with *t filled, 0 if there is no row, -1
 * on failure. *several: there is another row. */
static int read_one(struct store *s, sqlite3_stmt *st, struct thread *t,
		    bool *several, struct error *err)
{
	struct process self = { 0 };
	int rc = sqlite3_step(st);
	bool found = rc == SQLITE_ROW;

	process_self(&self);
	if (found) {
		read_thread(st, &self, t);
		rc = sqlite3_step(st);
		*several = rc == SQLITE_ROW;
	}
	if (store_finish(s, st, rc, err) < 0) {
		thread_release(t);
		return -1;
	}
	return found;
}

int thread_find_latest(struct store *s, const char *cwd, const char *agent,
		       struct thread *t, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_LATEST, err);
	bool several = false;
	int found;

	if (!st)
		return -1;
	store_bind(st, 1, cwd);
	store_bind(st, 2, agent);
	*t = (struct thread){ 0 };
	found = read_one(s, st, t, &several, err);
	if (found)
		return found < 0 ? -1 : 0;
	error_set(err, ERR_NOT_FOUND, "no thread%s%s%s yet",
		  cwd ? " in this directory" : "", agent ? " of agent " : "",
		  agent ? agent : "");
	return error_hint(err, "`dcode threads list` shows all.");
}

int thread_find(struct store *s, const char *name, const char *cwd,
		struct thread *t, struct error *err)
{
	sqlite3_stmt *st;
	bool several = false;
	int found;

	*t = (struct thread){ 0 };
	if (!name || !strcmp(name, "latest"))
		return thread_find_latest(s, cwd, NULL, t, err);
	if (!name[0]) {
		error_set(err, ERR_USAGE, "the id of the thread is empty");
		return error_hint(
			err, "Use an id from `dcode threads list`, or latest "
			     "for the last thread of this directory.");
	}
	st = store_sql(s, SQL_THREAD_FIND, err);
	if (!st)
		return -1;
	if (strlen(name) < PREFIX_LEAST)
		return fail_unknown(s, name, err);
	store_bind(st, 1, name);
	found = read_one(s, st, t, &several, err);
	if (found < 0)
		return -1;
	if (!found)
		return fail_unknown(s, name, err);
	if (!several)
		return 0;
	thread_release(t);
	error_set(err, ERR_USAGE, "several threads match %s", name);
	return error_hint(
		err, "Type more of the id. `dcode threads list` shows them.");
}

int thread_each_message_from(struct store *s, int64_t no, int64_t skip,
			     bool (*each)(void *arg, struct thread_message *m),
			     void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_MESSAGE_EACH, err);
	bool more = true;
	int rc = SQLITE_DONE;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	sqlite3_bind_int64(st, 2, skip);
	while (more && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct str body = { store_text(st, 6), 0 };
		struct error ignored = { 0 };
		struct thread_message m = {
			.no = sqlite3_column_int64(st, 0),
			.created = sqlite3_column_int64(st, 1),
			.usage = { .input = sqlite3_column_int64(st, 2),
				   .output = sqlite3_column_int64(st, 3),
				   .cache_read = sqlite3_column_int64(st, 4),
				   .cache_write = sqlite3_column_int64(st, 5) },
		};

		body.len = (size_t)sqlite3_column_bytes(st, 6);
		m.damaged = message_from_json(&m.message, body, &ignored) < 0;
		more = each(arg, &m);
		message_release(&m.message);
	}
	return store_finish(s, st, rc, err);
}

int thread_each_message(struct store *s, int64_t no,
			bool (*each)(void *arg, struct thread_message *m),
			void *arg, struct error *err)
{
	return thread_each_message_from(s, no, 0, each, arg, err);
}

static bool pass_masked(void *arg, struct thread_message *m)
{
	const struct thread_export *x = arg;
	struct message masked;

	message_mask(x->mask, &m->message, &masked);
	message_release(&m->message);
	m->message = masked;
	return x->each(x->arg, m);
}

int thread_export(struct store *s, const struct thread_export *x,
		  struct error *err)
{
	return thread_each_message_from(s, x->no, x->skip, pass_masked,
					(void *)x, err);
}

char *thread_title(const char *text)
{
	struct str all = str_of(text);
	struct buf line = BUF_INIT(TITLE_READ * 4);
	struct buf title = BUF_INIT(TITLE_READ * 4);
	struct str rest;
	struct str word;

	all = str_trim(all);
	if (all.len > TITLE_READ)
		all.len = TITLE_READ;
	all.len = str_utf8_prefix(all) ? str_utf8_prefix(all) : all.len;
	sanitize_line(all, &line);
	rest = str_trim(buf_str(&line));
	while (str_split(&rest, ' ', &word)) {
		size_t used = str_chars(buf_str(&title));

		if (!word.len)
			continue;
		if (used && used + 1 + str_chars(word) > TITLE_MOST)
			break;
		buf_adds(&title, used ? " " : "");
		buf_add(&title, word.ptr, str_char_offset(word, TITLE_MOST));
	}
	buf_release(&line);
	return buf_detach(&title);
}

static int fail_deleted(const struct thread *t, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "thread %s has been deleted",
			 t->id);
}

int thread_rename(struct store *s, const struct thread *t, const char *title,
		  struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_TITLE, err);
	char *clean;
	int rc;

	if (!st)
		return -1;
	clean = thread_title(title);
	sqlite3_bind_int64(st, 1, t->no);
	store_bind(st, 2, clean);
	rc = store_run(s, st, err);
	free(clean);
	if (rc == 0 && sqlite3_changes(s->db) != 1)
		return fail_deleted(t, err);
	return rc;
}

static int delete_rows(struct store *s, enum statement which, int64_t no,
		       struct error *err)
{
	sqlite3_stmt *st = store_sql(s, which, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	return store_run(s, st, err);
}

int thread_delete(struct store *s, const struct thread *t, struct error *err)
{
	int64_t pid;

	if (store_run_plain(s, SQL_BEGIN, err) < 0)
		return -1;
	if (thread_check_unused(s, t->no, &pid, err) == 0 &&
	    delete_rows(s, SQL_MESSAGE_DELETE, t->no, err) == 0 &&
	    delete_rows(s, SQL_THREAD_DELETE, t->no, err) == 0 &&
	    store_run_plain(s, SQL_COMMIT, err) == 0)
		return 0;
	store_rollback(s);
	return err->code == ERR_NOT_FOUND ? fail_deleted(t, err) : -1;
}

/* Lists the threads to delete; rows are deleted after the list has been
 * read. */
static bool add_pruned(void *arg, struct thread *t)
{
	struct pruning *p = arg;
	bool spare = p->what->keep < 0 || p->seen < p->what->keep;

	p->seen++;
	if (t->pid || (spare && t->updated >= p->what->before))
		return true;
	/* The array is doubled when n is a power of two, so that no capacity
	 * has to be stored. */
	if (!(p->n & (p->n - 1)))
		p->list = xrealloc(p->list, p->n ? p->n * 2 : 1,
				   sizeof(*p->list));
	p->list[p->n++] = *t;
	*t = (struct thread){ 0 };
	return true;
}

/* Returns 1 if the thread was deleted, 0 if another process uses it or has
 * deleted it, -1 on failure. */
static int delete_pruned(struct store *s, const struct thread *t,
			 struct error *err)
{
	struct error failed = { 0 };

	if (thread_delete(s, t, &failed) == 0)
		return 1;
	if (failed.code == ERR_BUSY || failed.code == ERR_NOT_FOUND)
		return 0;
	*err = failed;
	return -1;
}

int thread_prune(struct store *s, const struct thread_prune *what,
		 void (*each)(void *arg, const struct thread *t), void *arg,
		 struct error *err)
{
	const struct thread_filter all = { 0 };
	struct pruning p = { .what = what };
	int rc = thread_each(s, &all, add_pruned, &p, err);

	for (size_t i = 0; i < p.n; i++) {
		int gone = what->dry_run;

		if (rc == 0 && !gone)
			gone = delete_pruned(s, &p.list[i], err);
		if (gone < 0)
			rc = -1;
		if (rc == 0 && gone)
			each(arg, &p.list[i]);
		thread_release(&p.list[i]);
	}
	free(p.list);
	return rc;
}

enum {
	MIB = 1 << 20,
	WARN_PERCENT = 80,
	/* Only this fraction of the free room is used before the size is read
	 * again: other processes store messages too, and a row needs more space
	 * than its text. */
	SHARERS = 16,
	/* maximum size in percent of the capacity after old threads were
	 * deleted */
	PRUNED_PERCENT = 90,
};

void store_set_capacity(struct store *s, int64_t max_mib, bool prune)
{
	s->capacity = max_mib * MIB;
	s->unread_room = 0;
	s->prunes = prune;
}

/* Reads the bytes in use. Free space of deleted rows is not counted. */
static int read_size(struct store *s, int64_t *size, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SIZE, err);
	int rc;

	if (!st)
		return -1;
	rc = sqlite3_step(st);
	*size = sqlite3_column_int64(st, 0);
	return store_finish(s, st, rc, err);
}

static int64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : 0;
}

/* An upper bound of read_size() that needs no statement. */
static int64_t file_size(const struct store *s)
{
	char *wal = xasprintf("%s-wal", s->path);
	int64_t size = size_of(s->path) + size_of(wal);

	free(wal);
	return size;
}

static bool count_thread(void *arg, struct thread *t)
{
	(void)t;
	++*(int64_t *)arg;
	return true;
}

static void count_pruned(void *arg, const struct thread *t)
{
	(void)t;
	++*(int64_t *)arg;
}

/* Deletes the oldest tenth of the threads repeatedly, until the additional
 * bytes fit and the size is at most PRUNED_PERCENT of the capacity, or until no
 * thread can be deleted. */
static int make_room(struct store *s, int64_t more, int64_t *size,
		     int64_t *deleted, struct error *err)
{
	const struct thread_filter all = { 0 };

	while (*size + more > s->capacity ||
	       *size > s->capacity / 100 * PRUNED_PERCENT) {
		struct thread_prune prune = { 0 };
		int64_t before = *deleted;
		int64_t n = 0;

		if (thread_each(s, &all, count_thread, &n, err) < 0)
			return -1;
		prune.keep = n - 1 - n / 10;
		if (prune.keep < 0 ||
		    thread_prune(s, &prune, count_pruned, deleted, err) < 0)
			return prune.keep < 0 ? 0 : -1;
		if (*deleted == before)
			return 0;
		if (read_size(s, size, err) < 0)
			return -1;
	}
	return 0;
}

/* Rounds up, so that a small capacity is not shown as "0 MiB". */
static int64_t in_mib(int64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

/* Warns unless *said. Frees line. */
static void warn_once(struct store *s, bool *said, char *line)
{
	if (s->warn && !*said)
		s->warn(line);
	*said = true;
	free(line);
}

int store_check_capacity(struct store *s, size_t more, struct error *err)
{
	int64_t deleted = 0;
	int64_t size;

	if (!s->capacity)
		return 0;
	/* Do not read the size for each message while it is far below the
	 * capacity: that costs as much as storing the message. */
	if (s->unread_room <= 0)
		s->unread_room =
			(s->capacity / 100 * WARN_PERCENT - file_size(s)) /
			SHARERS;
	if ((int64_t)more <= s->unread_room) {
		s->unread_room -= (int64_t)more;
		return 0;
	}
	if (read_size(s, &size, err) < 0)
		return -1;
	s->unread_room = (s->capacity / 100 * WARN_PERCENT - size) / SHARERS;
	if (size + (int64_t)more > s->capacity && s->prunes) {
		if (make_room(s, (int64_t)more, &size, &deleted, err) < 0)
			return -1;
		if (deleted)
			warn_once(s, &s->warned_of_pruning,
				  xasprintf("the oldest %" PRId64
					    " threads were deleted: [threads]"
					    " max_size_mb = %" PRId64,
					    deleted, s->capacity / MIB));
	}
	if (size + (int64_t)more > s->capacity)
		return error_set(
			err, ERR_LIMIT,
			"the threads take %" PRId64
			" MiB, and [threads] max_size_mb = %" PRId64
			"; `dcode threads prune --older-than 90d` makes room",
			in_mib(size), s->capacity / MIB);
	if (size > s->capacity / 100 * WARN_PERCENT)
		warn_once(
			s, &s->warned_of_size,
			xasprintf("the threads take %" PRId64 " of %" PRId64
				  " MiB ([threads] max_size_mb); `dcode "
				  "threads prune --older-than 90d` makes room",
				  in_mib(size), s->capacity / MIB));
	return 0;
}

void store_compact(struct store *s)
{
	struct error ignored = { 0 };

	if (store_ready(s, &ignored) == 0)
		(void)sqlite3_exec(s->db,
				   "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)",
				   NULL, NULL, NULL);
}

int thread_count_prompts(struct store *s, int64_t no, int64_t *n,
			 struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_MESSAGE_PROMPTS, err);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*n = sqlite3_column_int64(st, 0);
	return store_finish(s, st, rc, err);
}

int compaction_find(struct store *s, int64_t no,
		    void (*each)(void *arg, struct str body, int64_t after),
		    void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_COMPACTION_GET, err);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		each(arg, str_of(store_text(st, 1)),
		     sqlite3_column_int64(st, 0));
	return store_finish(s, st, rc, err);
}

int compaction_list(struct store *s, int64_t no, struct compaction_marks *out,
		    struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_COMPACTION_LIST, err);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, no);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		/* The array is doubled when n is a power of two, so that no
		 * capacity has to be stored. */
		if (!(out->n & (out->n - 1)))
			out->list = xrealloc(out->list, out->n ? out->n * 2 : 1,
					     sizeof(*out->list));
		out->list[out->n++] = (struct compaction_mark){
			.after = sqlite3_column_int64(st, 0),
			.created = sqlite3_column_int64(st, 1),
		};
	}
	return store_finish(s, st, rc, err);
}

const struct compaction_mark *compaction_next(struct compaction_marks *m,
					      int64_t messages)
{
	if (m->at == m->n || m->list[m->at].after > messages)
		return NULL;
	return &m->list[m->at++];
}

void compaction_marks_json(const struct compaction_marks *m, struct buf *out)
{
	buf_addc(out, '[');
	for (size_t i = 0; i < m->n; i++)
		buf_addf(out,
			 "%s{\"after\":%" PRId64 ",\"created\":%" PRId64 "}",
			 i ? "," : "", m->list[i].after, m->list[i].created);
	buf_addc(out, ']');
}

void compaction_marks_release(struct compaction_marks *m)
{
	free(m->list);
	*m = (struct compaction_marks){ 0 };
}
