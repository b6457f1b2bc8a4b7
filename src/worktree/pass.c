/* pass.c - one reading of selected files: into a commit, a listing, a tar. */
/* SPDX-License-Identifier: MIT */
#include "worktree/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "archive/archive.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "worktree/treefile.h"

enum {
	CHUNK = 64 << 10,
	BLOCK = 512, /* of a tar stream */
};

struct pass {
	struct pass_request r;
	struct tree_dir dir;
	struct archive_stream *tar; /* NULL: none */
	struct listing read;
	size_t next;  /* of the files */
	int file;     /* at hand; -1: none */
	int64_t left; /* bytes of it */
	crypto_hash_sha256_state hash;
	bool short_of;         /* it ended early: zeros */
	struct stat st;        /* as it was before the first byte */
	struct timespec began; /* before that */
	size_t changed;
	int64_t bytes;    /* of files, read */
	int64_t size;     /* of the whole stream; 0: not asked for */
	int64_t written;  /* of the stream, given away */
	struct buf text;  /* of the trailer */
	struct str rest;  /* of text */
	int64_t attached; /* of the attachment */
	enum { FILES, ATTACHMENT, TRAILER, PADDING, ENDED } state;
	char chunk[CHUNK];
};

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

int pass_open(struct pass **out, const struct pass_request *r,
	      struct error *err)
{
	struct pass *p = xcalloc(1, sizeof(*p));

	p->r = *r;
	p->file = -1;
	p->dir.root = -1;
	if (tree_dir_open(&p->dir, r->workspace->root, err) == 0 &&
	    (!r->tar_trailer || (p->tar = archive_stream_open(r->gzip, err)))) {
		*out = p;
		return 0;
	}
	pass_close(p);
	return -1;
}

void pass_close(struct pass *p)
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

static int put_bytes(struct pass *p, struct str bytes, struct error *err)
{
	crypto_hash_sha256_update(&p->hash, (const unsigned char *)bytes.ptr,
				  bytes.len);
	if (p->r.commit && odb_commit_data(p->r.commit, bytes, err) < 0)
		return -1;
	return p->tar ? archive_stream_data(p->tar, bytes, err) : 0;
}

/* What was read is known from now on, unless it changed meanwhile. */
static void note_hash(struct pass *p, const struct selected *f,
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

static void end_file(struct pass *p)
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

static int begin_entry(struct pass *p, const char *link, int64_t size,
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

static int read_link(struct pass *p, int dir, const char *name,
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
	p->tar = NULL; /* its header has the target */
	if (rc == 0)
		rc = put_bytes(p, bytes, err);
	p->tar = tar;
	p->left = 0;
	if (rc == 0)
		end_file(p);
	return rc;
}

static int open_file(struct pass *p, int dir, const char *name,
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

/* Whether the file at hand need not be read for its hash. */
static bool is_known(const struct pass *p, int dir, const char *name,
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

static int next_file(struct pass *p, struct error *err)
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

static int read_file(struct pass *p, struct error *err)
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

static int begin_attachment(struct pass *p, struct error *err)
{
	char *name = xasprintf("%s.git", p->r.tar_trailer);
	struct archive_header item = { .path = name,
				       .mode = 0600,
				       .size = p->r.attachment_size };
	int rc = archive_stream_entry(p->tar, &item, err);

	free(name);
	return rc;
}

/* A piece. */
static int put_attachment(struct pass *p, struct error *err)
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

static int begin_trailer(struct pass *p, struct error *err)
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

/* A piece: the buffer behind the archive is small. */
static int put_trailer(struct pass *p, struct error *err)
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

/* The stream is as long as was said, whatever became of the files: zeros
 * after the end of an archive are none of its entries. */
static void put_padding(struct pass *p)
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

static int step(struct pass *p, struct error *err)
{
	int rc = 0;

	if (p->file >= 0)
		return read_file(p, err);
	if (p->next < p->r.n)
		return next_file(p, err);
	if (p->state == FILES && p->tar && p->r.attachment_size) {
		p->state = ATTACHMENT;
		rc = begin_attachment(p, err);
	} else if (p->state == ATTACHMENT &&
		   p->attached < p->r.attachment_size) {
		rc = put_attachment(p, err);
	} else if (p->state == FILES || p->state == ATTACHMENT) {
		p->state = p->tar ? TRAILER : ENDED;
		rc = p->tar ? begin_trailer(p, err) : 0;
	} else if (p->state == TRAILER) {
		rc = put_trailer(p, err);
	} else if (p->state == PADDING) {
		put_padding(p);
	}
	return rc;
}

int pass_run(struct pass *p, const struct stop *stop, struct error *err)
{
	while (p->state != ENDED)
		if (stop_check(stop, err) < 0 || step(p, err) < 0)
			return -1;
	return 0;
}

int64_t pass_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct pass *p = arg;
	struct buf *out = archive_stream_out(p->tar);

	while (!out->len && p->state != ENDED)
		if (step(p, err) < 0)
			return -1;
	len = (size_t)buf_take(out, room, len);
	p->written += (int64_t)len;
	return (int64_t)len;
}

/* What an entry takes before its bytes. */
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

/* The headers of a trial, and the bytes as they are known. A link's header
 * depends on its target, for which one of its length stands. */
int64_t pass_size(struct pass *p, struct error *err)
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

struct listing *pass_listing(struct pass *p)
{
	return &p->read;
}

size_t pass_changed(const struct pass *p)
{
	return p->changed;
}
