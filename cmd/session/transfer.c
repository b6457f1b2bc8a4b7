/* transfer.c - --upload and --download around a run. */
/* SPDX-License-Identifier: MIT */

/*
 * run_upload() runs when a new sandbox is filled, run_download() after the last
 * answer. Both copy with cmd/session/copy.h and record the result of each
 * transfer for the result event (struct transfer_option). A file that is
 * uploaded into the run's tree is not the agent's work. record_uploads()
 * therefore records it as sent; otherwise dcode diff would show it as a change.
 */
#include "cmd/session/transfer.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/copy.h"
#include "cmd/session/options.h"
#include "cmd/session/run.h"
#include "cmd/session/tree.h"
#include "worktree/treefile.h"
#include "worktree/workspace.h"

enum { NOTE_MS = 30000 };

/* Returns the path relative to the sandbox's tree: "a/b" for
 * "/workspace//a/./b". Owned. NULL if target is not in the tree. */
static char *path_in_tree(const struct sandbox *sb, const char *target)
{
	struct buf path = BUF_INIT(1 << 16);
	struct str rest = str_of(target);
	struct str top = str_of(sandbox_tree_dir(sb));
	struct str part;

	if (str_starts(rest, sandbox_tree_dir(sb)) && rest.len > top.len &&
	    rest.ptr[top.len] == '/')
		rest = str_skip(rest, top.len);
	else
		rest = (struct str){ 0 };
	while (str_split(&rest, '/', &part)) {
		if (!part.len || str_is(part, "."))
			continue;
		if (path.len)
			buf_addc(&path, '/');
		buf_addstr(&path, part);
	}
	if (path.len && listing_path_ok(buf_str(&path)))
		return buf_detach(&path);
	buf_release(&path);
	return NULL;
}

/* Adds a link with a hash of its target. Does nothing if the link cannot be
 * read. */
static void add_link(struct listing *l, const char *path, const char *local)
{
	char target[PATH_MAX];
	ssize_t n = readlink(local, target, sizeof(target));
	char hash[LISTING_HASH];

	if (n < 0 || n == sizeof(target))
		return;
	listing_digest((struct str){ target, (size_t)n }, hash);
	listing_add(l, LISTING_LINK, hash, str_of(path));
}

/* Adds a file with its hash, so that the agent's later change is noticed. */
static void add_file(struct listing *l, const char *path, const char *local)
{
	unsigned char hash[TREEFILE_HASH];
	char hex[LISTING_HASH];
	int fd = open(local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    treefile_copy(fd, -1, hash) == 0) {
		sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
		listing_add(l,
			    st.st_mode & S_IXUSR ? LISTING_PROGRAM
						 : LISTING_FILE,
			    hex, str_of(path));
	}
	if (fd >= 0)
		close(fd);
}

/* Adds an uploaded file or link if target, an absolute path in the sandbox, is
 * in the tree. in_tree: it is part of an uploaded directory, in which links
 * stay links; otherwise links are followed. */
static void add_uploaded(struct listing *l, const struct sandbox *sb,
			 const char *local, const char *target, bool in_tree)
{
	char *path = path_in_tree(sb, target);
	struct stat st;

	if (path && in_tree && lstat(local, &st) == 0 && S_ISLNK(st.st_mode))
		add_link(l, path, local);
	else if (path)
		add_file(l, path, local);
	free(path);
}

/* Records the files of l as sent, so that they do not count as changes, and
 * empties l. Does nothing if the sandbox has no tree. A failure is a
 * warning. */
static void record_uploads(struct run *r, struct listing *l)
{
	struct stop stop = stop_cleanup(NOTE_MS);
	struct error err = { 0 };
	struct workspace w = { 0 };
	int rc =
		l->n && r->box.label[0]
			? tree_find_label(&w, r->app, r->box.label, &stop, &err)
			: 1;

	listing_sort(l);
	if (rc == 0)
		rc = workspace_add_uploaded(l, &w, &stop, &err);
	if (rc < 0)
		app_warn("`dcode diff` will show the uploaded files as "
			 "changes: %s",
			 err.message);
	workspace_close(&w);
	listing_release(l);
}

enum {
	SHOWN_MOST = 20,           /* files of a tree that are printed */
	LISTED_MOST = 1000,        /* files of a tree in the result event */
	NAME_BYTES = 1 << 16,      /* bytes of one line */
	DOWNLOAD_MS = 30 * 60000,  /* limit for all downloads after a
				      successful run */
	INTERRUPTED_MS = 60 * 1000 /* limit for all downloads after an
				      interrupted run */
};

/* Receives the names of a tree's files. */
struct tree_log {
	const struct run *run;
	struct transfer_option *transfer;
	const struct upload_target *upload; /* NULL: a download */
	struct listing uploaded;
	int64_t shown; /* number of files printed or left out because of
			  SHOWN_MOST */
};

static void add_member(const struct run *r, struct buf *out, const char *key,
		       struct str value)
{
	struct buf masked = BUF_INIT(NAME_BYTES);

	app_clean(r->app, CLEAN_LATER, value, &masked);
	json_member_bytes(out, key, buf_str(&masked));
	buf_release(&masked);
}

/* Adds an entry to the result event, and only counts it after LISTED_MOST
 * entries. why: why it was not copied, or NULL. */
static void list_entry(struct tree_log *log, struct str name, const char *why)
{
	struct transfer_option *t = log->transfer;

	if (t->listed == LISTED_MOST) {
		t->unlisted++;
		return;
	}
	buf_adds(&t->entries, t->listed++ ? ",{" : "{");
	add_member(log->run, &t->entries, "path", name);
	buf_adds(&t->entries,
		 why ? ",\"status\":\"skipped\"," : ",\"status\":\"ok\"");
	if (why)
		json_member(&t->entries, "reason", str_of(why));
	buf_addc(&t->entries, '}');
}

/* archive_log.skipped callback: adds the entry to the result event. The copy
 * itself prints a warning. */
static void on_skipped(void *arg, struct str name, const char *why)
{
	list_entry(arg, name, why);
}

/* archive_log.carried callback, called for each copied file: prints it and adds
 * it to the result event. An uploaded file is also noted for
 * record_uploads(). */
static void on_carried(void *arg, struct str name)
{
	struct tree_log *log = arg;
	const struct upload_target *u = log->upload;
	char *local;
	char *target;

	if (log->shown++ < SHOWN_MOST)
		print_line(log->run->app, "  %.*s", (int)name.len, name.ptr);
	list_entry(log, name, NULL);
	if (!u)
		return;
	local = xasprintf("%s/%.*s", u->local, (int)name.len, name.ptr);
	target = xasprintf("%s/%.*s", u->target, (int)name.len, name.ptr);
	add_uploaded(&log->uploaded, &log->run->box.sandbox, local, target,
		     true);
	free(local);
	free(target);
}

static void report_copied(const struct run *r, const struct transfer_option *t)
{
	long long n = t->files + t->links;

	if (n > SHOWN_MOST)
		print_line(r->app, "  ... and %lld more", n - SHOWN_MOST);
	print_line(r->app, "✓ %s %s to %s: %lld file%s%s",
		   t->uploads ? "Uploaded" : "Downloaded",
		   t->uploads ? t->local : t->remote, t->target, n,
		   n == 1 ? "" : "s", t->skipped ? ", incomplete" : "");
}

/* Runs one transfer and stores its result in t. upload is the destination of an
 * upload, NULL for a download. */
static void copy_one(struct run *r, struct sandbox *sb,
		     struct transfer_option *t, struct upload_target *upload,
		     const struct stop *stop)
{
	struct tree_log to = { .run = r, .transfer = t, .upload = upload };
	struct archive_log log = { on_skipped, on_carried, NULL, &to, NULL };
	struct copy c = { .sb = sb,
			  .stop = stop,
			  .disk = -1,
			  .log = &log,
			  .incoming = { .bring = t->bring,
					.n_bring = t->n_bring },
			  .no_replace = !t->force };

	t->tried = true;
	t->rc = copy_read_limit(&c, r->app, &t->err);
	if (t->rc == 0)
		t->rc = upload ? upload_run(&c, upload, &t->err)
			       : copy_down(&c, t->remote, t->local, &t->err);
	t->files = c.files;
	t->links = c.links;
	t->skipped = c.skipped;
	t->target = c.target;
	if (upload)
		t->refused = upload->refused || t->err.code == ERR_USAGE;
	if (t->rc == 0)
		report_copied(r, t);
	if (t->rc == 0 && upload && !upload->tree)
		add_uploaded(&to.uploaded, sb, t->local, t->target, false);
	record_uploads(r, &to.uploaded);
}

static void warn_failed(const struct transfer_option *t)
{
	app_warn("--%s %s: %s", t->uploads ? "upload" : "download",
		 t->uploads ? t->local : t->remote, t->err.message);
}

/* If an upload is refused because it would replace files, continues with the
 * others, then fails. */
static int upload_all(struct run *r, struct sandbox *sb, struct copy *c,
		      struct upload_target *uploads, size_t n,
		      struct error *err)
{
	size_t refused = 0;

	if (upload_stat(c, uploads, n, err) < 0)
		return error_wrap(err, "--upload");
	for (size_t i = 0; i < n; i++) {
		struct transfer_option *t = &r->options.transfers.list[i];

		copy_one(r, sb, t, &uploads[i], c->stop);
		refused += t->refused;
		if (t->rc == 0)
			continue;
		if (!t->refused) {
			*err = t->err;
			return error_wrap(err, "--upload %s", t->local);
		}
		warn_failed(t);
	}
	if (!refused)
		return 0;
	error_set(err, ERR_REMOTE,
		  "%zu of %zu uploads would replace files in the sandbox",
		  refused, n);
	return error_hint(
		err,
		"Choose another destination, or use --force to replace files.");
}

/* Uploads come before downloads in the list of transfers. */
int run_upload(struct run *r, struct sandbox *sb, const struct stop *stop,
	       struct error *err)
{
	const struct transfer_options *all = &r->options.transfers;
	struct copy c = { .sb = sb, .stop = stop, .disk = -1 };
	struct upload_target *uploads;
	size_t n = 0;
	int rc;

	while (n < all->n && all->list[n].uploads)
		n++;
	if (!n)
		return 0;
	uploads = xcalloc(n, sizeof(*uploads));
	for (size_t i = 0; i < n; i++)
		uploads[i] =
			(struct upload_target){ .local = all->list[i].local,
						.remote = all->list[i].remote,
						.force = all->force };
	rc = upload_all(r, sb, &c, uploads, n, err);
	for (size_t i = 0; i < n; i++)
		upload_release(&uploads[i]);
	free(uploads);
	return rc;
}

static size_t count_downloads(const struct transfer_options *all)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += !all->list[i].uploads;
	return n;
}

/* Returns the limit for n downloads. After an interrupted run the time is
 * shorter, because the user is waiting, and the signal that ended the run does
 * not cancel the downloads. */
static struct stop download_stop(const struct run *r, size_t n)
{
	struct error why = { 0 };
	struct stop signals = app_stop(r->app);

	if (stop_check(&r->stop, &why) == 0)
		return stop_within(&signals, DOWNLOAD_MS);
	print_line(r->app, "Downloading %zu path%s, for %d s at most...", n,
		   n == 1 ? "" : "s", INTERRUPTED_MS / 1000);
	return stop_cleanup(INTERRUPTED_MS);
}

/* Tries all downloads, even if some fail. */
int run_download(struct run *r, struct error *err)
{
	struct transfer_options *all = &r->options.transfers;
	enum err code = ERR_REMOTE;
	size_t failed = 0;
	bool opened = !r->box.ending && r->box.sandbox.client;
	size_t n = opened ? count_downloads(all) : 0;
	struct stop stop;

	if (!n)
		return 0;
	stop = download_stop(r, n);
	for (size_t i = 0; i < all->n; i++) {
		struct transfer_option *t = &all->list[i];

		if (t->uploads)
			continue;
		copy_one(r, &r->box.sandbox, t, NULL, &stop);
		if (t->rc < 0)
			warn_failed(t);
		if (t->err.code == ERR_CANCELLED)
			code = ERR_CANCELLED;
		failed += t->rc < 0 || t->skipped;
	}
	return failed ? error_set(err, code, "%zu of %zu downloads failed",
				  failed, n)
		      : 0;
}

static const char *status_of(const struct transfer_option *t)
{
	if (!t->tried)
		return "not_tried";
	if (t->rc < 0)
		return "failed";
	return t->skipped ? "partial" : "ok";
}

/* Appends one transfer as a JSON object. */
static void add_transfer(const struct run *r, const struct transfer_option *t,
			 struct buf *out)
{
	const char *from = t->uploads ? t->local : t->remote;
	const char *to = t->uploads ? t->remote : t->local;

	buf_adds(out, "{\"direction\":");
	buf_adds(out, t->uploads ? "\"upload\"," : "\"download\",");
	add_member(r, out, "from", str_of(from));
	buf_addc(out, ',');
	add_member(r, out, "to", str_of(t->target ? t->target : to));
	buf_addf(out,
		 ",\"status\":\"%s\",\"files\":%lld,\"links\":%lld,"
		 "\"skipped\":%lld,\"entries\":[",
		 status_of(t), (long long)t->files, (long long)t->links,
		 (long long)t->skipped);
	buf_addstr(out, buf_str(&t->entries));
	buf_addf(out, "],\"unlisted\":%lld", (long long)t->unlisted);
	if (t->rc < 0) {
		buf_adds(out, ",\"error\":{");
		json_member(out, "code", str_of(error_name(t->err.code)));
		buf_addc(out, ',');
		add_member(r, out, "message", str_of(t->err.message));
		buf_addc(out, '}');
	}
	buf_addc(out, '}');
}

void run_transfers_json(const struct run *r, struct buf *out)
{
	const struct transfer_options *all = &r->options.transfers;

	for (size_t i = 0; i < all->n; i++) {
		buf_addc(out, i ? ',' : '[');
		add_transfer(r, &all->list[i], out);
	}
	buf_adds(out, all->n ? "]" : "");
}

/* Parses the words of /upload or /download: --force, for /download also --bring
 * NAME, the source, and the destination if there is one. */
static int read_words(struct transfer_option *t, const char *sides[2], int n,
		      char **words, struct error *err)
{
	int found = 0;

	for (int i = 0; i < n; i++) {
		if (!strcmp(words[i], "--force"))
			t->force = true;
		else if (!t->uploads && !strcmp(words[i], "--bring") &&
			 i + 1 < n)
			t->bring[t->n_bring++] = words[++i];
		else if (!strncmp(words[i], "--", 2) || found == 2)
			return error_set(err, ERR_USAGE,
					 "unexpected argument: %s", words[i]);
		else
			sides[found++] = words[i];
	}
	return found ? 0
		     : error_set(err, ERR_USAGE, "usage: %s",
				 t->uploads
					 ? "/upload [--force] LOCAL [REMOTE]"
					 : "/download [--force] [--bring NAME] "
					   "REMOTE [LOCAL]");
}

/* Copies one file or directory and reports errors in err. */
static int copy_words(struct run *r, struct transfer_option *t,
		      const struct stop *stop, struct error *err)
{
	struct sandbox *sb = &r->box.sandbox;
	struct copy c = { .sb = sb, .stop = stop, .disk = -1 };
	struct upload_target u = { .local = t->local,
				   .remote = t->remote,
				   .force = t->force };
	int rc = t->uploads ? upload_stat(&c, &u, 1, err) : 0;

	if (rc == 0) {
		copy_one(r, sb, t, t->uploads ? &u : NULL, stop);
		*err = t->err;
		rc = t->rc;
	}
	if (rc < 0 && t->refused && u.kind == 'f')
		error_hint(err, "Choose another destination, or use --force.");
	upload_release(&u);
	return rc;
}

/* Implements /upload and /download, except the handling of Ctrl-C. */
static int parse_and_copy(struct run *r, bool uploads, int n, char **words,
			  struct error *err)
{
	struct stop signals = app_stop(r->app);
	struct stop stop = stop_within(&signals, DOWNLOAD_MS);
	const char *sides[2] = { NULL, "" };
	struct transfer_option t = { .uploads = uploads };
	const char **bring;
	int rc;

	if (!run_has_sandbox(r)) {
		error_set(err, ERR_USAGE,
			  "no sandbox: tools work on this machine's files");
		return error_hint(err, "/sandbox switch PROVIDER moves this "
				       "thread into one.");
	}
	t.bring = bring = xcalloc((size_t)n + 1, sizeof(*bring));
	rc = read_words(&t, sides, n, words, err);
	if (rc == 0)
		rc = transfer_option_set(&t, uploads ? "/upload" : "/download",
					 sides[0], sides[1], err);
	if (rc == 0)
		rc = copy_words(r, &t, &stop, err);
	transfer_option_release(&t);
	free(bring);
	return rc;
}

void run_transfer_words(struct run *r, bool uploads, int n, char **words)
{
	struct error err = { 0 };
	int rc = parse_and_copy(r, uploads, n, words, &err);

	if (rc < 0 && err.code == ERR_CANCELLED)
		fputs("Interrupted\n", stderr);
	else if (rc < 0)
		(void)app_fail(r->app, &err);
	if (app_signal() == SIGINT) /* any other signal must end the chat */
		app_signal_clear(r->app);
}
