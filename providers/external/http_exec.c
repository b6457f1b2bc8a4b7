/* http_exec.c - commands as supervised jobs of a described service. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "providers/external/http_provider.h"
#include "providers/external/json_pointer.h"
#include "sandbox/supervise/supervise.h"

enum {
	COMMAND_MAX = 96 << 10, /* Linux takes 128 KiB in one argument */
	ANSWER_MAX = 1 << 20,
	HELD_MAX = 8 << 20, /* bytes of a held command's output */
	SLACK_MS = 10000,
};

/* Appends the output in an answer of execute. */
static int parse_output(const struct http_operation *op, struct str body,
			struct buf *out, struct error *err)
{
	cJSON *tree = NULL;
	const cJSON *text;
	int rc = 0;

	if (!op->output) {
		buf_addstr(out, body);
		return buf_check(out, "the answer", err);
	}
	tree = json_parse(body);
	text = json_pointer_get(tree, op->output);
	if (!cJSON_IsString(text))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no output of the command at %s",
			       op->output);
	else if (op->exit_code &&
		 !cJSON_IsNumber(json_pointer_get(tree, op->exit_code)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no exit status at %s",
			       op->exit_code);
	else if (!op->base64)
		buf_adds(out, text->valuestring);
	else if (!json_decode_base64(out, str_of(text->valuestring)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the command's output is no base64");
	cJSON_Delete(tree);
	return rc < 0 ? rc : buf_check(out, "the answer", err);
}

/* Gives err the code by which the supervisor asks again: when the service was
 * busy, or its own time limit came. */
static void classify_failure(int status, struct error *err)
{
	if (err->code == ERR_CANCELLED)
		return;
	if (status == 404 || status == 410)
		err->code = ERR_GONE;
	else if (status == 408 || status == 425 || status == 429 ||
		 status >= 500)
		err->code = ERR_NETWORK;
}

/* struct supervisor.call */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	const struct http_service *t = http_service_of(sb->host);
	struct http_call c = http_service_call(sb->host, sb, OP_EXECUTE);
	struct http_response res = {
		.body = BUF_INIT(4 * (t->held ? HELD_MAX : ANSWER_MAX)),
	};
	char seconds[24];
	int rc;

	snprintf(seconds, sizeof(seconds), "%" PRId64,
		 (wait_ms + SLACK_MS / 2 + 999) / 1000);
	c.ask.timeout_ms = wait_ms + SLACK_MS;
	c.values.is[VALUE_COMMAND] = command;
	c.values.is[VALUE_TIMEOUT] = str_of(seconds);
	rc = http_call_send(&c, &res, NULL, stop, err);
	if (rc < 0)
		classify_failure(res.status, err);
	else
		rc = parse_output(&t->p->operations[OP_EXECUTE],
				  buf_str(&res.body), out, err);
	http_response_release(&res);
	return rc;
}

static struct supervisor supervisor_of(struct sandbox *sb)
{
	bool held = http_service_of(sb->host)->held;

	return (struct supervisor){
		.call = call,
		.arg = sb,
		.max_command = COMMAND_MAX,
		.max_answer = held ? HELD_MAX : ANSWER_MAX,
		.held = held,
	};
}

void http_provider_probe_held(struct sandbox *sb, const struct stop *stop)
{
	const struct supervisor s = supervisor_of(sb);
	struct http_service *t = http_service_of(sb->host);

	t->held = supervise_probe(&s, stop);
	if (t->held)
		sb->host->lacks |= SANDBOX_LIVE;
}

int http_provider_execute(struct sandbox *sb, const struct exec_request *req,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	const struct supervisor s = supervisor_of(sb);

	return supervise_execute(sb, req, res, &s, stop, err);
}
