/* named_files.c - the files of one name in a tree, written to a directory. */
/* SPDX-License-Identifier: MIT */
#include "git/named_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "git/batch.h"
#include "git/odb.h"

enum {
	BYTES_MAX = 1 << 20,  /* of one file */
	TOTAL_MAX = 64 << 20, /* that are read */
	FILES_MAX = 10000,
};

struct named_file {
	char *path; /* owned */
	char oid[GIT_OID];
};

struct file_list {
	const struct named_files *wanted;
	struct named_file *list;
	size_t n;
};

static bool is_wanted(const struct named_files *f, const struct odb_record *r)
{
	const char *slash = strrchr(r->path, '/');

	return !strcmp(slash ? slash + 1 : r->path, f->name) &&
	       S_ISREG(r->new_mode) && !(f->skip && f->skip(r->path));
}

static int note_file(void *arg, const struct odb_record *r, struct error *err)
{
	struct file_list *files = arg;
	struct named_file *file;

	(void)err;
	if (files->n == FILES_MAX || !is_wanted(files->wanted, r))
		return 0;
	files->list = xrealloc(files->list, files->n + 1, sizeof(*file));
	file = &files->list[files->n++];
	file->path = xstrdup(r->path);
	snprintf(file->oid, sizeof(file->oid), "%s", r->new_oid);
	return 0;
}

static int write_below(const char *directory, const char *path, struct str text,
		       struct error *err)
{
	char *file = path_join(directory, path);
	char *slash = strrchr(file, '/');
	int rc;

	*slash = '\0';
	rc = path_mkdirs(file, 0700, err);
	*slash = '/';
	if (rc == 0)
		rc = path_write(file, text, 0600, err);
	free(file);
	return rc;
}

static void add_first(const struct named_files *f, struct buf *text)
{
	buf_addstr(text, f->first);
	if (f->first.len)
		buf_addc(text, '\n');
}

/* What one git prints of them all. */
struct file_reader {
	struct file_list *files;
	const char *directory;
	int64_t total;
	size_t n; /* that fit in TOTAL_MAX */
	size_t at;
	int64_t left; /* bytes of the one at hand */
	struct buf text;
};

static int add_size(void *arg, const struct batch_object *o, struct error *err)
{
	struct file_reader *r = arg;

	(void)err;
	r->total += o->size > 0 ? o->size : 0;
	if (r->total <= TOTAL_MAX)
		r->n = o->i + 1;
	return 0;
}

static int write_file(struct file_reader *r, struct error *err)
{
	return write_below(r->directory, r->files->list[r->at].path,
			   buf_str(&r->text), err);
}

static int begin_file(void *arg, const struct batch_object *o,
		      struct error *err)
{
	struct file_reader *r = arg;
	const struct named_files *f = r->files->wanted;

	if (o->size < 0)
		return error_set(err, ERR_PROTOCOL, "git does not have %s",
				 r->files->list[o->i].path);
	r->at = o->i;
	r->left = o->size;
	buf_clear(&r->text);
	if (!strcmp(r->files->list[o->i].path, f->name))
		add_first(f, &r->text);
	return r->left ? 0 : write_file(r, err);
}

static int add_bytes(void *arg, struct str bytes, struct error *err)
{
	struct file_reader *r = arg;

	buf_addstr(&r->text, bytes); /* past its ceiling they do not count */
	r->left -= (int64_t)bytes.len;
	return r->left ? 0 : write_file(r, err);
}

static void list_oids(const struct file_reader *r, struct buf *names)
{
	buf_clear(names);
	for (size_t i = 0; i < r->n; i++)
		buf_addf(names, "%s\n", r->files->list[i].oid);
}

static int read_files(struct file_list *files, const struct git *g,
		      const char *directory, const struct stop *stop,
		      struct error *err)
{
	struct file_reader r = { .files = files,
				 .directory = directory,
				 .n = files->n,
				 .text = BUF_INIT(BYTES_MAX) };
	struct object_batch sizes = { .begin = add_size, .arg = &r };
	struct object_batch bytes = { .begin = begin_file,
				      .data = add_bytes,
				      .arg = &r };
	struct buf names = BUF_INIT((size_t)FILES_MAX * (GIT_OID + 1));
	int rc;

	list_oids(&r, &names);
	r.n = 0;
	rc = batch_read(g, buf_str(&names), &sizes, stop, err);
	list_oids(&r, &names);
	if (rc == 0 && r.n)
		rc = batch_read(g, buf_str(&names), &bytes, stop, err);
	buf_release(&names);
	buf_release(&r.text);
	return rc;
}

int named_files_write(const struct named_files *f, const struct git *g,
		      const char *directory, size_t *n, const struct stop *stop,
		      struct error *err)
{
	struct file_list files = { .wanted = f };
	struct buf text = BUF_INIT(BYTES_MAX);
	int rc = odb_tree_diff(g, NULL, f->tree,
			       &(struct odb_sink){ note_file, &files }, stop,
			       err);

	add_first(f, &text);
	if (rc == 0 && text.len)
		rc = write_below(directory, f->name, buf_str(&text), err);
	if (rc == 0 && files.n)
		rc = read_files(&files, g, directory, stop, err);
	if (n)
		*n = files.n;
	for (size_t i = 0; i < files.n; i++)
		free(files.list[i].path);
	free(files.list);
	buf_release(&text);
	return rc;
}
