/* send.c - the user's tree into a sandbox, and what changes in it later. */
/* SPDX-License-Identifier: MIT */
/*
 * workspace_send() sends the whole selection once: files, the last commits if
 * they are asked for, and the listing of both. Then the base and its listing
 * are set, so that both sides know what they share. workspace_sync() compares
 * the tree with the base and sends what differs; a script there replaces files
 * that are still as in the base and keeps files that the agent changed, and
 * the base moves for those that were taken over.
 *
 * Beside the base, files of LABEL are kept: .exclude (names that were in the
 * sandbox before), .included (what only an include has sent), and .uncommitted
 * (the sandbox's git has yet to commit the tree: commit_begin() does it).
 */
#include "worktree/send.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/exec.h"
#include "sandbox/helper.h"
#include "sandbox/transfer.h"
#include "worktree/stream_files.h"

enum {
	LISTING_LINE = 6 + 1 + 64 + 1 + 1, /* bytes, but for the path */
	CHANGE_LINE = 2 * (6 + 1 + 64) + 2 + 1,
	EXCLUDE_MAX = 4 << 20,
	MESSAGE_MAX = 4096,
	REASONS_MAX = 64, /* kinds of files that were not sent, in a message */
	CLEANUP_MS = 10000,
	/* git commits so little in a moment: no need to do it later. */
	QUICK_BYTES = 8 << 20,
	QUICK_FILES = 1000,
	INCLUDED_MAX = 64 << 20, /* bytes of the list */
	NOTE_MAX = 64 << 10,
	COMMIT_MS = 600000, /* the longest that a command waits for it */
	SAID_MAX = 1 << 10,
};

struct included {     /* start from { 0 }; release it */
	char **paths; /* sorted; as "asked" of a selection has them; owned */
	size_t n;
};

static void release_included(struct included *i)
{
	for (size_t k = 0; k < i->n; k++)
		free(i->paths[k]);
	free(i->paths);
	*i = (struct included){ 0 };
}

static char *included_file(const struct workspace *w)
{
	return xasprintf("%s/%s.included", w->directory, w->label);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_included(struct included *i, const char *path, size_t len)
{
	i->paths = xrealloc(i->paths, i->n + 1, sizeof(*i->paths));
	i->paths[i->n++] = xstrndup(path, len);
}

static bool is_included(const struct included *i, size_t n, const char *path)
{
	return n &&
	       bsearch(&path, i->paths, n, sizeof(*i->paths), compare_names);
}

static void sort_paths(struct included *i)
{
	if (i->n)
		qsort(i->paths, i->n, sizeof(*i->paths), compare_names);
}

/* Each path has a byte 0 behind it. Empty if nothing was included. */
static int read_included(struct included *i, const struct workspace *w,
			 struct error *err)
{
	struct buf text = BUF_INIT(INCLUDED_MAX);
	char *file = included_file(w);
	struct str path;
	struct str rest;
	int rc = access(file, F_OK) == 0 ? path_read(file, &text, err) : 0;

	rest = buf_str(&text);
	while (rc == 0 && str_split(&rest, '\0', &path))
		if (path.len)
			add_included(i, path.ptr, path.len);
	sort_paths(i);
	buf_release(&text);
	free(file);
	return rc;
}

static int write_paths(const struct included *i, const struct workspace *w,
		       struct error *err)
{
	struct buf text = BUF_INIT(INCLUDED_MAX);
	char *file = included_file(w);
	int rc;

	for (size_t k = 0; k < i->n; k++)
		buf_add(&text, i->paths[k], strlen(i->paths[k]) + 1);
	rc = buf_check(&text, "what was included", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* How many were added that the selection asked for. */
static size_t add_asked(struct included *i, const struct selection *s)
{
	size_t old = i->n;

	for (size_t k = 0; k < s->n_asked; k++)
		if (!is_included(i, old, s->asked[k].path))
			add_included(i, s->asked[k].path,
				     strlen(s->asked[k].path));
	sort_paths(i);
	return i->n - old;
}

/* Adds what the selection s asked for, and what another dcode has added
 * meanwhile, and writes all of them. A later sync sends these again. */
static int note_included(struct included *i, const struct workspace *w,
			 const struct selection *s, const struct stop *stop,
			 struct error *err)
{
	int lock;
	int rc;

	if (!add_asked(i, s))
		return 0;
	lock = workspace_lock(w, stop, err);
	if (lock < 0)
		return -1;
	release_included(i);
	rc = read_included(i, w, err);
	if (rc == 0 && add_asked(i, s))
		rc = write_paths(i, w, err);
	close(lock);
	return rc;
}

/* True if path is one of them, or below one. */
static bool was_included(const struct included *i, const char *path)
{
	char *up = xstrdup(path);
	bool found = is_included(i, i->n, up);
	char *slash;

	while (!found && (slash = strrchr(up, '/'))) {
		*slash = '\0';
		found = is_included(i, i->n, up);
	}
	free(up);
	return found;
}

struct commit_terms { /* arguments of workspace_commit.sh; borrowed */
	const char *branch;
	const char *message;
	const char *commits; /* "OID:SIZE", or "" */
};

struct commit_job {
	struct sandbox *sandbox; /* borrowed */
	char *note; /* owned: the file that says it is to be done */
	struct buf text;
	struct commit_terms terms; /* in text */
};

static char *note_file(const struct workspace *w)
{
	return xasprintf("%s/%s.uncommitted", w->directory, w->label);
}

/* Notes in LABEL.uncommitted that the sandbox has the tree and no commit. */
static int note_commit(const struct workspace *w, const struct commit_terms *t,
		       struct error *err)
{
	struct buf text = BUF_INIT(NOTE_MAX);
	char *file = note_file(w);
	int rc;

	buf_add(&text, t->branch, strlen(t->branch) + 1);
	buf_add(&text, t->message, strlen(t->message) + 1);
	buf_add(&text, t->commits, strlen(t->commits) + 1);
	rc = buf_check(&text, "the words of the commit", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* A background_work of a commit_job. */
static int run_commit(void *arg, const struct stop *stop, struct error *err)
{
	const struct commit_job *j = arg;
	struct helper h = { .script = HELPER_COMMIT,
			    .args = { str_of(sandbox_tree_dir(j->sandbox)),
				      str_of(j->terms.branch),
				      str_of(j->terms.message),
				      str_of(j->terms.commits) },
			    .n_args = 4,
			    .ahead = true,
			    .timeout_ms = COMMIT_MS,
			    .out = BUF_INIT(SAID_MAX) };
	int rc = helper_run(j->sandbox, &h, stop, err);

	if (rc == 0 && h.timed_out)
		rc = error_set(err, ERR_TIMEOUT, "git took too long");
	if (rc == 0)
		(void)unlink(j->note);
	if (rc == 0 && !str_starts(str_of(h.status), "ok "))
		rc = error_set(err, ERR_REMOTE, "%s", h.status);
	else if (rc == 0 && !strcmp(h.status, "ok failed"))
		rc = error_set(err, ERR_REMOTE, "git failed in the sandbox");
	buf_release(&h.out);
	if (rc < 0)
		return error_wrap(
			err, "the tree is not a repository in the sandbox");
	if (j->terms.commits[0] && !strcmp(h.status, "ok git"))
		return error_set(err, ERR_REMOTE,
				 "git in the sandbox rejected the history");
	return 0;
}

static void release_job(void *arg)
{
	struct commit_job *j = arg;

	buf_release(&j->text);
	free(j->note);
	free(j);
}

/* Three texts with a byte 0 behind each. */
static bool read_terms(struct commit_job *j)
{
	const char **to[] = { &j->terms.branch, &j->terms.message,
			      &j->terms.commits };
	struct str rest = buf_str(&j->text);

	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++) {
		size_t len = str_find(rest, '\0');

		if (len == rest.len)
			return false;
		*to[i] = rest.ptr;
		rest = str_skip(rest, len + 1);
	}
	return true;
}

int commit_begin(const struct workspace *w, struct sandbox *sb,
		 struct error *err)
{
	struct commit_job *j;
	struct background_work work = { run_commit, release_job, NULL };
	char *file = note_file(w);
	int rc = 0;

	if (access(file, F_OK) < 0) {
		free(file);
		return 0;
	}
	j = xcalloc(1, sizeof(*j));
	*j = (struct commit_job){ .sandbox = sb,
				  .note = file,
				  .text = BUF_INIT(NOTE_MAX) };
	rc = path_read(file, &j->text, err);
	if (rc == 0 && read_terms(j)) {
		work.arg = j;
		return background_start(&sb->background, &work, err);
	}
	release_job(j);
	return rc;
}

struct sending {
	const struct send_request *r;
	const struct selection *s;
	const struct rewritten *history;
};

static void write_listing(void *arg, struct listing *read, struct buf *out)
{
	(void)arg;
	listing_write(read, out);
}

static void on_progress(void *arg, size_t files, int64_t bytes)
{
	const struct sending *s = arg;

	if (s->r->progress)
		s->r->progress(s->r->arg, files, bytes);
}

static size_t listing_size(const struct selection *s)
{
	size_t size = 1;

	for (size_t i = 0; i < s->n; i++)
		size += LISTING_LINE + strlen(s->files[i].path);
	return size;
}

/* "2: a private key": how many files were not sent, for each reason. */
static void add_reasons(const struct selection *s, struct buf *out)
{
	const char *known[REASONS_MAX];
	size_t count[REASONS_MAX] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < s->n_left; i++) {
		size_t k = 0;

		while (k < n && strcmp(known[k], s->left[i].why) != 0)
			k++;
		if (k == REASONS_MAX)
			continue;
		if (k == n)
			known[n++] = s->left[i].why;
		count[k]++;
	}
	for (size_t k = 0; k < n; k++)
		buf_addf(out, "%zu: %s\n", count[k], known[k]);
}

/* Says where the tree came from, for whoever reads git log in the sandbox. */
static void write_message(const struct workspace *w, const struct selection *s,
			  struct buf *out)
{
	const char *name = strrchr(w->root, '/') + 1;

	sanitize_line(str_of(name), out);
	if (w->branch[0])
		buf_addf(out, ", branch %.200s", w->branch);
	if (w->head[0])
		buf_addf(out, " at %.12s", w->head);
	buf_addf(out, ", as it was when dcode sent it\n\n%zu file%s.\n", s->n,
		 s->n == 1 ? "" : "s");
	if (s->n_left)
		buf_addf(out, "%zu %s not sent.\n", s->n_left,
			 s->n_left == 1 ? "was" : "were");
	add_reasons(s, out);
}

/* The branch, if git takes its name and a shell's argument can hold it; else
 * "main". */
static const char *branch_name(const struct workspace *w)
{
	const char *b = w->branch;
	size_t good = strspn(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
				"RSTUVWXYZ0123456789._/-");

	if (!b[0] || b[good] || strstr(b, "..") || strstr(b, "//") ||
	    strstr(b, "/.") || b[0] == '/' || b[0] == '-' || b[0] == '.' ||
	    str_ends(str_of(b), "/") || str_ends(str_of(b), ".lock") ||
	    str_ends(str_of(b), "."))
		return "main";
	return b;
}

static char *exclude_file(const struct workspace *w)
{
	return xasprintf("%s/%s.exclude", w->directory, w->label);
}

int workspace_read_exclude(const struct workspace *w, struct buf *out,
			   struct error *err)
{
	char *file = exclude_file(w);
	int rc = path_read(file, out, err);

	free(file);
	return rc;
}

static bool is_sent(const struct selection *s, struct str name)
{
	size_t low = 0;
	size_t high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *path = s->files[middle].path;
		int order = strncmp(path, name.ptr, name.len);

		if (order == 0 && (!path[name.len] || path[name.len] == '/'))
			return true;
		if (order < 0 || (order == 0 && path[name.len] < '/'))
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Names that were in the sandbox before are not the agent's work, unless the
 * tree has a file of this name. said is untrusted; adds one pattern a line. */
static void add_earlier(struct buf *out, struct str said,
			const struct selection *s)
{
	struct str line;

	while (str_split(&said, '\n', &line)) {
		if (!line.len || is_sent(s, line) || str_is(line, ".git"))
			continue;
		buf_adds(out, "/");
		for (size_t i = 0; i < line.len; i++) {
			if (strchr("*?[]\\! ", line.ptr[i]))
				buf_addc(out, '\\');
			buf_addc(out, line.ptr[i]);
		}
		buf_addc(out, '\n');
	}
}

/* LABEL.exclude: the user's patterns, then earlier names. */
static int keep_exclude(struct workspace *w, const struct user_repo *u,
			const char *home, struct str earlier,
			const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(EXCLUDE_MAX);
	char *file = exclude_file(w);
	int rc = user_repo_excludes(u, &w->git, home, &text, stop, err);

	buf_add(&text, earlier.ptr, earlier.len);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	free(file);
	buf_release(&text);
	return rc;
}

/* -1 if the sandbox could not take the tree. */
static int check_status(const struct stream_result *out,
			struct send_result *result, struct error *err)
{
	result->repository = !strcmp(out->status, "ok git") ||
			     !strcmp(out->status, "ok history");
	result->git_failed = !strcmp(out->status, "ok failed");
	result->no_git = !strcmp(out->status, "ok nogit");
	result->deferred = !strcmp(out->status, "ok later");
	result->has_history = !strcmp(out->status, "ok history");
	result->changed = out->changed;
	if (str_starts(str_of(out->status), "ok "))
		return 0;
	return stream_failed(out, "the tree", err);
}

/* If the history cannot be made, the tree goes without it. */
static int make_history(struct workspace *w, const struct selection *s,
			const struct send_request *r,
			struct send_result *result, const struct stop *stop,
			struct error *err)
{
	struct rewrite_request q = { .most = r->history,
				     .include = r->include,
				     .n_include = r->n_include,
				     .mask = r->mask,
				     .files = s };

	if (r->history <= 0)
		return 0;
	if (rewrite_commits(&result->history, w, &q, stop,
			    &result->unwritten) == 0)
		return 0;
	return stop_check(stop, err);
}

/* True if the sandbox's git can commit at once. */
static bool is_quick(const struct sending *sending)
{
	return !sending->r->may_defer ||
	       (sending->s->bytes + sending->history->size < QUICK_BYTES &&
		sending->s->n < QUICK_FILES);
}

static int send_files(struct workspace *w, struct sending *sending,
		      struct stream_result *out, const struct stop *stop,
		      struct error *err)
{
	const struct selection *s = sending->s;
	const struct rewritten *history = sending->history;
	struct buf message = BUF_INIT(MESSAGE_MAX);
	char *ref = odb_ref_name(w->label, "sending");
	struct odb_commit_info info = { .ref = ref, .unsynced = true };
	struct stream_request c = { .sandbox = sending->r->sandbox,
				    .workspace = w,
				    .files = s->files,
				    .n = s->n,
				    .trailer = write_listing,
				    .trailer_size = listing_size(s),
				    .progress = on_progress,
				    .arg = sending,
				    .attachment = history->fd,
				    .attachment_size = history->size,
				    .commit = &info,
				    .script = HELPER_SEND };
	char *commits =
		xasprintf("%s:%" PRId64, history->head, history->names_size);
	struct commit_terms terms = { .branch = branch_name(w),
				      .commits = history->size ? commits : "" };
	int rc;

	write_message(w, s, &message);
	info.message = terms.message = message.ptr;
	c.args[0] = str_of(terms.branch);
	c.args[1] = str_of(terms.message);
	c.args[2] = str_of(terms.commits);
	c.args[3] = is_quick(sending) ? STR("") : STR("1");
	rc = stream_files(&c, out, stop, err);
	if (rc == 0 && !strcmp(out->status, "ok later"))
		rc = note_commit(w, &terms, err);
	buf_release(&message);
	free(commits);
	free(ref);
	return rc;
}

/* Its numbers stay. */
static void close_history(struct rewritten *history)
{
	struct rewritten numbers = *history;

	rewritten_release(history);
	*history = numbers;
	history->fd = -1;
}

/* Deletes the ref of what was being sent: it is the base now, or not needed. An
 * interrupt waits for this, so it runs only if there may be such a ref. */
static void drop_sending(const struct workspace *w)
{
	struct stop own = stop_cleanup(CLEANUP_MS);
	char *ref = odb_ref_name(w->label, "sending");
	struct error ignored = { 0 };

	(void)odb_ref_set(&w->git, ref, NULL, &own, &ignored);
	free(ref);
}

int workspace_send(struct workspace *w, const struct selection *s,
		   const struct send_request *r, struct send_result *result,
		   const struct stop *stop, struct error *err)
{
	struct sending sending = { r, s, &result->history };
	struct stream_result out = { .said = BUF_INIT(1) };
	struct buf earlier = BUF_INIT(EXCLUDE_MAX);
	struct included included = { 0 };
	struct user_repo u;
	int rc = user_repo_open(&u, w->root, &w->git, stop, err);

	*result = (struct send_result){ 0 };
	free(w->branch);
	w->branch = xstrdup(u.branch ? u.branch : "");
	memcpy(w->head, u.head, sizeof(w->head));
	if (rc == 0)
		rc = make_history(w, s, r, result, stop, err);
	if (rc == 0)
		rc = send_files(w, &sending, &out, stop, err);
	close_history(&result->history);
	if (rc == 0)
		rc = check_status(&out, result, err);
	add_earlier(&earlier, buf_str(&out.said), s);
	if (rc == 0)
		rc = keep_exclude(w, &u, r->home, buf_str(&earlier), stop, err);
	if (rc == 0)
		rc = note_included(&included, w, s, stop, err);
	if (rc == 0)
		rc = workspace_write_listing(w, &out.read, out.oid, err);
	if (rc == 0)
		rc = workspace_set_base(w, out.oid, stop, err);
	if (out.committed)
		drop_sending(w);
	release_included(&included);
	buf_release(&earlier);
	stream_result_release(&out);
	user_repo_release(&u);
	return rc;
}

#define NO_HASH                                                                \
	"0000000000000000000000000000000000000000000000000000000000000000"
#define NOTHING "000000 " NO_HASH

/* One path that differs. */
struct local_change {
	const char *path;  /* of a listing */
	unsigned old_mode; /* 0: the base has none */
	char old_hash[LISTING_HASH];
	bool gone; /* there is none now */
};

struct syncing {
	struct workspace *w;
	const struct sync_request *r;
	struct sync_result *result;
	struct listing base;
	struct included included;
	struct listing now;            /* as found when looking for changes */
	const struct selection *found; /* while they are looked for */
	struct local_change *changes;
	size_t n;
	struct selected *files; /* those to send; paths are the listing's */
	size_t n_files;
	const char **gone;
	size_t n_gone;
	size_t size; /* of the trailer, at most */
	char local_ref[128];
	char from[GIT_OID]; /* the base that changes are told against */
	struct stream_result out;
};

/* line is from a listing, which writes a line end as the byte 1. */
static void add_path(char ***list, size_t *n, struct str line)
{
	char *path = xstrndup(line.ptr ? line.ptr : "", line.len);

	for (char *p = path; *p; p++)
		if (*p == '\1')
			*p = '\n';
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = path;
}

/* True for a file that is never sent unasked: it is there, though not among the
 * selected files. */
static bool is_held(const struct selection *found, const char *path)
{
	for (size_t i = 0; i < found->n_left; i++)
		if (!strcmp(found->left[i].path, path))
			return true;
	return false;
}

static int add_change(void *arg, const struct listing_entry *before,
		      const struct listing_entry *after, struct error *err)
{
	struct syncing *s = arg;
	struct local_change c = { .path = (after ? after : before)->path,
				  .old_mode = before ? before->mode : 0,
				  .gone = after == NULL };

	(void)err;
	if (c.gone && is_held(s->found, c.path)) {
		add_path(&s->result->held, &s->result->n_held, str_of(c.path));
		return 0;
	}
	memcpy(c.old_hash, before ? before->hash : NO_HASH, LISTING_HASH);
	s->changes = xrealloc(s->changes, s->n + 1, sizeof(*s->changes));
	s->changes[s->n++] = c;
	s->size += CHANGE_LINE + strlen(c.path);
	return 0;
}

/* Selects all that a send would, and each path of the base, which may be
 * ignored by now. */
static int select_all(struct syncing *s, struct selection *sel,
		      const struct stop *stop, struct error *err)
{
	const char **extra = xcalloc(s->base.n + 1, sizeof(const char *));
	struct select_request q = s->r->select;
	int rc;

	listing_sort(&s->base);
	for (size_t i = 0; i < s->base.n; i++)
		extra[i] = s->base.entries[i].path;
	q.extra = extra;
	q.n_extra = s->base.n;
	q.allowed = (const char *const *)s->included.paths;
	q.n_allowed = s->included.n;
	q.guard_extra = true; /* the agent's .env may hold real keys by now */
	rc = select_files(sel, s->w, &q, stop, err);
	free(extra);
	return rc;
}

/* Splits the changes into files to send and paths that are gone. Both lists
 * are sorted. */
static void choose_files(struct syncing *s, const struct selection *sel)
{
	size_t at = 0;

	s->files = xcalloc(s->n + 1, sizeof(*s->files));
	s->gone = xcalloc(s->n + 1, sizeof(const char *));
	for (size_t i = 0; i < s->n; i++) {
		const char *path = s->changes[i].path;

		if (s->changes[i].gone) {
			s->gone[s->n_gone++] = path;
			continue;
		}
		while (at < sel->n && strcmp(sel->files[at].path, path) < 0)
			at++;
		if (at == sel->n)
			break;
		s->files[s->n_files] = sel->files[at];
		s->files[s->n_files].path = (char *)path;
		s->result->bytes += s->files[s->n_files++].size;
	}
}

static int find_changes(struct syncing *s, const struct stop *stop,
			struct error *err)
{
	struct selection sel = { 0 };
	struct file_reader_request r = { .workspace = s->w };
	struct file_reader *p = NULL;
	int rc = select_all(s, &sel, stop, err);

	if (rc < 0)
		return -1;
	r.files = sel.files;
	r.n = sel.n;
	rc = file_reader_open(&p, &r, err);
	if (rc == 0)
		rc = file_reader_run(p, stop, err);
	if (rc == 0) {
		s->now = *file_reader_listing(p);
		*file_reader_listing(p) = (struct listing){ 0 };
		s->found = &sel;
		rc = listing_compare(&s->base, &s->now, add_change, s, err);
	}
	if (rc == 0)
		choose_files(s, &sel);
	if (rc == 0)
		rc = note_included(&s->included, s->w, &sel, stop, err);
	file_reader_close(p);
	select_release(&sel);
	return rc;
}

/* A file that is gone since it was found to have changed is not mentioned. */
static void write_change(struct listing *read, const struct local_change *c,
			 struct buf *out)
{
	const struct listing_entry *e =
		c->gone ? NULL : listing_find(read, c->path);
	size_t from;

	if (!c->gone && !e)
		return;
	buf_addf(out, "%06o %s ", c->old_mode, c->old_hash);
	if (e)
		buf_addf(out, "%06o %s ", e->mode, e->hash);
	else
		buf_adds(out, NOTHING " ");
	from = out->len;
	buf_adds(out, c->path);
	for (size_t k = from; !out->over && k < out->len; k++)
		if (out->ptr[k] == '\n')
			out->ptr[k] = '\1';
	buf_addc(out, '\n');
}

/* Deletions come first: a file may have taken its directory's place. */
static void write_changes(void *arg, struct listing *read, struct buf *out)
{
	const struct syncing *s = arg;

	for (int gone = 1; gone >= 0; gone--)
		for (size_t i = 0; i < s->n; i++)
			if (s->changes[i].gone == (gone == 1))
				write_change(read, &s->changes[i], out);
}

/* One command with all changes; the script decides about each. */
static int stream_changes(struct syncing *s, const struct stop *stop,
			  struct error *err)
{
	struct odb_commit_info info = { .ref = s->local_ref,
					.parent = s->from,
					.message = "local changes" };
	struct stream_request c = { .sandbox = s->r->sandbox,
				    .workspace = s->w,
				    .files = s->files,
				    .n = s->n_files,
				    .trailer = write_changes,
				    .trailer_size = s->size + 1,
				    .arg = s,
				    .commit = &info,
				    .deleted = s->gone,
				    .n_deleted = s->n_gone,
				    .script = HELPER_SYNC };
	char root[LISTING_HASH];

	listing_root(&s->base, root);
	c.args[0] = str_of(root);
	c.args[1] = s->r->force ? STR("1") : STR("");
	stream_result_release(&s->out);
	return stream_files(&c, &s->out, stop, err);
}

static int64_t read_text(void *arg, char *room, size_t len, struct error *err)
{
	struct str *left = arg;
	size_t n = left->len < len ? left->len : len;

	(void)err;
	if (n)
		memcpy(room, left->ptr, n);
	*left = str_skip(*left, n);
	return (int64_t)n;
}

/* Uploads the listing of the base again, if the sandbox has lost it. */
static int send_base(struct syncing *s, const char *state,
		     const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(LISTING_MAX);
	char *path = xasprintf("%s/base", state);
	struct str left;
	struct transfer t = {
		.path = path, .mode = 0600, .read = read_text, .arg = &left
	};
	int rc;

	listing_write(&s->base, &text);
	left = buf_str(&text);
	t.size = (int64_t)left.len;
	rc = buf_check(&text, "the listing", err);
	if (rc == 0)
		rc = sandbox_upload(s->r->sandbox, &t, 1, stop, err);
	if (rc == 0 && t.error != FILE_OK)
		rc = error_set(err, ERR_REMOTE, "%s: %s", path,
			       file_error_name(t.error));
	free(path);
	buf_release(&text);
	return rc;
}

/* Reads what the sandbox took and what it kept. It is only believed of paths
 * that were sent. */
static void read_answer(struct syncing *s)
{
	struct sync_result *r = s->result;
	struct str said = buf_str(&s->out.said);
	struct str line;

	while (str_split(&said, '\n', &line)) {
		if (str_starts(line, "t "))
			add_path(&r->taken, &r->n_taken, str_skip(line, 2));
		else if (str_starts(line, "k "))
			add_path(&r->kept, &r->n_kept, str_skip(line, 2));
	}
	if (r->n_taken)
		qsort(r->taken, r->n_taken, sizeof(*r->taken), compare_names);
}

/* Splits what was taken over into files that were sent and files that are
 * gone. */
static void split_deleted(struct syncing *s)
{
	struct sync_result *r = s->result;
	size_t kept = 0;

	for (size_t i = 0; i < r->n_taken; i++) {
		char *path = r->taken[i];

		if (!listing_find(&s->out.read, path)) {
			add_path(&r->deleted, &r->n_deleted, str_of(path));
			free(path);
			continue;
		}
		if (was_included(&s->included, path))
			add_path(&r->asked, &r->n_asked, str_of(path));
		r->taken[kept++] = path;
	}
	r->n_taken = kept;
}

static bool is_taken(const struct syncing *s, const char *path)
{
	return s->result->n_taken &&
	       bsearch(&path, s->result->taken, s->result->n_taken,
		       sizeof(*s->result->taken), compare_names);
}

/* Copies what was taken over from the commit of all changes to another. */
struct taken_copy {
	const struct syncing *s;
	struct odb_commit *to;
};

static int copy_taken(void *arg, const struct odb_record *r, struct error *err)
{
	const struct taken_copy *t = arg;

	if (!is_taken(t->s, r->path))
		return 0;
	if (!r->new_mode)
		return odb_commit_delete(t->to, str_of(r->path), err);
	return odb_commit_blob(t->to, r->new_mode, str_of(r->path), r->new_oid,
			       err);
}

/* Adds what was taken over to ref, in a commit on top of parent. */
static int copy_to_ref(struct syncing *s, const char *ref, const char *parent,
		       char oid[GIT_OID], const struct stop *stop,
		       struct error *err)
{
	struct odb_commit_info info = { .ref = ref,
					.parent = parent,
					.message = "taken over" };
	struct taken_copy t = { .s = s };

	if (odb_commit_begin(&t.to, &s->w->git, &info, stop, err) < 0)
		return -1;
	if (odb_tree_diff(&s->w->git, s->from, s->out.oid,
			  &(struct odb_sink){ copy_taken, &t }, stop,
			  err) < 0) {
		odb_commit_abort(t.to);
		return -1;
	}
	return odb_commit_end(t.to, oid, err);
}

static void update_listing(struct syncing *s, struct listing *base)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct local_change *c = &s->changes[i];
		const struct listing_entry *e =
			listing_find(&s->out.read, c->path);

		if (!is_taken(s, c->path))
			continue;
		if (e)
			listing_add(base, e->mode, e->hash, str_of(c->path));
		else
			listing_drop(base, c->path);
	}
}

/* On top of what the base is by now: an apply may have moved it meanwhile. */
static int move_base(struct syncing *s, const struct stop *stop,
		     struct error *err)
{
	struct listing base = { 0 };
	char theirs[GIT_OID];
	char oid[GIT_OID];
	struct error none = { 0 };
	int rc = workspace_read_listing(s->w, &base, stop, err);

	if (rc == 0 &&
	    odb_ref_get(&s->w->git, s->w->theirs_ref, theirs, stop, &none) == 0)
		rc = copy_to_ref(s, s->w->theirs_ref, theirs, theirs, stop,
				 err);
	if (rc == 0)
		rc = copy_to_ref(s, s->w->base_ref, s->w->base, oid, stop, err);
	if (rc == 0) {
		memcpy(s->w->base, oid, sizeof(oid));
		update_listing(s, &base);
		rc = workspace_write_listing(s->w, &base, oid, err);
	}
	listing_release(&base);
	return rc;
}

/* Under the lock of the base. */
static int take_over(struct syncing *s, const struct stop *stop,
		     struct error *err)
{
	int lock;
	int rc;

	read_answer(s);
	lock = workspace_lock_base(s->w, stop, err);
	if (lock < 0)
		return -1;
	rc = move_base(s, stop, err);
	close(lock);
	split_deleted(s);
	return rc;
}

/* If the sandbox has lost the listing of the base, sends it and tries again. */
static int exchange(struct syncing *s, const struct stop *stop,
		    struct error *err)
{
	static const char lost[] = "ok nobase ";
	struct error ignored = { 0 };
	int rc = stream_changes(s, stop, err);

	if (rc == 0 && str_starts(str_of(s->out.status), lost)) {
		char *state = xstrdup(s->out.status + sizeof(lost) - 1);

		rc = send_base(s, state, stop, err);
		free(state);
		if (rc == 0)
			rc = stream_changes(s, stop, err);
	}
	if (rc == 0 && !str_starts(str_of(s->out.status), "ok done "))
		rc = stream_failed(&s->out, "the changes", err);
	if (rc == 0)
		rc = take_over(s, stop, err);
	(void)odb_ref_set(&s->w->git, s->local_ref, NULL, stop, &ignored);
	return rc;
}

int workspace_sync(struct workspace *w, const struct sync_request *r,
		   struct sync_result *result, const struct stop *stop,
		   struct error *err)
{
	struct syncing s = {
		.w = w, .r = r, .result = result, .out = { .said = BUF_INIT(1) }
	};
	char *ref = odb_ref_name(w->label, "local");
	int rc = workspace_read_listing(w, &s.base, stop, err);

	if (strlen(ref) < sizeof(s.local_ref))
		memcpy(s.local_ref, ref, strlen(ref) + 1);
	free(ref);
	memcpy(s.from, w->base, sizeof(s.from));
	if (rc == 0 && (!w->base[0] || !s.local_ref[0]))
		rc = error_set(err, ERR_NOT_FOUND,
			       "nothing was sent to this sandbox");
	if (rc == 0)
		rc = read_included(&s.included, w, err);
	if (rc == 0)
		rc = find_changes(&s, stop, err);
	if (rc == 0 && s.n)
		rc = exchange(&s, stop, err);
	stream_result_release(&s.out);
	release_included(&s.included);
	listing_release(&s.base);
	listing_release(&s.now);
	free(s.changes);
	free(s.files);
	free(s.gone);
	return rc;
}

static void release_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

void sync_result_release(struct sync_result *result)
{
	release_names(result->taken, result->n_taken);
	release_names(result->deleted, result->n_deleted);
	release_names(result->kept, result->n_kept);
	release_names(result->held, result->n_held);
	release_names(result->asked, result->n_asked);
	*result = (struct sync_result){ 0 };
}
