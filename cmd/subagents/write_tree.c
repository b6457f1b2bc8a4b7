/* write_tree.c - makes a sandbox's files those of another commit. */
/* SPDX-License-Identifier: MIT */
#include "cmd/subagents/write_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "git/odb.h"
#include "sandbox/quote.h"

enum {
	MODE_LINK = 0120000,
	MODE_EXECUTABLE = 0100755,
	COMMAND_BYTES = 16 << 10,
	COMMAND_MS = 60000,
	ALL_BYTES = 512 << 20,
};

struct tree_file {
	char *path; /* owned */
	char oid[GIT_OID];
	unsigned mode; /* 0: deleted */
	bool is_new;
	bool replaces; /* one of another kind is there */
	bool remodes;  /* the same kind, with other permissions */
	struct buf bytes;
	struct str left; /* while it goes up */
};

struct tree_writing {
	struct write_tree *w;
	struct tree_file *files;
	size_t n;
	size_t at; /* that bytes come for */
	size_t bytes;
};

static bool is_skipped(const struct write_tree *w, const char *path)
{
	for (size_t i = 0; w->skip && i < w->skip->n; i++)
		if (!strcmp(w->skip->conflicts[i].path, path))
			return true;
	return false;
}

static void add_name(struct write_tree *w, const struct odb_record *r)
{
	if (w->names)
		buf_addf(w->names, "%c %s\n",
			 !r->new_mode   ? 'D'
			 : !r->old_mode ? 'A'
					: 'M',
			 r->path);
}

static int add_file(void *arg, const struct odb_record *r, struct error *err)
{
	struct tree_writing *t = arg;
	struct tree_file *f;

	(void)err;
	if (is_skipped(t->w, r->path))
		return 0;
	add_name(t->w, r);
	t->files = xrealloc(t->files, t->n + 1, sizeof(*t->files));
	f = &t->files[t->n++];
	*f = (struct tree_file){ .path = xstrdup(r->path),
				 .mode = r->new_mode,
				 .is_new = !r->old_mode,
				 .replaces = r->old_mode && r->new_mode &&
					     (r->old_mode == MODE_LINK) !=
						     (r->new_mode == MODE_LINK),
				 .remodes = r->old_mode && r->new_mode &&
					    r->old_mode != r->new_mode,
				 .bytes = BUF_INIT(ALL_BYTES) };
	memcpy(f->oid, r->new_oid, strlen(r->new_oid) + 1);
	return 0;
}

static int on_begin(void *arg, const struct odb_object *o, struct error *err)
{
	struct tree_writing *t = arg;
	size_t i = o->i;

	for (t->at = 0; t->at < t->n; t->at++)
		if (t->files[t->at].mode && i-- == 0)
			break;
	if (o->size < 0 || t->at == t->n)
		return error_set(err, ERR_PROTOCOL, "git lacks an object");
	t->bytes += (size_t)o->size;
	if (t->bytes > ALL_BYTES)
		return error_set(err, ERR_LIMIT,
				 "what changed is larger than %d MiB",
				 ALL_BYTES >> 20);
	return 0;
}

static int on_data(void *arg, struct str bytes, struct error *err)
{
	struct tree_writing *t = arg;

	(void)err;
	buf_addstr(&t->files[t->at].bytes, bytes);
	return 0;
}

static int read_blobs(struct tree_writing *t, const struct stop *stop,
		      struct error *err)
{
	struct odb_reader b = { .begin = on_begin, .data = on_data, .arg = t };
	struct buf names = BUF_INIT(SIZE_MAX / 2);
	int rc;

	for (size_t i = 0; i < t->n; i++)
		if (t->files[i].mode)
			buf_addf(&names, "%s\n", t->files[i].oid);
	rc = names.len ? odb_read(t->w->git, buf_str(&names), &b, stop, err)
		       : 0;
	buf_release(&names);
	return rc;
}

static int run_command(struct tree_writing *t, struct buf *command,
		       const struct stop *stop, struct error *err)
{
	struct exec_request req = { .command = buf_str(command),
				    .timeout_ms = COMMAND_MS };
	struct exec_result res = { 0 };

	if (!command->len)
		return 0;
	if (sandbox_execute(t->w->sandbox, &req, &res, stop, err) < 0)
		return -1;
	buf_clear(command);
	if (res.exit_code)
		return error_set(err, ERR_REMOTE,
				 "a change could not be made in the sandbox "
				 "(exit status %d)",
				 res.exit_code);
	return 0;
}

/* A path below the working directory: never an option, never elsewhere. */
static void add_path(struct buf *out, const char *path)
{
	char *here = xasprintf("./%s", path);

	quote_word(out, str_of(here));
	free(here);
}

/* A file that comes where a directory was finds nothing of it there, unless git
 * ignores that. */
static bool leaves_directory(const struct tree_writing *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct tree_file *f = &t->files[i];
		size_t len = strlen(f->path);

		if (f->mode && f->is_new && !strncmp(path, f->path, len) &&
		    path[len] == '/')
			return true;
	}
	return false;
}

static void add_rmdir(struct buf *out, const char *path)
{
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	buf_adds(out, " && { rmdir -p -- ");
	add_path(out, dir);
	buf_adds(out, " 2>/dev/null || :; }");
	free(dir);
}

static int delete_files(struct tree_writing *t, const struct stop *stop,
			struct error *err)
{
	struct buf command = BUF_INIT(SIZE_MAX / 2);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		const struct tree_file *f = &t->files[i];

		if (f->mode && !f->replaces)
			continue;
		buf_adds(&command, command.len ? " && rm -f -- " : "rm -f -- ");
		add_path(&command, f->path);
		if (!f->mode && leaves_directory(t, f->path))
			add_rmdir(&command, f->path);
		t->w->deleted += !f->mode;
		if (command.len > COMMAND_BYTES)
			rc = run_command(t, &command, stop, err);
	}
	if (rc == 0)
		rc = run_command(t, &command, stop, err);
	buf_release(&command);
	return rc;
}

static void add_link(const struct tree_file *f, struct buf *command)
{
	const char *slash = strrchr(f->path, '/');
	char *dir = xstrndup(f->path, slash ? (size_t)(slash - f->path) : 0);

	buf_adds(command, "mkdir -p -- ");
	add_path(command, dir);
	buf_adds(command, " && rm -f -- ");
	add_path(command, f->path);
	buf_adds(command, " && ln -s -- ");
	quote_word(command, buf_str(&f->bytes));
	buf_addc(command, ' ');
	add_path(command, f->path);
	free(dir);
}

/* An upload keeps the permissions of a file that is there. */
static void add_mode(const struct tree_file *f, struct buf *command)
{
	buf_adds(command, f->mode == MODE_EXECUTABLE ? "chmod a+x -- "
						     : "chmod a-x -- ");
	add_path(command, f->path);
}

static int finish_files(struct tree_writing *t, const struct stop *stop,
			struct error *err)
{
	struct buf command = BUF_INIT(SIZE_MAX / 2);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		const struct tree_file *f = &t->files[i];

		if (!f->mode || (f->mode != MODE_LINK && !f->remodes))
			continue;
		buf_adds(&command, command.len ? " && " : "");
		if (f->mode == MODE_LINK)
			add_link(f, &command);
		else
			add_mode(f, &command);
		t->w->changed += f->mode == MODE_LINK;
		if (command.len > COMMAND_BYTES)
			rc = run_command(t, &command, stop, err);
	}
	if (rc == 0)
		rc = run_command(t, &command, stop, err);
	buf_release(&command);
	return rc;
}

static int64_t on_read(void *arg, char *room, size_t len, struct error *err)
{
	struct tree_file *f = arg;
	size_t n = f->left.len < len ? f->left.len : len;

	(void)err;
	if (n)
		memcpy(room, f->left.ptr, n);
	f->left = str_skip(f->left, n);
	return (int64_t)n;
}

static int on_rewind(void *arg, struct error *err)
{
	struct tree_file *f = arg;

	(void)err;
	f->left = buf_str(&f->bytes);
	return 0;
}

static int check_sent(const struct transfer *list, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].error != FILE_OK)
			return error_set(
				err, ERR_REMOTE, "%s: %s", list[i].path,
				list[i].error == FILE_OTHER
					? list[i].detail
					: file_error_name(list[i].error));
	return 0;
}

static int send_files(struct tree_writing *t, const struct stop *stop,
		      struct error *err)
{
	struct transfer *list = xcalloc(t->n + 1, sizeof(*list));
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct tree_file *f = &t->files[i];

		if (!f->mode || f->mode == MODE_LINK)
			continue;
		f->left = buf_str(&f->bytes);
		list[n++] = (struct transfer){
			.path = xasprintf("%s/%s",
					  sandbox_tree_dir(t->w->sandbox),
					  f->path),
			.size = (int64_t)f->bytes.len,
			.mode = f->mode == MODE_EXECUTABLE ? 0755 : 0644,
			.read = on_read,
			.rewind = on_rewind,
			.arg = f,
		};
	}
	if (n)
		rc = sandbox_upload(t->w->sandbox, list, n, stop, err);
	if (rc == 0)
		rc = check_sent(list, n, err);
	if (rc == 0)
		t->w->changed += n;
	for (size_t i = 0; i < n; i++)
		free((char *)list[i].path);
	free(list);
	return rc;
}

int write_tree(struct write_tree *w, const struct stop *stop, struct error *err)
{
	struct tree_writing t = { .w = w };
	int rc = odb_tree_diff(w->git, w->before, w->after,
			       &(struct odb_sink){ add_file, &t }, stop, err);

	w->changed = w->deleted = 0;
	if (rc == 0)
		rc = read_blobs(&t, stop, err);
	if (rc == 0)
		rc = delete_files(&t, stop, err);
	if (rc == 0)
		rc = send_files(&t, stop, err);
	if (rc == 0)
		rc = finish_files(&t, stop, err);
	for (size_t i = 0; i < t.n; i++) {
		free(t.files[i].path);
		buf_release(&t.files[i].bytes);
	}
	free(t.files);
	return rc;
}
