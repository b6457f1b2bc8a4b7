/* stream_files.c - reads selected files once for a commit, a listing and a
 * tar. */
/* SPDX-License-Identifier: MIT */
/*
 * Three layers. A file_reader reads each selected file once and writes its
 * bytes to a commit of dcode's repository and to a tar stream, so that both are
 * identical even if the file changes meanwhile; the last entry of the tar is
 * the listing of what was read. stream_files() sends that stream to a script in
 * the sandbox, in the way that suits the provider. workspace_snapshot() commits
 * the tree without a sandbox.
 *
 * Begin reading at step(): it handles one file, or one entry after the files.
 */
#include "worktree/stream_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "archive/archive.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/transfer.h"
#include "worktree/treefile.h"

enum {
	CHUNK = 64 << 10,
	BLOCK = 512, /* bytes of a block of a tar stream */
	/* bytes of the first piece, with which the speed is measured */
	PROBE = 4 << 20,
	/* offset in it where the measurement starts: earlier bytes fill
	 * buffers */
	PROBE_FROM = 1 << 20,
	SMALL = 16 << 20, /* a smaller tree is gzipped without measuring */
	SLOW = 20000,     /* bytes per ms: 20 MB/s */
	UNPACK_MS = 3600000,
};

struct file_reader {
	struct file_reader_request r;
	struct tree_dir dir;
	struct archive_stream *tar; /* NULL: no tar stream */
	struct listing read;
	size_t next;  /* index of the next file */
	int file;     /* the current file; -1: none */
	int64_t left; /* bytes of the current file still to read */
	crypto_hash_sha256_state hash;
	bool short_of;         /* the file ended early: write zeros */
	struct stat st;        /* state before the first byte was read */
	struct timespec began; /* time before st */
	size_t changed;
	int64_t bytes;    /* bytes of files read */
	int64_t size;     /* bytes of the whole stream; 0: unknown */
	int64_t written;  /* bytes of the stream handed out */
	struct buf text;  /* text of the trailer */
	struct str rest;  /* unsent part of text */
	int64_t attached; /* sent bytes of the attachment */
	enum { FILES, ATTACHMENT, TRAILER, PADDING, ENDED } state;
	char chunk[CHUNK];
};

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

int file_reader_open(struct file_reader **out,
		     const struct file_reader_request *r, struct error *err)
{
	struct file_reader *p = xcalloc(1, sizeof(*p));

	p->r = *r;
	p->file = -1;
	p->dir.root = -1;
	if (tree_dir_open(&p->dir, r->workspace->root, err) == 0 &&
	    (!r->tar_trailer || (p->tar = archive_stream_open(r->gzip, err)))) {
		*out = p;
		return 0;
	}
	file_reader_close(p);
	return -1;
}

void file_reader_close(struct file_reader *p)
{
	if (!p)
		return;
	if (p->file >= 0)
		close(p->file);
	tree_dir_close(&p->dir);
	archive_stream_close(p->tar);
	listing_release(&p->read);
	buf_release(&p->text);
	free(p);
}

/* Passes bytes to hash, commit and tar. */
static int put_bytes(struct file_reader *p, struct str bytes, struct error *err)
{
	crypto_hash_sha256_update(&p->hash, (const unsigned char *)bytes.ptr,
				  bytes.len);
	if (p->r.commit && odb_commit_data(p->r.commit, bytes, err) < 0)
		return -1;
	return p->tar ? archive_stream_data(p->tar, bytes, err) : 0;
}

/* Stores the hash in the cache, unless the file changed meanwhile. */
static void note_hash(struct file_reader *p, const struct selected *f,
		      const char *hash)
{
	struct stat_cached read = {
		.keyless = f->keyless && is_same_time(&f->ctime, &p->st.st_ctim)
	};
	struct stat now;

	if (p->short_of || p->st.st_size > f->size ||
	    fstat(p->file, &now) < 0 || now.st_size != p->st.st_size ||
	    !is_same_time(&now.st_mtim, &p->st.st_mtim) ||
	    !is_same_time(&now.st_ctim, &p->st.st_ctim))
		return;
	memcpy(read.hash, hash, sizeof(read.hash));
	stat_cache_put(p->r.workspace->cache, f->path, &p->st, &read,
		       &p->began);
}

/* Adds the file to the listing. */
static void end_file(struct file_reader *p)
{
	const struct selected *f = &p->r.files[p->next - 1];
	unsigned char hash[crypto_hash_sha256_BYTES];
	char text[LISTING_HASH];

	crypto_hash_sha256_final(&p->hash, hash);
	sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
	listing_add(&p->read, f->mode, text, str_of(f->path));
	if (p->file >= 0)
		note_hash(p, f, text);
	if (p->file >= 0)
		close(p->file);
	p->file = -1;
	p->changed += p->short_of;
	p->short_of = false;
	if (p->r.progress)
		p->r.progress(p->r.arg, p->next, p->bytes);
}

/* Writes the headers of a file or link of size bytes. */
static int begin_entry(struct file_reader *p, const char *link, int64_t size,
		       int64_t mtime, struct error *err)
{
	const struct selected *f = &p->r.files[p->next - 1];
	struct archive_header item = {
		.path = f->path,
		.link = link,
		.mode = f->mode == LISTING_PROGRAM ? 0755 : 0644,
		.size = size,
		.mtime = mtime < 0 ? 0 : mtime,
	};

	crypto_hash_sha256_init(&p->hash);
	p->left = size;
	if (p->r.commit && odb_commit_file(p->r.commit, f->mode,
					   str_of(f->path), size, err) < 0)
		return -1;
	return p->tar ? archive_stream_entry(p->tar, &item, err) : 0;
}

static int read_link(struct file_reader *p, int dir, const char *name,
		     struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	struct archive_stream *tar = p->tar;
	struct str bytes;
	int rc;

	if (n <= 0 || (size_t)n >= sizeof(target) - 1) {
		p->changed++;
		return 0;
	}
	target[n] = '\0';
	bytes = (struct str){ target, (size_t)n };
	rc = begin_entry(p, target, n, 0, err);
	/* begin_entry() has put the target into the tar header, so put_bytes()
	 * must not write it to the tar again. */
	p->tar = NULL;
	if (rc == 0)
		rc = put_bytes(p, bytes, err);
	p->tar = tar;
	p->left = 0;
	if (rc == 0)
		end_file(p);
	return rc;
}

/* Opens a file. One that is gone or not a file any more is skipped and
 * counted. */
static int open_file(struct file_reader *p, int dir, const char *name,
		     struct error *err)
{
	const struct selected *f = &p->r.files[p->next - 1];
	int64_t size;
	int fd;

	(void)clock_gettime(CLOCK_REALTIME, &p->began);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == EACCES)
		return error_errno(err, "%s/%s", p->r.workspace->root, f->path);
	if (fd < 0 || fstat(fd, &p->st) < 0 || !S_ISREG(p->st.st_mode)) {
		if (fd >= 0)
			close(fd);
		p->changed++;
		return 0;
	}
	p->file = fd;
	size = p->st.st_size < f->size ? p->st.st_size : f->size;
	if (begin_entry(p, NULL, size, p->st.st_mtime, err) < 0)
		return -1;
	if (!p->left)
		end_file(p);
	return 0;
}

/* True if the cache knows the hash of the current file, so that it need not be
 * read. */
static bool is_known(const struct file_reader *p, int dir, const char *name,
		     char hash[LISTING_HASH])
{
	const struct selected *f = &p->r.files[p->next - 1];
	struct stat_cached known;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || st.st_size != f->size ||
	    !stat_cache_get(p->r.workspace->cache, f->path, &st, &known))
		return false;
	memcpy(hash, known.hash, sizeof(known.hash));
	return true;
}

static int begin_file(struct file_reader *p, struct error *err)
{
	const struct selected *f = &p->r.files[p->next++];
	char hash[LISTING_HASH];
	const char *name;
	int dir = tree_dir_parent(&p->dir, f->path, &name);

	if (dir < 0) {
		p->changed++;
		return 0;
	}
	if (f->mode == LISTING_LINK)
		return read_link(p, dir, name, err);
	if (!p->tar && !p->r.commit && is_known(p, dir, name, hash)) {
		listing_add(&p->read, f->mode, hash, str_of(f->path));
		return 0;
	}
	return open_file(p, dir, name, err);
}

/* Reads a piece of the current file, at most CHUNK bytes. */
static int read_piece(struct file_reader *p, struct error *err)
{
	size_t want = p->left < CHUNK ? (size_t)p->left : CHUNK;
	ssize_t n = p->short_of ? 0 : read(p->file, p->chunk, want);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0) {
		p->short_of = true;
		memset(p->chunk, 0, want);
		n = (ssize_t)want;
	}
	if (put_bytes(p, (struct str){ p->chunk, (size_t)n }, err) < 0)
		return -1;
	p->left -= n;
	p->bytes += n;
	if (!p->left)
		end_file(p);
	return 0;
}

static int begin_attachment(struct file_reader *p, struct error *err)
{
	char *name = xasprintf("%s.git", p->r.tar_trailer);
	struct archive_header item = { .path = name,
				       .mode = 0600,
				       .size = p->r.attachment_size };
	int rc = archive_stream_entry(p->tar, &item, err);

	free(name);
	return rc;
}

static int put_attachment_piece(struct file_reader *p, struct error *err)
{
	int64_t left = p->r.attachment_size - p->attached;
	ssize_t n = io_pread(p->r.attachment, p->chunk,
			     left < CHUNK ? (size_t)left : CHUNK, p->attached);
	struct str bytes = { p->chunk, n > 0 ? (size_t)n : 0 };

	if (n <= 0)
		return error_errno(err, "reading the commits");
	p->attached += n;
	return archive_stream_data(p->tar, bytes, err);
}

static int begin_trailer(struct file_reader *p, struct error *err)
{
	struct archive_header item = { .path = p->r.tar_trailer, .mode = 0600 };

	p->text = BUF_INIT(p->r.trailer_size);
	p->r.trailer(p->r.arg, &p->read, &p->text);
	p->rest = buf_str(&p->text);
	item.size = (int64_t)p->text.len;
	if (buf_check(&p->text, "the listing", err) < 0)
		return -1;
	return archive_stream_entry(p->tar, &item, err);
}

/* Writes a piece of the trailer: the archive's buffer is too small for all of
 * it. */
static int put_trailer_piece(struct file_reader *p, struct error *err)
{
	struct str one = { p->rest.ptr,
			   p->rest.len < CHUNK ? p->rest.len : CHUNK };

	if (!one.len) {
		p->state = PADDING;
		return archive_stream_end(p->tar, err);
	}
	p->rest = str_skip(p->rest, one.len);
	return archive_stream_data(p->tar, one, err);
}

/* Pads the stream to the length that file_reader_size() returned, even if files
 * have become shorter or are gone. Zeros after the end of an archive are
 * ignored. */
static void put_padding(struct file_reader *p)
{
	struct buf *out = archive_stream_out(p->tar);
	int64_t lacks = p->size - p->written;

	if (p->r.gzip || lacks <= 0) {
		p->state = ENDED;
		return;
	}
	memset(p->chunk, 0, CHUNK);
	buf_add(out, p->chunk, lacks < CHUNK ? (size_t)lacks : CHUNK);
}

static int step(struct file_reader *p, struct error *err)
{
	int rc = 0;

	if (p->file >= 0)
		return read_piece(p, err);
	if (p->next < p->r.n)
		return begin_file(p, err);
	if (p->state == FILES && p->tar && p->r.attachment_size) {
		p->state = ATTACHMENT;
		rc = begin_attachment(p, err);
	} else if (p->state == ATTACHMENT &&
		   p->attached < p->r.attachment_size) {
		rc = put_attachment_piece(p, err);
	} else if (p->state == FILES || p->state == ATTACHMENT) {
		p->state = p->tar ? TRAILER : ENDED;
		rc = p->tar ? begin_trailer(p, err) : 0;
	} else if (p->state == TRAILER) {
		rc = put_trailer_piece(p, err);
	} else if (p->state == PADDING) {
		put_padding(p);
	}
	return rc;
}

int file_reader_run(struct file_reader *p, const struct stop *stop,
		    struct error *err)
{
	while (p->state != ENDED)
		if (stop_check(stop, err) < 0 || step(p, err) < 0)
			return -1;
	return 0;
}

int64_t file_reader_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct file_reader *p = arg;
	struct buf *out = archive_stream_out(p->tar);

	while (!out->len && p->state != ENDED)
		if (step(p, err) < 0)
			return -1;
	len = (size_t)buf_take(out, room, len);
	p->written += (int64_t)len;
	return (int64_t)len;
}

/* Adds the number of bytes of an entry's headers. */
static int add_header(struct archive_stream *tar,
		      const struct archive_header *item, int64_t *total,
		      struct error *err)
{
	struct buf *out = archive_stream_out(tar);

	if (archive_stream_entry(tar, item, err) < 0)
		return -1;
	*total += (int64_t)out->len;
	buf_clear(out);
	return 0;
}

static int64_t blocks(int64_t size)
{
	return (size + BLOCK - 1) / BLOCK * BLOCK;
}

/* Writes all headers to a test stream, and adds the sizes of the files. A
 * link's header depends only on the length of its target. */
int64_t file_reader_size(struct file_reader *p, struct error *err)
{
	struct archive_stream *tar = archive_stream_open(false, err);
	char *name = xasprintf("%s.git", p->r.tar_trailer);
	struct archive_header attached = { .path = name };
	struct archive_header last = { .path = p->r.tar_trailer };
	int64_t total = 0;
	int rc = tar ? 0 : -1;

	memset(p->chunk, 'x', PATH_MAX);
	for (size_t i = 0; rc == 0 && i < p->r.n; i++) {
		const struct selected *f = &p->r.files[i];
		bool is_link = f->mode == LISTING_LINK;
		size_t len = f->size < PATH_MAX ? (size_t)f->size : PATH_MAX;
		struct archive_header item = { .path = f->path };

		p->chunk[len] = '\0';
		item.link = is_link ? p->chunk : NULL;
		rc = add_header(tar, &item, &total, err);
		p->chunk[len] = 'x';
		total += is_link ? 0 : blocks(f->size);
	}
	if (rc == 0 && p->r.attachment_size) {
		rc = add_header(tar, &attached, &total, err);
		total += blocks(p->r.attachment_size);
	}
	if (rc == 0)
		rc = add_header(tar, &last, &total, err);
	if (rc == 0)
		rc = archive_stream_end(tar, err);
	if (rc == 0)
		total += (int64_t)archive_stream_out(tar)->len +
			 blocks((int64_t)p->r.trailer_size);
	archive_stream_close(tar);
	free(name);
	p->size = rc == 0 ? total : 0;
	return rc == 0 ? total : -1;
}

struct listing *file_reader_listing(struct file_reader *p)
{
	return &p->read;
}

struct tree_stream {
	const struct stream_request *c;
	const struct stop *stop;
	struct odb_commit *commit;
	struct file_reader *reader;
	char trailer[32];
	/* file with all bytes pulled so far; -1: they are not stored */
	int spool;
	int64_t spooled; /* bytes in it */
	int64_t from;    /* offset where the current part begins */
	int64_t at;      /* bytes of the part that were read */
	int64_t left;    /* bytes of the part */
	int64_t began;   /* ms, start of the measured piece; 0: not reached */
	int64_t ended;   /* ms, when its last bytes were requested */
	int64_t rate;    /* bytes per ms, measured */
	char *first;     /* owned: paths of the parts in the sandbox */
	char *rest;
	struct str inline_content;
	struct stream_result *out;
};

static void close_stream(struct tree_stream *s)
{
	odb_commit_abort(s->commit);
	file_reader_close(s->reader);
	if (s->spool >= 0)
		close(s->spool);
	s->commit = NULL;
	s->reader = NULL;
	s->spool = -1;
	s->spooled = 0;
}

static int open_spool(struct tree_stream *s, struct error *err)
{
	s->spool = open(s->c->workspace->directory,
			O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (s->spool < 0)
		return error_errno(err, "a temporary file in %s",
				   s->c->workspace->directory);
	return 0;
}

/* Starts the stream from its beginning, also after a first attempt. kept: store
 * the bytes in a spool. */
static int open_stream(struct tree_stream *s, bool gzip, bool kept,
		       struct error *err)
{
	const struct stream_request *c = s->c;
	struct file_reader_request r = { .workspace = c->workspace,
					 .files = c->files,
					 .n = c->n,
					 .tar_trailer = s->trailer,
					 .trailer = c->trailer,
					 .trailer_size = c->trailer_size,
					 .attachment = c->attachment,
					 .attachment_size = c->attachment_size,
					 .gzip = gzip,
					 .progress = c->progress,
					 .arg = c->arg };

	close_stream(s);
	if (odb_commit_begin(&s->commit, &c->workspace->git, c->commit, s->stop,
			     err) < 0)
		return -1;
	for (size_t i = 0; i < c->n_deleted; i++)
		if (odb_commit_delete(s->commit, str_of(c->deleted[i]), err) <
		    0)
			return -1;
	r.commit = s->commit;
	if (file_reader_open(&s->reader, &r, err) < 0)
		return -1;
	return kept ? open_spool(s, err) : 0;
}

/* Pulls new bytes of the stream and stores them in the spool, so that an upload
 * can be repeated. */
static int64_t pull_new(struct tree_stream *s, char *room, size_t len,
			struct error *err)
{
	int64_t n = file_reader_pull(s->reader, room, len, err);

	if (n > 0 && io_pwrite_all(s->spool, room, (size_t)n, s->spooled) < 0)
		return error_errno(err, "saving the files to send");
	s->spooled += n > 0 ? n : 0;
	return n;
}

/* Reads a part of the stream: from the spool first, then new bytes. */
static int64_t read_part(void *arg, char *room, size_t len, struct error *err)
{
	struct tree_stream *s = arg;
	int64_t at = s->from + s->at;
	int64_t n;

	if ((int64_t)len > s->left - s->at)
		len = (size_t)(s->left - s->at);
	if (at < s->spooled && (int64_t)len > s->spooled - at)
		len = (size_t)(s->spooled - at);
	if (!s->began && s->at >= PROBE_FROM)
		s->began = clock_ms();
	if (!len)
		n = 0;
	else if (at < s->spooled)
		n = io_pread(s->spool, room, len, at);
	else
		n = pull_new(s, room, len, err);
	if (n < 0 && !err->code)
		return error_errno(err, "reading the files to send");
	s->at += n;
	if (n > 0)
		s->ended = clock_ms();
	return n;
}

static int rewind_part(void *arg, struct error *err)
{
	struct tree_stream *s = arg;

	(void)err;
	s->at = 0;
	s->began = 0;
	return 0;
}

int stream_file(struct sandbox *sb, const char *path, struct str bytes,
		const struct stop *stop, struct error *err)
{
	struct transfer t = { .path = path, .mode = 0600 };

	if (sandbox_upload_bytes(sb, &t, bytes, stop, err) < 0)
		return -1;
	if (t.error == FILE_OK)
		return 0;
	return error_set(err, ERR_REMOTE, "%s: %s", path,
			 t.detail[0] ? t.detail : file_error_name(t.error));
}

/* Sends size bytes of the stream as a file, and measures the speed. */
static int upload_part(struct tree_stream *s, int64_t from, int64_t size,
		       char **path, struct error *err)
{
	struct transfer t = { .path = "/tmp/x",
			      .size = size,
			      .mode = 0600,
			      .read = read_part,
			      .rewind = rewind_part,
			      .arg = s };
	int64_t took;

	*path = transfer_stage(&t);
	t.path = *path;
	s->from = from;
	s->left = size;
	(void)rewind_part(s, err);
	if (sandbox_upload(s->c->sandbox, &t, 1, s->stop, err) < 0)
		return -1;
	if (t.error != FILE_OK)
		return error_set(err, ERR_REMOTE, "sending the tree: %s",
				 t.error == FILE_OTHER && t.detail[0]
					 ? t.detail
					 : file_error_name(t.error));
	/* Excludes the wait for the answer, which is latency, not speed. */
	took = s->began ? s->ended - s->began : 0;
	s->rate = (size - PROBE_FROM) / (took > 0 ? took : 1);
	return 0;
}

static void drop_part(struct tree_stream *s, char **path)
{
	if (*path)
		transfer_unstage(s->c->sandbox, *path);
	free(*path);
	*path = NULL;
}

/* Compresses the whole stream into the spool, then sends it as one file, or
 * within the command. */
static int send_gzip(struct tree_stream *s, struct error *err)
{
	char *room = xcalloc(1, 64 << 10);
	int64_t n = -1;

	if (open_stream(s, true, true, err) == 0)
		while ((n = pull_new(s, room, 64 << 10, err)) > 0)
			if (stop_check(s->stop, err) < 0) {
				n = -1;
				break;
			}
	free(room);
	if (n < 0)
		return -1;
	if (s->spooled <= (int64_t)helper_room(s->c->sandbox)) {
		char *bytes = xcalloc(1, (size_t)s->spooled + 1);
		struct str all = { bytes, (size_t)s->spooled };

		if (io_pread_all(s->spool, bytes, all.len, 0) != s->spooled) {
			free(bytes);
			return error_errno(err, "reading the files to send");
		}
		s->inline_content = all;
		if (helper_fits(s->c->sandbox, all, true))
			return 0;
		free(bytes);
		s->inline_content = (struct str){ NULL, 0 };
	}
	return upload_part(s, 0, s->spooled, &s->first, err);
}

/* Sends and measures the first piece. Then sends the rest, or, if that was
 * slow, everything again compressed. */
static int send_large(struct tree_stream *s, bool *gzip, struct error *err)
{
	int64_t size;

	if (open_stream(s, false, true, err) < 0)
		return -1;
	size = file_reader_size(s->reader, err);
	if (size < 0 || upload_part(s, 0, PROBE, &s->first, err) < 0)
		return -1;
	if (s->rate >= SLOW)
		return upload_part(s, PROBE, size - PROBE, &s->rest, err);
	drop_part(s, &s->first);
	*gzip = true;
	return send_gzip(s, err);
}

static int64_t total_size(const struct stream_request *c)
{
	int64_t total = c->attachment_size;

	for (size_t i = 0; i < c->n; i++)
		total += c->files[i].size + 1024;
	return total;
}

static int64_t pull_stdin(void *arg, char *room, size_t len, struct error *err)
{
	struct tree_stream *s = arg;

	return file_reader_pull(s->reader, room, len, err);
}

static int collect_said(void *arg, struct str bytes, struct error *err)
{
	struct tree_stream *s = arg;

	buf_addstr(&s->out->said, bytes);
	return buf_check(&s->out->said, "the sandbox's answer", err);
}

/* Runs the script in the sandbox, which unpacks the uploaded files or its
 * standard input. */
static int run_script(struct tree_stream *s, bool gzip, struct error *err)
{
	const struct stream_request *c = s->c;
	struct helper h = {
		.script = c->script,
		.args = { str_of(sandbox_tree_dir(c->sandbox)),
			  str_of(s->trailer), str_of(gzip ? "1" : ""),
			  str_of(s->rest), c->args[0], c->args[1], c->args[2],
			  c->args[3] },
		.n_args = 4 + STREAM_ARGS,
		.content = s->inline_content,
		.source = s->first,
		.body = collect_said,
		.arg = s,
		.timeout_ms = UNPACK_MS,
	};

	if (!s->first && !s->inline_content.len)
		h.pull = pull_stdin;
	if (helper_run(c->sandbox, &h, s->stop, err) < 0)
		return -1;
	if (h.timed_out)
		return error_set(err, ERR_TIMEOUT, "unpacking the tree");
	snprintf(s->out->status, sizeof(s->out->status), "%s", h.status);
	return 0;
}

/* Completes the commit only if the sandbox has the files. */
static int take_result(struct tree_stream *s, struct error *err)
{
	struct odb_commit *commit = s->commit;
	struct listing *read = file_reader_listing(s->reader);

	s->out->read = *read;
	*read = (struct listing){ 0 };
	s->out->changed = s->reader->changed;
	/* A sandbox without the base answers before it has read its input. */
	if (!str_starts(str_of(s->out->status), "ok ") ||
	    str_starts(str_of(s->out->status), "ok nobase "))
		return 0;
	s->commit = NULL;
	return odb_commit_end(commit, s->out->oid, err);
}

int stream_files(const struct stream_request *c, struct stream_result *out,
		 const struct stop *stop, struct error *err)
{
	struct tree_stream s = {
		.c = c, .stop = stop, .spool = -1, .out = out
	};
	bool streams = c->sandbox->client->provider->flags & SANDBOX_STDIN;
	bool gzip = !streams && total_size(c) < SMALL;
	char random[17];
	int rc;

	*out = (struct stream_result){ .said = BUF_INIT(STREAM_SAID_MAX) };
	ids_random(random, 16);
	snprintf(s.trailer, sizeof(s.trailer), ".dcode-%s", random);
	if (streams)
		rc = open_stream(&s, false, false, err);
	else
		rc = gzip ? send_gzip(&s, err) : send_large(&s, &gzip, err);
	out->committed = rc == 0;
	if (rc == 0 && !streams)
		rc = odb_commit_done(s.commit, err);
	if (rc == 0)
		rc = run_script(&s, gzip, err);
	if (rc == 0)
		rc = take_result(&s, err);
	if (rc < 0) {
		drop_part(&s, &s.first);
		drop_part(&s, &s.rest);
	}
	close_stream(&s);
	free((char *)s.inline_content.ptr);
	free(s.first);
	free(s.rest);
	return rc;
}

void stream_result_release(struct stream_result *out)
{
	buf_release(&out->said);
	listing_release(&out->read);
}

/* differences between the tree and the base, to be committed */
struct local_tree {
	struct workspace *w;
	struct selection s;
	struct listing base; /* empty: unknown */
	struct listing now;
	struct selected *files; /* files that differ; paths are those of s */
	size_t n;
	/* all paths that differ, borrowed from base or now */
	const char **gone;
	size_t n_gone;
	size_t at; /* index in s */
};

static int add_change(void *arg, const struct listing_entry *before,
		      const struct listing_entry *after, struct error *err)
{
	struct local_tree *t = arg;

	(void)err;
	t->gone[t->n_gone++] = (after ? after : before)->path;
	while (after && t->at < t->s.n &&
	       strcmp(t->s.files[t->at].path, after->path) < 0)
		t->at++;
	if (after && t->at < t->s.n)
		t->files[t->n++] = t->s.files[t->at++];
	return 0;
}

static int read_selected(const struct file_reader_request *r,
			 struct listing *read, const struct stop *stop,
			 struct error *err)
{
	struct file_reader *p;
	int rc;

	if (file_reader_open(&p, r, err) < 0)
		return -1;
	rc = file_reader_run(p, stop, err);
	if (rc == 0) {
		*read = *file_reader_listing(p);
		*file_reader_listing(p) = (struct listing){ 0 };
	}
	file_reader_close(p);
	return rc;
}

/* Finds the files that differ from the base. Files whose hashes are in the
 * cache are not opened. */
static int find_changes(struct local_tree *t, const struct stop *stop,
			struct error *err)
{
	struct file_reader_request r = { .workspace = t->w,
					 .files = t->s.files,
					 .n = t->s.n };

	struct error none = { 0 };

	if (t->w->base[0] &&
	    workspace_read_listing(t->w, &t->base, stop, &none) < 0)
		listing_release(&t->base);
	if (read_selected(&r, &t->now, stop, err) < 0)
		return -1;
	t->files = xcalloc(t->s.n + 1, sizeof(*t->files));
	t->gone = xcalloc(t->s.n + t->base.n + 1, sizeof(*t->gone));
	return listing_compare(&t->base, &t->now, add_change, t, err);
}

/* Reads the files that differ and commits them on top of the base. */
static int commit_changes(struct local_tree *t, const char *ref,
			  struct listing *read, char oid[GIT_OID],
			  const struct stop *stop, struct error *err)
{
	struct odb_commit_info info = { .ref = ref,
					.parent = t->w->base[0] ? t->w->base
								: NULL,
					.message = "local tree" };
	struct file_reader_request r = { .workspace = t->w,
					 .files = t->files,
					 .n = t->n };
	int rc = 0;

	if (odb_commit_begin(&r.commit, &t->w->git, &info, stop, err) < 0)
		return -1;
	if (info.parent && !t->base.n)
		rc = odb_commit_clear(r.commit, err);
	for (size_t i = 0; rc == 0 && t->base.n && i < t->n_gone; i++)
		rc = odb_commit_delete(r.commit, str_of(t->gone[i]), err);
	if (rc == 0)
		rc = read_selected(&r, read, stop, err);
	if (rc == 0)
		return odb_commit_end(r.commit, oid, err);
	odb_commit_abort(r.commit);
	return -1;
}

/* Updates the listing with the files that were committed. */
static void update_listing(struct local_tree *t, const struct listing *read)
{
	for (size_t i = 0; i < t->n_gone; i++)
		listing_drop(&t->now, t->gone[i]);
	for (size_t i = 0; i < read->n; i++)
		listing_add(&t->now, read->entries[i].mode,
			    read->entries[i].hash,
			    str_of(read->entries[i].path));
	listing_sort(&t->now);
}

int workspace_snapshot(struct workspace *w, const struct select_request *r,
		       struct snapshot *snapshot, const struct stop *stop,
		       struct error *err)
{
	struct local_tree t = { .w = w };
	struct listing read = { 0 };
	int rc = select_files(&t.s, w, r, stop, err);

	if (rc == 0)
		rc = find_changes(&t, stop, err);
	if (rc == 0)
		rc = commit_changes(&t, snapshot->ref, &read, snapshot->commit,
				    stop, err);
	if (rc == 0 && snapshot->read) {
		update_listing(&t, &read);
		*snapshot->read = t.now;
		t.now = (struct listing){ 0 };
	}
	listing_release(&read);
	listing_release(&t.base);
	listing_release(&t.now);
	free(t.files);
	free(t.gone);
	select_release(&t.s);
	return rc;
}
