/* threads_export.c - dcode threads export and import. */
/* SPDX-License-Identifier: MIT */
/*
 * export writes a thread as JSON lines or as an HTML page. It includes the
 * current changes of the thread's sandbox, or else the saved patch. import
 * reads the JSON lines. A file is written under a temporary name and renamed
 * when it is complete. Begin reading at threads_cmd_export().
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/commands/threads.h"
#include "cmd/commands/tree_session.h"
#include "cmd/print.h"
#include "cmd/session/options.h"
#include "cmd/session/saved_patch.h"
#include "model/message.h"
#include "providers/registry.h"
#include "sandbox/quote.h"
#include "session/thread.h"
#include "session/thread_file.h"
#include "ui/html.h"
#include "ui/streams.h"
#include "worktree/patch.h"

struct new_file {
	int fd;
	char *path;      /* owned; NULL: standard output */
	char *temporary; /* owned: name of the file until it is complete */
	bool replace;
	struct stop stop;
};

static int refuse_existing(const char *path, struct error *err)
{
	error_set(err, ERR_USAGE, "%s exists", path);
	return error_hint(err, "--force replaces it.");
}

/* Fails if path exists and must not be replaced. */
static int check_target(const char *path, bool replace, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0; /* if a missing file cannot be created,
			     new_file_open() reports that */
	if (!S_ISREG(st.st_mode)) {
		error_set(err, ERR_USAGE, "%s is not a regular file", path);
		return error_hint(err, "Use - for standard output.");
	}
	return replace ? 0 : refuse_existing(path, err);
}

/* Creates a file that only its owner can read. path "-" means standard output.
 * ERR_USAGE if the file exists, unless replace is set and it is a regular
 * file. */
static int new_file_open(struct new_file *f, const char *path, bool replace,
			 const struct stop *stop, struct error *err)
{
	*f = (struct new_file){ .fd = STDOUT_FILENO,
				.replace = replace,
				.stop = *stop };
	if (!strcmp(path, "-"))
		return 0;
	if (check_target(path, replace, err) < 0)
		return -1;
	f->temporary = xasprintf("%s.XXXXXX", path);
	f->fd = mkostemp(f->temporary, O_CLOEXEC); /* mode 0600 */
	if (f->fd < 0) {
		error_errno(err, "creating %s", path);
		free(f->temporary);
		return -1;
	}
	f->path = xstrdup(path);
	return 0;
}

static int new_file_write(struct new_file *f, struct str data,
			  struct error *err)
{
	if (stop_check(&f->stop, err) < 0)
		return -1;
	if (output_write(f->fd, data, &f->stop) == 0)
		return 0;
	if (errno == ECANCELED)
		return stop_check(&f->stop, err);
	return error_errno(err, "writing %s",
			   f->path ? f->path : "standard output");
}

/* Writes the complete file to disk and gives it its final name. */
static int name_file(struct new_file *f, struct error *err)
{
	if (io_fsync(f->fd) < 0)
		return error_errno(err, "writing %s", f->path);
	if (f->replace)
		return rename(f->temporary, f->path) < 0
			       ? error_errno(err, "writing %s", f->path)
			       : 0;
	/* unlike rename(2), link(2) does not replace a file that was created
	 * meanwhile */
	if (link(f->temporary, f->path) < 0)
		return errno == EEXIST
			       ? refuse_existing(f->path, err)
			       : error_errno(err, "writing %s", f->path);
	unlink(f->temporary);
	return 0;
}

/* If whole, gives the file its final name; otherwise removes it. Releases f in
 * any case. Returns -1 with err. */
static int new_file_close(struct new_file *f, bool whole, struct error *err)
{
	int rc = 0;

	if (f->path) {
		rc = whole ? name_file(f, err) : 0;
		if (rc < 0 || !whole)
			unlink(f->temporary);
		close(f->fd);
	}
	free(f->path);
	free(f->temporary);
	*f = (struct new_file){ .fd = -1 };
	return rc;
}

struct current_work {
	struct app *app;
	const struct thread *thread;
	struct tree_session tree;
	struct fetch fetch;
	struct stop stop;
};

static int fetch_tree(struct current_work *a, struct error *err)
{
	struct fetch_request with = { 0 };
	const char **include = include_read(a->app, NULL, &with.n_include, err);
	int rc = include ? 0 : -1;

	with.include = include;
	if (rc == 0)
		rc = tree_fetch(&a->tree, a->app, &with, &a->fetch, &a->stop,
				err);
	free(include);
	return rc;
}

static int save_patch(struct current_work *a, char **path, struct error *err)
{
	char *folder = saved_patch_folder(a->app);
	const struct patch_save q = { .directory = folder,
				      .thread = a->thread->id,
				      .workspace = &a->tree.workspace,
				      .fetch = &a->fetch };
	int rc = patch_save(&q, path, &a->stop, err);

	free(folder);
	return rc;
}

/*
 * Saves the current changes of the thread's sandbox as a patch, if the tree was
 * sent to the sandbox and it may still exist. *path (owned) is the patch's
 * path, or NULL if the user's tree has all changes already. Files that are not
 * in the patch are named on stderr. Returns 1 if there is no such sandbox or it
 * does not answer, which was reported; -1 if interrupted.
 */
static int current_patch_save(struct app *app, struct store *s,
			      const struct thread *t, char **path,
			      struct error *err)
{
	const struct tree_place place = { t->cwd, t->label };
	struct current_work a = { .app = app,
				  .thread = t,
				  .stop = app_stop(app) };
	struct thread_sandbox box;
	int rc;

	*path = NULL;
	threads_read_sandbox(s, t->label, &box);
	if (!box.exists)
		return 1;
	rc = tree_open_label(&a.tree, app, &place, &a.stop, err);
	if (rc == 0)
		rc = fetch_tree(&a, err);
	if (rc == 0 && !a.fetch.same)
		rc = save_patch(&a, path, err);
	if (rc == 0)
		tree_report(app, &a.fetch, false);
	fetch_release(&a.fetch);
	tree_close(&a.tree);
	if (rc >= 0 || err->code == ERR_CANCELLED)
		return rc;
	app_warn("cannot read the sandbox's changes: %s", err->message);
	*err = (struct error){ 0 };
	return 1;
}

enum { PATCH_SHOWN_MAX = 32 << 20 /* bytes of a patch in HTML */ };

struct exporting {
	struct app *app;
	const struct thread *thread;
	struct new_file file;
	bool html;
	struct html page;
	struct buf text; /* text that is not written yet */
	struct compaction_marks marks;
	char *patch;               /* path of the patch to include, or NULL */
	int64_t messages, damaged; /* number written, and skipped as damaged */
	bool secret_patch; /* the patch contains a known secret, which is not
			      masked */
	struct error *err;
	int rc;
};

struct patch_hashes { /* Hashes of the patch before and after masking. They
			 differ if it contains a secret. */
	crypto_hash_sha256_state before, after;
	struct mask_stream stream;
	struct buf masked;
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

/* thread_each_message() callback: writes one message. A damaged message is only
 * counted. */
static bool add_message(void *arg, struct thread_message *m)
{
	struct exporting *e = arg;

	add_marks(e);
	if (m->damaged) {
		e->damaged++;
		return true;
	}
	if (e->html) {
		html_page_message(&e->page, &m->message);
		e->rc = e->page.failed ? -1 : 0;
	} else {
		thread_file_message(&m->message, m->created, e->messages == 0,
				    &e->text);
		e->rc = flush_text(e);
	}
	e->messages++;
	return e->rc == 0;
}

/* True if the sandbox may still exist, so that whoever imports the thread can
 * be offered it. False for this machine itself. */
static bool has_usable_sandbox(struct store *s, const struct thread *t)
{
	struct thread_sandbox box;

	threads_read_sandbox(s, t->label, &box);
	return !sandbox_is_none(t->provider) && (!t->label[0] || box.exists);
}

/* Writes the first line of a JSON lines file, which describes the thread. */
static int write_file_head(struct exporting *e, struct store *store)
{
	const struct thread *t = e->thread;
	struct buf title = BUF_INIT(1 << 16);
	struct thread_file head = {
		.id = t->id,
		.created = t->created,
		.patch = e->patch ? path_name(e->patch) : NULL,
		.compactions = &e->marks,
	};

	print_add_line(e->app, &title, t->title);
	head.title = title.ptr;
	if (has_usable_sandbox(store, t)) {
		head.provider = t->provider;
		head.sandbox = t->sandbox;
	}
	thread_file_begin(&head, &e->text);
	buf_release(&title);
	return flush_text(e);
}

static int write_page_head(struct exporting *e)
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

/* Adds a chunk of the patch to both hashes. An empty chunk ends the patch. */
static void hash_chunk(const struct exporting *e, struct patch_hashes *h,
		       struct str chunk)
{
	crypto_hash_sha256_update(&h->before, (const unsigned char *)chunk.ptr,
				  chunk.len);
	mask_pass(mask_values(e->app->mask), &h->stream, chunk, !chunk.len,
		  &h->masked);
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

/* Writes the patch. It is not masked, because a masked patch could not be
 * applied. */
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
		html_page_patch(&e->page, path_name(e->patch), buf_str(&patch));
	else if (e->err->code == ERR_LIMIT)
		error_hint(e->err, "Leave out --with-patch or --html.");
	buf_release(&patch);
	return rc;
}

/* Writes the whole export: head, messages, patch and end. */
static int write_all(struct exporting *e, struct store *store)
{
	const struct thread_export of = { .no = e->thread->no,
					  .mask = e->app->mask,
					  .each = add_message,
					  .arg = e };
	struct error ignored = { 0 };
	int rc = e->html ? write_page_head(e) : write_file_head(e, store);

	if (rc == 0)
		rc = thread_export(store, &of, e->err);
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

/* Prints what was written, and warns about damaged messages and secrets in the
 * patch. */
static void report_export(const struct exporting *e, const char *path)
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

/* Writes the export to path. If that fails, the file at path is unchanged, or
 * still does not exist. */
static int export_to_path(struct exporting *e, struct store *store,
			  const char *path, bool force)
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

/* Chooses the patch to include: the current changes of the sandbox or, if that
 * cannot be asked, the newest saved patch. None if the user's tree has all
 * changes already. */
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
		rc = export_to_path(&e, store, path, args_flag(args, "force"));
	if (rc == 0)
		report_export(&e, path);
	free(path);
	compaction_marks_release(&e.marks);
	free(e.patch);
	thread_release(&t);
	return rc == 0 ? 0 : app_fail(app, &err);
}

enum {
	PIECE = 64 << 10,    /* bytes read at a time */
	SPOOL_MAX = 1 << 30, /* maximum bytes copied from a pipe */
};

struct importing {
	struct app *app;
	struct stop stop;
	const char *name; /* name of the imported file, for messages */
	int fd;
	char *title; /* owned: start of the first prompt */
	int64_t messages;
	size_t bytes; /* size of the messages in the database */
	struct thread_import in;
	struct new_file patch;
	bool patch_open;
};

/* Copies a pipe into a temporary file without a name, because import reads its
 * input twice. */
static int spool_input(struct importing *i, struct error *err)
{
	char *room = xcalloc(PIECE, 1);
	char name[] = "/tmp/dcode-import-XXXXXX";
	int to = mkostemp(name, O_CLOEXEC);
	int64_t total = 0;
	int rc = to < 0 ? error_errno(err, "creating %s", name) : 0;
	ssize_t n = 1;

	if (to >= 0)
		unlink(name);
	while (rc == 0 && n > 0) {
		rc = stop_check(&i->stop, err);
		n = rc < 0 ? 0 : io_read(i->fd, room, PIECE);
		if (n < 0)
			rc = error_errno(err, "reading %s", i->name);
		else if (n && io_write_all(to, room, (size_t)n) < 0)
			rc = error_errno(err, "writing %s", name);
		total += n;
		if (total > SPOOL_MAX)
			rc = error_set(err, ERR_LIMIT, "%s is too large",
				       i->name);
	}
	free(room);
	if (i->fd != STDIN_FILENO)
		close(i->fd);
	i->fd = to;
	return rc;
}

/* Opens the file to import. A pipe, which cannot be read twice, is copied
 * first. */
static int open_file(struct importing *i, struct error *err)
{
	struct stat st;

	i->fd = strcmp(i->name, "-") != 0 ? open(i->name, O_RDONLY | O_CLOEXEC)
					  : STDIN_FILENO;
	if (i->fd < 0 || fstat(i->fd, &st) < 0)
		return error_errno(err, "%s", i->name);
	if (S_ISDIR(st.st_mode))
		return error_set(err, ERR_USAGE, "%s is a directory", i->name);
	return S_ISREG(st.st_mode) && i->fd != STDIN_FILENO
		       ? 0
		       : spool_input(i, err);
}

/* Reads the whole file once, passing its parts to the callbacks of r. The
 * strings in *head belong to r. */
static int read_file(struct importing *i, const struct thread_reader_sink *sink,
		     struct thread_reader **r, struct thread_file *head,
		     struct error *err)
{
	char *room = xcalloc(PIECE, 1);
	ssize_t n = 0;
	int rc = lseek(i->fd, 0, SEEK_SET) < 0
			 ? error_errno(err, "reading %s", i->name)
			 : 0;

	*r = thread_reader_new(sink);
	while (rc == 0) {
		rc = stop_check(&i->stop, err);
		n = rc < 0 ? 0 : io_read(i->fd, room, PIECE);
		if (n <= 0)
			break;
		rc = thread_reader_feed(*r, (struct str){ room, (size_t)n },
					err);
	}
	if (n < 0)
		rc = error_errno(err, "reading %s", i->name);
	if (rc == 0)
		rc = thread_reader_end(*r, head, err);
	if (rc < 0 && (err->code == ERR_USAGE || err->code == ERR_LIMIT ||
		       err->code == ERR_PROTOCOL))
		error_wrap(err, "%s", i->name);
	free(room);
	return rc;
}

/* First pass: adds up the size that the messages will have in the database, and
 * takes the title from the first prompt. */
static int count_message(void *arg, struct message *m, int64_t created,
			 struct error *err)
{
	struct importing *i = arg;
	struct buf json = BUF_INIT(SIZE_MAX / 4);

	(void)created, (void)err;
	message_to_json(m, &json);
	i->bytes += json.len;
	buf_release(&json);
	if (!i->title && m->role == ROLE_USER) {
		char *text = message_text(m);

		i->title = thread_title(text);
		free(text);
	}
	i->messages++;
	return 0;
}

static int store_message(void *arg, struct message *m, int64_t created,
			 struct error *err)
{
	struct importing *i = arg;

	return thread_import_add(&i->in, m, created, err);
}

static int store_patch(void *arg, struct str bytes, struct error *err)
{
	struct importing *i = arg;

	return new_file_write(&i->patch, bytes, err);
}

static int open_patch(struct importing *i, struct error *err)
{
	char *folder = saved_patch_folder(i->app);
	char *path = saved_patch_imported(i->app, i->in.id);
	int rc = path_mkdirs(folder, 0700, err);

	if (rc == 0)
		rc = new_file_open(&i->patch, path, false, &i->stop, err);
	i->patch_open = rc == 0;
	free(folder);
	free(path);
	return rc;
}

/* Second pass: stores the patch before the thread, which refers to it. */
static int store_thread(struct importing *i, struct store *store,
			const struct thread_file *head, struct error *err)
{
	const struct thread_reader_sink sink = {
		store_message, head->patch ? store_patch : NULL, i
	};
	struct thread_file again;
	struct thread_reader *r = NULL;
	struct error ignored = { 0 };
	int rc = thread_import_begin(&i->in, store, head,
				     settings_cwd(i->app->settings), i->bytes,
				     err);

	if (rc < 0)
		return -1;
	if (head->patch)
		rc = open_patch(i, err);
	if (rc == 0)
		rc = read_file(i, &sink, &r, &again, err);
	thread_reader_free(r);
	if (i->patch_open &&
	    new_file_close(&i->patch, rc == 0, rc == 0 ? err : &ignored) < 0)
		rc = -1;
	if (thread_import_end(&i->in, rc == 0, rc == 0 ? err : &ignored) < 0)
		rc = -1;
	return rc;
}

static void report_json(const struct importing *i,
			const struct thread_file *head, const char *patch)
{
	const struct {
		const char *key, *value;
	} members[] = { { "title", head->title },
			{ "origin_id", head->id },
			{ "sandbox_provider", head->provider },
			{ "sandbox_id", head->sandbox },
			{ "patch", patch } };
	struct buf json = BUF_INIT(1 << 20);

	buf_addc(&json, '{');
	print_add_member(i->app, &json, "thread_id", i->in.id);
	buf_addf(&json, ",\"message_count\":%" PRId64, i->messages);
	for (size_t k = 0; k < sizeof(members) / sizeof(*members); k++) {
		buf_addc(&json, ',');
		print_add_member(i->app, &json, members[k].key,
				 members[k].value ? members[k].value : "");
	}
	buf_addc(&json, '}');
	app_envelope("threads import", &json);
	buf_release(&json);
}

static void report_patch(const char *path)
{
	struct buf quoted = BUF_INIT(1 << 16);

	quote_word(&quoted, str_of(path));
	printf("Its patch was stored, but not applied: %s\nTo apply it to this "
	       "working tree: dcode apply --patch %s\n",
	       path, quoted.ptr);
	buf_release(&quoted);
}

/* Prints the new thread's id and what to do next. */
static void report_import(const struct importing *i,
			  const struct thread_file *head)
{
	char *patch =
		head->patch ? saved_patch_imported(i->app, i->in.id) : NULL;

	if (i->app->json) {
		report_json(i, head, patch);
	} else {
		printf("Imported %" PRId64 " messages as thread %s.\n",
		       i->messages, i->in.id);
		if (head->provider)
			printf("The file names a sandbox, %s %s. When you "
			       "resume the thread, dcode asks whether to use "
			       "it.\n",
			       head->provider, head->sandbox);
		if (patch)
			report_patch(patch);
		printf("To continue it: dcode -r %s\nThe model treats the "
		       "imported messages as its own conversation. Read them "
		       "first:\ndcode threads show %s\n",
		       i->in.id, i->in.id);
	}
	free(patch);
}

/* Imports a file: the first pass checks and counts, the second stores. */
static int import_file(struct importing *i, struct error *err)
{
	const struct thread_reader_sink counting = { count_message, NULL, i };
	struct thread_reader *r = NULL;
	struct thread_file head;
	struct store *store;
	int rc = open_file(i, err);

	if (rc == 0)
		rc = read_file(i, &counting, &r, &head, err);
	if (rc == 0 && head.provider && sandbox_is_none(head.provider))
		head.provider = head.sandbox = NULL; /* no sandbox to offer */
	if (rc == 0)
		rc = app_store(i->app, &store, err);
	if (rc == 0 && (!head.title || !head.title[0]))
		head.title = i->title;
	if (rc == 0)
		rc = store_thread(i, store, &head, err);
	if (rc == 0)
		report_import(i, &head);
	thread_reader_free(r);
	return rc;
}

int threads_cmd_import(struct app *app, const struct args *args)
{
	struct importing i = { .app = app,
			       .stop = app_stop(app),
			       .name = args->argv[0],
			       .fd = -1 };
	struct settings *set;
	struct error err = { 0 };
	int rc = app_settings(app, &set, &err);

	if (rc == 0)
		rc = import_file(&i, &err);
	if (i.fd > STDIN_FILENO)
		close(i.fd);
	free(i.title);
	return rc == 0 ? 0 : app_fail(app, &err);
}
