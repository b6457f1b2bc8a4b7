/* exec.c - commands as supervised jobs over the stream of a command. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/shell_argument.h"
#include "providers/vercel/lines.h"
#include "providers/vercel/vercel.h"
#include "sandbox/supervise/supervise.h"

enum {
	BODY_MAX = 4 << 20,
	COMMAND_MAX = 1 << 20, /* of all arguments; Linux takes 2 MiB */
	ANSWER_MAX = 4 << 20,  /* bytes of a job's answer */
	SLACK_MS = 8000,       /* beyond the time that a request is held */
};

struct call {
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

/* Turns what went wrong into what the supervisor does next: ask again
 * (ERR_NETWORK), give up, or ERR_GONE. */
static int judge(struct call *c, struct error *err)
{
	struct error why = { 0 };
	int status = c->res.status;
	bool may_be_gone = status == 404 || status == 410 || status == 422 ||
			   strcmp(c->lines.code, "sandbox_stopped") == 0;

	if (err->code == ERR_CANCELLED)
		return -1;
	if (may_be_gone && vercel_revive(c->sb, c->stop, &why) < 0 &&
	    why.code != ERR_NETWORK && why.code != ERR_TIMEOUT) {
		*err = why;
		return -1;
	}
	if (may_be_gone || status == 408 || status == 429 || status >= 500)
		err->code = ERR_NETWORK;
	return -1;
}

/* One exchange whose answer is lines. */
static int stream(struct call *c, struct rest_ask *ask, const char *tail,
		  bool logs, struct error *err)
{
	struct vercel *v = vercel_of(c->sb->host);
	char *path = vercel_session(c->sb, tail);
	int rc;

	ask->path = path;
	ask->what = "running the command";
	ask->data = on_data;
	ask->arg = &c->lines;
	ask->timeout_ms = c->wait_ms + SLACK_MS;
	rc = rest_call(&v->api, ask, &c->res, c->stop, err);
	if (rc == 0)
		rc = vercel_lines_end(&c->lines, logs, err);
	if (rc < 0)
		rc = judge(c, err);
	free(path);
	return rc;
}

/* The v1 API gives no output with the command: its log is asked for. */
static int run_v1(struct call *c, struct rest_ask *ask, struct error *err)
{
	struct vercel *v = vercel_of(c->sb->host);
	struct rest_ask log = { .method = "GET" };
	char *path = vercel_session(c->sb, "/cmd");
	const char *id;
	cJSON *tree = NULL;
	char *tail;
	int rc;

	ask->path = path;
	ask->what = "running the command";
	rc = rest_call(&v->api, ask, &c->res, c->stop, err);
	if (rc < 0)
		rc = judge(c, err);
	else
		tree = json_parse(buf_str(&c->res.body));
	http_response_release(&c->res);
	c->res = (struct http_response){ .retry_after_ms = -1 };
	id = json_string(json_get(tree, "command"), "id", "");
	if (rc == 0 && !vercel_id_ok(id))
		rc = error_set(err, ERR_NETWORK,
			       "unexpected server response: no command id");
	tail = xasprintf("/cmd/%s/logs", id);
	if (rc == 0)
		rc = stream(c, &log, tail, true, err);
	free(tail);
	cJSON_Delete(tree);
	free(path);
	return rc;
}

/* struct supervisor.call: one process, its output to the end. */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	bool v1 = vercel_of(sb->host)->v1;
	struct call c = { .sb = sb,
			  .stop = stop,
			  .wait_ms = wait_ms,
			  .lines = { .out = out },
			  .res = { .retry_after_ms = -1 } };
	struct rest_ask ask = { .method = "POST" };
	struct buf body = BUF_INIT(BODY_MAX);
	int rc;

	vercel_keep(sb, stop);
	buf_adds(&body, "{\"command\":\"sh\",\"args\":[\"-c\",");
	arguments_add(&body, command);
	buf_adds(&body, "],\"cwd\":\"/\",\"env\":{},\"sudo\":false");
	buf_adds(&body, v1 ? "}" : ",\"wait\":true,\"logs\":true}");
	ask.body = buf_str(&body);
	rc = buf_check(&body, "the command", err);
	if (rc == 0)
		rc = v1 ? run_v1(&c, &ask, err)
			: stream(&c, &ask, "/cmd", false, err);
	vercel_lines_release(&c.lines);
	http_response_release(&c.res);
	buf_release(&body);
	return rc;
}

int vercel_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err)
{
	const struct supervisor s = { .call = call,
				      .arg = sb,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX };

	return supervise_execute(sb, req, res, &s, stop, err);
}
