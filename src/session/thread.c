/* thread.c - the stored threads: list, find, read, rename, delete, prune. */
/* SPDX-License-Identifier: MIT */
#include "session/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "session/process.h"
#include "session/session_impl.h"

enum {
	TITLE_MOST = 72,  /* characters */
	TITLE_READ = 512, /* bytes of a prompt that a title is made of */
	PREFIX_LEAST = 4, /* of an id; all begin with the time */
	NEAR_AMONG = 500, /* newest threads that a mistyped id may mean */
	NEAR_MOST = 3,    /* letters that may be wrong in an id ... */
	NEAR_EACH = 4,    /* ... and one in so many of its beginning */
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

/* The columns in the order of THREAD_COLUMNS. */
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
	while (more && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct thread t;

		read_thread(st, &self, &t);
		more = each(arg, &t);
		thread_release(&t);
	}
	return store_finish(s, st, rc, err);
}

struct near {
	struct str name;
	char ids[2][40];
	size_t distances[2];
};

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
				  "shows all.",
				  n.ids[0], n.ids[1]);
	if (n.ids[0][0])
		return error_hint(
			err, "Did you mean %s? `dcode threads list` shows all.",
			n.ids[0]);
	return error_hint(err, "`dcode threads list` shows all.");
}

/* One step of st; 1 with *t filled, 0 without a row, -1. */
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
		return error_hint(err, "latest is the last one of this "
				       "directory.");
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

struct pruning {
	const struct thread_prune *what;
	struct thread *list; /* owned */
	size_t n;
	int64_t seen;
};

/* Lists what is to go; rows are deleted once the list has been read. */
static bool add_pruned(void *arg, struct thread *t)
{
	struct pruning *p = arg;
	bool spare = p->what->keep < 0 || p->seen < p->what->keep;

	p->seen++;
	if (t->pid || (spare && t->updated >= p->what->before))
		return true;
	/* grows at powers of two, so that no capacity need be kept */
	if (!(p->n & (p->n - 1)))
		p->list = xrealloc(p->list, p->n ? p->n * 2 : 1,
				   sizeof(*p->list));
	p->list[p->n++] = *t;
	*t = (struct thread){ 0 };
	return true;
}

/* 1 deleted, 0 taken up or deleted by another meanwhile, -1. */
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
