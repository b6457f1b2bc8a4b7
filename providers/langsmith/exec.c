/* exec.c - commands as supervised jobs, over two kinds of requests.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/langsmith/langsmith.h"
#include "sandbox/supervise/supervise.h"

enum {
	BODY_MAX = 1 << 20,
	COMMAND_MAX = 120000, /* an argument; Linux takes 128 KiB */
	ANSWER_MAX = 1 << 20, /* bytes of a job's answer */
	SLACK_MS = 8000,      /* beyond the time that a request is held */
	LONG_MS = 2000,
};

/* Turns what went wrong into what the supervisor does next: ask again
 * (ERR_NETWORK), give up, or ERR_GONE. */
static int judge(struct sandbox *sb, const struct http_response *res,
		 const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int status = res->status;
	bool may_be_gone = status == 400 || status == 404 || status == 409 ||
			   status == 502 || status == 503;

	if (err->code == ERR_CANCELLED ||
	    (err->code == ERR_LIMIT && status != 429))
		return -1;
	if (may_be_gone && langsmith_revive(sb, stop, &why) < 0) {
		if (why.code != ERR_NETWORK && why.code != ERR_TIMEOUT) {
			*err = why;
			return -1;
		}
		err->code = ERR_NETWORK;
		return -1;
	}
	if (may_be_gone || status == 408 || status == 429 || status >= 500)
		err->code = ERR_NETWORK;
	return -1;
}

/* The output out of {"stdout":...,"stderr":...,"exit_code":n}. */
static int take(struct str body, struct buf *out, struct error *err)
{
	cJSON *tree = json_parse(body);
	const char *text = json_string(tree, "stdout", NULL);
	int rc = 0;

	if (!text)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no output");
	else
		buf_adds(out, text);
	cJSON_Delete(tree);
	return rc;
}

struct way { /* struct supervisor.arg */
	struct sandbox *sb;
	bool ws; /* may be tried, once */
	int64_t began;
};

/*
 * Plain request: its output comes at the end. Our script's answers are ASCII,
 * which both ways carry unharmed; a command's own bytes they would not.
 */
static int over_http(struct sandbox *sb, struct str command, int64_t wait_ms,
		     struct buf *out, const struct stop *stop,
		     struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	struct http_response res = { .retry_after_ms = -1 };
	struct rest_ask ask = {
		.method = "POST",
		.path = "/execute",
		.what = "running the command",
		.timeout_ms = wait_ms + SLACK_MS,
	};
	struct rest plane = { 0 };
	int rc;

	buf_addc(&body, '{');
	json_member(&body, "command", command);
	buf_addf(&body, ",\"timeout\":%lld,\"shell\":\"/bin/sh\"}",
		 (long long)(wait_ms + SLACK_MS) / 1000);
	ask.body = buf_str(&body);
	res.body.max = (size_t)4 * ANSWER_MAX;
	rc = buf_check(&body, "the command", err);
	if (rc == 0)
		rc = langsmith_plane(sb, &plane, err);
	if (rc == 0) {
		rc = rest_call(&plane, &ask, &res, stop, err);
		if (rc < 0)
			rc = judge(sb, &res, stop, err);
		else
			rc = take(buf_str(&res.body), out, err);
	}
	rest_release(&plane);
	http_response_release(&res);
	buf_release(&body);
	return rc;
}

static int collect(void *arg, enum exec_stream stream, struct str chunk,
		   struct buf *reply, struct error *err)
{
	struct buf *out = arg;

	(void)reply;
	if (stream == EXEC_STDOUT)
		buf_addstr(out, chunk);
	return buf_check(out, "the command's output", err);
}

static int over_ws(struct sandbox *sb, struct str command, int64_t wait_ms,
		   struct buf *out, const struct stop *stop, struct error *err)
{
	const struct exec_request req = { .command = command,
					  .timeout_ms = wait_ms + SLACK_MS,
					  .output = collect,
					  .arg = out };
	struct exec_result res;
	int rc = langsmith_ws_execute(sb, &req, &res, stop, err);

	if (rc == 0 && res.timed_out)
		return error_set(err, ERR_TIMEOUT, "no answer in time");
	return rc;
}

static bool may_ws(struct sandbox *sb)
{
	struct langsmith_box *b = langsmith_box(sb);
	bool may;

	pthread_mutex_lock(&b->lock);
	may = !b->no_ws;
	pthread_mutex_unlock(&b->lock);
	return may;
}

/*
 * struct supervisor.call. A WebSocket carries one command and costs a
 * connection of its own: what ends quickly uses the one that is warm. Once a
 * job runs long it is followed over a WebSocket, which survives proxies that
 * cut silent requests; where that ends, plain requests go on from there.
 */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct way *way = arg;
	int rc = 1;

	if (way->ws && clock_ms() - way->began >= LONG_MS &&
	    wait_ms >= LONG_MS && may_ws(way->sb)) {
		way->ws = false;
		rc = over_ws(way->sb, command, wait_ms, out, stop, err);
	}
	return rc <= 0 ? rc
		       : over_http(way->sb, command, wait_ms, out, stop, err);
}

int langsmith_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err)
{
	struct way way = { .sb = sb, .ws = true, .began = clock_ms() };
	const struct supervisor s = { .call = call,
				      .arg = &way,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX,
				      .first_ms = LONG_MS };

	if (settings_bool(sb->host->settings, "langsmith", "websocket", &way.ws,
			  err) < 0)
		return -1;
	/* Our own helpers end at once. */
	way.ws = way.ws && !req->plain;
	return supervise_execute(sb, req, res, &s, stop, err);
}
