/* plane.c - commands and files on a sandbox's data plane. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/files.h"
#include "providers/langsmith/langsmith.h"
#include "sandbox/supervise/supervise.h"

enum {
	BODY_MAX = 1 << 20,
	COMMAND_MAX = 120000, /* an argument; Linux takes 128 KiB */
	ANSWER_MAX = 1 << 20, /* bytes of a job's answer */
	SLACK_MS = 8000,      /* beyond the time that a request is held */
	LONG_MS = 2000,
};

/* The output out of {"stdout":...,"stderr":...,"exit_code":n}. */
static int parse_output(struct str body, struct buf *out, struct error *err)
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

struct ws_job { /* struct supervisor.arg */
	struct sandbox *sb;
	bool try_ws; /* once */
	int64_t began;
};

/*
 * Plain request: its output comes at the end. Our script's answers are ASCII,
 * which both kinds of requests carry unharmed; a command's own bytes they would
 * not.
 */
static int call_http(struct sandbox *sb, struct str command, int64_t wait_ms,
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
	int rc;

	buf_addc(&body, '{');
	json_member(&body, "command", command);
	buf_addf(&body, ",\"timeout\":%lld,\"shell\":\"/bin/sh\"}",
		 (long long)(wait_ms + SLACK_MS) / 1000);
	ask.body = buf_str(&body);
	res.body.max = (size_t)4 * ANSWER_MAX;
	rc = buf_check(&body, "the command", err);
	if (rc == 0) {
		rc = vendor_send(sb, &ask, &res, stop, err);
		rc = rc < 0 ? vendor_exec_failed(sb, res.status, false, stop,
						 err)
			    : parse_output(buf_str(&res.body), out, err);
	}
	http_response_release(&res);
	buf_release(&body);
	return rc;
}

static bool has_ws(struct sandbox *sb)
{
	struct langsmith_box *b = (struct langsmith_box *)vendor_box(sb);
	bool has;

	pthread_mutex_lock(&b->kit.lock);
	has = !b->no_ws;
	pthread_mutex_unlock(&b->kit.lock);
	return has;
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
	struct ws_job *job = arg;
	int rc = 1;

	if (job->try_ws && clock_ms() - job->began >= LONG_MS &&
	    wait_ms >= LONG_MS && has_ws(job->sb)) {
		job->try_ws = false;
		rc = langsmith_ws_call(job->sb, command, wait_ms + SLACK_MS,
				       out, stop, err);
	}
	return rc <= 0 ? rc
		       : call_http(job->sb, command, wait_ms, out, stop, err);
}

int langsmith_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err)
{
	struct ws_job job = { .sb = sb, .try_ws = true, .began = clock_ms() };
	const struct supervisor s = { .call = call,
				      .arg = &job,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX,
				      .first_ms = LONG_MS };

	if (settings_bool(sb->client->settings, "langsmith", "websocket",
			  &job.try_ws, err) < 0)
		return -1;
	/* Our own helpers end at once. */
	job.try_ws = job.try_ws && !req->plain;
	return supervise_execute(sb, req, res, &s, stop, err);
}

static void get(struct sandbox *sb, const char *file, struct file_request *req)
{
	(void)sb;
	buf_adds(&req->path, "/download?path=");
	rest_encode(&req->path, str_of(file));
}

/* The form's name is only shown: the path is in the query. */
static void put(struct sandbox *sb, const char *file, struct file_request *req)
{
	(void)sb;
	buf_adds(&req->path, "/upload?path=");
	rest_encode(&req->path, str_of(file));
	req->file_field = "file";
	req->file_name = "file";
}

static bool says(const struct http_response *res, const char *word)
{
	struct str body = buf_str(&res->body);

	return str_search(body, str_of(word)) < body.len;
}

/* A 404 may still be the file's: then the sandbox is there. */
static enum file_retry classify_failure(const struct http_response *res)
{
	if (res->status == 502 || res->status == 503 ||
	    ((res->status == 400 || res->status == 409) &&
	     says(res, "NotReady")))
		return FILE_RETRY_STARTED;
	if (res->status == 404 && !says(res, "FileNotFound"))
		return FILE_RETRY_UNSURE;
	return FILE_RETRY_NEVER;
}

const struct http_files langsmith_files = {
	.call = vendor_send,
	.get = get,
	.put = put,
	.classify = classify_failure,
	.ensure_running = vendor_ensure_running,
};
