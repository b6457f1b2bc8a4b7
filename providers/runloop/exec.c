/* exec.c - commands as supervised jobs over Runloop's executions. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/runloop/runloop.h"
#include "sandbox/supervise/supervise.h"

enum {
	BODY_MAX = 1 << 20,
	COMMAND_MAX = 120000, /* Linux takes 128 KiB in one argument */
	ANSWER_MAX = 1 << 20,
	LAST_LINES = 50000, /* of an answer's output; the API's own is 100 */
	HOLD_MAX_S = 25,    /* the API holds a request no longer */
	SPARE_S = 2,        /* for the shell to start */
	SLACK_MS = 8000,
};

static void add_body(struct buf *body, const char *command_id,
		     struct str command, int hold_s)
{
	buf_addc(body, '{');
	json_member(body, "command_id", str_of(command_id));
	buf_addc(body, ',');
	json_member(body, "command", command);
	buf_addf(body, ",\"optimistic_timeout\":%d}", hold_s);
}

/* Waits on for an execution that was still running. */
static int await(struct sandbox *sb, const char *execution, cJSON **tree,
		 const struct stop *stop, int *code, struct error *err)
{
	char *path = xasprintf("/v1/devboxes/%s/executions/%s/wait_for_status"
			       "?last_n=%d",
			       sb->id, execution, LAST_LINES);
	int left = stop_poll_ms(stop, HOLD_MAX_S * 1000) / 1000;
	char *body = xasprintf("{\"statuses\":[\"completed\"],"
			       "\"timeout_seconds\":%d}",
			       left > 0 ? left : 1);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.body = str_of(body),
				.what = "waiting for the command",
				.timeout_ms = HOLD_MAX_S * 1000 + SLACK_MS };
	int rc = runloop_api(runloop_of(sb->host), &ask, tree, code, stop, err);

	free(body);
	free(path);
	return rc;
}

static bool completed(const cJSON *tree)
{
	return strcmp(json_string(tree, "status", ""), "completed") == 0;
}

static int until_completed(struct sandbox *sb, cJSON **tree, int *code,
			   const struct stop *stop, struct error *err)
{
	char execution[RUNLOOP_ID_MAX + 1] = "";
	int rc = 0;

	while (rc == 0 && !completed(*tree)) {
		struct error why = { 0 };
		const char *id = json_string(*tree, "execution_id", NULL);

		if (stop_check(stop, err) < 0)
			return -1;
		/* An empty answer names none, nor has one before it. */
		if (*tree ? !id || !runloop_id_ok(id) : !execution[0])
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: no "
					 "execution");
		if (id)
			snprintf(execution, sizeof(execution), "%s", id);
		cJSON_Delete(*tree);
		*tree = NULL;
		rc = await(sb, execution, tree, stop, code, &why);
		if (rc < 0 && *code == 408)
			rc = 0;
		else if (rc < 0)
			*err = why;
		else if (!*tree)
			rc = error_set(err, ERR_PROTOCOL,
				       "unexpected server response: (empty)");
	}
	return rc;
}

static int take_output(struct sandbox *sb, const cJSON *tree, struct buf *out,
		       const struct stop *stop, struct error *err)
{
	const char *execution = json_string(tree, "execution_id", "");

	if (strcmp(json_string(tree, "devbox_id", sb->id), sb->id) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: of another "
				 "devbox");
	if (json_bool(tree, "stdout_truncated", false)) {
		if (!runloop_id_ok(execution))
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: no "
					 "execution");
		return runloop_output(sb, execution, out, stop, err);
	}
	buf_adds(out, json_string(tree, "stdout", ""));
	return buf_check(out, "the answer", err);
}

/* Turns what went wrong into what the supervisor does next: ask again
 * (ERR_NETWORK), for less (ERR_PROTOCOL), or give up. */
static int judge(struct sandbox *sb, int code, const struct stop *stop,
		 struct error *err)
{
	struct error why = { 0 };

	if (code == 408 || code == 429 || code >= 500) {
		err->code = ERR_NETWORK;
		return -1;
	}
	if (code != 400 && code != 404 && code != 409)
		return -1;
	if (runloop_revive(sb, stop, &why) == 0 || why.code == ERR_NETWORK ||
	    why.code == ERR_TIMEOUT) {
		err->code = ERR_NETWORK;
		return -1;
	}
	*err = why;
	return -1;
}

/* struct supervisor.call: one execution, its output at the end. */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	int64_t hold = (wait_ms + 999) / 1000 + SPARE_S;
	int hold_s = hold < HOLD_MAX_S ? (int)hold : HOLD_MAX_S;
	char request[64] = "x-request-id: ";
	const char *const headers[] = { request, NULL };
	struct buf body = BUF_INIT(BODY_MAX);
	char *path = xasprintf("/v1/devboxes/%s/execute?last_n=%d", sb->id,
			       LAST_LINES);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "running the command",
				.timeout_ms = hold_s * 1000 + SLACK_MS,
				.headers = headers };
	cJSON *tree = NULL;
	char id[37];
	int code = 0;
	int rc;

	ids_uuid7(id);
	memcpy(request + strlen(request), id, sizeof(id));
	add_body(&body, id, command, hold_s);
	ask.body = buf_str(&body);
	rc = buf_check(&body, "the command", err);
	if (rc == 0)
		rc = runloop_api(runloop_of(sb->host), &ask, &tree, &code, stop,
				 err);
	if (rc == 0)
		rc = until_completed(sb, &tree, &code, stop, err);
	if (rc == 0)
		rc = take_output(sb, tree, out, stop, err);
	else
		rc = judge(sb, code, stop, err);
	cJSON_Delete(tree);
	buf_release(&body);
	free(path);
	return rc;
}

int runloop_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err)
{
	const struct supervisor s = { .call = call,
				      .arg = sb,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX };

	return supervise_execute(sb, req, res, &s, stop, err);
}
