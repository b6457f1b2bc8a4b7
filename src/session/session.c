/* session.c - a stored conversation that is in use. */
/* SPDX-License-Identifier: MIT */

/*
 * A session is a thread that this process has locked. It stores messages as
 * they arrive, the draft of an answer while it streams, and which sandbox the
 * thread uses. A thread without messages is not stored. Begin reading at the
 * first message, session_append().
 */
#include "session/session.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/stop.h"
#include "base/str.h"
#include "session/sql.h"
#include "session/thread.h"

enum { LINE_MOST = 4096 };

static int add_copied(struct session *s, struct error *err);

/* Reads the first line of a small file; false if that fails. */
static bool read_line(const char *path, char line[LINE_MOST])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return false;
	n = io_read(fd, line, LINE_MOST - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return n > 0;
}

static bool read_head(const char *path, char line[LINE_MOST])
{
	char *head = xasprintf("%s/HEAD", path);
	bool ok = read_line(head, line);

	free(head);
	return ok;
}

/* Reads HEAD. .git is a directory, or a file that names one: "gitdir:
 * ../.git/worktrees/x" (gitrepository-layout(5)). */
static bool read_git(const char *directory, char line[LINE_MOST])
{
	char *git = path_join(directory, ".git");
	char *named;
	bool ok = read_head(git, line);

	if (!ok && read_line(git, line) &&
	    str_starts(str_of(line), "gitdir: ")) {
		named = path_join(directory, line + strlen("gitdir: "));
		ok = read_head(named, line);
		free(named);
	}
	free(git);
	return ok;
}

void branch_read(const char *directory, char out[BRANCH_SIZE])
{
	static const char ref[] = "ref: refs/heads/";
	bool is_repository = false;
	char line[LINE_MOST];
	char *root;

	out[0] = '\0';
	if (!directory || directory[0] != '/')
		return;
	root = xstrdup(directory);
	root[project_root(root, project_owner(root), &is_repository)] = '\0';
	if (is_repository && read_git(root, line) &&
	    str_starts(str_of(line), ref))
		snprintf(out, BRANCH_SIZE, "%s", line + strlen(ref));
	free(root);
}

enum {
	BODY_MAX = 256 << 20, /* bytes of one stored message */
	/* bytes of the buffer that stay allocated between messages */
	BODY_KEPT = 256 << 10,
	SENTENCE_LEAST = 12, /* bytes of a title's sentence */
};

struct session {
	struct store *store; /* borrowed */
	char id[37];
	char *model, *cwd, *provider, *sandbox, *label, *agent;
	bool headless;
	char *title;
	char branch[BRANCH_SIZE]; /* as stored */
	sqlite3_int64 no;         /* 0: not stored yet */
	/* row ID of the thread whose messages are copied before the first
	 * append; 0: none */
	sqlite3_int64 copy_of;
	int64_t copies; /* how many messages are copied; -1: all */
	/* deleted at the end: a stored copy to which nothing was appended, or
	 * discarded */
	bool untouched;
	bool outdated; /* the stored columns differ from these fields */
	/* row ID of the answer that is streaming; 0: none */
	sqlite3_int64 draft;
	sqlite3_int64 last; /* row ID of the last appended message */
	struct buf body;
};

static char *copy_text(const char *s)
{
	return xstrdup(s ? s : "");
}

static void copy_info(struct session *s, const struct session_info *info)
{
	s->model = copy_text(info->model);
	s->cwd = copy_text(info->cwd);
	s->provider = copy_text(info->provider);
	s->sandbox = copy_text(info->sandbox);
	s->label = copy_text(info->label);
	s->agent = copy_text(info->agent);
	s->headless = info->headless;
}

static void release_info(struct session *s)
{
	free(s->model);
	free(s->cwd);
	free(s->provider);
	free(s->sandbox);
	free(s->label);
	free(s->agent);
}

void session_set_info(struct session *s, const struct session_info *info)
{
	release_info(s);
	copy_info(s, info);
	s->outdated = true;
}

struct session *session_new(struct store *s, const struct session_info *info)
{
	struct session *session = xcalloc(1, sizeof(*session));

	session->store = s;
	ids_uuid7(session->id);
	copy_info(session, info);
	session->body = BUF_INIT(BODY_MAX);
	return session;
}

int session_resume(struct session **out, struct store *s,
		   const struct thread *t, const struct session_info *info,
		   int64_t *pid, struct error *err)
{
	struct session *session;

	if (thread_lock(s, t->no, pid, err) < 0)
		return -1;
	session = session_new(s, info);
	snprintf(session->id, sizeof(session->id), "%s", t->id);
	session->no = t->no;
	session->outdated = true;
	*out = session;
	return 0;
}

struct session *session_copy(struct store *s, const struct thread *t,
			     const struct session_info *info)
{
	struct session *session = session_new(s, info);

	session->title = xstrdup(t->title);
	session->copy_of = t->no;
	session->copies = -1;
	return session;
}

int session_copy_first(struct session **out, struct store *s,
		       const struct thread *t, int64_t messages,
		       struct error *err)
{
	const struct session_info info = {
		.model = t->model,
		.cwd = t->cwd,
		.provider = t->provider,
		.sandbox = t->sandbox,
		.agent = t->agent,
	};
	struct session *session = session_copy(s, t, &info);

	session->copies = messages;
	if (store_begin(s, err) == 0) {
		if (add_copied(session, err) == 0 &&
		    store_commit(s, err) == 0) {
			session->untouched = true;
			*out = session;
			return 0;
		}
		store_rollback(s);
	}
	session->no = 0;
	session_free(session);
	return -1;
}

const char *session_id(const struct session *s)
{
	return s->id;
}

bool session_is_stored(const struct session *s)
{
	return s->no != 0;
}

bool session_stays(const struct session *s)
{
	return s->no && !s->untouched;
}

int64_t session_row(const struct session *s, struct store **store)
{
	*store = s->store;
	return s->no;
}

/* Adds the thread's row, locked by this process. */
static int add_thread(struct session *s, struct error *err)
{
	sqlite3_stmt *st = store_sql(s->store, SQL_THREAD_ADD, err);
	struct process self = { 0 };

	if (!st)
		return -1;
	process_self(&self);
	branch_read(s->cwd, s->branch);
	store_bind(st, 1, s->id);
	sqlite3_bind_int64(st, 2, clock_unix_ms());
	store_bind(st, 3, s->model);
	store_bind(st, 4, s->sandbox);
	store_bind(st, 5, s->cwd);
	store_bind(st, 6, s->provider);
	store_bind(st, 7, s->label);
	store_bind(st, 8, s->branch);
	store_bind(st, 9, s->title);
	sqlite3_bind_int64(st, 10, self.pid);
	sqlite3_bind_int64(st, 11, self.started);
	store_bind(st, 12, self.place);
	store_bind(st, 13, s->agent);
	sqlite3_bind_int(st, 14, s->headless);
	if (store_run(s->store, st, err) < 0)
		return -1;
	s->no = sqlite3_last_insert_rowid(s->store->db);
	return 0;
}

static int update_thread(struct session *s, struct error *err)
{
	sqlite3_stmt *st = store_sql(s->store, SQL_THREAD_SET, err);

	if (!st)
		return -1;
	branch_read(s->cwd, s->branch);
	sqlite3_bind_int64(st, 1, s->no);
	store_bind(st, 2, s->model);
	store_bind(st, 3, s->sandbox);
	store_bind(st, 4, s->cwd);
	store_bind(st, 5, s->provider);
	store_bind(st, 6, s->label);
	store_bind(st, 7, s->branch);
	store_bind(st, 8, s->agent);
	sqlite3_bind_int(st, 9, s->headless);
	return store_run(s->store, st, err);
}

int session_store_info(struct session *s, struct error *err)
{
	if (!s->no || !s->outdated)
		return 0;
	if (update_thread(s, err) < 0)
		return -1;
	s->outdated = false;
	return 0;
}

int session_place_thread(struct store *s, const char *id,
			 const struct session_info *info, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_THREAD_PLACE, err);

	if (!st)
		return -1;
	store_bind(st, 1, id);
	store_bind(st, 2, info->provider);
	store_bind(st, 3, info->sandbox);
	store_bind(st, 4, info->label);
	return store_run(s, st, err);
}

static int copy_rows(struct session *s, enum statement which, struct error *err)
{
	sqlite3_stmt *st;

	if (!s->copy_of)
		return 0;
	st = store_sql(s->store, which, err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, s->no);
	sqlite3_bind_int64(st, 2, s->copy_of);
	sqlite3_bind_int64(st, 3, s->copies);
	return store_run(s->store, st, err);
}

/* Adds a message or a compaction, whose columns are the same. */
static int add_body(struct session *s, enum statement which,
		    const struct usage *u, struct error *err)
{
	static const struct usage none;
	sqlite3_stmt *st = store_sql(s->store, which, err);

	if (!st)
		return -1;
	if (!u)
		u = &none;
	sqlite3_bind_int64(st, 1, s->no);
	sqlite3_bind_int64(st, 2, clock_unix_ms());
	sqlite3_bind_int64(st, 3, u->input);
	sqlite3_bind_int64(st, 4, u->output);
	sqlite3_bind_int64(st, 5, u->cache_read);
	sqlite3_bind_int64(st, 6, u->cache_write);
	sqlite3_bind_text64(st, 7, s->body.ptr, s->body.len, SQLITE_STATIC,
			    SQLITE_UTF8);
	return store_run(s->store, st, err);
}

static int add_copied(struct session *s, struct error *err)
{
	return add_thread(s, err) == 0 &&
			       copy_rows(s, SQL_MESSAGE_COPY, err) == 0 &&
			       copy_rows(s, SQL_COMPACTION_COPY, err) == 0
		       ? 0
		       : -1;
}

/* Adds the thread together with its first message, in one transaction. */
static int add_first(struct session *s, const struct usage *u,
		     struct error *err)
{
	if (store_begin(s->store, err) < 0)
		return -1;
	if (add_copied(s, err) == 0 &&
	    add_body(s, SQL_MESSAGE_ADD, u, err) == 0 &&
	    store_commit(s->store, err) == 0)
		return 0;
	s->no = 0;
	store_rollback(s->store);
	return -1;
}

static int add_next(struct session *s, const struct usage *u, struct error *err)
{
	if (s->outdated && update_thread(s, err) < 0)
		return -1;
	s->outdated = false;
	s->untouched = false;
	return add_body(s, SQL_MESSAGE_ADD, u, err);
}

static int run_on_draft(struct session *s, enum statement which,
			struct error *err)
{
	sqlite3_stmt *st = store_sql(s->store, which, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, s->draft);
	return store_run(s->store, st, err);
}

int session_drop_draft(struct session *s, struct error *err)
{
	int rc = 0;

	if (!s->draft)
		return 0;
	rc = store_begin(s->store, err);
	if (rc == 0 && (run_on_draft(s, SQL_DRAFT_UNCOUNT, err) < 0 ||
			run_on_draft(s, SQL_DRAFT_DROP, err) < 0 ||
			store_commit(s->store, err) < 0)) {
		store_rollback(s->store);
		rc = -1;
	}
	s->draft = 0;
	return rc;
}

int session_drop_last(struct session *s, struct error *err)
{
	s->draft = s->last;
	s->last = 0;
	return session_drop_draft(s, err);
}

/* Updates the draft's row in place: a reader that counts messages then finds
 * the answer at the same position. */
static int update_draft(struct session *s, struct error *err)
{
	sqlite3_stmt *st = store_sql(s->store, SQL_DRAFT_SET, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, s->draft);
	sqlite3_bind_text64(st, 2, s->body.ptr, s->body.len, SQLITE_STATIC,
			    SQLITE_UTF8);
	return store_run(s->store, st, err);
}

int session_draft(struct session *s, const struct message *m, struct error *err)
{
	int rc;

	buf_clear(&s->body);
	message_to_json(m, &s->body);
	rc = buf_check(&s->body, "message", err);
	if (rc == 0)
		rc = store_check_capacity(s->store, s->body.len, err);
	if (rc == 0 && s->draft)
		return update_draft(s, err);
	if (rc == 0)
		rc = s->no ? add_next(s, NULL, err) : add_first(s, NULL, err);
	if (rc == 0)
		s->draft = sqlite3_last_insert_rowid(s->store->db);
	return rc;
}

void session_keep_draft(struct session *s)
{
	s->draft = 0;
}

int session_begin(struct session *s, struct error *err)
{
	return store_begin(s->store, err);
}

int session_commit(struct session *s, struct error *err)
{
	return store_commit(s->store, err);
}

void session_rollback(struct session *s)
{
	store_rollback(s->store);
}

/* Cuts a prompt after its first sentence or paragraph, for the title. A stop
 * within the first characters ("Hi.") or after a word with another one ("e.g.")
 * does not end the sentence. */
static void cut_to_sentence(char *text)
{
	size_t begin = strspn(text, " \t\r\n");
	size_t word = begin; /* where the current word begins */
	size_t i;

	for (i = begin; text[i] && strncmp(text + i, "\n\n", 2) != 0; i++) {
		bool ends = strchr(".!?", text[i]) &&
			    (text[i + 1] == ' ' || text[i + 1] == '\n');

		if (ends && i - begin >= SENTENCE_LEAST &&
		    !memchr(text + word, '.', i - word))
			break;
		if (text[i] == ' ' || text[i] == '\n')
			word = i + 1;
	}
	if (text[i] == '!' || text[i] == '?')
		i++;
	text[i] = '\0';
}

int session_append(struct session *s, const struct message *m,
		   const struct usage *u, struct error *err)
{
	char *text;
	int rc;

	if (s->draft) {
		if (session_begin(s, err) < 0)
			return -1;
		if (session_drop_draft(s, err) < 0 ||
		    session_append(s, m, u, err) < 0) {
			store_rollback(s->store);
			return -1;
		}
		return session_commit(s, err);
	}

	buf_clear(&s->body);
	message_to_json(m, &s->body);
	rc = buf_check(&s->body, "message", err);
	if (rc == 0)
		rc = store_check_capacity(s->store, s->body.len, err);
	if (rc == 0 && !s->title) {
		text = message_typed(m);
		if (text)
			cut_to_sentence(text);
		s->title = thread_title(text);
		free(text);
	}
	if (rc == 0)
		rc = s->no ? add_next(s, u, err) : add_first(s, u, err);
	if (rc == 0)
		s->last = sqlite3_last_insert_rowid(s->store->db);
	if (s->body.cap > BODY_KEPT)
		buf_release(&s->body);
	return rc;
}

static int replace_compaction(struct session *s, const struct usage *u,
			      struct error *err)
{
	sqlite3_int64 was = s->no;
	sqlite3_stmt *st = NULL;

	if (store_begin(s->store, err) < 0)
		return -1;
	s->untouched = false;
	if (was || add_copied(s, err) == 0)
		st = store_sql(s->store, SQL_COMPACTION_CLEAR, err);
	if (st)
		sqlite3_bind_int64(st, 1, s->no);
	if (st && store_run(s->store, st, err) == 0 &&
	    add_body(s, SQL_COMPACTION_ADD, u, err) == 0 &&
	    store_commit(s->store, err) == 0)
		return 0;
	s->no = was;
	store_rollback(s->store);
	return -1;
}

int session_compact(struct session *s, struct str body, const struct usage *u,
		    struct error *err)
{
	int rc;

	buf_clear(&s->body);
	buf_addstr(&s->body, body);
	rc = buf_check(&s->body, "the compacted conversation", err);
	if (rc == 0)
		rc = store_check_capacity(s->store, s->body.len, err);
	if (rc == 0)
		rc = replace_compaction(s, u, err);
	if (s->body.cap > BODY_KEPT)
		buf_release(&s->body);
	return rc;
}

struct store *session_store(const struct session *s, int64_t *no)
{
	*no = s->no ? s->no : s->copy_of;
	return s->store;
}

void session_discard(struct session *s)
{
	s->untouched = true;
}

/* Stores the branch that is checked out now: the thread's last one. */
static void store_branch(struct session *s)
{
	char branch[BRANCH_SIZE];
	struct error ignored = { 0 };
	sqlite3_stmt *st;

	branch_read(s->cwd, branch);
	if (s->outdated || !strcmp(branch, s->branch))
		return; /* outdated: this process has stored nothing */
	st = store_sql(s->store, SQL_THREAD_BRANCH, &ignored);
	if (!st)
		return;
	sqlite3_bind_int64(st, 1, s->no);
	store_bind(st, 2, branch);
	(void)store_run(s->store, st, &ignored);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (s->no && s->untouched) {
		const struct thread copy = { .no = s->no, .id = s->id };
		struct error ignored = { 0 };

		(void)thread_delete(s->store, &copy, &ignored);
	} else if (s->no) {
		store_branch(s);
		thread_unlock(s->store, s->no);
	}
	release_info(s);
	free(s->title);
	buf_release(&s->body);
	free(s);
}
