/* threads_export.c - dcode threads export: a thread as a file, or as a page. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/commands/threads.h"
#include "cmd/commands/threads_current_patch.h"
#include "cmd/commands/threads_new_file.h"
#include "cmd/print.h"
#include "cmd/session/saved_patch.h"
#include "model/message.h"
#include "session/thread_file.h"
#include "ui/html.h"

enum { PATCH_SHOWN_MAX = 32 << 20 /* bytes of a patch in a page */ };

struct exporting {
	struct app *app;
	const struct thread *thread;
	struct new_file file;
	bool html;
	struct html page;
	struct buf text; /* not written yet */
	struct compaction_marks marks;
	char *patch;               /* path, or NULL */
	int64_t messages, damaged; /* of these only the first are written */
	bool secret_patch;         /* it holds a known secret */
	struct error *err;
	int rc;
};

static int write_piece(void *arg, struct str piece, struct error *err)
{
	struct exporting *e = arg;

	return new_file_write(&e->file, piece, err);
}

static int flush_text(struct exporting *e)
{
	int rc = write_piece(e, buf_str(&e->text), e->err);

	buf_clear(&e->text);
	return rc;
}

static void add_marks(struct exporting *e)
{
	const struct compaction_mark *mark;

	while (e->html &&
	       (mark = compaction_next(&e->marks, e->messages + e->damaged)))
		html_page_compaction(&e->page, mark->created);
}

static bool add_message(void *arg, struct thread_message *m)
{
	struct exporting *e = arg;
	struct message masked;

	add_marks(e);
	if (m->damaged) {
		e->damaged++;
		return true;
	}
	if (e->html) {
		html_page_message(&e->page, &m->message);
		e->rc = e->page.failed ? -1 : 0;
	} else {
		message_mask(e->app->mask, &m->message, &masked);
		thread_file_message(&masked, m->created, e->messages == 0,
				    &e->text);
		message_release(&masked);
		e->rc = flush_text(e);
	}
	e->messages++;
	return e->rc == 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The sandbox is on offer while it may be there: nobody can use a deleted one,
 * nor this machine itself. */
static bool offers_sandbox(struct store *s, const struct thread *t)
{
	struct thread_sandbox box;

	threads_read_sandbox(s, t->label, &box);
	return strcmp(t->provider, "none") != 0 && (!t->label[0] || box.exists);
}

static int begin_file(struct exporting *e, struct store *store)
{
	const struct thread *t = e->thread;
	struct buf title = BUF_INIT(1 << 16);
	struct thread_file head = {
		.id = t->id,
		.created = t->created,
		.patch = e->patch ? base_name(e->patch) : NULL,
		.compactions = &e->marks,
	};

	print_add_line(e->app, &title, t->title);
	head.title = title.ptr;
	if (offers_sandbox(store, t)) {
		head.provider = t->provider;
		head.sandbox = t->sandbox;
	}
	thread_file_begin(&head, &e->text);
	buf_release(&title);
	return flush_text(e);
}

static int begin_page(struct exporting *e)
{
	const struct thread *t = e->thread;
	const struct html_page head = {
		.title = t->title,
		.model = t->model,
		.created = t->created,
		.updated = t->updated,
		.messages = t->messages,
		.input = t->input,
		.output = t->output,
	};

	e->page = HTML_INIT(e->app->mask, write_piece, e);
	if (html_markdown_load(&e->page, e->err) < 0)
		return -1;
	html_page_begin(&e->page, &head);
	return 0;
}

struct patch_hashes { /* before and after masking: the same when none is in */
	crypto_hash_sha256_state before, after;
	struct mask_stream stream;
	struct buf masked;
};

static void hash_chunk(const struct exporting *e, struct patch_hashes *h,
		       struct str chunk)
{
	crypto_hash_sha256_update(&h->before, (const unsigned char *)chunk.ptr,
				  chunk.len);
	if (chunk.len)
		mask_feed(e->app->mask, &h->stream, chunk, &h->masked);
	else
		mask_end(e->app->mask, &h->stream, &h->masked);
	crypto_hash_sha256_update(
		&h->after, (const unsigned char *)h->masked.ptr, h->masked.len);
	buf_clear(&h->masked);
}

static bool hashes_differ(struct patch_hashes *h)
{
	unsigned char before[crypto_hash_sha256_BYTES];
	unsigned char after[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(&h->before, before);
	crypto_hash_sha256_final(&h->after, after);
	buf_release(&h->masked);
	return memcmp(before, after, sizeof(before)) != 0;
}

/* Unmasked: a masked patch could not be applied. */
static int add_patch_file(struct exporting *e)
{
	struct patch_hashes hashes = { .masked = BUF_INIT(SIZE_MAX / 4) };
	struct buf chunk = BUF_INIT(THREAD_FILE_CHUNK);
	char *room = xcalloc(THREAD_FILE_CHUNK, 1);
	int fd = open(e->patch, O_RDONLY | O_CLOEXEC);
	bool first = true;
	int rc = fd < 0 ? -1 : 0;
	ssize_t n = 0;

	crypto_hash_sha256_init(&hashes.before);
	crypto_hash_sha256_init(&hashes.after);
	while (rc == 0 && (n = io_read(fd, room, THREAD_FILE_CHUNK)) > 0) {
		buf_clear(&chunk);
		buf_add(&chunk, room, (size_t)n);
		if (first)
			saved_patch_hide_tree(&chunk);
		hash_chunk(e, &hashes, buf_str(&chunk));
		thread_file_patch(buf_str(&chunk), first, &e->text);
		first = false;
		rc = flush_text(e);
	}
	if (fd < 0 || n < 0)
		rc = error_errno(e->err, "reading %s", e->patch);
	if (fd >= 0)
		close(fd);
	hash_chunk(e, &hashes, (struct str){ 0 });
	e->secret_patch = hashes_differ(&hashes);
	free(room);
	buf_release(&chunk);
	return rc;
}

static int add_patch_page(struct exporting *e)
{
	struct buf patch = BUF_INIT(PATCH_SHOWN_MAX);
	int rc = path_read(e->patch, &patch, e->err);

	saved_patch_hide_tree(&patch);
	if (rc == 0)
		html_page_patch(&e->page, base_name(e->patch), buf_str(&patch));
	else if (e->err->code == ERR_LIMIT)
		error_hint(e->err, "Leave out --with-patch or --html.");
	buf_release(&patch);
	return rc;
}

static int write_all(struct exporting *e, struct store *store)
{
	struct error ignored = { 0 };
	int rc = e->html ? begin_page(e) : begin_file(e, store);

	if (rc == 0)
		rc = thread_each_message(store, e->thread->no, add_message, e,
					 e->err);
	if (rc == 0)
		rc = e->rc;
	if (rc == 0)
		add_marks(e);
	if (rc == 0 && e->patch)
		rc = e->html ? add_patch_page(e) : add_patch_file(e);
	if (e->html) {
		if (rc == 0)
			html_page_end(&e->page);
		rc = html_end(&e->page,
			      rc == 0 || e->page.failed ? e->err : &ignored) < 0
			     ? -1
			     : rc;
	} else if (rc == 0) {
		thread_file_end(&e->text);
		rc = flush_text(e);
	}
	return rc;
}

static void report(const struct exporting *e, const char *path)
{
	struct buf json = BUF_INIT(1 << 16);

	if (e->damaged)
		app_warn("%" PRId64 " messages of thread %s cannot be read and "
			 "were skipped",
			 e->damaged, e->thread->id);
	if (e->secret_patch)
		app_warn("%s contains a known secret; patches are exported "
			 "unmasked",
			 e->patch);
	if (!strcmp(path, "-"))
		return;
	if (!e->app->json) {
		if (!e->app->quiet)
			printf("Wrote %s (%" PRId64 " messages%s).\n", path,
			       e->messages, e->patch ? " and the patch" : "");
		return;
	}
	buf_addc(&json, '{');
	print_add_member(e->app, &json, "thread_id", e->thread->id);
	buf_addc(&json, ',');
	json_member_bytes(&json, "file", str_of(path));
	buf_addf(&json, ",\"message_count\":%" PRId64 ",", e->messages);
	if (e->patch)
		json_member_bytes(&json, "patch", str_of(e->patch));
	else
		buf_adds(&json, "\"patch\":null");
	buf_addc(&json, '}');
	app_envelope("threads export", &json);
	buf_release(&json);
}

static int export_to(struct exporting *e, struct store *store, const char *path,
		     bool force)
{
	const struct stop stop = app_stop(e->app);
	struct error ignored = { 0 };
	int rc = new_file_open(&e->file, path, force, &stop, e->err);

	if (rc < 0)
		return -1;
	e->text = BUF_INIT(SIZE_MAX / 4);
	rc = write_all(e, store);
	buf_release(&e->text);
	if (new_file_close(&e->file, rc == 0, rc == 0 ? e->err : &ignored) < 0)
		rc = -1;
	return rc;
}

/* The sandbox's work as it is now, else the newest that was saved; what of it
 * has come back since is not exported again. */
static int find_patch(struct exporting *e, struct store *store)
{
	const struct thread *t = e->thread;
	int rc = current_patch_save(e->app, store, t, &e->patch, e->err);

	if (rc < 0 || e->patch)
		return rc;
	e->patch = saved_patch_find(e->app, t->id);
	if (e->patch && rc == 0 && saved_patch_is_of(e->patch, t->label)) {
		free(e->patch);
		e->patch = NULL;
	}
	if (!e->patch && rc == 0)
		app_warn("all changes of the sandbox of thread %s are applied; "
			 "it is exported without a patch",
			 t->id);
	else if (!e->patch)
		app_warn("thread %s has no saved patch; it is exported without "
			 "one",
			 t->id);
	return 0;
}

int threads_cmd_export(struct app *app, const struct args *args)
{
	struct error err = { 0 };
	struct thread t = { 0 };
	struct exporting e = { .app = app,
			       .thread = &t,
			       .html = args_flag(args, "html"),
			       .err = &err };
	struct store *store;
	char *path = NULL;
	int rc = threads_find(app, args->argv[0], &store, &t, &err);

	if (rc == 0)
		rc = compaction_list(store, t.no, &e.marks, &err);
	if (rc == 0) {
		path = args->argc > 1 ? xstrdup(args->argv[1])
				      : xasprintf("thread-%s.%s", t.id,
						  e.html ? "html" : "json");
		if (args_flag(args, "with-patch"))
			rc = find_patch(&e, store);
	}
	if (rc == 0)
		rc = export_to(&e, store, path, args_flag(args, "force"));
	if (rc == 0)
		report(&e, path);
	free(path);
	compaction_marks_release(&e.marks);
	free(e.patch);
	thread_release(&t);
	return rc == 0 ? 0 : app_fail(app, &err);
}
