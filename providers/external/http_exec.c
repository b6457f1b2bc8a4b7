/* http_exec.c - commands as supervised jobs over a templated request. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/external/http_provider.h"
#include "sandbox/supervise/supervise.h"

enum {
	COMMAND_MAX = 96 << 10, /* Linux takes 128 KiB in one argument */
	ANSWER_MAX = 1 << 20,
	HELD_MAX = 8 << 20, /* bytes of a held command's output */
	SLACK_MS = 10000,
};

static int add_base64(struct buf *out, const char *text, struct error *err)
{
	size_t room = strlen(text) / 4 * 3 + 3;
	char *to = buf_room(out, room);
	size_t len = 0;

	if (!to || sodium_base642bin((unsigned char *)to, room, text,
				     strlen(text), "\r\n ", &len, NULL,
				     sodium_base64_VARIANT_ORIGINAL) < 0)
		return error_set(err, ERR_PROTOCOL,
				 "the command's output is no base64");
	buf_added(out, len);
	return 0;
}

/* Where the answer has the output and the exit status. */
static int take(const struct http_provider_request *q, struct str body,
		struct buf *out, struct error *err)
{
	cJSON *tree = NULL;
	const cJSON *text;
	int rc = 0;

	if (!q->output) {
		buf_addstr(out, body);
		return buf_check(out, "the answer", err);
	}
	tree = json_parse(body);
	text = http_provider_point(tree, q->output);
	if (!cJSON_IsString(text))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no output of the command at %s",
			       q->output);
	else if (q->exit_code &&
		 !cJSON_IsNumber(http_provider_point(tree, q->exit_code)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no exit status at %s",
			       q->exit_code);
	else if (q->base64)
		rc = add_base64(out, text->valuestring, err);
	else
		buf_adds(out, text->valuestring);
	cJSON_Delete(tree);
	return rc < 0 ? rc : buf_check(out, "the answer", err);
}

/* A service that is busy, or whose own time limit came, is asked again. */
static void judge(const struct http_provider_call *c, struct error *err)
{
	int status = c->status;

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
	struct http_provider_config *t = http_provider_of(sb->host);
	struct http_provider_call c = {
		.deed = DEED_EXECUTE,
		.values = http_provider_values(sb->host, sb),
		.timeout_ms = wait_ms + SLACK_MS,
	};
	struct http_response res = {
		.body = BUF_INIT(4 * (t->held ? HELD_MAX : ANSWER_MAX)),
	};
	char seconds[24];
	int rc;

	snprintf(seconds, sizeof(seconds), "%" PRId64,
		 (wait_ms + SLACK_MS / 2 + 999) / 1000);
	c.values.is[VALUE_COMMAND] = command;
	c.values.is[VALUE_TIMEOUT] = str_of(seconds);
	rc = http_provider_send(t, &c, &res, stop, err);
	if (rc < 0)
		judge(&c, err);
	else
		rc = take(&t->p->deeds[DEED_EXECUTE], buf_str(&res.body), out,
			  err);
	http_response_release(&res);
	return rc;
}

static struct supervisor supervisor_of(struct sandbox *sb)
{
	bool held = http_provider_of(sb->host)->held;

	return (struct supervisor){
		.call = call,
		.arg = sb,
		.max_command = COMMAND_MAX,
		.max_answer = held ? HELD_MAX : ANSWER_MAX,
		.held = held,
	};
}

void http_provider_find_held(struct sandbox *sb, const struct stop *stop)
{
	const struct supervisor s = supervisor_of(sb);
	struct http_provider_config *t = http_provider_of(sb->host);

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
