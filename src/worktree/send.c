/* send.c - the user's tree into a sandbox. */
/* SPDX-License-Identifier: MIT */
#include "worktree/send.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "worktree/carry.h"
#include "worktree/commit.h"
#include "worktree/included.h"

enum {
	LINE = 6 + 1 + 64 + 1 + 1, /* of a listing, but for its path */
	EXCLUDE_MAX = 4 << 20,
	MESSAGE_MAX = 4096,
	CLEANUP_MS = 10000,
	/* What git commits in a moment is not worth a command of its own. */
	QUICK_BYTES = 8 << 20,
	QUICK_FILES = 1000,
};

struct sending {
	const struct send_request *r;
	const struct selection *s;
	const struct rewritten *history;
};

static void write_trailer(void *arg, struct listing *read, struct buf *out)
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
		size += LINE + strlen(s->files[i].path);
	return size;
}

enum { REASONS_MOST = 64 };

/* "2: a private key", how many for each reason why some were not sent. */
static void add_reasons(const struct selection *s, struct buf *out)
{
	const char *known[REASONS_MOST];
	size_t count[REASONS_MOST] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < s->n_left; i++) {
		size_t k = 0;

		while (k < n && strcmp(known[k], s->left[i].why) != 0)
			k++;
		if (k == REASONS_MOST)
			continue;
		if (k == n)
			known[n++] = s->left[i].why;
		count[k]++;
	}
	for (size_t k = 0; k < n; k++)
		buf_addf(out, "%zu: %s\n", count[k], known[k]);
}

/* Where the tree came from, for whoever reads git log in the sandbox. */
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

/* A branch's name that git takes, and a shell's argument can hold. */
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

/* What was there before is none of the agent's work, unless the tree has a file
 * of this name. said is untrusted: one pattern a line. */
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

static int check_status(const struct carried *out, struct send_result *result,
			struct error *err)
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
	return carried_failed(out, "the tree", err);
}

/* The tree goes without them where they cannot be made. */
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

static bool is_quick(const struct sending *sending)
{
	return !sending->r->may_defer ||
	       (sending->s->bytes + sending->history->size < QUICK_BYTES &&
		sending->s->n < QUICK_FILES);
}

static int send_files(struct workspace *w, struct sending *sending,
		      struct carried *out, const struct stop *stop,
		      struct error *err)
{
	const struct selection *s = sending->s;
	const struct rewritten *history = sending->history;
	struct buf message = BUF_INIT(MESSAGE_MAX);
	char *ref = odb_ref_name(w->label, "sending");
	struct odb_commit_info info = { .ref = ref, .unsynced = true };
	struct carry c = { .sandbox = sending->r->sandbox,
			   .workspace = w,
			   .files = s->files,
			   .n = s->n,
			   .trailer = write_trailer,
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
	rc = carry_run(&c, out, stop, err);
	if (rc == 0 && !strcmp(out->status, "ok later"))
		rc = commit_note(w, &terms, err);
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

/* It is the base by now, or was for nothing. An interrupt waits for this: git
 * is started only where there may be such a reference. */
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
	struct carried out = { .said = BUF_INIT(1) };
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
		rc = included_add(&included, w, s, stop, err);
	if (rc == 0)
		rc = workspace_write_listing(w, &out.read, out.oid, err);
	if (rc == 0)
		rc = workspace_set_base(w, out.oid, stop, err);
	if (out.committed)
		drop_sending(w);
	included_release(&included);
	buf_release(&earlier);
	carried_release(&out);
	user_repo_release(&u);
	return rc;
}
