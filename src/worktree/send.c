/* send.c - sends the user's tree to a sandbox, and later changes. */
/* SPDX-License-Identifier: MIT */
/*
 * workspace_send() sends the whole selection once: files, the last commits if
 * requested, and the listing of both. Then the base and its listing are set, so
 * that both sides know what they share. workspace_sync() sends the files that
 * differ from the base. In the sandbox a script replaces files that are
 * unchanged since the base and keeps those that the agent changed. The base is
 * then updated for the applied changes only.
 *
 * Next to the base these files are stored, named LABEL plus a suffix: .exclude
 * (names that were in the sandbox before), .included (files that were sent only
 * because of an --include pattern), and .uncommitted (the sandbox's git has not
 * committed the tree yet: commit_begin() does it).
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
#include "worktree/stream_files.h"

enum {
	/* bytes of a listing's line without its path */
	LISTING_LINE = 6 + 1 + 64 + 1 + 1,
	CHANGE_LINE = 2 * (6 + 1 + 64) + 2 + 1,
	EXCLUDE_MAX = 4 << 20,
	MESSAGE_MAX = 4096,
	/* reasons that a commit message gives for files that were not sent */
	REASONS_MAX = 64,
	CLEANUP_MS = 10000,
	/* git commits a tree below both limits so fast that its commit is not
	 * deferred. */
	QUICK_BYTES = 8 << 20,
	QUICK_FILES = 1000,
	INCLUDED_MAX = 64 << 20, /* bytes of LABEL.included */
	NOTE_MAX = 64 << 10,
	/* time limit of a deferred commit; commands wait for it that long */
	COMMIT_MS = 600000,
	SAID_MAX = 1 << 10,
};

struct included { /* initialise with { 0 } */
	/* paths that an --include pattern has sent, sorted; owned */
	char **paths;
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

static void add_included(struct included *i, const char *path, size_t len)
{
	i->paths = xrealloc(i->paths, i->n + 1, sizeof(*i->paths));
	i->paths[i->n++] = xstrndup(path, len);
}

static bool is_included(const struct included *i, size_t n, const char *path)
{
	return n && bsearch(&path, i->paths, n, sizeof(*i->paths), str_compare);
}

static void sort_paths(struct included *i)
{
	if (i->n)
		qsort(i->paths, i->n, sizeof(*i->paths), str_compare);
}

/* Reads LABEL.included: each path ends in NUL. The list is empty if the file
 * does not exist. */
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
	rc = buf_check(&text, "the list of included files", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* Adds the paths of s->asked. Returns how many were new. */
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

/* Adds the paths of s->asked, and those that another dcode has added to the
 * file meanwhile, and writes the list: a later sync then sends these files
 * without --include. */
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

/* True if path, or a directory above it, is in the list. */
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
	char *note;              /* owned: path of LABEL.uncommitted */
	struct buf text;
	struct commit_terms terms; /* slices of text */
};

static char *note_file(const struct workspace *w)
{
	return xasprintf("%s/%s.uncommitted", w->directory, w->label);
}

/* Records in LABEL.uncommitted that the sandbox has the tree, but no commit. */
static int note_commit(const struct workspace *w, const struct commit_terms *t,
		       struct error *err)
{
	struct buf text = BUF_INIT(NOTE_MAX);
	char *file = note_file(w);
	int rc;

	buf_add(&text, t->branch, strlen(t->branch) + 1);
	buf_add(&text, t->message, strlen(t->message) + 1);
	buf_add(&text, t->commits, strlen(t->commits) + 1);
	rc = buf_check(&text, "the commit's text", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* A background_work: lets the sandbox's git commit the tree. */
static int run_commit(void *arg, const struct stop *stop, struct error *err)
{
	const struct commit_job *j = arg;
	struct helper h = { .script = HELPER_COMMIT,
			    .args = { str_of(sandbox_tree_dir(j->sandbox)),
				      str_of(j->terms.branch),
				      str_of(j->terms.message),
				      str_of(j->terms.commits) },
			    .n_args = 4,
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
			err,
			"the sandbox's copy did not become a git repository");
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

/* Reads three NUL-terminated strings. */
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

/* Appends lines like "2: a private key": how many files were not sent, for each
 * reason. */
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

/* Writes a commit message that says where the tree came from. */
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

/* Returns the branch if its name is valid for git and safe as a shell argument;
 * else "main". */
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

/* Adds the names that were in the sandbox's working directory before the tree
 * was sent, as ignore patterns, one per line: these files are not the agent's
 * work. Names that the tree has too are left out. said, the sandbox's answer,
 * is untrusted. */
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

/* Writes LABEL.exclude: the user's patterns, then the names of
 * add_earlier(). */
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

/* Sets the error for a status other than "ok ..."; what: "the tree". Returns
 * -1. */
static int refused_by_sandbox(const struct stream_result *out, const char *what,
			      struct error *err)
{
	struct str said = str_trim(buf_str(&out->said));
	struct buf line = BUF_INIT(512);

	if (!strcmp(out->status, "no_space")) {
		error_set(err, ERR_REMOTE,
			  "the sandbox's disk has no room for %s", what);
		return error_hint(
			err, "Run `df -h` there to see which disk is full.");
	}
	if (strcmp(out->status, "unpack") != 0)
		return error_set(err, ERR_REMOTE,
				 "the sandbox cannot receive %s: %s", what,
				 out->status);
	sanitize_line(said, &line);
	error_set(err, ERR_REMOTE, "unpacking %s in the sandbox: %s", what,
		  line.len ? line.ptr : "no working tar");
	buf_release(&line);
	return error_hint(
		err, "The sandbox needs tar (and gzip); busybox's are enough.");
}

/* Sets result according to the status. Returns -1 if the sandbox could not
 * store the tree. */
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
	return refused_by_sandbox(out, "the tree", err);
}

/* Makes the history. If that fails, the tree is sent without it. */
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

/* True if the sandbox's git can commit immediately. */
static bool is_quick(const struct sending *sending)
{
	return !sending->r->may_defer ||
	       (sending->s->bytes + sending->history->size < QUICK_BYTES &&
		sending->s->n < QUICK_FILES);
}

/* Streams the selected files to the sandbox and commits them in dcode's
 * repository. */
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

/* Frees the history but keeps its numbers. */
static void close_history(struct rewritten *history)
{
	struct rewritten numbers = *history;

	rewritten_release(history);
	*history = numbers;
	history->fd = -1;
}

/* Deletes the temporary ref of the commit being sent: the commit is the base
 * now, or not needed. Called only if the ref may exist, because an interrupt
 * waits for this. */
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

/* A path that differs between the tree and the base. */
struct local_change {
	const char *path;  /* borrowed from a listing */
	unsigned old_mode; /* 0: not in the base */
	char old_hash[LISTING_HASH];
	bool gone; /* the path does not exist in the tree any more */
};

struct syncing {
	struct workspace *w;
	const struct sync_request *r;
	struct sync_result *result;
	struct listing base;
	struct included included;
	struct listing now;            /* state when changes were searched */
	const struct selection *found; /* valid during the search */
	struct local_change *changes;
	size_t n;
	/* files to send; their paths are borrowed from a listing */
	struct selected *files;
	size_t n_files;
	const char **gone;
	size_t n_gone;
	size_t size; /* maximum size of the trailer */
	char local_ref[128];
	char from[GIT_OID]; /* base to which the changes refer */
	struct stream_result out;
};

/* Adds the path in a line of a listing, in which the byte 1 stands for a
 * newline. */
static void add_path(char ***list, size_t *n, struct str line)
{
	char *path = xstrndup(line.ptr ? line.ptr : "", line.len);

	for (char *p = path; *p; p++)
		if (*p == '\1')
			*p = '\n';
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = path;
}

/* True for a file that exists but is not sent without --include. */
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

/* Selects everything that a send would, and all paths of the base, which may be
 * ignored now. */
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
	/* the agent's .env may contain real keys by now */
	q.guard_extra = true;
	rc = select_files(sel, s->w, &q, stop, err);
	free(extra);
	return rc;
}

/* Splits the changes into files to send and deleted paths. Both lists are
 * sorted. */
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

/* Finds the paths that differ between the tree and the base. */
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

/* Writes one change. A file that was deleted after the search is left out. */
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

/* Appends all changes, deletions first: a file may have replaced its
 * directory. */
static void write_changes(void *arg, struct listing *read, struct buf *out)
{
	const struct syncing *s = arg;

	for (int gone = 1; gone >= 0; gone--)
		for (size_t i = 0; i < s->n; i++)
			if (s->changes[i].gone == (gone == 1))
				write_change(read, &s->changes[i], out);
}

/* Sends all changes with one command; the script decides about each. */
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

/* Uploads the listing of the base again, if the sandbox has lost it. */
static int send_base(struct syncing *s, const char *state,
		     const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(LISTING_MAX);
	char *path = xasprintf("%s/base", state);
	int rc;

	listing_write(&s->base, &text);
	rc = buf_check(&text, "the listing", err);
	if (rc == 0)
		rc = stream_file(s->r->sandbox, path, buf_str(&text), stop,
				 err);
	free(path);
	buf_release(&text);
	return rc;
}

/* Reads which changes the sandbox applied and which it refused. The paths are
 * not checked here: the base is updated only for changes that were sent. */
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
		qsort(r->taken, r->n_taken, sizeof(*r->taken), str_compare);
}

/* Splits the applied changes into sent files and deleted files. */
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
		       sizeof(*s->result->taken), str_compare);
}

/* Copies applied changes from the commit of all changes to another. */
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

/* Adds the applied changes to ref, in a commit on top of parent. */
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

/* Updates the base on top of its current state: an apply may have changed it
 * meanwhile. */
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

/* Updates the base while holding its lock. */
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

/* Sends the changes. If the sandbox has lost the listing of the base, uploads
 * it and tries again. */
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
		rc = refused_by_sandbox(&s->out, "the changes", err);
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
