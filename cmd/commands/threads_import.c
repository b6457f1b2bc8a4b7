/* threads_import.c - dcode threads import: a thread from a file that nobody
 * trusts. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/commands/threads.h"
#include "cmd/commands/threads_new_file.h"
#include "cmd/print.h"
#include "cmd/session/saved_patch.h"
#include "sandbox/quote.h"
#include "session/thread_file.h"
#include "session/thread_import.h"

enum {
	PIECE = 64 << 10,    /* bytes read at a time */
	SPOOL_MAX = 1 << 30, /* bytes of what is no regular file */
};

struct importing {
	struct app *app;
	struct stop stop;
	const char *name; /* of the file, for messages */
	int fd;
	char *title; /* of the first prompt, owned */
	int64_t messages;
	size_t bytes; /* of the messages, as they are stored */
	struct thread_import in;
	struct new_file patch;
	bool patch_open;
};

/* Both passes read the same bytes: a pipe's are kept in a file without a name.
 */
static int spool(struct importing *i, struct error *err)
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

static int open_file(struct importing *i, struct error *err)
{
	struct stat st;

	i->fd = strcmp(i->name, "-") != 0 ? open(i->name, O_RDONLY | O_CLOEXEC)
					  : STDIN_FILENO;
	if (i->fd < 0 || fstat(i->fd, &st) < 0)
		return error_errno(err, "%s", i->name);
	if (S_ISDIR(st.st_mode))
		return error_set(err, ERR_USAGE, "%s is a directory", i->name);
	return S_ISREG(st.st_mode) && i->fd != STDIN_FILENO ? 0 : spool(i, err);
}

/* The whole file once; *head is borrowed from *r. */
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

/* The second pass. The patch is there before the thread that it is of. */
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
	printf("Its patch is %s and was not applied. To apply it to "
	       "the\ncurrent tree: dcode apply --patch %s\n",
	       path, quoted.ptr);
	buf_release(&quoted);
}

static void report(const struct importing *i, const struct thread_file *head)
{
	char *patch =
		head->patch ? saved_patch_imported(i->app, i->in.id) : NULL;

	if (i->app->json) {
		report_json(i, head, patch);
	} else {
		printf("Imported %" PRId64 " messages as thread %s.\n",
		       i->messages, i->in.id);
		if (head->provider)
			printf("Its file names a sandbox, %s %s: resuming asks "
			       "whether to use it.\n",
			       head->provider, head->sandbox);
		if (patch)
			report_patch(patch);
		printf("To continue it: dcode -r %s\nThe model takes the "
		       "file's text for its own past, so read it first:\ndcode "
		       "threads show %s\n",
		       i->in.id, i->in.id);
	}
	free(patch);
}

static int import_file(struct importing *i, struct error *err)
{
	const struct thread_reader_sink counting = { count_message, NULL, i };
	struct thread_reader *r = NULL;
	struct thread_file head;
	struct store *store;
	int rc = open_file(i, err);

	if (rc == 0)
		rc = read_file(i, &counting, &r, &head, err);
	if (rc == 0 && head.provider && !strcmp(head.provider, "none"))
		head.provider = head.sandbox = NULL; /* no sandbox at all */
	if (rc == 0)
		rc = app_store(i->app, &store, err);
	if (rc == 0 && (!head.title || !head.title[0]))
		head.title = i->title;
	if (rc == 0)
		rc = store_thread(i, store, &head, err);
	if (rc == 0)
		report(i, &head);
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
