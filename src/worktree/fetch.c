/* fetch.c - fetches a sandbox's changes into dcode's own repository. */
/* SPDX-License-Identifier: MIT */
/*
 * A fetch asks the sandbox for the differences from the base (fetch_commit.h),
 * makes a commit of the answer (fetch_commit.h), and stores in LABEL.seen which
 * files did not come, so that fetch_recall() can report them when the sandbox
 * is gone.
 *
 * A sandbox without git cannot say which new files are ignored. It then sends
 * their names first, git on this machine decides, and a second command gets the
 * contents. With small_first, large files are only listed at first, and
 * fetch_later() gets them in batches, smallest first.
 *
 * Begin reading at fetch_once(): it is one complete fetch.
 */
#include "worktree/fetch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "sandbox/quote.h"
#include "worktree/fetch_commit.h"
#include "worktree/name.h"
#include "worktree/odb.h"
#include "worktree/workspace.h"

enum {
	/* bytes of files in the first answer, with small_first */
	FIRST_BYTES = 16 << 20,
	BATCH_BYTES = 16 << 20, /* bytes of files that one later command gets */
	PATTERNS_MAX = 1 << 20, /* bytes of the --include patterns */
	NAMES_MAX = 256 << 20,
	SEEN_MAX = 256 << 20,
	/* time limit of resetting f->theirs to its last checked commit, even
	 * after a cancel */
	RESET_MS = 5000,
};

enum {
	/* names that are stored; further ones are only counted */
	IGNORED_NAMES_MAX = 1000,
	/* bytes of the file names in one command of hash_script */
	CHECK_COMMAND_MAX = 48 << 10,
	CHECK_ANSWER_MAX = 1 << 18,
	CHECK_MS = 60000,
};

/* Ref of the temporary commit that holds the .gitignore files. */
#define PATTERNS_REF "refs/dcode-fetch/patterns"

/*
 * Returns the path of LABEL.seen, owned. Its contents: "commit OID\n", "ignored
 * N\n", then for each item "refused", "left" or "ignored", its size, the reason
 * and the path, each terminated by NUL.
 */
static char *seen_file(const struct workspace *w)
{
	return xasprintf("%s/%s.seen", w->directory, w->label);
}

/* Appends refused, left or ignored items, with the same four fields each. */
static void add_items(struct buf *out, const char *kind,
		      const struct fetch_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "%s%c%" PRId64 "%c%s%c", kind, 0, items[i].size,
			 0, items[i].why, 0);
		buf_add(out, items[i].path, strlen(items[i].path) + 1);
	}
}

/* Writes LABEL.seen, for fetch_recall(). */
static int save_seen(const struct workspace *w, const struct fetch *f,
		     struct error *err)
{
	struct buf text = BUF_INIT(SEEN_MAX);
	char *file = seen_file(w);
	int rc;

	buf_addf(&text, "commit %s\nignored %" PRId64 "\n", f->theirs,
		 f->ignored);
	add_items(&text, "refused", f->refused, f->n_refused);
	add_items(&text, "left", f->left, f->n_left);
	add_items(&text, "left", f->later, f->n_later);
	add_items(&text, "ignored", f->ignored_names, f->n_ignored_names);
	rc = buf_check(&text, "the list of files that were left out", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* Returns the next field, terminated by NUL; NULL at the end. */
static char *next_field(struct str *rest)
{
	char *field = (char *)rest->ptr;
	size_t len = str_find(*rest, '\0');

	if (len == rest->len)
		return NULL;
	*rest = str_skip(*rest, len + 1);
	return field;
}

/* Reads the items of LABEL.seen. Their reasons point into the buffer that
 * f->recalled owns. */
static void read_items(struct fetch *f, struct str rest)
{
	char *kind;

	while ((kind = next_field(&rest))) {
		char *size = next_field(&rest);
		char *why = size ? next_field(&rest) : NULL;
		char *path = why ? next_field(&rest) : NULL;
		struct fetch_item **list = &f->left;
		size_t *n = &f->n_left;

		if (!path)
			break;
		if (!strcmp(kind, "refused")) {
			list = &f->refused;
			n = &f->n_refused;
		} else if (!strcmp(kind, "ignored")) {
			list = &f->ignored_names;
			n = &f->n_ignored_names;
		}
		fetch_note(list, n, path, why);
		(void)str_to_int(str_of(size), &(*list)[*n - 1].size);
	}
}

/* Releases what g owns; its f, request and workspace stay. */
static void release_fetching(struct fetching *g)
{
	odb_commit_abort(g->commit);
	scan_release(&g->scan);
	listing_release(&g->base);
	listing_release(&g->uploaded);
	fetch_items_release(&g->links, &g->n_links);
	fetch_items_release(&g->originals, &g->n_originals);
	free(g->names);
}

/* Refuses bare repositories that an earlier version of dcode accepted. */
static int refuse_recalled(struct workspace *w, struct fetch *f,
			   const struct stop *stop, struct error *err)
{
	struct fetching g = { .w = w,
			      .f = f,
			      .stop = stop,
			      .ref = w->theirs_ref,
			      .scan = { .spool = -1 } };
	size_t refused = f->n_refused;
	int rc = workspace_read_listing(w, &g.base, stop, err);

	if (rc == 0)
		rc = fetch_refuse_repositories(&g, err);
	if (rc == 0 && f->n_refused > refused)
		rc = save_seen(w, f, err);
	release_fetching(&g);
	return rc;
}

int fetch_recall(struct workspace *w, struct fetch *f, const struct stop *stop,
		 struct error *err)
{
	struct buf text = BUF_INIT(SEEN_MAX);
	char *file = seen_file(w);
	struct str rest;
	struct str commit;
	struct str ignored;
	int rc = access(file, F_OK) == 0 ? path_read(file, &text, err) : 0;

	rest = buf_str(&text);
	if (rc == 0 && str_split(&rest, '\n', &commit) &&
	    str_split(&rest, '\n', &ignored) && str_starts(commit, "commit ") &&
	    str_is(str_skip(commit, 7), f->theirs) &&
	    str_starts(ignored, "ignored ")) {
		(void)str_to_int(str_skip(ignored, 8), &f->ignored);
		read_items(f, rest);
		/* the reasons of the items point into this buffer */
		f->recalled = text.ptr;
		text.ptr = NULL;
	}
	buf_release(&text);
	free(file);
	return rc == 0 ? refuse_recalled(w, f, stop, err) : -1;
}

/* Notes that git ignores n files in the sandbox: those in the directory path
 * ("dir/"), or in total if path is empty. A path without a slash at its end is
 * one file. */
static void note_ignored(struct fetch *f, const char *path, int64_t n)
{
	if (!path[0]) {
		f->ignored += n;
		return;
	}
	if (f->n_ignored_names == IGNORED_NAMES_MAX)
		return;
	fetch_note(&f->ignored_names, &f->n_ignored_names, path, "");
	if (str_ends(str_of(path), "/"))
		f->ignored_names[f->n_ignored_names - 1].size = n;
}

/* With small_first: records a file that was left out of the first fetch only
 * because of its size, so that fetch_later() can get it. False if it is above
 * file_max. */
static bool note_later(struct fetching *g, const struct scan_record *r)
{
	const struct fetch_request *q = g->request;

	if (!q->small_first || r->kind != SCAN_BIG || r->n > q->file_max)
		return false;
	fetch_note(&g->f->later, &g->f->n_later, r->path, FETCH_NO_TIME);
	g->f->later[g->f->n_later - 1].size = r->n;
	return true;
}

/* Notes the files of g->scan that the sandbox names but does not send, with the
 * reason. */
static void note_records(struct fetching *g)
{
	static const struct {
		char kind;
		const char *why;
	} reasons[] = {
		{ SCAN_UNREADABLE, "could not be read" },
		{ SCAN_BIG, "is larger than allowed" },
		{ SCAN_SPECIAL, "is a pipe, a socket or a device" },
		{ SCAN_REPOSITORY, "is another repository" },
		{ SCAN_NAME, "has a control character in its name" },
	};

	for (size_t i = 0; i < g->scan.n; i++) {
		const struct scan_record *r = &g->scan.records[i];

		if (r->kind == SCAN_IGNORED)
			note_ignored(g->f, r->path, r->n);
		if (note_later(g, r))
			continue;
		for (size_t k = 0; k < sizeof(reasons) / sizeof(*reasons); k++)
			if (r->kind == reasons[k].kind) {
				fetch_note(&g->f->left, &g->f->n_left, r->path,
					   reasons[k].why);
				g->f->left[g->f->n_left - 1].size = r->n;
			}
	}
}

static int compare_announced(const void *a, const void *b)
{
	const struct announced *x = a;
	const struct announced *y = b;

	return strcmp(x->path, y->path);
}

/* Appends a path to g->names. It must sort after all others there and is
 * borrowed. */
static void announce(struct fetching *g, const char *path)
{
	if (!(g->n & (g->n - 1)))
		g->names = xrealloc(g->names, g->n ? g->n * 2 : 1,
				    sizeof(*g->names));
	g->names[g->n++] = (struct announced){ .path = path };
}

/* Replaces g->names by the paths of the records of these two kinds, sorted,
 * each once. */
static void announce_all(struct fetching *g, char kind, char other)
{
	size_t kept = 0;

	g->n = 0;
	for (size_t i = 0; i < g->scan.n; i++)
		if (g->scan.records[i].kind == kind ||
		    g->scan.records[i].kind == other)
			announce(g, g->scan.records[i].path);
	if (g->n)
		qsort(g->names, g->n, sizeof(*g->names), compare_announced);
	for (size_t i = 0; i < g->n; i++)
		if (!kept || strcmp(g->names[kept - 1].path, g->names[i].path))
			g->names[kept++] = g->names[i];
	g->n = kept;
}

/* True if the base has files in the directory ("dir/"). Its listing is
 * sorted. */
static bool base_has(struct fetching *g, const char *directory)
{
	size_t len = strlen(directory);
	size_t low = 0;
	size_t high = g->base.n;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (strcmp(g->base.entries[at].path, directory) < 0)
			low = at + 1;
		else
			high = at;
	}
	return low < g->base.n &&
	       !strncmp(g->base.entries[low].path, directory, len);
}

static bool comes_from(struct fetching *g, const char *directory)
{
	size_t at = fetch_seek_name(g, directory);

	return at < g->n &&
	       !strncmp(g->names[at].path, directory, strlen(directory));
}

/* Returns the topmost directory above path, as "dir/", that is not in the base
 * and of which nothing is fetched; else path. Owned. */
static char *topmost_absent(struct fetching *g, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		char *directory = xstrndup(path, (size_t)(slash + 1 - path));

		if (!base_has(g, directory) && !comes_from(g, directory))
			return directory;
		free(directory);
	}
	return xstrdup(path);
}

/* Notes ignored files that are not fetched. paths are sorted. A directory is
 * noted as one item if the base has no files in it and none of g->names lies in
 * it. */
static void collapse_ignored(struct fetching *g, const char *const *paths,
			     size_t n)
{
	struct fetch *f = g->f;
	char *last = xstrdup("");
	int64_t files = 0;

	listing_sort(&g->base);
	for (size_t i = 0; i <= n; i++) {
		char *name = i < n ? topmost_absent(g, paths[i]) : xstrdup("");

		if (strcmp(name, last) != 0) {
			if (last[0])
				note_ignored(f, last, files);
			files = 0;
		}
		files++;
		free(last);
		last = name;
	}
	free(last);
	f->ignored += (int64_t)n;
}

/* Prints a line for each file: its SHA-256 and "  -", or "missing". */
static const char hash_script[] =
	"; do sha256sum <\"$f\" 2>/dev/null || echo missing; done";

struct upload_check {
	size_t *list; /* indices into the listing of uploads; owned */
	size_t n;
	struct buf command, answer;
};

/* Finds path among the files that were left because of their size. */
static struct fetch_item *find_left(const struct fetch *f, const char *path)
{
	for (size_t i = 0; i < f->n_left; i++)
		if (f->left[i].size && !strcmp(f->left[i].path, path))
			return &f->left[i];
	return NULL;
}

/* Finds path among the ignored files, or the directory above it that stands for
 * it. */
static struct fetch_item *find_ignored(const struct fetch *f, const char *path)
{
	for (size_t i = 0; i < f->n_ignored_names; i++) {
		struct fetch_item *item = &f->ignored_names[i];
		size_t len = strlen(item->path);

		if (item->size ? !strncmp(item->path, path, len)
			       : !strcmp(item->path, path))
			return item;
	}
	return NULL;
}

/* Writes a command that hashes the user's uploads in the sandbox, but only
 * those that are on a list of files that were not fetched. */
static void write_hash_command(struct fetching *g, struct upload_check *check)
{
	const struct fetch *f = g->f;

	buf_adds(&check->command, "for f in");
	for (size_t i = 0; i < g->uploaded.n; i++) {
		const struct listing_entry *e = &g->uploaded.entries[i];

		if (e->mode == LISTING_LINK ||
		    check->command.len + 4 * strlen(e->path) >
			    CHECK_COMMAND_MAX ||
		    (!find_left(f, e->path) && !find_ignored(f, e->path)))
			continue;
		buf_adds(&check->command, " ./");
		quote_word(&check->command, str_of(e->path));
		check->list[check->n++] = i;
	}
	buf_adds(&check->command, hash_script);
}

static int collect_answer(void *arg, enum exec_stream stream, struct str chunk,
			  struct buf *reply, struct error *err)
{
	struct upload_check *check = arg;

	(void)reply;
	(void)err;
	if (stream == EXEC_STDOUT)
		buf_addstr(&check->answer, chunk);
	return 0;
}

static void drop_item(struct fetch_item *items, size_t *n,
		      struct fetch_item *item)
{
	size_t after = *n - (size_t)(item - items) - 1;

	free(item->path);
	memmove(item, item + 1, after * sizeof(*item));
	(*n)--;
}

static void forget_item(struct fetch *f, const char *path)
{
	struct fetch_item *item = find_left(f, path);

	if (item) {
		drop_item(f->left, &f->n_left, item);
		return;
	}
	item = find_ignored(f, path);
	f->ignored--;
	if (item->size > 1)
		item->size--;
	else
		drop_item(f->ignored_names, &f->n_ignored_names, item);
}

/* Removes unchanged uploads from the lists of files that were not fetched: the
 * user has them. Sends one command if an upload is on such a list; without an
 * answer all of them stay listed. */
static void forget_unchanged(struct fetching *g)
{
	struct upload_check check = { .command =
					      BUF_INIT(2 * CHECK_COMMAND_MAX),
				      .answer = BUF_INIT(CHECK_ANSWER_MAX) };
	struct exec_request req = { .cwd = sandbox_tree_dir(
					    g->request->sandbox),
				    .timeout_ms = CHECK_MS,
				    .output = collect_answer,
				    .arg = &check };
	struct exec_result res = { 0 };
	struct error ignored = { 0 };
	const struct listing_entry *all = g->uploaded.entries;
	struct str rest, line;

	if (!g->uploaded.n || (!g->f->n_left && !g->f->n_ignored_names))
		return;
	check.list = xcalloc(g->uploaded.n, sizeof(*check.list));
	write_hash_command(g, &check);
	req.command = buf_str(&check.command);
	/* Without an answer, assume that every file changed. */
	if (check.n && sandbox_execute(g->request->sandbox, &req, &res, g->stop,
				       &ignored) == 0) {
		rest = buf_str(&check.answer);
		for (size_t i = 0; i < check.n && str_split(&rest, '\n', &line);
		     i++)
			if (str_starts(line, all[check.list[i]].hash))
				forget_item(g->f, all[check.list[i]].path);
	}
	free(check.list);
	buf_release(&check.command);
	buf_release(&check.answer);
}

/* Gets the contents of g->names with another command, as a commit on top of
 * parent. */
static int fetch_names(struct fetching *g, const struct scan_request *r,
		       const char *parent, struct error *err)
{
	const char **paths = xcalloc(g->n, sizeof(*paths));
	int rc;

	for (size_t i = 0; i < g->n; i++)
		paths[i] = g->names[i].path;
	rc = scan_fetch(&g->scan, r, paths, g->n, g->stop, err);
	if (rc == 0) {
		note_records(g);
		rc = fetch_commit_archive(g, parent, false, err);
	}
	free(paths);
	return rc;
}

static bool is_gitignore(const char *path)
{
	const char *name = strrchr(path, '/');

	return !strcmp(name ? name + 1 : path, ".gitignore");
}

static bool is_refused(const char *path)
{
	return name_refuse(str_of(path), NAME_FILE) != NULL;
}

/* Writes the user's --include patterns to scratch/.gitignore. */
static int write_include(struct fetching *g, const char *scratch,
			 struct error *err)
{
	const struct fetch_request *r = g->request;
	char *file = path_join(scratch, ".gitignore");
	struct buf text = BUF_INIT(PATTERNS_MAX);
	int rc;

	for (size_t i = 0; i < r->n_include; i++)
		buf_addf(&text, "%s\n", r->include[i]);
	rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* Sets matched for each name that the .gitignore files in scratch match. */
static int match_names(struct fetching *g, const char *scratch, bool *matched,
		       struct error *err)
{
	/* check-ignore fails with literal pathspecs, the default of
	 * git_run(). */
	static const char *const argv[] = { "--no-literal-pathspecs",
					    "check-ignore",
					    "-z",
					    "--stdin",
					    "--no-index",
					    NULL };
	struct buf names = BUF_INIT(NAMES_MAX);
	struct buf out = BUF_INIT(NAMES_MAX);
	struct git git = g->w->git;
	struct str rest;
	struct str name;
	int status = 0;
	size_t at = 0;
	int rc;

	git.work_tree = scratch;
	for (size_t i = 0; i < g->n; i++)
		buf_add(&names, g->names[i].path, strlen(g->names[i].path) + 1);
	rc = buf_check(&names, "the list of new files", err);
	if (rc == 0)
		rc = git_run(&git,
			     &(struct git_request){ .argv = argv,
						    .input = buf_str(&names),
						    .out = &out,
						    .status = &status },
			     g->stop, err);
	if (rc == 0 && status > 1)
		rc = error_set(err, ERR_SYSTEM, "git check-ignore: status %d",
			       status);
	rest = buf_str(&out);
	while (rc == 0 && str_split(&rest, '\0', &name)) {
		while (at < g->n && !str_is(name, g->names[at].path))
			at++;
		if (at < g->n)
			matched[at] = true;
	}
	buf_release(&names);
	buf_release(&out);
	return rc;
}

/* Matches the names in a scratch directory that contains the .gitignore files
 * of f->theirs, with the user's excludes at the start of the root's. With
 * include, it contains only the user's --include patterns. */
static int match_in(struct fetching *g, bool include, bool *matched,
		    struct error *err)
{
	const struct named_files files = { .name = ".gitignore",
					   .tree = g->f->theirs,
					   .first = g->request->exclude,
					   .skip = is_refused };
	char *scratch = path_join(g->w->directory, "ignored.XXXXXX");
	struct error ignored = { 0 };
	int rc = mkdtemp(scratch) ? 0 : error_errno(err, "%s", scratch);

	if (rc < 0) {
		free(scratch);
		return -1;
	}
	if (include)
		rc = write_include(g, scratch, err);
	else
		rc = odb_write_named_files(&files, &g->w->git, scratch, NULL,
					   g->stop, err);
	if (rc == 0)
		rc = match_names(g, scratch, matched, err);
	(void)path_remove_tree(scratch, &ignored);
	free(scratch);
	return rc;
}

static bool is_in_repository(const struct fetching *g, const char *path)
{
	for (size_t i = 0; i < g->scan.n; i++) {
		const struct scan_record *r = &g->scan.records[i];
		size_t len = strlen(r->path);

		if (r->kind == SCAN_REPOSITORY && len &&
		    !strncmp(path, r->path, len) && path[len] == '/')
			return true;
	}
	return false;
}

/* False for a name that is refused or lies in another repository. */
static bool may_come(struct fetching *g, const char *path)
{
	const char *why = name_refuse(str_of(path), NAME_FILE);

	if (why)
		fetch_note(&g->f->refused, &g->f->n_refused, path, why);
	return !why && !is_in_repository(g, path);
}

/* Paths that are not fetched, borrowed from the scan's records. */
struct path_list {
	const char **list;
	size_t n;
};

static void add_path(struct path_list *l, const char *path)
{
	if (!(l->n & (l->n - 1)))
		l->list = xrealloc(l->list, l->n ? 2 * l->n : 1,
				   sizeof(*l->list));
	l->list[l->n++] = path;
}

/* Removes the names that git ignores and that no --include pattern matches from
 * g->names, and adds them to dropped. */
static int drop_matched(struct fetching *g, struct path_list *dropped,
			struct error *err)
{
	bool *ignored = xcalloc(g->n, sizeof(*ignored));
	bool *included = xcalloc(g->n, sizeof(*included));
	size_t kept = 0;
	int rc = match_in(g, false, ignored, err);

	if (rc == 0 && g->request->n_include)
		rc = match_in(g, true, included, err);
	for (size_t i = 0; i < g->n && rc == 0; i++) {
		if (ignored[i] && !included[i])
			add_path(dropped, g->names[i].path);
		else
			g->names[kept++] = g->names[i];
	}
	g->n = kept;
	free(ignored);
	free(included);
	return rc;
}

/* Fetches new .gitignore files into a temporary commit: they decide which of
 * the other names, and of themselves, are ignored. */
static int fetch_patterns(struct fetching *g, const struct scan_request *r,
			  struct path_list *dropped, struct error *err)
{
	struct fetch f = { 0 };
	struct fetching p = { .w = g->w,
			      .request = g->request,
			      .f = &f,
			      .stop = g->stop,
			      .ref = PATTERNS_REF,
			      .scan = { .spool = -1 } };
	int rc = 0;

	for (size_t i = 0; i < g->n; i++)
		if (is_gitignore(g->names[i].path))
			announce(&p, g->names[i].path);
	if (p.n)
		rc = fetch_names(&p, r, g->f->theirs, err);
	if (p.n && rc == 0) {
		char theirs[GIT_OID];

		memcpy(theirs, g->f->theirs, sizeof(theirs));
		memcpy(g->f->theirs, f.theirs, sizeof(theirs));
		rc = drop_matched(g, dropped, err);
		memcpy(g->f->theirs, theirs, sizeof(theirs));
	}
	release_fetching(&p);
	fetch_release(&f);
	return rc;
}

/* Removes names from g->names that git on this machine ignores, that lie in
 * another repository, or that name_refuse() refuses. Names that an --include
 * pattern matches stay. New .gitignore files among the names are fetched first;
 * r is the request of the scan. */
static int drop_ignored(struct fetching *g, const struct scan_request *r,
			struct error *err)
{
	struct path_list dropped = { 0 };
	size_t kept = 0;
	int rc;

	for (size_t i = 0; i < g->n; i++)
		if (may_come(g, g->names[i].path))
			g->names[kept++] = g->names[i];
	g->n = kept;
	if (!g->n)
		return 0;
	rc = drop_matched(g, &dropped, err);
	if (rc == 0)
		rc = fetch_patterns(g, r, &dropped, err);
	if (dropped.n)
		qsort(dropped.list, dropped.n, sizeof(*dropped.list),
		      str_compare);
	if (rc == 0)
		collapse_ignored(g, dropped.list, dropped.n);
	free(dropped.list);
	return rc;
}

/* Sends the second command, if the sandbox could not say what is ignored: gets
 * the new files that are not ignored. */
static int fetch_undecided(struct fetching *g, const struct scan_request *r,
			   struct error *err)
{
	struct scan first;
	char parent[GIT_OID];
	int rc;

	announce_all(g, SCAN_UNDECIDED, SCAN_UNDECIDED);
	if (drop_ignored(g, r, err) < 0)
		return -1;
	if (!g->n)
		return 0;
	first = g->scan; /* it owns the strings of g->names */
	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = fetch_names(g, r, parent, err);
	scan_release(&first);
	return rc;
}

/* Asks for the differences and makes commits of the answer. */
static int fetch_all(struct fetching *g, const struct scan_request *r,
		     struct error *err)
{
	struct workspace *w = g->w;

	if (scan_run(&g->scan, r, g->stop, err) < 0)
		return -1;
	note_records(g);
	if (g->scan.same) {
		memcpy(g->f->theirs, w->base, sizeof(g->f->theirs));
		return odb_ref_set(&w->git, g->ref, w->base, g->stop, err);
	}
	announce_all(g, SCAN_CHANGED, SCAN_NEW);
	if (fetch_commit_archive(g, w->base, true, err) < 0)
		return -1;
	return fetch_undecided(g, r, err);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int see_difference(void *arg, const struct odb_record *r,
			  struct error *err)
{
	bool *same = arg;

	(void)r;
	(void)err;
	*same = false;
	return 0;
}

/* Does one complete fetch. small: maximum size of a file in the first answer;
 * 0: all files come at once. */
static int fetch_once(struct workspace *w, const struct fetch_request *r,
		      int64_t small, struct fetch *f, const struct stop *stop,
		      struct error *err)
{
	struct fetching g = { .w = w,
			      .request = r,
			      .f = f,
			      .stop = stop,
			      .ref = r->ref ? r->ref : w->theirs_ref,
			      .scan = { .spool = -1 } };
	struct buf text = BUF_INIT(LISTING_MAX);
	char root[LISTING_HASH];
	struct scan_request request = {
		.sandbox = r->sandbox,
		.root = root,
		.exclude = r->exclude,
		.names = r->n_include > 0,
		.file_max = small ? least(small, r->file_max) : r->file_max,
		.total_max =
			small ? least(FIRST_BYTES, r->total_max) : r->total_max,
		.scratch = w->directory
	};
	int rc = workspace_read_listing(w, &g.base, stop, err);

	*f = (struct fetch){ 0 };
	if (rc == 0)
		rc = workspace_read_uploaded(&g.uploaded, w, err);
	if (rc == 0) {
		listing_write(&g.base, &text);
		listing_root(&g.base, root);
		request.listing = buf_str(&text);
		rc = fetch_all(&g, &request, err);
	}
	if (rc == 0 && !r->ref)
		rc = fetch_drop_uploaded(&g, err);
	if (rc == 0 && !r->ref)
		forget_unchanged(&g);
	if (rc == 0)
		rc = fetch_refuse_repositories(&g, err);
	f->same = rc == 0;
	f->bytes = g.bytes;
	if (rc == 0)
		rc = odb_tree_diff(
			&w->git, w->base, f->theirs,
			&(struct odb_sink){ see_difference, &f->same }, stop,
			err);
	if (rc == 0 && !r->ref)
		rc = save_seen(w, f, err);
	release_fetching(&g);
	buf_release(&text);
	return rc;
}

int fetch_changes(struct workspace *w, const struct fetch_request *r,
		  struct fetch *f, const struct stop *stop, struct error *err)
{
	static const int64_t small[] = { 1 << 20, 64 << 10, 4 << 10 };
	size_t n = r->small_first ? sizeof(small) / sizeof(*small) : 0;

	for (size_t i = 0; i < n; i++) {
		struct error why = { 0 };

		if (fetch_once(w, r, small[i], f, stop, &why) == 0)
			return 0;
		if (why.code != ERR_LIMIT) {
			*err = why;
			return -1;
		}
		fetch_release(f);
	}
	return fetch_once(w, r, 0, f, stop, err);
}

static int compare_sizes(const void *a, const void *b)
{
	const struct fetch_item *x = a;
	const struct fetch_item *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int compare_item_paths(const void *a, const void *b)
{
	const struct fetch_item *x = a;
	const struct fetch_item *y = b;

	return strcmp(x->path, y->path);
}

/* Returns how many files, starting at at, are fetched with the next command. */
static size_t count_batch(const struct fetch *f, size_t at, int64_t total_max)
{
	int64_t bytes = 0;
	size_t n = 0;

	for (; at + n < f->n_later; n++) {
		int64_t size = f->later[at + n].size;

		if ((n && bytes + size > BATCH_BYTES) ||
		    f->bytes + bytes + size > total_max)
			break;
		bytes += size;
	}
	return n;
}

/* Removes unchanged uploads and bare repositories from a batch. If that fails,
 * f->theirs is reset to the commit parent: unchecked files must not stay. */
static int refuse_or_reset(struct fetching *g, const char *parent,
			   struct error *err)
{
	struct stop own = stop_cleanup(RESET_MS);
	struct error ignored = { 0 };

	if (fetch_drop_uploaded(g, err) == 0 &&
	    fetch_refuse_repositories(g, err) == 0)
		return 0;
	memcpy(g->f->theirs, parent, sizeof(g->f->theirs));
	(void)odb_ref_set(&g->w->git, g->ref, parent, &own, &ignored);
	return -1;
}

/* Gets some of the later files with one command. */
static int fetch_batch(struct fetching *g, struct fetch_item *items, size_t n,
		       struct error *err)
{
	const struct fetch_request *r = g->request;
	const struct scan_request request = {
		.sandbox = r->sandbox,
		.file_max = r->file_max,
		/* The archive's headers need some space too. */
		.total_max = r->total_max - g->bytes + BATCH_BYTES,
		.scratch = g->w->directory,
	};
	char parent[GIT_OID];
	int rc;

	qsort(items, n, sizeof(*items), compare_item_paths);
	g->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!g->n || strcmp(items[i].path, items[i - 1].path) != 0)
			announce(g, items[i].path);
	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = fetch_names(g, &request, parent, err);
	scan_release(&g->scan);
	if (rc == 0)
		rc = refuse_or_reset(g, parent, err);
	return rc;
}

/* Moves the files that were not fetched to f->left. */
static void leave_rest(struct fetch *f, size_t at, const char *why)
{
	for (size_t i = at; i < f->n_later; i++) {
		fetch_note(&f->left, &f->n_left, f->later[i].path, why);
		f->left[f->n_left - 1].size = f->later[i].size;
	}
	fetch_items_release(&f->later, &f->n_later);
}

int fetch_later(struct workspace *w, const struct fetch_request *r,
		struct fetch *f, const struct stop *stop, struct error *err)
{
	struct fetch_request whole = *r;
	struct fetching g = { .w = w,
			      .request = &whole,
			      .f = f,
			      .stop = stop,
			      .ref = w->theirs_ref,
			      .scan = { .spool = -1 },
			      .bytes = f->bytes };
	struct error ignored = { 0 };
	size_t at = 0;
	size_t n;
	int rc = f->n_later ? workspace_read_listing(w, &g.base, stop, err) : 0;

	if (f->n_later && rc == 0)
		rc = workspace_read_uploaded(&g.uploaded, w, err);
	whole.small_first = false;
	if (f->n_later)
		qsort(f->later, f->n_later, sizeof(*f->later), compare_sizes);
	while (rc == 0 && (n = count_batch(f, at, r->total_max))) {
		rc = fetch_batch(&g, f->later + at, n, err);
		at += rc == 0 ? n : 0;
		f->bytes = rc == 0 ? g.bytes : f->bytes;
	}
	f->same = f->same && !at;
	leave_rest(f, at,
		   rc == 0 ? "does not fit into [workspace] fetch_mb"
			   : FETCH_NO_TIME);
	release_fetching(&g);
	/* A failure is ignored: the commit still shows what was fetched. */
	(void)save_seen(w, f, &ignored);
	return rc;
}

void fetch_release(struct fetch *f)
{
	fetch_items_release(&f->refused, &f->n_refused);
	fetch_items_release(&f->left, &f->n_left);
	fetch_items_release(&f->later, &f->n_later);
	fetch_items_release(&f->ignored_names, &f->n_ignored_names);
	free(f->recalled);
	f->recalled = NULL;
}
