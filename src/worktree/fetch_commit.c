/* fetch_commit.c - asks a sandbox what changed, checks it and commits it. */
/* SPDX-License-Identifier: MIT */
/*
 * The sandbox names the paths that differ (struct scan) and sends an archive of
 * their contents. Nothing in it is trusted: a file must have been announced,
 * its name and link target must be harmless, and sizes are counted here.
 * Accepted files become a commit on top of the base in dcode's own repository.
 * The others are noted in struct fetch with a reason.
 *
 * Three corrections follow, each as another commit on top: hard links get the
 * contents of their files; files that the user uploaded are removed, since they
 * are not the agent's work; and bare repositories are refused, because git
 * would read their configuration. Begin reading at fetch_commit_archive().
 *
 * scan_run() runs workspace_scan.sh once. It compares the sandbox's tree with
 * the listing that both sides share, and answers with a report (a line for each
 * path that differs) and an archive of the contents. A small answer is part of
 * the command's output; a large one is a file that is downloaded with the
 * provider's API. Both are written to a spool, an unnamed file. read_status()
 * reads the report from it, scan_pull() the archive. Nothing in the answer is
 * trusted: the report must be complete, and sizes are counted as bytes arrive.
 */
#include "worktree/fetch_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "archive/archive.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/helper.h"
#include "sandbox/sandbox.h"
#include "sandbox/transfer.h"
#include "worktree/name.h"
#include "worktree/odb.h"
#include "worktree/stream_files.h"

struct fetch_entry { /* entry of a tree */
	unsigned mode;
	char oid[GIT_OID];
};

/* Asks a sandbox for the differences from the tree that was sent. */

enum {
	REPORT_MAX = 64 << 20,
	RECORDS_MAX = 1000000,
	PATH_BYTES = 4096,
	SCRIPT_MS = 15 * 60000,
	/* Larger answers are faster through the vendor's file API. */
	INLINE_BYTES = 256 << 10,
};

struct call { /* one run of the script */
	struct scan *scan;
	const struct scan_request *request;
	const char *root; /* root hash of the listing, or "pack" */
	struct str content;
	int64_t most; /* bytes that may still be received */
	/* lines that the sandbox compares, or paths that it is asked for */
	int64_t lines;
	/* owned: file with the content in the sandbox, or NULL */
	char *staged;
	/* owned: directory in the sandbox from which the listing is missing;
	 * NULL: it is there */
	char *state;
};

/* Opens an unnamed file in directory. */
static int open_spool(const char *directory, struct error *err)
{
	char *name = xasprintf("%s/scan.XXXXXX", directory);
	int fd = mkostemp(name, O_CLOEXEC);

	if (fd < 0)
		(void)error_errno(err, "%s", directory);
	else
		unlink(name);
	free(name);
	return fd;
}

static int too_large(const struct scan_request *r, struct error *err)
{
	error_set(err, ERR_LIMIT,
		  "the changes in the sandbox are larger than %" PRId64 " MiB",
		  r->total_max >> 20);
	return error_hint(err, "To allow that, set [workspace] fetch_mb = MIB "
			       "in ~/.deepagents/config.toml.");
}

/* Writes to the spool and counts the bytes: the sandbox must not send more than
 * allowed. */
static int write_spool(void *arg, struct str bytes, struct error *err)
{
	struct call *c = arg;

	if ((int64_t)bytes.len > c->most)
		return too_large(c->request, err);
	c->most -= (int64_t)bytes.len;
	if (io_write_all(c->scan->spool, bytes.ptr, bytes.len) < 0)
		return error_errno(err, "saving the changes");
	return 0;
}

/* Downloads a large answer into the spool. */
static int get_file(struct call *c, const char *path, const struct stop *stop,
		    struct error *err)
{
	struct transfer t = { .path = path, .write = write_spool, .arg = c };

	if (sandbox_download(c->request->sandbox, &t, 1, stop, err) < 0)
		return -1;
	if (t.error == FILE_OK)
		return 0;
	if (c->most <= 0)
		return too_large(c->request, err);
	return error_set(err, ERR_REMOTE, "%s: %s", path,
			 t.detail[0] ? t.detail : file_error_name(t.error));
}

/* Parses "LETTER [NUMBER] PATH". */
static int add_record(struct scan *s, struct str line, struct error *err)
{
	static const char kinds[] = "cnd?ubsrxi";
	struct scan_record record = { .kind = line.len ? line.ptr[0] : '\0' };
	struct str rest = str_skip(line, 2);

	if (!record.kind || !strchr(kinds, record.kind) || line.len < 3 ||
	    line.ptr[1] != ' ' || memchr(line.ptr, 0, line.len) ||
	    s->n == RECORDS_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "the sandbox's list of changes is invalid");
	if (record.kind == SCAN_BIG || record.kind == SCAN_IGNORED) {
		struct str number = { rest.ptr, str_find(rest, ' ') };

		if (!str_to_int(number, &record.n))
			record.n = 0;
		rest = str_skip(rest, number.len + 1);
	}
	if (rest.len > PATH_BYTES)
		rest.len = PATH_BYTES;
	record.path = xstrndup(rest.len ? rest.ptr : "", rest.len);
	/* the script writes a line feed within a path as \1 */
	if (record.kind != SCAN_NAME)
		for (char *p = record.path; *p; p++)
			*p = *p == '\1' ? '\n' : *p;
	/* n is a power of two: the array is full, so double it */
	if (!(s->n & (s->n - 1)))
		s->records = xrealloc(s->records, s->n ? s->n * 2 : 1,
				      sizeof(*s->records));
	s->records[s->n++] = record;
	return 0;
}

/* Counts lines; the report's last line must give the number of compared
 * ones. */
static int64_t count_lines(struct str text)
{
	int64_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] == '\n';
	return n;
}

static int not_whole(struct error *err)
{
	error_set(err, ERR_PROTOCOL,
		  "the sandbox's list of changes is incomplete");
	return error_hint(err, "Its disk may be full: run `df -h` there.");
}

/* Checks the last line, "e LINES RECORDS". Without this check a list that was
 * cut off by a full disk would look like one with fewer changes. */
static int check_end(const struct call *c, struct str line, struct str rest,
		     struct error *err)
{
	char *want = xasprintf("e %" PRId64 " %zu", c->lines, c->scan->n);
	bool whole = str_is(line, want) && !rest.len;

	free(want);
	return whole ? 0 : not_whole(err);
}

/* Parses the first report bytes of the spool; the archive follows. */
static int read_report(struct call *c, int64_t report, struct error *err)
{
	struct scan *s = c->scan;
	struct buf text = BUF_INIT(REPORT_MAX);
	char *room = report <= REPORT_MAX ? buf_room(&text, (size_t)report + 1)
					  : NULL;
	struct str rest;
	struct str line;
	bool ended = false;
	int rc = 0;

	if (report && (!room || io_pread_all(s->spool, room, (size_t)report,
					     0) != (ssize_t)report))
		rc = not_whole(err);
	else
		buf_added(&text, (size_t)report);
	rest = buf_str(&text);
	while (rc == 0 && str_split(&rest, '\n', &line)) {
		ended = str_starts(line, "e ");
		rc = ended ? check_end(c, line, rest, err)
			   : add_record(s, line, err);
	}
	if (rc == 0 && !ended)
		rc = not_whole(err);
	buf_release(&text);
	return rc;
}

/* Parses "ok same", "ok nobase STATE" or "ok inline|file REPORT ARCHIVE
 * [PATH]". */
static int read_status(struct call *c, const char *status,
		       const struct stop *stop, struct error *err)
{
	struct scan *s = c->scan;
	bool file = !strncmp(status, "ok file ", 8);
	const char *rest = status + (file ? 8 : 10);
	int64_t report;
	int64_t archive;

	if (!strncmp(status, "ok nobase ", 10)) {
		c->state = xstrdup(status + 10);
		return 0;
	}
	s->same = !strcmp(status, "ok same");
	if (s->same)
		return 0;
	if (!strcmp(status, "no_space"))
		return error_set(err, ERR_REMOTE,
				 "the sandbox's disk has no room to list what "
				 "changed there");
	if (!file && strncmp(status, "ok inline ", 10) != 0)
		return error_set(err, ERR_REMOTE,
				 "comparing the tree in the sandbox: %s",
				 status[0] ? status : "no answer");
	report = helper_number(&rest);
	archive = helper_number(&rest);
	if (report < 0 || archive < 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: %s", status);
	if (archive > c->request->total_max)
		return too_large(c->request, err);
	while (*rest == ' ')
		rest++;
	if (file && get_file(c, rest, stop, err) < 0)
		return -1;
	if (lseek(s->spool, report, SEEK_SET) < 0)
		return error_errno(err, "saving the changes");
	s->left = archive;
	return read_report(c, report, err);
}

/* Sends one command. Sets c->state if the sandbox has lost the listing. */
static int run_script(struct call *c, const struct stop *stop,
		      struct error *err)
{
	const struct scan_request *r = c->request;
	struct sandbox *sb = r->sandbox;
	bool streams = sb->client->provider->flags & SANDBOX_STDIN;
	char room[3][24];
	struct helper h = {
		.script = HELPER_SCAN,
		.args = { str_of(sandbox_tree_dir(sb)), str_of(c->root),
			  helper_decimal(r->file_max, room[0]),
			  helper_decimal(r->total_max, room[1]),
			  helper_decimal(streams ? INT64_MAX / 4 : INLINE_BYTES,
					 room[2]),
			  str_of(r->names ? "1" : "") },
		.n_args = 6,
		.content = c->content,
		.source = c->staged,
		.timeout_ms = SCRIPT_MS,
		.body = write_spool,
		.arg = c,
	};

	c->most = r->total_max + REPORT_MAX;
	if (io_truncate(c->scan->spool, 0) < 0 ||
	    lseek(c->scan->spool, 0, SEEK_SET) < 0)
		return error_errno(err, "saving the changes");
	if (helper_run(sb, &h, stop, err) < 0)
		return -1;
	if (h.timed_out)
		return error_set(err, ERR_TIMEOUT,
				 "comparing the tree in the sandbox took "
				 "longer than %d minutes",
				 SCRIPT_MS / 60000);
	return read_status(c, h.status, stop, err);
}

/* Uploads content as a file if it is too large for a command. */
static int stage_content(struct call *c, const struct stop *stop,
			 struct error *err)
{
	struct transfer where = { .mode = 0600, .api_only = true };
	char *path;

	if (helper_fits(c->request->sandbox, c->content, true))
		return 0;
	path = transfer_stage(&where);
	if (stream_file(c->request->sandbox, path, c->content, stop, err) < 0) {
		free(path);
		return -1;
	}
	c->staged = path;
	c->content = (struct str){ 0 };
	return 0;
}

/* Uploads the listing again, then repeats the command. */
static int restore_listing(struct call *c, const struct stop *stop,
			   struct error *err)
{
	char *path = xasprintf("%s/base", c->state);
	int rc = stream_file(c->request->sandbox, path, c->request->listing,
			     stop, err);

	free(path);
	free(c->state);
	c->state = NULL;
	if (rc == 0)
		rc = run_script(c, stop, err);
	if (rc == 0 && c->state)
		rc = error_set(err, ERR_PROTOCOL,
			       "the sandbox has lost dcode's list of files");
	return rc;
}

/* Runs the script; if the sandbox has lost the listing, uploads it and runs the
 * script again. Opens the spool, which scan_release() closes, also after a
 * failure. */
static int run_call(struct call *c, const struct stop *stop, struct error *err)
{
	int rc;

	*c->scan = (struct scan){ .spool = -1 };
	c->scan->spool = open_spool(c->request->scratch, err);
	if (c->scan->spool < 0)
		return -1;
	rc = stage_content(c, stop, err);
	if (rc == 0)
		rc = run_script(c, stop, err);
	if (rc == 0 && c->state)
		rc = restore_listing(c, stop, err);
	if (c->staged)
		transfer_unstage(c->request->sandbox, c->staged);
	free(c->staged);
	free(c->state);
	return rc;
}

int scan_run(struct scan *s, const struct scan_request *r,
	     const struct stop *stop, struct error *err)
{
	struct call c = { .scan = s,
			  .request = r,
			  .root = r->root,
			  .content = r->exclude,
			  .lines = count_lines(r->listing) };

	return run_call(&c, stop, err);
}

int scan_fetch(struct scan *s, const struct scan_request *r,
	       const char *const *paths, size_t n, const struct stop *stop,
	       struct error *err)
{
	struct buf list = BUF_INIT(REPORT_MAX);
	struct call c = {
		.scan = s, .request = r, .root = "pack", .lines = (int64_t)n
	};
	int rc;

	for (size_t i = 0; i < n; i++) {
		size_t start = list.len;

		buf_adds(&list, paths[i]);
		for (size_t k = start; k < list.len; k++)
			if (list.ptr[k] == '\n')
				list.ptr[k] = '\1';
		buf_addc(&list, '\n');
	}
	c.content = buf_str(&list);
	*s = (struct scan){ .spool = -1 };
	rc = buf_check(&list, "the list of new files", err);
	if (rc == 0)
		rc = run_call(&c, stop, err);
	buf_release(&list);
	return rc;
}

int64_t scan_pull(void *scan, char *room, size_t len, struct error *err)
{
	struct scan *s = scan;
	ssize_t n;

	if (s->left < (int64_t)len)
		len = (size_t)s->left;
	do
		n = len ? read(s->spool, room, len) : 0;
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, "reading the changes");
	s->left -= n;
	return n;
}

void scan_release(struct scan *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->records[i].path);
	free(s->records);
	if (s->spool >= 0)
		close(s->spool);
	*s = (struct scan){ .spool = -1 };
}

void fetch_note(struct fetch_item **list, size_t *n, const char *path,
		const char *why)
{
	if (!(*n & (*n - 1)))
		*list = xrealloc(*list, *n ? *n * 2 : 1, sizeof(**list));
	(*list)[(*n)++] = (struct fetch_item){ xstrdup(path), why, 0 };
}

void fetch_items_release(struct fetch_item **items, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		free((*items)[i].path);
	free(*items);
	*items = NULL;
	*n = 0;
}

static void note_refused(struct fetching *g, const char *path, const char *why)
{
	fetch_note(&g->f->refused, &g->f->n_refused, path, why);
}

static void note_left(struct fetching *g, const char *path, const char *why)
{
	fetch_note(&g->f->left, &g->f->n_left, path, why);
}

size_t fetch_seek_name(const struct fetching *g, const char *path)
{
	size_t low = 0;
	size_t high = g->n;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (strcmp(g->names[at].path, path) < 0)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

static struct announced *find_name(const struct fetching *g, const char *path)
{
	size_t at = fetch_seek_name(g, path);

	return at < g->n && !strcmp(g->names[at].path, path) ? &g->names[at]
							     : NULL;
}

/* Begins g->commit, a commit on top of parent. */
static int begin_commit(struct fetching *g, const char *parent,
			struct error *err)
{
	const struct odb_commit_info info = {
		.ref = g->ref,
		.parent = parent,
		.message = "What is in the sandbox\n",
	};

	return odb_commit_begin(&g->commit, &g->w->git, &info, g->stop, err);
}

/* Ends g->commit: if rc is 0 it becomes g->f->theirs, else it is dropped and -1
 * is returned. */
static int end_commit(struct fetching *g, int rc, struct error *err)
{
	struct odb_commit *c = g->commit;

	g->commit = NULL;
	if (rc == 0)
		return odb_commit_end(c, g->f->theirs, err);
	odb_commit_abort(c);
	return -1;
}

/* True if a file above or below path was already accepted: with both, one file
 * would have to be a directory too. */
static bool is_in_the_way(const struct fetching *g, const char *path)
{
	char *part = xasprintf("%s/", path);
	size_t at = fetch_seek_name(g, part);
	size_t len = strlen(part);
	bool found = false;

	for (; at < g->n && !strncmp(g->names[at].path, part, len); at++)
		found |= g->names[at].taken;
	for (size_t i = len - 1; i > 0 && !found; i--) {
		const struct announced *above;

		if (part[i] != '/')
			continue;
		part[i] = '\0';
		above = i == len - 1 ? NULL : find_name(g, part);
		found = above && above->taken;
	}
	free(part);
	return found;
}

/* Converts a file's mode to git's; 1 if git cannot store it. */
static unsigned git_mode(unsigned mode)
{
	if (S_ISLNK(mode))
		return NAME_LINK;
	if (!S_ISREG(mode) || mode & 07000)
		return 1;
	return mode & 0100 ? NAME_PROGRAM : NAME_FILE;
}

/* Skips "./", with which archives begin names. */
static const char *skip_here(const char *path)
{
	while (str_starts(str_of(path), "./"))
		path += 2;
	return path;
}

/* Returns NULL if the hard link's target came before it, and sets the link's
 * size to the target's. Else the reason to refuse it. */
static const char *check_link(const struct fetching *g, const char *original,
			      int64_t *size)
{
	struct announced *name = find_name(g, skip_here(original));

	if (!name || !name->is_file)
		return "is a link to a file that was not fetched";
	name->is_linked = true;
	*size = name->size;
	return NULL;
}

/* Returns NULL, or the reason to refuse an entry of the archive. */
static const char *check_entry(const struct fetching *g,
			       const struct archive_item *item,
			       const char *path, unsigned mode)
{
	const char *why = name_refuse(str_of(path), mode);

	if (!item->original && S_ISREG(item->mode) && item->mode & 07000)
		return "has the setuid, setgid or sticky bit";
	if (!why && mode == NAME_LINK)
		why = name_refuse_target(str_of(path), str_of(item->target));
	if (!why && item->size > g->request->file_max)
		why = "is larger than allowed";
	if (!why && is_in_the_way(g, path))
		why = "is a file and a directory at once";
	return why;
}

/* Returns 1 if the entry's bytes must be read, 0 if it has none, -1 on failure.
 * Hard links are added later by commit_links(). */
static int put_entry(struct fetching *g, const struct archive_item *item,
		     const char *path, unsigned mode, struct error *err)
{
	struct str target = str_of(item->target);

	if (item->original) {
		fetch_note(&g->links, &g->n_links, path, "");
		fetch_note(&g->originals, &g->n_originals,
			   skip_here(item->original), "");
		return 0;
	}
	if (mode == NAME_LINK)
		return odb_commit_file(g->commit, mode, str_of(path),
				       (int64_t)target.len, err) < 0
			       ? -1
			       : odb_commit_data(g->commit, target, err);
	if (odb_commit_file(g->commit, mode, str_of(path), item->size, err) < 0)
		return -1;
	return item->size > 0;
}

/* True if a link still has the target with which the user uploaded it: then it
 * is neither accepted nor refused, wherever it leads. */
static bool is_uploaded_link(struct fetching *g, const char *path,
			     const char *target)
{
	const struct listing_entry *e = listing_find(&g->uploaded, path);
	char hash[LISTING_HASH];

	if (!e || !S_ISLNK(e->mode))
		return false;
	listing_digest(str_of(target), hash);
	return !strcmp(hash, e->hash);
}

/* Part of an archive_visitor, like the next two functions: handles an entry. */
static int on_entry(void *arg, const struct archive_item *item,
		    struct error *err)
{
	struct fetching *g = arg;
	struct str path = item->path;
	struct announced *name;
	const char *why;
	int64_t size = item->size;
	unsigned mode = item->original ? NAME_FILE : git_mode(item->mode);

	while (str_starts(path, "./"))
		path = str_skip(path, 2);
	name = path.len ? find_name(g, path.ptr) : NULL;
	if (S_ISDIR(item->mode) && !item->original)
		/* a directory has replaced the announced file meanwhile */
		return 0;
	if (!path.len || !name) {
		note_refused(g, path.len ? path.ptr : "(no name)",
			     "was not in the list of changes");
		return 0;
	}
	if (name->seen) {
		note_refused(g, path.ptr, "appears twice");
		return 0;
	}
	name->seen = true;
	why = check_entry(g, item, path.ptr, mode);
	if (!why && item->original)
		why = check_link(g, item->original, &size);
	if (why && mode == NAME_LINK &&
	    is_uploaded_link(g, path.ptr, item->target))
		return 0;
	if (why) {
		note_refused(g, path.ptr, why);
		return 0;
	}
	g->bytes += size;
	if (g->bytes > g->request->total_max)
		return error_set(
			err, ERR_LIMIT,
			"the changes in the sandbox grew to more than %" PRId64
			" MiB",
			g->request->total_max >> 20);
	name->taken = true;
	name->is_file = !item->original && mode != NAME_LINK;
	name->size = size;
	return put_entry(g, item, path.ptr, mode, err);
}

static int on_data(void *arg, struct str bytes, struct error *err)
{
	struct fetching *g = arg;

	return odb_commit_data(g->commit, bytes, err);
}

static int64_t on_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct fetching *g = arg;

	return scan_pull(&g->scan, room, len, err);
}

/* Commits the files of the archive and, with gone, the deletions. */
static int commit_archive(struct fetching *g, const char *parent, bool gone,
			  struct error *err)
{
	const struct archive_visitor v = { on_pull, on_entry, on_data, g };
	int rc = begin_commit(g, parent, err);

	if (rc < 0)
		return -1;
	for (size_t i = 0; gone && i < g->scan.n && rc == 0; i++) {
		const struct scan_record *r = &g->scan.records[i];

		if (r->kind == SCAN_GONE && listing_find(&g->base, r->path))
			rc = odb_commit_delete(g->commit, str_of(r->path), err);
	}
	if (rc == 0 && g->scan.left)
		rc = archive_visit(&v, err);
	for (size_t i = 0; i < g->n && rc == 0; i++)
		if (!g->names[i].seen)
			note_left(g, g->names[i].path, "could not be read");
	return end_commit(g, rc, err);
}

static int note_entry(void *arg, const struct odb_record *r, struct error *err)
{
	struct announced *name = find_name(arg, r->path);

	(void)err;
	if (!name || !name->is_linked || name->entry)
		return 0;
	name->entry = xcalloc(1, sizeof(*name->entry));
	name->entry->mode = r->new_mode;
	snprintf(name->entry->oid, sizeof(name->entry->oid), "%s", r->new_oid);
	return 0;
}

/* Adds a hard link, or refuses it if its file is not in the commit. */
static int put_link(struct fetching *g, size_t i, struct error *err)
{
	const struct announced *name = find_name(g, g->originals[i].path);
	const char *path = g->links[i].path;

	if (name && name->entry)
		return odb_commit_blob(g->commit, name->entry->mode,
				       str_of(path), name->entry->oid, err);
	note_refused(g, path, "is a link to a file that was not fetched");
	return 0;
}

/* Gives hard links the contents of their files, in a second commit: the files'
 * object ids are known only after the first. One lookup finds all of them. */
static int commit_links(struct fetching *g, struct error *err)
{
	char parent[GIT_OID];
	int rc;

	if (!g->n_links)
		return 0;
	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = odb_tree_diff(&g->w->git, NULL, parent,
			   &(struct odb_sink){ note_entry, g }, g->stop, err);
	if (rc == 0)
		rc = begin_commit(g, parent, err);
	for (size_t i = 0; i < g->n_links && rc == 0; i++)
		rc = put_link(g, i, err);
	rc = g->commit ? end_commit(g, rc, err) : -1;
	for (size_t i = 0; i < g->n; i++)
		free(g->names[i].entry);
	fetch_items_release(&g->links, &g->n_links);
	fetch_items_release(&g->originals, &g->n_originals);
	return rc;
}

int fetch_commit_archive(struct fetching *g, const char *parent, bool gone,
			 struct error *err)
{
	/* If another record explains a path, it is not missing in the
	 * archive. */
	for (size_t i = 0; i < g->scan.n; i++) {
		const struct scan_record *r = &g->scan.records[i];
		struct announced *name = find_name(g, r->path);

		if (name && r->kind != SCAN_CHANGED && r->kind != SCAN_NEW)
			name->seen = true;
	}
	if (commit_archive(g, parent, gone, err) < 0)
		return -1;
	return commit_links(g, err);
}

struct candidate { /* an uploaded path that differs from the base */
	char *path;
	char hash[LISTING_HASH]; /* SHA-256 of the uploaded bytes */
	unsigned sent_mode;      /* mode of the uploaded file */
	unsigned new_mode;       /* current mode in the sandbox */
	unsigned mode;           /* mode in the base; 0: not in the base */
	char oid[GIT_OID];       /* blob in the base */
};

struct uploads {
	struct listing *sent; /* borrowed */
	struct candidate *list;
	struct odb_file *blobs; /* current contents in the sandbox */
	size_t n;
};

/* An odb_sink for odb_tree_diff() from the base to f->theirs. */
static int add_candidate(void *arg, const struct odb_record *r,
			 struct error *err)
{
	struct uploads *u = arg;
	const struct listing_entry *e = listing_find(u->sent, r->path);
	struct candidate *c;

	(void)err;
	if (!e || (!S_ISREG(r->new_mode) && !S_ISLNK(r->new_mode)) ||
	    S_ISLNK(r->new_mode) != S_ISLNK(e->mode))
		return 0;
	if (!(u->n & (u->n - 1))) {
		size_t cap = u->n ? 2 * u->n : 1;

		u->list = xrealloc(u->list, cap, sizeof(*u->list));
		u->blobs = xrealloc(u->blobs, cap, sizeof(*u->blobs));
	}
	u->blobs[u->n] = (struct odb_file){ 0 };
	memcpy(u->blobs[u->n].oid, r->new_oid, strlen(r->new_oid) + 1);
	c = &u->list[u->n++];
	*c = (struct candidate){ .path = xstrdup(r->path),
				 .sent_mode = e->mode,
				 .new_mode = r->new_mode,
				 .mode = r->old_mode };
	memcpy(c->hash, e->hash, sizeof(c->hash));
	memcpy(c->oid, r->old_oid, strlen(r->old_oid) + 1);
	return 0;
}

/* True if the sandbox's file i still has the uploaded bytes. */
static bool has_uploaded_bytes(const struct uploads *u, size_t i)
{
	char hex[LISTING_HASH];

	sodium_bin2hex(hex, sizeof(hex), u->blobs[i].hash, ODB_HASH);
	return !strcmp(hex, u->list[i].hash);
}

/* Restores the base's file, or removes the path if it is not in the base. A
 * mode that the agent changed stays. If such a file is not in the base, it
 * stays too, because a commit cannot contain a mode without a file. */
static int restore_base(struct fetching *g, const struct candidate *c,
			struct error *err)
{
	bool chmod = c->new_mode != c->sent_mode && c->new_mode != c->mode;
	struct str path = str_of(c->path);

	if (chmod && !S_ISREG(c->mode))
		return 0;
	if (!c->mode)
		return odb_commit_delete(g->commit, path, err);
	return odb_commit_blob(g->commit, chmod ? c->new_mode : c->mode, path,
			       c->oid, err);
}

/* Restores the base's version of unchanged uploads in a commit on top of
 * f->theirs. */
static int restore_uploaded(struct fetching *g, const struct uploads *u,
			    struct error *err)
{
	char parent[GIT_OID];
	int rc;

	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = begin_commit(g, parent, err);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < u->n && rc == 0; i++)
		if (has_uploaded_bytes(u, i))
			rc = restore_base(g, &u->list[i], err);
	return end_commit(g, rc, err);
}

int fetch_drop_uploaded(struct fetching *g, struct error *err)
{
	const struct git *git = &g->w->git;
	struct uploads u = { .sent = &g->uploaded };
	struct odb_sink sink = { add_candidate, &u };
	int rc = 0;

	if (u.sent->n)
		rc = odb_tree_diff(git, g->w->base, g->f->theirs, &sink,
				   g->stop, err);
	if (rc == 0 && u.n)
		rc = odb_write_files(git, u.blobs, u.n, g->stop, err);
	if (rc == 0 && u.n)
		rc = restore_uploaded(g, &u, err);
	for (size_t i = 0; i < u.n; i++)
		free(u.list[i].path);
	free(u.list);
	free(u.blobs);
	return rc;
}

struct base_change { /* a change of a path since the base */
	char *path;
	unsigned mode; /* mode in the base; 0: the path is new */
	char oid[GIT_OID];
};

struct repo_search {
	struct fetching *g;
	struct bare_repos repos;
	struct base_change *changes;
	size_t n;
	struct tree_dir disk;
	bool has_disk;
};

/* An odb_sink for odb_tree_diff() from the base to f->theirs: collects the
 * changes. */
static int add_base_change(void *arg, const struct odb_record *r,
			   struct error *err)
{
	struct repo_search *s = arg;
	struct base_change *c;

	(void)err;
	if (!(s->n & (s->n - 1)))
		s->changes = xrealloc(s->changes, s->n ? s->n * 2 : 1,
				      sizeof(*s->changes));
	c = &s->changes[s->n++];
	*c = (struct base_change){ .path = xstrdup(r->path),
				   .mode = r->old_mode };
	snprintf(c->oid, sizeof(c->oid), "%s", r->old_oid);
	bare_repo_add(&s->repos, str_of(r->path));
	return 0;
}

/* Keeps only the changes inside a bare repository. */
static void keep_changes_inside(struct repo_search *s)
{
	struct tree_dir *disk = s->has_disk ? &s->disk : NULL;
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (bare_repo_find(&s->repos, disk, s->changes[i].path) >= 0)
			s->changes[kept++] = s->changes[i];
		else
			free(s->changes[i].path);
	s->n = kept;
}

/* Refuses the changes in s: restores the base's files in another commit. */
static int restore_repositories(struct repo_search *s, struct error *err)
{
	struct fetching *g = s->g;
	char parent[GIT_OID];
	int rc;

	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = begin_commit(g, parent, err);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < s->n && rc == 0; i++) {
		const struct base_change *c = &s->changes[i];
		struct str path = str_of(c->path);

		note_refused(g, c->path, bare_repo_refused);
		rc = c->mode ? odb_commit_blob(g->commit, c->mode, path, c->oid,
					       err)
			     : odb_commit_delete(g->commit, path, err);
	}
	return end_commit(g, rc, err);
}

/* Adds every path of the base and every refused path: a directory is recognised
 * as a bare repository by the parts that it contains, and some of them may be
 * unchanged or refused. */
static void add_known_paths(struct repo_search *s)
{
	const struct fetching *g = s->g;

	for (size_t i = 0; i < g->base.n; i++)
		bare_repo_add(&s->repos, str_of(g->base.entries[i].path));
	for (size_t i = 0; i < g->f->n_refused; i++)
		bare_repo_add(&s->repos, str_of(g->f->refused[i].path));
}

int fetch_refuse_repositories(struct fetching *g, struct error *err)
{
	struct repo_search s = { .g = g };
	struct odb_sink sink = { add_base_change, &s };
	struct error ignored = { 0 };
	int rc;

	if (!strcmp(g->w->base, g->f->theirs))
		return 0;
	/* If the user's tree no longer exists, only the commits are checked. */
	s.has_disk = g->w->root[0] &&
		     tree_dir_open(&s.disk, g->w->root, &ignored) == 0;
	rc = odb_tree_diff(&g->w->git, g->w->base, g->f->theirs, &sink, g->stop,
			   err);
	if (rc == 0 && s.n) {
		add_known_paths(&s);
		keep_changes_inside(&s);
	}
	if (rc == 0 && s.n)
		rc = restore_repositories(&s, err);
	for (size_t i = 0; i < s.n; i++)
		free(s.changes[i].path);
	free(s.changes);
	if (s.has_disk)
		tree_dir_close(&s.disk);
	bare_repo_release(&s.repos);
	return rc;
}
