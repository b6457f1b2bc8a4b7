/* process_exec.c - commands as supervised jobs over a child's plain execute. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/external/process.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"

enum {
	REQUEST_MAX = 4 << 20,
	ANSWER_MAX = 1 << 20,
	OUTPUT_MAX = 8 << 20,
	PLACE_MAX = 4096, /* bytes of a path */
};

/* Appends what base64 says, or text as it is. */
static int add_output(const cJSON *object, struct buf *out, struct error *err)
{
	const cJSON *text = json_get(object, "text");
	const cJSON *data = json_get(object, "data");
	size_t len = cJSON_IsString(data) ? strlen(data->valuestring) : 0;
	size_t got = 0;
	char *room;

	if (cJSON_IsString(text))
		buf_adds(out, text->valuestring);
	else if (text)
		return error_set(err, ERR_PROTOCOL, "text is no string");
	if (data && !cJSON_IsString(data))
		return error_set(err, ERR_PROTOCOL, "data is no string");
	if (len) {
		room = buf_room(out, len);
		if (!room)
			return error_set(err, ERR_PROTOCOL,
					 "more output than fits");
		if (sodium_base642bin((unsigned char *)room, len,
				      data->valuestring, len, " \r\n", &got,
				      NULL, sodium_base64_VARIANT_ORIGINAL) < 0)
			return error_set(err, ERR_PROTOCOL,
					 "data is no base64");
		buf_added(out, got);
	}
	return buf_check(out, "the output", err);
}

static int on_output(void *arg, const char *method, const cJSON *params,
		     struct error *err)
{
	if (strcmp(method, "output") != 0)
		return 0;
	return add_output(params, arg, err);
}

/* What the supervisor makes of it: it asks again after a cut. */
static int judge(struct provider_process *c, struct error *err)
{
	bool dead;

	if (err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	/* Wrong types are not damage: it would answer the same again. */
	if (err->code == ERR_PROTOCOL)
		err->code = ERR_REMOTE;
	if (err->code != ERR_NETWORK)
		return -1;
	pthread_mutex_lock(&c->lock);
	dead = c->starts >= CHILD_STARTS && c->wire && jsonrpc_broken(c->wire);
	pthread_mutex_unlock(&c->lock);
	if (dead)
		err->code = ERR_REMOTE;
	return -1;
}

/* struct supervisor.call */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	struct provider_process *c = provider_process_of(sb->host);
	int64_t limit = wait_ms + c->p->limits.slack;
	struct buf params = BUF_INIT(REQUEST_MAX);
	struct buf got = BUF_INIT(2 * OUTPUT_MAX);
	struct jsonrpc_ask ask = { .method = "execute",
				   .what = "running the command",
				   .timeout_ms = limit,
				   .notify = on_output,
				   .arg = &got };
	cJSON *result = NULL;
	int rc;

	provider_process_params(&params, sb->id);
	buf_addc(&params, ',');
	json_member(&params, "command", command);
	buf_addf(&params, ",\"timeout_s\":%lld}",
		 (long long)(limit + 999) / 1000);
	ask.params = buf_str(&params);
	rc = buf_check(&params, "the command", err);
	if (rc == 0)
		rc = provider_process_call(c, &ask, &result, stop, err);
	if (rc == 0 && (rc = add_output(result, &got, err)) < 0)
		error_wrap(err, "the provider's answer makes no sense");
	if (rc == 0)
		buf_addstr(out, buf_str(&got));
	else
		rc = judge(c, err);
	cJSON_Delete(result);
	buf_release(&params);
	buf_release(&got);
	return rc;
}

/* "@dcode-at:PATH:@" somewhere in what was printed. */
static char *told_place(struct str text)
{
	static const char head[] = "@dcode-at:";
	size_t at = str_search(text, str_of(head));
	struct str rest = str_skip(text, at + sizeof(head) - 1);
	size_t end = str_search(rest, STR(":@"));

	if (end == rest.len || end < 1 || end > PLACE_MAX || rest.ptr[0] != '/')
		return NULL;
	return xstrndup(rest.ptr, end);
}

void provider_process_settle(struct sandbox *sb, const struct stop *stop)
{
	struct provider_process *c = provider_process_of(sb->host);
	struct buf command = BUF_INIT(REQUEST_MAX);
	struct buf got = BUF_INIT(OUTPUT_MAX);
	struct stop limit = stop_within(stop, c->p->limits.call);
	struct error ignored = { 0 };
	char *place = NULL;

	quote_assign(
		&command, "w",
		str_of(sb->workdir ? sb->workdir : c->p->made.base.workdir));
	buf_adds(&command, "cd \"$w\" 2>/dev/null || "
			   "printf '@dcode-at:%s:@\\n' \"$PWD\"\n");
	if (call(sb, buf_str(&command), c->p->limits.held, &got, &limit,
		 &ignored) == 0)
		place = told_place(buf_str(&got));
	if (place) {
		free(sb->workdir);
		sb->workdir = place;
	}
	buf_release(&command);
	buf_release(&got);
}

static struct supervisor supervisor_of(struct sandbox *sb)
{
	const struct provider_process *c = provider_process_of(sb->host);
	const struct provider_process_limits *l = &c->p->limits;

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

void provider_process_find_held(struct sandbox *sb, const struct stop *stop)
{
	struct provider_process *c = provider_process_of(sb->host);
	struct supervisor s = supervisor_of(sb);

	c->held = supervise_probe(&s, stop);
	if (c->held)
		sb->host->lacks |= SANDBOX_LIVE;
}

int provider_process_execute(struct sandbox *sb, const struct exec_request *req,
			     struct exec_result *res, const struct stop *stop,
			     struct error *err)
{
	const struct supervisor s = supervisor_of(sb);

	return supervise_execute(sb, req, res, &s, stop, err);
}
