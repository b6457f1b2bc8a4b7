/* upload.c - files in as tar streams, errors by name. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/vercel/vercel.h"
#include "sandbox/transfer.h"

enum {
	SMALL = 1 << 20, /* of a group: held in memory, to be sent again */
	TRIES = 5,
	PAUSE_MS = 200,
	GROUP_MAX = 64, /* files in one request */
};

/* A file of a request. */
struct item {
	struct transfer *file;
	struct buf bytes;
	size_t at;
};

static int64_t read_bytes(void *arg, char *room, size_t len, struct error *err)
{
	struct item *it = arg;
	size_t left = it->bytes.len - it->at;
	size_t n = left < len ? left : len;

	(void)err;
	if (n)
		memcpy(room, it->bytes.ptr + it->at, n);
	it->at += n;
	return (int64_t)n;
}

/* 0 when the file can be sent; else it has its error. */
static int load(struct item *it, struct transfer *f)
{
	struct error err = { 0 };
	size_t left = (size_t)f->size;

	*it = (struct item){ .file = f, .bytes = BUF_INIT(SMALL) };
	while (left) {
		char *room = buf_room(&it->bytes, left);
		int64_t n = f->read(f->arg, room, left, &err);

		if (n == 0)
			n = error_set(&err, ERR_SYSTEM,
				      "the file became shorter");
		if (n < 0 || (size_t)n > left) {
			transfer_fail(f, FILE_OTHER, err.message);
			buf_release(&it->bytes);
			return -1;
		}
		buf_added(&it->bytes, (size_t)n);
		left -= (size_t)n;
	}
	return 0;
}

static void learn_upload(struct transfer *f, struct str line)
{
	int64_t mode;

	if (str_is(line, "d"))
		transfer_fail(f, FILE_IS_DIRECTORY, "");
	else if (str_starts(line, "f r -") || str_starts(line, "f - -") ||
		 str_starts(line, "n -"))
		transfer_fail(f, FILE_PERMISSION_DENIED, "");
	else if (str_is(line, "x"))
		transfer_fail(f, FILE_INVALID_PATH, "");
	else if (str_starts(line, "f ") &&
		 str_to_int(str_trim(str_skip(line, 6)), &mode) && mode > 0 &&
		 mode <= 7777)
		f->mode = (int)strtol(line.ptr + 6, NULL, 8) & 07777;
}

/* 0, or -1 to give up, or 1 to try again (err says why). */
static int send_once(struct sandbox *sb, struct item *items, size_t n,
		     const struct stop *stop, struct error *err)
{
	struct archive_file files[GROUP_MAX];
	struct http_response res = { 0 };
	struct error why = { 0 };
	struct vercel_upload up = { .files = files, .n = n };
	int rc;

	for (size_t i = 0; i < n; i++) {
		items[i].at = 0;
		files[i] = vercel_entry(items[i].file);
		files[i].read = read_bytes;
		files[i].arg = &items[i];
	}
	rc = vercel_send(sb, &up, &res, stop, &why);
	if (rc < 0) {
		*err = why;
		rc = http_files_judge(sb, &vercel_files, &res, &why, stop, err);
		rc = rc ? -1 : 1;
	}
	http_response_release(&res);
	return rc;
}

static int send_group(struct sandbox *sb, struct item *items, size_t n,
		      const struct stop *stop, struct error *err)
{
	for (int i = 1;; i++) {
		struct error why = { 0 };
		int rc = send_once(sb, items, n, stop, &why);

		if (rc == 0)
			return 0;
		if (rc < 0 || i == TRIES) {
			*err = why;
			break;
		}
		if (retry_sleep(&why, i * PAUSE_MS, stop, err) < 0)
			break;
	}
	for (size_t i = 0; i < n; i++)
		transfer_fail(items[i].file, FILE_OTHER, err->message);
	return -1;
}

/* The next request's files. Returns how many of files it went through. */
static size_t gather(struct transfer *files, size_t n, struct item *items,
		     size_t *count)
{
	int64_t sum = 0;
	size_t i = 0;

	*count = 0;
	for (; i < n && *count < GROUP_MAX; i++) {
		if (files[i].error != FILE_OK)
			continue;
		if (sum + files[i].size > SMALL)
			break;
		sum += files[i].size;
		if (load(&items[*count], &files[i]) == 0)
			(*count)++;
	}
	return i;
}

/* Those that have no error yet. */
static void fail_rest(struct transfer *files, size_t n, const struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].error == FILE_OK)
			transfer_fail(&files[i], FILE_OTHER, err->message);
}

/* The first of files alone, when it is large, or a group of small ones.
 * Returns how many of files it went through; -1 in *rc: no other will do. */
static size_t send_some(struct sandbox *sb, struct transfer *files, size_t n,
			int *rc, const struct stop *stop, struct error *err)
{
	struct item items[GROUP_MAX];
	size_t count;
	size_t next;

	*rc = 0;
	if (files[0].error == FILE_OK && files[0].size > SMALL) {
		*rc = http_files_upload(sb, &vercel_files, files, 1, stop, err);
		return 1;
	}
	next = gather(files, n, items, &count);
	if (!count)
		return next;
	vercel_keep(sb, stop);
	if (send_group(sb, items, count, stop, err) < 0 && transfer_fatal(err))
		*rc = -1;
	for (size_t k = 0; k < count; k++)
		buf_release(&items[k].bytes);
	return next;
}

int vercel_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err)
{
	bool any = false;
	int rc = 0;

	if (n == 1)
		return http_files_upload(sb, &vercel_files, files, n, stop,
					 err);
	for (size_t i = 0; i < n; i++)
		any = transfer_path_ok(&files[i]) || any;
	if (any && vercel_facts(sb, files, n, learn_upload, stop, err) < 0) {
		fail_rest(files, n, err);
		return -1;
	}
	for (size_t i = 0; rc == 0 && i < n;) {
		struct error e = { 0 };

		i += send_some(sb, files + i, n - i, &rc, stop, &e);
		if (rc == 0)
			continue;
		*err = e;
		fail_rest(files + i, n - i, &e);
	}
	return rc;
}
