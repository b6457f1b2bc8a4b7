/* vercel_files.c - what a sandbox says of a path, and files out of it. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/vercel.h"
#include "sandbox/quote.h"
#include "sandbox/transfer.h"

enum {
	TRIES = 5,
	PAUSE_MS = 200,
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	PROBE_MAX = 200000, /* bytes of a command that asks for paths */
	FACTS_MAX = 1 << 20,
};

void vercel_fail(struct transfer *f, enum file_error code, const char *detail)
{
	f->error = code;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
}

bool vercel_path_ok(struct transfer *f)
{
	size_t len = f->path ? strlen(f->path) : 0;

	f->error = FILE_OK;
	f->detail[0] = '\0';
	if (len > 1 && f->path[0] == '/' && f->path[len - 1] != '/')
		return true;
	vercel_fail(f, FILE_INVALID_PATH, "");
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

static void learn_download(struct transfer *f, struct str line)
{
	if (str_is(line, "d"))
		vercel_fail(f, FILE_IS_DIRECTORY, "");
	else if (str_starts(line, "f -"))
		vercel_fail(f, FILE_PERMISSION_DENIED, "");
	else if (str_starts(line, "n ") && str_ends(line, "-"))
		vercel_fail(f, FILE_PERMISSION_DENIED, "");
	else if (str_starts(line, "n ") || str_is(line, "x"))
		vercel_fail(f, FILE_NOT_FOUND, "");
}

int vercel_facts(struct sandbox *sb, struct transfer *files, size_t n,
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

int vercel_judge(struct sandbox *sb, const struct http_response *res,
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

bool vercel_fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_TIMEOUT || e->code == ERR_NETWORK;
}

void vercel_fail_rest(struct transfer *files, size_t n, const struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].error == FILE_OK)
			vercel_fail(&files[i], FILE_OTHER, err->message);
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
	if (vercel_facts(sb, f, 1, learn_download, stop, err) < 0)
		return -1;
	if (f->error == FILE_OK)
		vercel_fail(f, FILE_OTHER, why->message);
	return 0;
}

static int download_one(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct download d = { .file = f };

	/* JSON cannot say such a path. */
	if (!str_is_utf8(str_of(f->path)))
		return transfer_download(sb, f, 1, stop, err);
	for (int i = 1;; i++) {
		struct http_response res = { 0 };
		struct error why = { 0 };
		int64_t before = d.got;
		int again = -1;
		int rc = get_once(sb, &d, &res, stop, &why);
		int status = res.status;

		if (rc < 0 && !d.failed)
			again = vercel_judge(sb, &res, stop, &why);
		http_response_release(&res);
		if (rc == 0)
			return 0;
		if (d.failed) {
			vercel_fail(f, FILE_OTHER, why.message);
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

		if (!vercel_path_ok(&files[i]))
			continue;
		vercel_keep(sb, stop);
		if (download_one(sb, &files[i], stop, &e) == 0)
			continue;
		vercel_fail(&files[i], FILE_OTHER, e.message);
		if (!vercel_fatal(&e))
			continue;
		*err = e;
		vercel_fail_rest(files + i + 1, n - i - 1, &e);
		return -1;
	}
	return 0;
}
