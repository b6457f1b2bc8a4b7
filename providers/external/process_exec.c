/* process_exec.c - commands as supervised jobs over a child's plain execute. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/external/process.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"

enum {
	ANSWER_MAX = 1 << 20,
	OUTPUT_MAX = 8 << 20,
	PATH_LONGEST = 4096, /* bytes */
};

/* Appends the "text" and the base64 "data" of an answer or notification. */
static int add_output(const cJSON *object, struct buf *out, struct error *err)
{
	const cJSON *text = json_get(object, "text");
	const cJSON *data = json_get(object, "data");

	if (text && !cJSON_IsString(text))
		return error_set(err, ERR_PROTOCOL, "text is not a string");
	if (data && !cJSON_IsString(data))
		return error_set(err, ERR_PROTOCOL, "data is not a string");
	if (text)
		buf_adds(out, text->valuestring);
	if (data && !json_decode_base64(out, str_of(data->valuestring)) &&
	    !out->over)
		return error_set(err, ERR_PROTOCOL, "data is not base64");
	return buf_check(out, "the output", err);
}

static int on_output(void *arg, const char *method, const cJSON *params,
		     struct error *err)
{
	if (strcmp(method, "output") != 0)
		return 0;
	return add_output(params, arg, err);
}

/* Gives err the code by which the supervisor asks again, or does not. */
static void classify_failure(struct process_client *c, struct error *err)
{
	bool dead;

	if (err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	/* Wrong types are not damage: it would answer the same again. */
	if (err->code == ERR_PROTOCOL)
		err->code = ERR_REMOTE;
	if (err->code != ERR_NETWORK)
		return;
	pthread_mutex_lock(&c->lock);
	dead = c->starts >= CHILD_STARTS && c->wire && jsonrpc_broken(c->wire);
	pthread_mutex_unlock(&c->lock);
	if (dead)
		err->code = ERR_REMOTE;
}

/* struct supervisor.call */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	struct process_client *c = process_of(sb->client);
	int64_t limit = wait_ms + c->p->limits.slack;
	struct buf params = process_params("sandbox", sb->id);
	struct buf got = BUF_INIT(2 * OUTPUT_MAX);
	struct jsonrpc_ask ask = { .method = "execute",
				   .what = "running the command",
				   .timeout_ms = limit,
				   .notify = on_output,
				   .arg = &got };
	cJSON *result = NULL;
	int rc;

	process_add_param(&params, "command", command);
	buf_addf(&params, ",\"timeout_s\":%lld",
		 (long long)(limit + 999) / 1000);
	rc = process_request(c, &ask, &params, &result, stop, err);
	if (rc == 0 && (rc = add_output(result, &got, err)) < 0)
		error_wrap(err, "the provider sent an invalid answer");
	if (rc == 0)
		buf_addstr(out, buf_str(&got));
	else
		classify_failure(c, err);
	cJSON_Delete(result);
	buf_release(&got);
	return rc;
}

/* The PATH of "@dcode-at:PATH:@" somewhere in text; owned, or NULL. */
static char *parse_workdir(struct str text)
{
	static const char head[] = "@dcode-at:";
	size_t at = str_search(text, str_of(head));
	struct str rest = str_skip(text, at + sizeof(head) - 1);
	size_t end = str_search(rest, STR(":@"));

	if (end == rest.len || end < 1 || end > PATH_LONGEST ||
	    rest.ptr[0] != '/')
		return NULL;
	return xstrndup(rest.ptr, end);
}

void process_resolve_workdir(struct sandbox *sb, const struct stop *stop)
{
	const struct process_provider *p = process_of(sb->client)->p;
	struct buf command = BUF_INIT(1 << 20);
	struct buf got = BUF_INIT(OUTPUT_MAX);
	struct stop limit = stop_within(stop, p->limits.call);
	struct error ignored = { 0 };
	char *dir = NULL;

	quote_assign(&command, "w",
		     str_of(sb->workdir ? sb->workdir : p->made.base.workdir));
	buf_adds(&command, "cd \"$w\" 2>/dev/null || "
			   "printf '@dcode-at:%s:@\\n' \"$PWD\"\n");
	if (call(sb, buf_str(&command), p->limits.held, &got, &limit,
		 &ignored) == 0)
		dir = parse_workdir(buf_str(&got));
	if (dir) {
		free(sb->workdir);
		sb->workdir = dir;
	}
	buf_release(&command);
	buf_release(&got);
}

static struct supervisor supervisor_of(struct sandbox *sb)
{
	const struct process_client *c = process_of(sb->client);
	const struct process_limits *l = &c->p->limits;

	return (struct supervisor){
		.call = call,
		.arg = sb,
		.max_command = c->max_command,
		.max_answer = c->held ? OUTPUT_MAX : ANSWER_MAX,
		.longest_ms = l->held,
		.first_ms = l->held < 5000 ? l->held : 5000,
		.patience_ms = l->patience,
		.held = c->held,
	};
}

void process_probe_held(struct sandbox *sb, const struct stop *stop)
{
	struct process_client *c = process_of(sb->client);
	struct supervisor s = supervisor_of(sb);

	c->held = supervise_probe(&s, stop);
	if (c->held)
		sb->client->lacks |= SANDBOX_LIVE | SANDBOX_LEAVES;
}

int process_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err)
{
	const struct supervisor s = supervisor_of(sb);

	return supervise_execute(sb, req, res, &s, stop, err);
}
