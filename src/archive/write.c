/* write.c - packs a directory of this machine as a tar stream. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at archive_writer_pull(). libarchive writes into a buffer
 * (on_bytes()). A pull takes bytes from it; while it is empty, append_step()
 * adds some more: a piece of the open file, or the next entry of the innermost
 * open directory. So memory use does not depend on the tree.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/api.h"
#include "archive/archive.h"
#include "base/mem.h"

enum {
	/* nested directories: each keeps one descriptor open */
	DEEPEST = 200,
	CHUNK = 64 << 10, /* bytes of a file read at once */
	/* bytes written by one step: a chunk or a long name */
	OUT_MAX = 1 << 20,
	PATH_BYTES = DEEPEST * (NAME_MAX + 1),
};

#define TIME_MAX INT64_C(077777777777) /* maximum that every tar can read */

struct archive_frame {
	DIR *entries;
	size_t path; /* length of the directory's path, with its slash */
	mode_t mode;
	int64_t mtime;
};

struct archive_writer {
	struct archive_api api;
	struct archive *a;
	struct archive_entry *entry;
	struct archive_log log;
	struct archive_counts counts;
	struct archive_frame stack[DEEPEST];
	int depth;
	struct buf path; /* path of the current entry, relative to the top */
	struct buf out;  /* bytes not yet pulled */
	int file;        /* descriptor of the file being read, or -1 */
	int64_t left;    /* bytes of the file still to write */
	bool filling;    /* the file became shorter: write zeros */
	bool ended;
	char chunk[CHUNK];
};

static la_ssize_t on_bytes(struct archive *a, void *arg, const void *data,
			   size_t len)
{
	struct archive_writer *w = arg;

	(void)a;
	buf_add(&w->out, data, len);
	return w->out.over ? -1 : (la_ssize_t)len;
}

static int set_write_error(struct archive_writer *w, struct error *err)
{
	const char *why = w->api.error_string(w->a);

	return error_set(err, ERR_SYSTEM, "writing the archive: %s",
			 why ? why : "it failed");
}

static void skip_entry(struct archive_writer *w, const char *why)
{
	w->counts.skipped++;
	w->log.skipped(w->log.arg, buf_str(&w->path), why);
}

static void report_carried(struct archive_writer *w)
{
	if (w->log.carried)
		w->log.carried(w->log.arg, buf_str(&w->path));
}

/* Returns 1 if the entry was written, 0 if it was skipped. */
static int append_header(struct archive_writer *w, struct error *err)
{
	int rc = w->api.write_header(w->a, w->entry);
	const char *why;

	if (rc == ARCHIVE_FATAL)
		return set_write_error(w, err);
	if (rc >= ARCHIVE_WARN)
		return 1;
	why = w->api.error_string(w->a);
	skip_entry(w, why ? why : "it does not fit into the archive");
	return 0;
}

static void set_entry(struct archive_writer *w, mode_t mode, int64_t mtime)
{
	if (mtime < 0 || mtime > TIME_MAX)
		mtime = 0;
	w->api.entry_clear(w->entry);
	w->api.entry_set_pathname(w->entry, w->path.ptr);
	w->api.entry_set_mode(w->entry, mode & (S_IFMT | 0777));
	w->api.entry_set_mtime(w->entry, (time_t)mtime, 0);
	w->api.entry_set_size(w->entry, 0);
}

static void cut_path(struct archive_writer *w, size_t len)
{
	w->path.len = len;
	if (w->path.ptr)
		w->path.ptr[len] = '\0';
}

/* Opens a file and writes its header; append_chunk() then writes its content.
 */
static int open_file(struct archive_writer *w, int dir, const char *name,
		     struct error *err)
{
	struct stat st;
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		skip_entry(w, "it cannot be read");
		if (fd >= 0)
			close(fd);
		return 0;
	}
	set_entry(w, st.st_mode, st.st_mtime);
	w->api.entry_set_size(w->entry, st.st_size);
	rc = append_header(w, err);
	if (rc <= 0) {
		close(fd);
		return rc;
	}
	w->file = fd;
	w->left = st.st_size;
	w->filling = false;
	return 0;
}

/* Reads the next chunk. If the file became shorter, fills up with zeros, so
 * that the stream stays valid. */
static ssize_t read_chunk(struct archive_writer *w, size_t want)
{
	ssize_t n = 0;

	while (!w->filling) {
		n = read(w->file, w->chunk, want);
		if (n > 0)
			return n;
		if (n < 0 && errno == EINTR)
			continue;
		skip_entry(w, n < 0 ? "it cannot be read to the end"
				    : "it became shorter while it was read");
		w->filling = true;
	}
	memset(w->chunk, 0, want);
	return (ssize_t)want;
}

static int append_chunk(struct archive_writer *w, struct error *err)
{
	size_t want = w->left < CHUNK ? (size_t)w->left : CHUNK;
	ssize_t n;

	if (!want) {
		w->counts.files += !w->filling;
		if (!w->filling)
			report_carried(w);
		close(w->file);
		w->file = -1;
		return 0;
	}
	n = read_chunk(w, want);
	if (w->api.write_data(w->a, w->chunk, (size_t)n) != n)
		return set_write_error(w, err);
	w->left -= n;
	return 0;
}

static int append_link(struct archive_writer *w, int dir, const char *name,
		       const struct stat *st, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	int rc;

	if (n < 0) {
		skip_entry(w, "the link cannot be read");
		return 0;
	}
	target[n] = '\0';
	set_entry(w, st->st_mode, st->st_mtime);
	w->api.entry_set_symlink(w->entry, target);
	rc = append_header(w, err);
	w->counts.links += rc > 0;
	if (rc > 0)
		report_carried(w);
	return rc < 0 ? -1 : 0;
}

/* Opens a directory of the tree. Takes over the descriptor. */
static int open_directory(struct archive_writer *w, int fd,
			  const struct stat *st)
{
	struct archive_frame *f = &w->stack[w->depth];

	*f = (struct archive_frame){ .entries = fdopendir(fd),
				     .path = w->path.len,
				     .mode = st->st_mode,
				     .mtime = st->st_mtime };
	if (!f->entries) {
		close(fd);
		return -1;
	}
	w->depth++;
	return 0;
}

static int append_directory(struct archive_writer *w, int dir, const char *name,
			    const struct stat *st, struct error *err)
{
	int fd = w->depth == DEEPEST ? -1
				     : openat(dir, name,
					      O_RDONLY | O_DIRECTORY |
						      O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (fd < 0) {
		skip_entry(w, "the directory cannot be read");
		return 0;
	}
	buf_addc(&w->path, '/');
	set_entry(w, st->st_mode | 0700, st->st_mtime);
	rc = append_header(w, err);
	if (rc <= 0) {
		close(fd);
		return rc;
	}
	w->counts.directories++;
	return open_directory(w, fd, st) < 0
		       ? error_errno(err, "reading a directory")
		       : 0;
}

/* Leaves a directory. append_directory() gave its owner all permissions, so
 * that its contents can be unpacked. If its real permissions differ, the header
 * is written again with them. */
static int close_directory(struct archive_writer *w, struct error *err)
{
	struct archive_frame *f = &w->stack[--w->depth];

	closedir(f->entries);
	cut_path(w, f->path);
	if (w->depth == 0 || (f->mode & 0700) == 0700)
		return 0;
	set_entry(w, f->mode, f->mtime);
	return append_header(w, err) < 0 ? -1 : 0;
}

static const char *find_refusal(const struct archive_writer *w, mode_t mode)
{
	return w->log.refuse ? w->log.refuse(w->log.arg, buf_str(&w->path),
					     mode & S_IFMT)
			     : NULL;
}

/* Writes the next entry of the current directory, or leaves the directory at
 * its end. */
static int append_next(struct archive_writer *w, struct error *err)
{
	struct archive_frame *f = &w->stack[w->depth - 1];
	int dir = dirfd(f->entries);
	struct dirent *e;
	struct stat st;
	const char *why;

	cut_path(w, f->path);
	errno = 0;
	e = readdir(f->entries);
	if (!e && errno)
		skip_entry(w, "the directory cannot be read to the end");
	if (!e)
		return close_directory(w, err);
	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
		return 0;
	buf_adds(&w->path, e->d_name);
	if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		skip_entry(w, "its type cannot be read");
	else if ((why = find_refusal(w, st.st_mode)))
		skip_entry(w, why);
	else if (S_ISREG(st.st_mode))
		return open_file(w, dir, e->d_name, err);
	else if (S_ISLNK(st.st_mode))
		return append_link(w, dir, e->d_name, &st, err);
	else if (S_ISDIR(st.st_mode))
		return append_directory(w, dir, e->d_name, &st, err);
	else
		skip_entry(w, "it is neither a file, a link nor a directory");
	return 0;
}

static int append_step(struct archive_writer *w, struct error *err)
{
	if (w->file >= 0)
		return append_chunk(w, err);
	if (w->depth > 0)
		return append_next(w, err);
	w->ended = true;
	return w->api.write_close(w->a) == ARCHIVE_OK ? 0
						      : set_write_error(w, err);
}

int64_t archive_writer_pull(void *arg, char *room, size_t len,
			    struct error *err)
{
	struct archive_writer *w = arg;

	while (!w->out.len && !w->ended)
		if (append_step(w, err) < 0)
			return -1;
	return buf_take(&w->out, room, len);
}

static int open_archive(struct archive_writer *w, int dir, struct error *err)
{
	struct stat st;

	if (archive_api_load(&w->api, err) < 0 || fstat(dir, &st) < 0 ||
	    open_directory(w, dup(dir), &st) < 0)
		return err->code ? -1
				 : error_errno(err, "reading the directory");
	w->a = w->api.write_new();
	w->entry = w->api.entry_new();
	if (!w->a || !w->entry)
		return error_set(err, ERR_SYSTEM, "cannot start libarchive");
	if (w->api.write_set_format_gnutar(w->a) < ARCHIVE_WARN ||
	    w->api.write_set_bytes_per_block(w->a, 0) < ARCHIVE_WARN ||
	    w->api.write_open(w->a, w, NULL, on_bytes, NULL) != ARCHIVE_OK)
		return set_write_error(w, err);
	return 0;
}

int archive_writer_open(struct archive_writer **out, int dir,
			const struct archive_log *log, struct error *err)
{
	struct archive_writer *w = xcalloc(1, sizeof(*w));
	struct error why = { 0 };
	int rc;

	w->log = *log;
	w->file = -1;
	w->path = BUF_INIT(PATH_BYTES);
	w->out = BUF_INIT(OUT_MAX);
	rc = open_archive(w, dir, &why);
	close(dir);
	if (rc == 0) {
		*out = w;
		return 0;
	}
	*err = why;
	archive_writer_close(w);
	return -1;
}

struct archive_counts archive_writer_counts(const struct archive_writer *w)
{
	return w->counts;
}

void archive_writer_close(struct archive_writer *w)
{
	if (!w)
		return;
	while (w->depth > 0)
		closedir(w->stack[--w->depth].entries);
	if (w->file >= 0)
		close(w->file);
	if (w->entry)
		w->api.entry_free(w->entry);
	if (w->a)
		w->api.write_free(w->a);
	buf_release(&w->path);
	buf_release(&w->out);
	free(w);
}

int archive_check(struct error *err)
{
	struct archive_api api;

	return archive_api_load(&api, err);
}
