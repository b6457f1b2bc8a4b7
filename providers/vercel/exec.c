/* exec.c - commands and files of a Vercel session. */
/* SPDX-License-Identifier: MIT */
/*
 * A command is one request, whose answer is lines of JSON: feed_lines() and
 * end_lines(). The v1 API returns no output in that answer, so run_v1() reads
 * the command's log. A file is uploaded as a tar stream of one entry. Begin
 * with vercel_call() and send_file().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/rest.h"
#include "providers/vercel/vercel.h"
#include "sandbox/transfer.h"

enum {
	BODY_MAX = 4 << 20,
	LINE_MAX_BYTES = 16 << 20,
	/* added to the time for which the server may hold a request */
	SLACK_MS = 8000,
	/* Constants for files: */
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	CHUNK = 64 << 10, /* bytes per read of a file */
};

char *vercel_path(const struct vercel *v, const char *path, const char *more)
{
	return xasprintf("%s?teamId=%s%s", path, v->team, more);
}

/*
 * Parser of a command's answer. Its lines are {"command":{"id":...,
 * "exitCode":null or a number}}, {"stream":"stdout" or "stderr","data":"..."}
 * and {"stream":"error","data":{"code","message"}}. Zero-initialise, set out,
 * then feed, end and release it.
 */
struct vercel_lines {
	struct buf *out; /* borrowed: receives standard output */
	struct buf line; /* the incomplete line */
	bool ended;      /* the command has ended */
	char code[64];   /* code of an error line, or "" */
	char message[160];
};

static void on_stream(struct vercel_lines *l, const cJSON *tree,
		      const char *stream)
{
	const cJSON *data = json_get(tree, "data");

	if (strcmp(stream, "error") == 0) {
		snprintf(l->code, sizeof(l->code), "%s",
			 json_string(data, "code", "unknown"));
		snprintf(l->message, sizeof(l->message), "%s",
			 json_string(data, "message", ""));
	} else if (strcmp(stream, "stdout") == 0) {
		buf_adds(l->out, json_string(tree, "data", ""));
	}
}

static int on_line(struct vercel_lines *l, struct str line, struct error *err)
{
	const cJSON *command;
	cJSON *tree;

	line = str_trim(line);
	if (!line.len)
		return 0;
	tree = json_parse(line);
	if (!tree)
		return error_set(
			err, ERR_PROTOCOL,
			"unexpected server response: a line that is not JSON");
	command = json_get(tree, "command");
	if (command && cJSON_IsNumber(json_get(command, "exitCode")))
		l->ended = true;
	on_stream(l, tree, json_string(tree, "stream", ""));
	cJSON_Delete(tree);
	return buf_check(l->out, "the answer", err);
}

/*
 * Parses a chunk of the answer. ERR_PROTOCOL for a line that is not JSON or too
 * long; else 0.
 */
static int feed_lines(struct vercel_lines *l, struct str chunk,
		      struct error *err)
{
	l->line.max = LINE_MAX_BYTES;
	for (;;) {
		bool whole = buf_add_line(&l->line, &chunk);

		if (buf_check(&l->line, "a line of the answer", err) < 0)
			return -1;
		if (!whole)
			return 0;
		if (on_line(l, buf_str(&l->line), err) < 0)
			return -1;
		buf_clear(&l->line);
	}
}

/*
 * Call at the end of the answer. ERR_NETWORK if it was interrupted: it stopped
 * within a line, contained an error line, or stopped before the command's end.
 * logs: it is a log, which never contains that end.
 */
static int end_lines(struct vercel_lines *l, bool logs, struct error *err)
{
	if (l->code[0])
		return error_set(err, ERR_NETWORK, "%s: %s", l->code,
				 l->message);
	if (str_trim(buf_str(&l->line)).len || (!logs && !l->ended))
		return error_set(
			err, ERR_NETWORK,
			"the connection broke before the answer was complete");
	return 0;
}

static void release_lines(struct vercel_lines *l)
{
	buf_release(&l->line);
}

struct command_call {
	struct sandbox *sb;
	const struct stop *stop;
	int64_t wait_ms;
	struct vercel_lines lines;
	struct http_response res;
};

static int on_data(void *arg, struct str chunk, struct error *err)
{
	return feed_lines(arg, chunk, err);
}

static int fail_command(struct command_call *c, struct error *err)
{
	return vendor_exec_failed(c->sb, c->res.status,
				  strcmp(c->lines.code, "sandbox_stopped") == 0,
				  c->stop, err);
}

/*
 * Sends a request whose answer consists of lines. logs: it is a log, in which
 * the command's end is missing.
 */
static int read_lines(struct command_call *c, struct http_request *ask,
		      const char *tail, bool logs, struct error *err)
{
	char *path = vercel_path(c->sb->client->priv, tail, "");
	int rc;

	ask->path = path;
	ask->what = "running the command";
	ask->data = on_data;
	ask->arg = &c->lines;
	ask->timeout_ms = c->wait_ms + SLACK_MS;
	rc = rest_call(vendor_server(c->sb), ask, &c->res, c->stop, err);
	if (rc == 0)
		rc = end_lines(&c->lines, logs, err);
	free(path);
	return rc < 0 ? fail_command(c, err) : 0;
}

/*
 * Runs the command with the v1 API. The answer contains no output, so the
 * command's log is read.
 */
static int run_v1(struct command_call *c, struct http_request *ask,
		  struct error *err)
{
	struct http_request log = { .method = "GET" };
	char *path = vercel_path(c->sb->client->priv, "/cmd", "");
	const char *id;
	cJSON *tree = NULL;
	char *tail;
	int rc;

	ask->path = path;
	ask->what = "running the command";
	rc = rest_call(vendor_server(c->sb), ask, &c->res, c->stop, err);
	if (rc < 0)
		rc = fail_command(c, err);
	else
		tree = json_parse(buf_str(&c->res.body));
	http_response_release(&c->res);
	c->res = (struct http_response){ .retry_after_ms = -1 };
	id = json_string(json_get(tree, "command"), "id", "");
	if (rc == 0 && !vendor_id_ok(id))
		rc = error_set(err, ERR_NETWORK,
			       "unexpected server response: no command id");
	tail = xasprintf("/cmd/%s/logs", id);
	if (rc == 0)
		rc = read_lines(c, &log, tail, true, err);
	free(tail);
	cJSON_Delete(tree);
	free(path);
	return rc;
}

/* Runs one process and reads its output until it ends. */
int vercel_call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	bool v1 = ((const struct vercel *)sb->client->priv)->v1;
	struct command_call c = { .sb = sb,
				  .stop = stop,
				  .wait_ms = wait_ms,
				  .lines = { .out = out },
				  .res = { .retry_after_ms = -1 } };
	struct http_request ask = { .method = "POST" };
	struct buf body = BUF_INIT(BODY_MAX);
	int rc;

	vendor_touch(sb, stop);
	buf_adds(&body, "{\"command\":\"sh\",\"args\":[\"-c\",");
	shell_argument_add(&body, command);
	buf_adds(&body, "],\"cwd\":\"/\",\"env\":{},\"sudo\":false");
	buf_adds(&body, v1 ? "}" : ",\"wait\":true,\"logs\":true}");
	ask.body = buf_str(&body);
	rc = buf_check(&body, "the command", err);
	if (rc == 0)
		rc = v1 ? run_v1(&c, &ask, err)
			: read_lines(&c, &ask, "/cmd", false, err);
	release_lines(&c.lines);
	http_response_release(&c.res);
	buf_release(&body);
	return rc;
}

struct archived_file { /* a tar archive of one file, built while it is sent */
	struct archive_stream *tar;
	const struct transfer *file;
	int64_t left; /* bytes of the file that were not read yet */
	bool ended;
	bool failed; /* the file could not be read */
};

/* Adds the next bytes of the file to the archive. */
static int add_bytes(struct archived_file *a, struct error *err)
{
	char chunk[CHUNK];
	size_t want = a->left < CHUNK ? (size_t)a->left : CHUNK;
	int64_t n = transfer_read(a->file, chunk, want, err);

	a->failed = n < 0;
	if (n < 0)
		return -1;
	a->left -= n;
	return archive_stream_data(a->tar, (struct str){ chunk, (size_t)n },
				   err);
}

/* Implements http_request.source: supplies the archive as the request's body.
 */
static int64_t pull_archive(void *arg, char *room, size_t len,
			    struct error *err)
{
	struct archived_file *a = arg;
	struct buf *out = archive_stream_out(a->tar);

	while (!out->len && !a->ended) {
		a->ended = !a->left;
		if ((a->ended ? archive_stream_end(a->tar, err)
			      : add_bytes(a, err)) < 0)
			return -1;
	}
	return buf_take(out, room, len);
}

/* Sends the file as an archive, which the server unpacks at "/". */
static int send_file(struct sandbox *sb, struct http_files_put *put,
		     struct http_response *res, const struct stop *stop,
		     struct error *err)
{
	static const char *const headers[] = { "x-cwd: /", NULL };
	const struct transfer *f = put->file;
	const struct archive_header entry = { .path = put->path +
						      strspn(put->path, "/"),
					      .size = f->size,
					      .mode = f->mode ? f->mode : 0644,
					      .mtime = clock_unix_ms() / 1000 };
	struct archived_file a = { archive_stream_open_pax(err), f, f->size,
				   false, false };
	char *path = vercel_path(sb->client->priv, "/fs/write", "");
	struct http_request ask = { .method = "POST",
				    .path = path,
				    .type = "application/gzip",
				    .what = "writing files",
				    .headers = headers,
				    .source = pull_archive,
				    .source_size = -1,
				    .arg = &a,
				    .timeout_ms = LONGEST_MS,
				    .idle_ms = IDLE_MS };
	int rc = -1;

	put->own = !a.tar || archive_stream_entry(a.tar, &entry, err) < 0;
	if (!put->own)
		rc = rest_call(vendor_server(sb), &ask, res, stop, err);
	put->own |= a.failed;
	archive_stream_close(a.tar);
	free(path);
	return rc;
}

static void fill_get(struct sandbox *sb, const char *file,
		     struct file_request *req)
{
	char *path = vercel_path(sb->client->priv, "/fs/read", "");

	buf_adds(&req->path, path);
	free(path);
	buf_addc(&req->body, '{');
	json_member(&req->body, "path", str_of(file));
	buf_addc(&req->body, '}');
}

static enum file_retry classify_failure(const struct http_response *res)
{
	switch (res->status) {
	case 401:
		return FILE_RETRY_FATAL;
	case 404:
		return FILE_RETRY_UNSURE;
	case 410:
	case 422:
		return FILE_RETRY_STARTED;
	default:
		return FILE_RETRY_NEVER;
	}
}

const struct http_files vercel_files = {
	.call = vendor_send,
	.get = fill_get,
	.send = send_file,
	.classify = classify_failure,
	.touch = true,
};
