/* files.c - what a sandbox says of a path, and files out of it. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "archive/archive.h"
#include "base/str.h"
#include "providers/vercel/vercel.h"
#include "sandbox/quote.h"

enum {
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	PROBE_MAX = 200000, /* bytes of a command that asks for paths */
	FACTS_MAX = 1 << 20,
};

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

struct archive_file vercel_entry(const struct transfer *f)
{
	const char *path = f->path;

	while (*path == '/')
		path++;
	return (struct archive_file){ .path = path,
				      .size = f->size,
				      .mode = f->mode ? f->mode : 0644,
				      .read = f->read,
				      .arg = f->arg };
}

int vercel_send(struct sandbox *sb, struct vercel_upload *up,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	static const char *const headers[] = { "x-cwd: /", NULL };
	struct archive_files *tar = archive_files_open(up->files, up->n, err);
	char *path = vercel_session(sb, "/fs/write");
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.type = "application/gzip",
				.what = "writing files",
				.headers = headers,
				.source = archive_files_pull,
				.source_size = -1,
				.arg = tar,
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	int rc = -1;

	up->unreadable = !tar;
	if (tar) {
		rc = rest_call(&vercel_of(sb->host)->api, &ask, res, stop, err);
		up->unreadable = rc < 0 && archive_files_failed(tar);
	}
	archive_files_close(tar);
	free(path);
	return rc;
}

static int send_file(struct sandbox *sb, struct http_files_put *put,
		     struct http_response *res, const struct stop *stop,
		     struct error *err)
{
	struct transfer as = *put->file;
	struct archive_file file;
	struct vercel_upload up = { .files = &file, .n = 1 };
	int rc;

	as.path = put->path;
	file = vercel_entry(&as);
	rc = vercel_send(sb, &up, res, stop, err);
	put->own = up.unreadable;
	return rc;
}

static int call(struct sandbox *sb, const struct rest_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	return rest_call(&vercel_of(sb->host)->api, ask, res, stop, err);
}

static void get(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	char *path = vercel_session(sb, "/fs/read");

	buf_adds(&way->path, path);
	free(path);
	buf_addc(&way->body, '{');
	json_member(&way->body, "path", str_of(file));
	buf_addc(&way->body, '}');
}

static enum http_files_verdict judge(const struct http_response *res)
{
	switch (res->status) {
	case 401:
		return FILES_FAILED;
	case 404:
		return FILES_DOUBT;
	case 410:
	case 422:
		return FILES_REVIVE;
	default:
		return FILES_REFUSED;
	}
}

const struct http_files vercel_files = {
	.call = call,
	.get = get,
	.send = send_file,
	.judge = judge,
	.revive = vercel_revive,
	.keep = vercel_keep,
};

int vercel_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err)
{
	return http_files_download(sb, &vercel_files, files, n, stop, err);
}
