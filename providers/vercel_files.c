/* vercel_files.c - files in as a tar stream, out as bytes, errors by name. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/vercel.h"
#include "providers/vercel_tar.h"
#include "sandbox/quote.h"

enum {
	SMALL = 1 << 20, /* is held in memory, so that it can be sent again */
	TRIES = 5,
	PAUSE_MS = 200,
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	PROBE_MAX = 200000, /* bytes of a command that asks for paths */
	FACTS_MAX = 1 << 20,
};

static void fail(struct transfer *f, enum file_error code, const char *detail)
{
	f->error = code;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
}

static bool path_ok(struct transfer *f)
{
	size_t len = f->path ? strlen(f->path) : 0;

	f->error = FILE_OK;
	f->detail[0] = '\0';
	if (len > 1 && f->path[0] == '/' && f->path[len - 1] != '/')
		return true;
	fail(f, FILE_INVALID_PATH, "");
	return false;
}

/*
 * A line for each path: "d" a directory; "f r w 644" a file, "-" for what may
 * not be done; "n w x" nothing there, and what may be done where it would be;
 * "x" below something that is no directory.
 */
static const char probe[] =
	"for f do if [ -d \"$f\" ];then echo d;elif [ -e \"$f\" ];then "
	"r=- w=-;[ -r \"$f\" ]&&r=r;[ -w \"$f\" ]&&w=w;"
	"echo f $r $w $(stat -Lc %a \"$f\" 2>/dev/null);else "
	"p=${f%/*} r=- w=-;while [ \"$p\" ]&&[ ! -e \"$p\" ];do p=${p%/*};done;"
	"[ \"$p\" ]||p=/;if [ -d \"$p\" ];then "
	"[ -w \"$p\" ]&&w=w;[ -x \"$p\" ]&&r=x;echo n $w $r;"
	"else echo x;fi;fi;done\n";

struct facts {
	struct buf text;
};

static int on_facts(void *arg, enum exec_stream stream, struct str chunk,
		    struct buf *reply, struct error *err)
{
	struct facts *f = arg;

	(void)reply;
	if (stream == EXEC_STDOUT)
		buf_addstr(&f->text, chunk);
	return buf_check(&f->text, "the answer", err);
}

static void learn_upload(struct transfer *f, struct str line)
{
	int64_t mode;

	if (str_is(line, "d"))
		fail(f, FILE_IS_DIRECTORY, "");
	else if (str_starts(line, "f r -") || str_starts(line, "f - -") ||
		 str_starts(line, "n -"))
		fail(f, FILE_PERMISSION_DENIED, "");
	else if (str_is(line, "x"))
		fail(f, FILE_OTHER, "a part of the path is no directory");
	else if (str_starts(line, "f ") && !f->mode &&
		 str_to_int(str_trim(str_skip(line, 6)), &mode) && mode > 0 &&
		 mode <= 7777)
		f->mode = (int)strtol(line.ptr + 6, NULL, 8) & 07777;
}

static void learn_download(struct transfer *f, struct str line)
{
	if (str_is(line, "d"))
		fail(f, FILE_IS_DIRECTORY, "");
	else if (str_starts(line, "f -"))
		fail(f, FILE_PERMISSION_DENIED, "");
	else if (str_starts(line, "n ") && str_ends(line, "-"))
		fail(f, FILE_PERMISSION_DENIED, "");
	else if (str_starts(line, "n ") || str_is(line, "x"))
		fail(f, FILE_NOT_FOUND, "");
}

/* Asks the sandbox about the files without an error. -1: it cannot be asked. */
static int ask_facts(struct sandbox *sb, struct transfer *files, size_t n,
		     void (*learn)(struct transfer *f, struct str line),
		     const struct stop *stop, struct error *err)
{
	struct facts facts = { BUF_INIT(FACTS_MAX) };
	struct buf command = BUF_INIT(FACTS_MAX);
	struct exec_result res;
	int rc = 0;

	for (size_t i = 0, from = 0; rc == 0 && i < n; from = i) {
		struct exec_request req = { .cwd = "/",
					    .plain = true,
					    .output = on_facts,
					    .arg = &facts };
		struct str rest;
		struct str line;

		buf_clear(&command);
		buf_clear(&facts.text);
		buf_adds(&command, "set --");
		for (; i < n && command.len < PROBE_MAX / 2; i++) {
			if (files[i].error != FILE_OK)
				continue;
			buf_addc(&command, ' ');
			quote_word(&command, str_of(files[i].path));
		}
		buf_adds(&command, "\n");
		buf_adds(&command, probe);
		req.command = buf_str(&command);
		rc = vercel_execute(sb, &req, &res, stop, err);
		rest = buf_str(&facts.text);
		for (size_t k = from; rc == 0 && k < i; k++)
			if (files[k].error == FILE_OK &&
			    str_split(&rest, '\n', &line))
				learn(&files[k], line);
	}
	buf_release(&command);
	buf_release(&facts.text);
	return rc;
}

static bool may_be_gone(const struct http_response *res)
{
	return res->status == 404 || res->status == 410 || res->status == 422;
}

/* 0 to try again, -1 when it makes no sense. */
static int judge(struct sandbox *sb, const struct http_response *res,
		 const struct stop *stop, struct error *err)
{
	struct error why = { 0 };

	if (err->code == ERR_NETWORK || res->status == 408 ||
	    res->status == 429 || res->status >= 500)
		return 0;
	if (!may_be_gone(res))
		return -1;
	if (vercel_revive(sb, stop, &why) == 0)
		return res->status == 404 ? -1 : 0;
	*err = why;
	return -1;
}

static int post_tar(struct sandbox *sb, struct vercel_tar *tar,
		    struct str whole, struct http_response *res,
		    const struct stop *stop, struct error *err)
{
	static const char *const headers[] = { "x-cwd: /", NULL };
	char *path = vercel_session(sb, "/fs/write");
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.type = "application/gzip",
				.what = "writing files",
				.headers = headers,
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	int rc;

	if (whole.len) {
		ask.body = whole;
	} else {
		ask.source = vercel_tar_pull;
		ask.source_size = vercel_tar_size(tar);
		ask.arg = tar;
	}
	rc = rest_call(&vercel_of(sb->host)->api, &ask, res, stop, err);
	free(path);
	return rc;
}

static int pull_all(struct vercel_tar *tar, struct buf *whole,
		    struct error *err)
{
	size_t size = (size_t)vercel_tar_size(tar);
	char *room = buf_room(whole, size);

	for (size_t got = 0; got < size;) {
		int64_t n = vercel_tar_pull(tar, room + got, size - got, err);

		if (n <= 0)
			return -1;
		got += (size_t)n;
	}
	buf_added(whole, size);
	return 0;
}

/* What is small can be sent again; the source of a large file does not go
 * back. A file whose own source fails is left out: 1, to go on without it. */
static int send_group(struct sandbox *sb, struct transfer *const *group,
		      size_t n, int64_t size, const struct stop *stop,
		      struct error *err)
{
	struct vercel_tar *tar = vercel_tar_new(group, n);
	struct buf whole = BUF_INIT((size_t)64 << 20);
	int rc = size <= SMALL ? pull_all(tar, &whole, err) : 0;

	for (int i = 1; rc == 0; i++) {
		struct http_response res = { 0 };
		struct error why = { 0 };
		int again = -1;

		rc = post_tar(sb, tar, buf_str(&whole), &res, stop, &why);
		if (rc < 0 && !vercel_tar_failed(tar))
			again = judge(sb, &res, stop, &why);
		http_response_release(&res);
		if (rc == 0)
			break;
		if (again < 0 || i == TRIES || !whole.len) {
			*err = why;
			break;
		}
		rc = stop_sleep(stop, i * PAUSE_MS, err);
	}
	if (rc < 0 && vercel_tar_failed(tar)) {
		fail(vercel_tar_failed(tar), FILE_OTHER, err->message);
		rc = 1;
	}
	buf_release(&whole);
	vercel_tar_free(tar);
	return rc;
}

static bool fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_TIMEOUT || e->code == ERR_NETWORK;
}

/* One request for a large file, or for the small ones from here on. */
static size_t gather(struct transfer *files, size_t n, struct transfer **group,
		     size_t *count, int64_t *size)
{
	size_t i = 0;

	*count = 0;
	*size = 0;
	for (; i < n; i++) {
		int64_t cost = files[i].size + 2048 +
			       2 * (int64_t)strlen(files[i].path);

		if (files[i].error != FILE_OK)
			continue;
		if (*count && *size + cost > SMALL)
			break;
		group[(*count)++] = &files[i];
		*size += cost;
	}
	return i;
}

static void fail_rest(struct transfer *files, size_t n, const struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].error == FILE_OK)
			fail(&files[i], FILE_OTHER, err->message);
}

int vercel_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err)
{
	struct transfer **group;
	bool any = false;
	size_t next;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		any = path_ok(&files[i]) || any;
	if (any && ask_facts(sb, files, n, learn_upload, stop, err) < 0) {
		fail_rest(files, n, err);
		return -1;
	}
	group = xcalloc(n ? n : 1, sizeof(struct transfer *));
	for (size_t i = 0; rc == 0 && i < n; i += next) {
		struct error e = { 0 };
		size_t count;
		int64_t size;
		int sent;

		next = gather(files + i, n - i, group, &count, &size);
		if (!count)
			continue;
		vercel_keep(sb, stop);
		sent = send_group(sb, group, count, size, stop, &e);
		for (size_t k = 0; sent != 0 && k < count; k++)
			if (group[k]->error == FILE_OK)
				fail(group[k], FILE_OTHER, e.message);
		if (sent < 0 && fatal(&e)) {
			*err = e;
			fail_rest(files + i + next, n - i - next, &e);
			rc = -1;
		}
	}
	free(group);
	return rc;
}

struct download {
	struct transfer *file;
	int64_t got; /* bytes given to the file */
	int64_t at;  /* of this answer's body */
	bool failed; /* the file's own sink */
};

/* After a cut all of it comes again. */
static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct download *d = arg;
	int64_t skip = d->got - d->at;

	d->at += (int64_t)chunk.len;
	if (skip > 0)
		chunk = str_skip(chunk, (size_t)skip);
	if (!chunk.len)
		return 0;
	d->got += (int64_t)chunk.len;
	if (d->file->write(d->file->arg, chunk, err) == 0)
		return 0;
	d->failed = true;
	return -1;
}

static int get_once(struct sandbox *sb, struct download *d,
		    struct http_response *res, const struct stop *stop,
		    struct error *err)
{
	char *path = vercel_session(sb, "/fs/read");
	struct buf body = BUF_INIT(64 << 10);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "reading the file",
				.data = on_data,
				.arg = d,
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	int rc;

	buf_addc(&body, '{');
	json_member(&body, "path", str_of(d->file->path));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	d->at = 0;
	rc = rest_call(&vercel_of(sb->host)->api, &ask, res, stop, err);
	if (rc == 0 && d->at < d->got)
		rc = error_set(err, ERR_REMOTE,
			       "the file changed while it was read");
	buf_release(&body);
	free(path);
	return rc;
}

/* Why the file was refused: asked of the sandbox itself. */
static int explain(struct sandbox *sb, struct transfer *f,
		   const struct error *why, const struct stop *stop,
		   struct error *err)
{
	if (ask_facts(sb, f, 1, learn_download, stop, err) < 0)
		return -1;
	if (f->error == FILE_OK)
		fail(f, FILE_OTHER, why->message);
	return 0;
}

static int download_one(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct download d = { .file = f };

	for (int i = 1;; i++) {
		struct http_response res = { 0 };
		struct error why = { 0 };
		int64_t before = d.got;
		int again = -1;
		int rc = get_once(sb, &d, &res, stop, &why);
		int status = res.status;

		if (rc < 0 && !d.failed)
			again = judge(sb, &res, stop, &why);
		http_response_release(&res);
		if (rc == 0)
			return 0;
		if (d.failed) {
			fail(f, FILE_OTHER, why.message);
			return 0;
		}
		if (again < 0 && status >= 400 && status != 401 &&
		    why.code != ERR_GONE)
			return explain(sb, f, &why, stop, err);
		i = d.got > before ? 0 : i;
		if (again < 0 || i == TRIES) {
			*err = why;
			return -1;
		}
		if (stop_sleep(stop, i * PAUSE_MS, err) < 0)
			return -1;
	}
}

int vercel_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct error e = { 0 };

		if (!path_ok(&files[i]))
			continue;
		vercel_keep(sb, stop);
		if (download_one(sb, &files[i], stop, &e) == 0)
			continue;
		fail(&files[i], FILE_OTHER, e.message);
		if (!fatal(&e))
			continue;
		*err = e;
		fail_rest(files + i + 1, n - i - 1, &e);
		return -1;
	}
	return 0;
}
