/* run_transfer.c - files that go into a run's sandbox and come back from it. */
/* SPDX-License-Identifier: MIT */
#include "cmd/run_transfer.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/run.h"
#include "cmd/sandbox/copy.h"

enum {
	SHOWN_MOST = 20,          /* files of a tree that get a line */
	LISTED_MOST = 1000,       /* and that the result event names */
	NAME_BYTES = 1 << 16,     /* of a line */
	DOWNLOAD_MS = 30 * 60000, /* all of them, after a run that went well, */
	INTERRUPTED_MS = 60 * 1000 /* and after one that was ended */
};

/* Takes what stands before the first colon off *text; "\:" stands for one that
 * belongs to a name. */
static char *split_side(const char **text)
{
	struct buf side = BUF_INIT(NAME_BYTES);

	for (; **text && **text != ':'; ++*text) {
		if (**text == '\\' && (*text)[1] == ':')
			++*text;
		buf_addc(&side, **text);
	}
	*text += **text == ':';
	return buf_detach(&side);
}

/* first and second are owned. */
static void set_sides(struct run_transfer *t, bool uploads, char *first,
		      char *second)
{
	char *local = uploads ? first : second;
	const char *home = getenv("HOME");

	*t = (struct run_transfer){
		.uploads = uploads,
		.local = path_expand(local, home ? home : "/"),
		.remote = uploads ? second : first,
		.entries = BUF_INIT(LISTED_MOST * NAME_BYTES),
	};
	free(local);
}

static void release_transfer(struct run_transfer *t)
{
	free(t->local);
	free(t->remote);
	free(t->target);
	buf_release(&t->entries);
}

/* The side that is named first has to be. */
static int check_sides(const struct run_transfer *t, const char *option,
		       struct error *err)
{
	if (!(t->uploads ? t->local : t->remote)[0])
		return error_set(err, ERR_USAGE, "argument %s: %s is empty",
				 option, t->uploads ? "LOCAL" : "REMOTE");
	if (!t->uploads && !strcmp(t->local, "-"))
		return error_set(err, ERR_USAGE,
				 "argument %s: LOCAL is a file or directory, "
				 "not standard output",
				 option);
	return 0;
}

static int add_all(struct run_transfers *t, const struct args *args,
		   bool uploads, struct error *err)
{
	const char *option = uploads ? "upload" : "download";
	const char *spec;
	size_t at = 0;

	while ((spec = args_next(args, option, &at))) {
		struct run_transfer *last = &t->list[t->n++];
		char *first = split_side(&spec);

		set_sides(last, uploads, first, xstrdup(spec));
		if (check_sides(last, uploads ? "--upload" : "--download",
				err) < 0)
			return -1;
	}
	return 0;
}

int run_transfers_read(struct run_transfers *t, const struct args *args,
		       struct error *err)
{
	t->list = xcalloc(ARGS_MOST, sizeof(*t->list));
	t->force = args_flag(args, "force");
	if (t->force && !args_value(args, "download"))
		return error_set(err, ERR_USAGE,
				 "--force requires --download: it lets "
				 "downloads replace local files");
	if (add_all(t, args, true, err) < 0)
		return -1;
	return add_all(t, args, false, err);
}

/* The directory that a download goes to has to be there. */
static int check_parent(const char *target, struct error *err)
{
	const char *slash = strrchr(target, '/');
	char *parent = slash ? xstrndup(target, (size_t)(slash - target) + 1)
			     : xstrdup(".");
	struct stat st;
	int rc = 0;

	if (stat(parent, &st) < 0)
		rc = error_errno(err, "%s", parent);
	else if (!S_ISDIR(st.st_mode))
		rc = error_set(err, ERR_USAGE, "%s is not a directory", parent);
	free(parent);
	return rc;
}

static const char *local_side(const struct run_transfer *t)
{
	return t->local[0] ? t->local : ".";
}

static int check_transfer(const struct run_transfer *t, bool force,
			  struct error *err)
{
	char *target;
	int rc;

	if (t->uploads)
		return copy_check_local(t->local, err);
	target = copy_local_target(local_side(t), t->remote);
	rc = check_parent(target, err);
	if (rc == 0 && !force)
		rc = copy_check_free(target, err);
	free(target);
	return rc;
}

int run_transfers_check(const struct run_transfers *t, struct error *err)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct run_transfer *one = &t->list[i];

		if (check_transfer(one, t->force, err) < 0) {
			err->code = ERR_USAGE;
			return error_wrap(err, "argument %s",
					  one->uploads ? "--upload"
						       : "--download");
		}
	}
	return 0;
}

void run_transfers_release(struct run_transfers *t)
{
	for (size_t i = 0; i < t->n; i++)
		release_transfer(&t->list[i]);
	free(t->list);
	*t = (struct run_transfers){ 0 };
}

/* A line on standard error, masked and cleaned. */
__attribute__((format(printf, 2, 3))) static void
print_line(const struct run *r, const char *fmt, ...)
{
	struct buf masked = BUF_INIT(NAME_BYTES * 2);
	struct buf line = BUF_INIT(NAME_BYTES * 2);
	char text[NAME_BYTES];
	va_list ap;

	if (r->options.quiet)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mask_text(r->app->mask, str_of(text), &masked);
	sanitize_line(buf_str(&masked), &line);
	fprintf(stderr, "%s\n", line.len ? line.ptr : "");
	buf_release(&masked);
	buf_release(&line);
}

static void add_member(const struct run *r, struct buf *out, const char *key,
		       struct str value)
{
	struct buf masked = BUF_INIT(NAME_BYTES);

	mask_text(r->app->mask, value, &masked);
	json_member(out, key, buf_str(&masked));
	buf_release(&masked);
}

/* Who hears of the files of a tree. */
struct tree_log {
	const struct run *run;
	struct run_transfer *transfer;
	int64_t shown; /* that got a line, or would have */
};

static void list_entry(struct tree_log *log, struct str name, const char *why)
{
	struct run_transfer *t = log->transfer;

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

/* The copy warns of it. */
static void on_skipped(void *arg, struct str name, const char *why)
{
	list_entry(arg, name, why);
}

static void on_carried(void *arg, struct str name)
{
	struct tree_log *log = arg;

	if (log->shown++ < SHOWN_MOST)
		print_line(log->run, "  %.*s", (int)name.len, name.ptr);
	list_entry(log, name, NULL);
}

static void report_copied(const struct run *r, const struct run_transfer *t)
{
	long long n = t->files + t->links;

	if (n > SHOWN_MOST)
		print_line(r, "  ... and %lld more", n - SHOWN_MOST);
	print_line(r, "✓ %s %s to %s: %lld file%s%s",
		   t->uploads ? "Uploaded" : "Downloaded",
		   t->uploads ? t->local : t->remote, t->target, n,
		   n == 1 ? "" : "s", t->skipped ? ", not all" : "");
}

static void run_transfer(struct run *r, struct sandbox *sb,
			 struct run_transfer *t, bool force,
			 const struct stop *stop)
{
	struct tree_log to = { r, t, 0 };
	struct archive_log log = { on_skipped, on_carried, &to };
	struct copy c = { .sb = sb,
			  .stop = stop,
			  .disk = -1,
			  .log = &log,
			  .no_replace = !force };

	t->tried = true;
	t->rc = copy_read_limit(&c, r->app, &t->err);
	if (t->rc == 0)
		t->rc = t->uploads ? copy_up(&c, t->local, t->remote, &t->err)
				   : copy_down(&c, t->remote, local_side(t),
					       &t->err);
	t->files = c.files;
	t->links = c.links;
	t->skipped = c.skipped;
	t->target = c.target;
	if (t->rc == 0)
		report_copied(r, t);
}

int run_fill(void *arg, struct sandbox *sb, const struct stop *stop,
	     struct error *err)
{
	struct run *r = arg;
	struct run_transfers *all = &r->options.transfers;

	for (size_t i = 0; i < all->n && all->list[i].uploads; i++) {
		struct run_transfer *t = &all->list[i];

		run_transfer(r, sb, t, false, stop);
		if (t->rc == 0)
			continue;
		*err = t->err;
		return error_wrap(err, "--upload %s", t->local);
	}
	return 0;
}

static size_t count_downloads(const struct run_transfers *all)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += !all->list[i].uploads;
	return n;
}

/* A run that was ended has the user waiting; Ctrl-C was heard already. */
static struct stop download_stop(const struct run *r, size_t n)
{
	struct error why = { 0 };
	struct stop signals = app_stop(r->app);

	if (stop_check(&r->stop, &why) == 0)
		return stop_within(&signals, DOWNLOAD_MS);
	print_line(r, "Downloading %zu path%s, for %d s at most...", n,
		   n == 1 ? "" : "s", INTERRUPTED_MS / 1000);
	return stop_cleanup(INTERRUPTED_MS);
}

static void warn_failed(const struct run *r, const struct run_transfer *t)
{
	struct buf line = BUF_INIT(NAME_BYTES);
	struct buf masked = BUF_INIT(NAME_BYTES);

	buf_addf(&line, "--download %s: %s", t->remote, t->err.message);
	mask_text(r->app->mask, buf_str(&line), &masked);
	app_warn_line(masked.ptr);
	buf_release(&line);
	buf_release(&masked);
}

int run_download(struct run *r, struct error *err)
{
	struct run_transfers *all = &r->options.transfers;
	enum err code = ERR_REMOTE;
	size_t failed = 0;
	size_t n = r->box.sandbox.host ? count_downloads(all) : 0;
	struct stop stop;

	if (!n)
		return 0;
	stop = download_stop(r, n);
	for (size_t i = 0; i < all->n; i++) {
		struct run_transfer *t = &all->list[i];

		if (t->uploads)
			continue;
		run_transfer(r, &r->box.sandbox, t, all->force, &stop);
		if (t->rc < 0)
			warn_failed(r, t);
		if (t->err.code == ERR_CANCELLED)
			code = ERR_CANCELLED;
		failed += t->rc < 0 || t->skipped;
	}
	return failed ? error_set(err, code, "%zu of %zu downloads failed",
				  failed, n)
		      : 0;
}

static const char *status_of(const struct run_transfer *t)
{
	if (!t->tried)
		return "not_tried";
	if (t->rc < 0)
		return "failed";
	return t->skipped ? "partial" : "ok";
}

static void add_transfer(const struct run *r, const struct run_transfer *t,
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
	const struct run_transfers *all = &r->options.transfers;

	for (size_t i = 0; i < all->n; i++) {
		buf_addc(out, i ? ',' : '[');
		add_transfer(r, &all->list[i], out);
	}
	buf_adds(out, all->n ? "]" : "");
}

/* Finds the two sides among the words. */
static int read_words(const char *sides[2], bool *force, int n, char **words,
		      struct error *err)
{
	int found = 0;

	for (int i = 0; i < n; i++) {
		if (force && !strcmp(words[i], "--force"))
			*force = true;
		else if (!strncmp(words[i], "--", 2) || found == 2)
			return error_set(err, ERR_USAGE,
					 "unrecognized arguments: %s",
					 words[i]);
		else
			sides[found++] = words[i];
	}
	return found ? 0
		     : error_set(err, ERR_USAGE, "say which: %s",
				 force ? "/download [--force] REMOTE [LOCAL]"
				       : "/upload LOCAL [REMOTE]");
}

static int run_words(struct run *r, bool uploads, int n, char **words,
		     struct error *err)
{
	struct stop signals = app_stop(r->app);
	struct stop stop = stop_within(&signals, DOWNLOAD_MS);
	const char *sides[2] = { NULL, "" };
	struct run_transfer t;
	bool force = false;
	int rc;

	if (r->host.provider->flags & SANDBOX_UNISOLATED) {
		error_set(err, ERR_USAGE,
			  "there is no sandbox: tools work on this machine's "
			  "files");
		return error_hint(err, "Start dcode with --sandbox to have "
				       "one.");
	}
	if (read_words(sides, uploads ? NULL : &force, n, words, err) < 0)
		return -1;
	set_sides(&t, uploads, xstrdup(sides[0]), xstrdup(sides[1]));
	rc = check_sides(&t, uploads ? "/upload" : "/download", err);
	if (rc == 0) {
		run_transfer(r, &r->box.sandbox, &t, force, &stop);
		*err = t.err;
		rc = t.rc;
	}
	release_transfer(&t);
	return rc;
}

void run_transfer_words(struct run *r, bool uploads, int n, char **words)
{
	struct error err = { 0 };
	int rc = run_words(r, uploads, n, words, &err);

	if (rc < 0 && err.code == ERR_CANCELLED)
		fputs("Interrupted\n", stderr);
	else if (rc < 0)
		(void)app_fail(r->app, &err);
	if (app_signal() == SIGINT) /* others end the chat */
		app_signal_clear(r->app);
}
