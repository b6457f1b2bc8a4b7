/* scan.c - asks a sandbox for the differences from the tree that was sent. */
/* SPDX-License-Identifier: MIT */
/*
 * Runs workspace_scan.sh once. It compares the sandbox's tree with the listing
 * that both sides share, and answers with a report (a line for each path that
 * differs) and an archive of the contents. A small answer is part of the
 * command's output; a large one is a file that is downloaded with the
 * provider's API. Both are written to a spool, an unnamed file. read_status()
 * reads the report from it, scan_pull() the archive. Nothing in the answer is
 * trusted: the report must be complete, and sizes are counted as bytes arrive.
 */
#include "worktree/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/helper.h"
#include "sandbox/transfer.h"
#include "worktree/stream_files.h"

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
