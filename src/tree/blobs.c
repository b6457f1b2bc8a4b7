/* blobs.c - many objects of a repository into files, by one git. */
/* SPDX-License-Identifier: MIT */
#include "tree/blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/str.h"

enum {
	LINE_MAX_BYTES = 200,
	INPUT_MAX = 128 << 20,
	EXPORT_MS = 3600 * 1000,
};

/* cat-file --batch: "OID blob SIZE\n", the bytes, "\n", again and again. */
struct blob_stream {
	struct blobs_file *list;
	size_t n, next;
	struct buf line; /* of the header, until its end */
	int64_t left;    /* bytes of the current file */
	bool ending;     /* the line end after them is to come */
	bool inside;     /* else a header is next */
	int fd;          /* of the file; -1: it is only hashed */
	crypto_hash_sha256_state state;
};

static int begin_file(struct blob_stream *e, struct error *err)
{
	struct str rest = buf_str(&e->line);
	struct str oid, type, size;
	struct blobs_file *f = &e->list[e->next];

	if (e->next >= e->n || !str_split(&rest, ' ', &oid) ||
	    !str_split(&rest, ' ', &type) || !str_split(&rest, ' ', &size) ||
	    !str_is(oid, f->oid) || !str_is(type, "blob") ||
	    !str_to_int(size, &e->left) || e->left < 0)
		return error_set(err, ERR_PROTOCOL,
				 "git does not have the object %s",
				 e->next < e->n ? f->oid : "");
	buf_clear(&e->line);
	crypto_hash_sha256_init(&e->state);
	e->inside = true;
	if (!f->path)
		return 0;
	e->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return e->fd < 0 ? error_errno(err, "writing %s", f->path) : 0;
}

static int write_bytes(struct blob_stream *e, struct str bytes,
		       struct error *err)
{
	crypto_hash_sha256_update(&e->state, (const unsigned char *)bytes.ptr,
				  bytes.len);
	e->left -= (int64_t)bytes.len;
	while (e->fd >= 0 && bytes.len) {
		ssize_t n = write(e->fd, bytes.ptr, bytes.len);

		if (n < 0 && errno != EINTR)
			return error_errno(err, "writing %s",
					   e->list[e->next].path);
		bytes = str_skip(bytes, n > 0 ? (size_t)n : 0);
	}
	return 0;
}

static void end_file(struct blob_stream *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	e->inside = false;
	crypto_hash_sha256_final(&e->state, e->list[e->next].hash);
	e->next++;
	e->ending = true;
}

/* Takes what it can use off the front of chunk. */
static int step(struct blob_stream *e, struct str *chunk, struct error *err)
{
	struct str part = *chunk;

	if (e->ending) {
		*chunk = str_skip(part, 1);
		e->ending = false;
		return 0;
	}
	if (e->inside) {
		if ((int64_t)part.len > e->left)
			part.len = (size_t)e->left;
		*chunk = str_skip(*chunk, part.len);
		return write_bytes(e, part, err);
	}
	part.len = str_find(part, '\n');
	buf_addstr(&e->line, part);
	if (buf_check(&e->line, "a line of git cat-file", err) < 0)
		return -1;
	if (part.len == chunk->len) {
		*chunk = (struct str){ 0 };
		return 0;
	}
	*chunk = str_skip(*chunk, part.len + 1);
	return begin_file(e, err);
}

static int consume(void *arg, struct str chunk, struct error *err)
{
	struct blob_stream *e = arg;

	while (chunk.len) {
		if (step(e, &chunk, err) < 0)
			return -1;
		if (e->inside && e->left == 0)
			end_file(e);
	}
	return 0;
}

int blobs_write(const struct git *g, struct blobs_file *list, size_t n,
		const struct stop *stop, struct error *err)
{
	const char *argv[] = { "cat-file", "--batch", NULL };
	struct blob_stream e = {
		.list = list, .n = n, .fd = -1, .line = BUF_INIT(LINE_MAX_BYTES)
	};
	struct buf in = BUF_INIT(INPUT_MAX);
	struct git_request r = { .argv = argv,
				 .sink = consume,
				 .sink_arg = &e,
				 .timeout_ms = EXPORT_MS };
	int rc;

	for (size_t i = 0; i < n; i++)
		buf_addf(&in, "%s\n", list[i].oid);
	r.input = buf_str(&in);
	rc = buf_check(&in, "the list of changed files", err);
	if (rc == 0 && n)
		rc = git_run(g, &r, stop, err);
	if (rc == 0 && e.next < n)
		rc = error_set(err, ERR_PROTOCOL, "git cat-file ended early");
	if (e.fd >= 0)
		close(e.fd);
	buf_release(&e.line);
	buf_release(&in);
	return rc;
}
