/* vercel_upload.c - files in as tar streams, errors by name. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/vercel.h"
#include "providers/vercel_tar.h"

enum {
	SMALL = 1 << 20, /* is held in memory, so that it can be sent again */
	TRIES = 5,
	PAUSE_MS = 200,
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	GROUP_MAX = 64, /* files in one request */
};

/* A file of a request. A small one is held in memory, to be sent again; what
 * is read from a large one does not come back. */
struct item {
	struct transfer *file;
	struct transfer shadow; /* what the archive reads */
	struct buf bytes;
	size_t at;
	bool large;
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

	*it = (struct item){ .file = f, .shadow = *f };
	it->large = f->size > SMALL;
	if (it->large)
		return 0;
	it->bytes = BUF_INIT(SMALL);
	it->shadow.read = read_bytes;
	it->shadow.arg = it;
	while (left) {
		char *room = buf_room(&it->bytes, left);
		int64_t n = f->read(f->arg, room, left, &err);

		if (n == 0)
			n = error_set(&err, ERR_SYSTEM,
				      "the file became shorter");
		if (n < 0 || (size_t)n > left) {
			vercel_fail(f, FILE_OTHER, err.message);
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
		vercel_fail(f, FILE_IS_DIRECTORY, "");
	else if (str_starts(line, "f r -") || str_starts(line, "f - -") ||
		 str_starts(line, "n -"))
		vercel_fail(f, FILE_PERMISSION_DENIED, "");
	else if (str_is(line, "x"))
		vercel_fail(f, FILE_INVALID_PATH, "");
	else if (str_starts(line, "f ") && !f->mode &&
		 str_to_int(str_trim(str_skip(line, 6)), &mode) && mode > 0 &&
		 mode <= 7777)
		f->mode = (int)strtol(line.ptr + 6, NULL, 8) & 07777;
}

static int post_tar(struct sandbox *sb, struct vercel_tar *tar,
		    struct http_response *res, const struct stop *stop,
		    struct error *err)
{
	static const char *const headers[] = { "x-cwd: /", NULL };
	char *path = vercel_session(sb, "/fs/write");
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.type = "application/gzip",
				.what = "writing files",
				.headers = headers,
				.source = vercel_tar_pull,
				.source_size = vercel_tar_size(tar),
				.arg = tar,
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	int rc = rest_call(&vercel_of(sb->host)->api, &ask, res, stop, err);

	free(path);
	return rc;
}

/* 0, or -1 to give up, or 1 to try again (err says why). */
static int send_once(struct sandbox *sb, struct item *items, size_t n,
		     const struct stop *stop, struct error *err)
{
	struct transfer *files[GROUP_MAX];
	struct http_response res = { 0 };
	struct vercel_tar *tar;
	int rc;

	for (size_t i = 0; i < n; i++) {
		items[i].at = 0;
		files[i] = &items[i].shadow;
	}
	tar = vercel_tar_new(files, n);
	rc = post_tar(sb, tar, &res, stop, err);
	if (rc < 0 && vercel_tar_failed(tar)) {
		vercel_fail(items[0].file, FILE_OTHER, err->message);
		rc = 0;
	} else if (rc < 0 && vercel_judge(sb, &res, stop, err) == 0 &&
		   !items[0].large) {
		rc = 1;
	}
	http_response_release(&res);
	vercel_tar_free(tar);
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
		if (stop_sleep(stop, i * PAUSE_MS, err) < 0)
			break;
	}
	for (size_t i = 0; i < n; i++)
		vercel_fail(items[i].file, FILE_OTHER, err->message);
	return -1;
}

/* The next request's files: a large one, or some small ones. Returns how many
 * of files it went through. */
static size_t gather(struct transfer *files, size_t n, struct item *items,
		     size_t *count)
{
	int64_t sum = 0;
	size_t i = 0;

	*count = 0;
	for (; i < n && *count < GROUP_MAX; i++) {
		if (files[i].error != FILE_OK)
			continue;
		if (*count && sum + files[i].size > SMALL)
			break;
		sum += files[i].size;
		if (load(&items[*count], &files[i]) == 0)
			(*count)++;
	}
	return i;
}

int vercel_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err)
{
	struct item items[GROUP_MAX];
	bool any = false;
	size_t next;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		any = vercel_path_ok(&files[i]) || any;
	if (any && vercel_facts(sb, files, n, learn_upload, stop, err) < 0) {
		vercel_fail_rest(files, n, err);
		return -1;
	}
	for (size_t i = 0; rc == 0 && i < n; i += next) {
		struct error e = { 0 };
		size_t count;

		next = gather(files + i, n - i, items, &count);
		if (!count)
			continue;
		vercel_keep(sb, stop);
		if (send_group(sb, items, count, stop, &e) < 0 &&
		    vercel_fatal(&e)) {
			*err = e;
			vercel_fail_rest(files + i + next, n - i - next, &e);
			rc = -1;
		}
		for (size_t k = 0; k < count; k++)
			buf_release(&items[k].bytes);
	}
	return rc;
}
