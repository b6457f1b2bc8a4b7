/* exec.c - commands as supervised jobs over the stream of a command. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/body.h"
#include "providers/vercel/vercel.h"

enum {
	BODY_MAX = 4 << 20,
	LINE_MAX_BYTES = 16 << 20,
	SLACK_MS = 8000, /* beyond the time that a request is held */
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

int vercel_lines_feed(struct vercel_lines *l, struct str chunk,
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

int vercel_lines_end(struct vercel_lines *l, bool logs, struct error *err)
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

void vercel_lines_release(struct vercel_lines *l)
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
	return vercel_lines_feed(arg, chunk, err);
}

static int fail(struct command_call *c, struct error *err)
{
	return vendor_exec_failed(c->sb, c->res.status,
				  strcmp(c->lines.code, "sandbox_stopped") == 0,
				  c->stop, err);
}

/* A request whose answer is lines; logs: they know nothing of its end. */
static int read_lines(struct command_call *c, struct rest_ask *ask,
		      const char *tail, bool logs, struct error *err)
{
	char *path = vercel_path(c->sb->client->priv, tail, "");
	int rc;

	ask->path = path;
	ask->what = "running the command";
	ask->data = on_data;
	ask->arg = &c->lines;
	ask->timeout_ms = c->wait_ms + SLACK_MS;
	rc = vendor_send(c->sb, ask, &c->res, c->stop, err);
	if (rc == 0)
		rc = vercel_lines_end(&c->lines, logs, err);
	free(path);
	return rc < 0 ? fail(c, err) : 0;
}

/* The v1 API gives no output with the command: its log is asked for. */
static int run_v1(struct command_call *c, struct rest_ask *ask,
		  struct error *err)
{
	struct rest_ask log = { .method = "GET" };
	char *path = vercel_path(c->sb->client->priv, "/cmd", "");
	const char *id;
	cJSON *tree = NULL;
	char *tail;
	int rc;

	ask->path = path;
	ask->what = "running the command";
	rc = vendor_send(c->sb, ask, &c->res, c->stop, err);
	if (rc < 0)
		rc = fail(c, err);
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

/* struct supervisor.call: one process, its output to the end. */
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
	struct rest_ask ask = { .method = "POST" };
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
	vercel_lines_release(&c.lines);
	http_response_release(&c.res);
	buf_release(&body);
	return rc;
}
