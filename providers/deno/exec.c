/* exec.c - the WebSocket to a sandbox, and commands as supervised jobs. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/deno/deno.h"
#include "providers/kit/env_list.h"
#include "providers/kit/lease.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"

/*
 * A stream of output ends with its socket, and nothing repeats what was lost;
 * so the vendor's processes carry only the requests about a job, which lives
 * by itself. One "spawn" is one round trip: its output comes without being
 * asked for, and its end is the answer.
 */
enum {
	PARAMS_MAX = 4 << 20,
	COMMAND_MAX = 120000, /* an argument; Linux takes 128 KiB */
	ANSWER_MAX = 4 << 20, /* bytes of a job's answer */
	EXTEND_MS = 5000,
	EXTEND_PAUSE_MS = 60000,
	PATH_MAX_BYTES = 4096,
	WORKDIR_MS = 60000,
	TRIES = 4,
	PAUSE_MS = 300,
	/* Of the WebSocket. */
	OPEN_MS = 60000,
	PING_MS = 15000, /* the protocol's own, besides the SDK's text */
	PONG_MS = 30000,
	DIAL_MS = 20, /* between looks whether another thread has connected */
	HEADERS = REST_HEADERS + 2,
};

static void on_header(void *arg, struct str line)
{
	char **id = arg;
	size_t colon = str_find(line, ':');
	struct str name = { line.ptr, colon };
	struct str value = str_trim(str_skip(line, colon + 1));

	if (!str_is_nocase(name, "x-deno-sandbox-id") || !value.len)
		return;
	free(*id);
	*id = xstrndup(value.ptr, value.len);
}

/* Gives a refused connection the code that retries go by. */
static void classify_failure(const struct http_response *answer,
			     struct error *err)
{
	int status = answer->status;

	if (status == 404 || status == 410)
		err->code = status == 410 ? ERR_GONE : ERR_NOT_FOUND;
	else if (status == 408 || status == 425 || status == 429 ||
		 status >= 500)
		err->code = ERR_NETWORK;
	deno_add_hint(err);
}

int deno_open_socket(struct sandbox *sb, const struct deno_opening *o,
		     const struct stop *stop, struct error *err)
{
	char *url = xasprintf("%s%s", o->server->base, o->path);
	const char *headers[HEADERS + 1] = { 0 };
	struct http_response answer = { .retry_after_ms = -1 };
	struct ws_request ask = { .url = url,
				  .headers = headers,
				  .message_max = DENO_MESSAGE_MAX,
				  .open_ms = OPEN_MS,
				  .ping_ms = PING_MS,
				  .pong_ms = PONG_MS,
				  .header = on_header,
				  .arg = o->id,
				  .answer = &answer };
	struct ws *ws = NULL;
	size_t n = 0;
	int rc;

	for (; o->server->headers[n]; n++)
		headers[n] = o->server->headers[n];
	headers[n] = o->header;
	rc = ws_open(&ws, sb->host->http, &ask, stop, err);
	if (rc < 0)
		classify_failure(&answer, err);
	else
		rc = deno_rpc_set_socket(deno_box(sb)->rpc, ws, err);
	http_response_release(&answer);
	free(url);
	return rc;
}

static int connect_again(struct sandbox *sb, const struct stop *stop,
			 struct error *err)
{
	char *path = xasprintf("/api/v3/sandbox/%s/connect", sb->id);
	char *id = NULL;
	struct rest server = { 0 };
	struct deno_opening o = { .server = &server, .path = path, .id = &id };
	int rc = deno_server(deno_of(sb->host), sb->id, &server, err);

	if (rc == 0)
		rc = deno_open_socket(sb, &o, stop, err);
	if (rc == 0 && id && strcmp(id, sb->id) != 0) {
		deno_rpc_end(deno_box(sb)->rpc);
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for sandbox "
			       "%s, got %.100s",
			       sb->id, id);
	}
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	if (rc < 0 && err->code == ERR_GONE)
		error_set(err, ERR_GONE, "the sandbox %s has ended", sb->id);
	rest_release(&server);
	free(id);
	free(path);
	return rc;
}

/* One thread connects, the others wait for it. */
static int ensure_connected(struct sandbox *sb, const struct stop *stop,
			    struct error *err)
{
	struct deno_box *b = deno_box(sb);
	int rc = 0;

	if (deno_rpc_alive(b->rpc))
		return 0;
	while (pthread_mutex_trylock(&b->dial) != 0)
		if (stop_sleep(stop, DIAL_MS, err) < 0)
			return -1;
	if (!deno_rpc_alive(b->rpc))
		rc = connect_again(sb, stop, err);
	pthread_mutex_unlock(&b->dial);
	return rc;
}

int deno_call(struct sandbox *sb, struct deno_call *c, const char *what,
	      const struct stop *stop, struct error *err)
{
	int rc = ensure_connected(sb, stop, err);

	if (rc == 0)
		rc = deno_rpc_call(deno_box(sb)->rpc, c, stop, err);
	if (rc < 0 && err->code != ERR_CANCELLED && err->code != ERR_GONE)
		error_wrap(err, "%s", what);
	return rc;
}

static int add_env(struct sandbox *sb, struct buf *out, struct error *err)
{
	cJSON *env = cJSON_CreateObject();
	int rc = env_list_add(deno_of(sb->host)->settings, "deno", "env", env,
			      err);

	if (rc == 0 && env->child) {
		buf_adds(out, ",\"env\":");
		json_print(out, env);
	}
	cJSON_Delete(env);
	return rc;
}

/* sh's output to its end; what it says on its error output goes nowhere. */
static int run(struct sandbox *sb, struct str command, struct buf *out,
	       const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct deno_call c = { .method = "spawn", .out = out };
	int rc;

	buf_adds(&params, "{\"command\":\"/bin/sh\",\"args\":[\"-c\",");
	json_quote(&params, command);
	buf_addc(&params, ']');
	rc = add_env(sb, &params, err);
	buf_adds(&params, ",\"stdout\":\"piped\",\"stderr\":\"null\"}");
	c.params = buf_str(&params);
	if (rc == 0)
		rc = buf_check(&params, "the command", err);
	if (rc == 0)
		rc = deno_call(sb, &c, "running the command", stop, err);
	buf_release(&params);
	return rc;
}

/* Extends the life when half of it has passed. A failure of that is no failure
 * of the command. */
static void extend_when_due(struct sandbox *sb, const struct stop *stop)
{
	struct deno_box *b = deno_box(sb);
	struct stop within = stop_within(stop, EXTEND_MS);
	struct error ignored = { 0 };
	int64_t lifetime;
	bool due;

	pthread_mutex_lock(&b->lock);
	lifetime = b->lifetime_s;
	due = lease_due(b->ends, lifetime, EXTEND_PAUSE_MS, &b->asked);
	pthread_mutex_unlock(&b->lock);
	if (due)
		(void)deno_extend(sb, lifetime, &within, &ignored);
}

/* struct supervisor.call */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;

	(void)wait_ms;
	extend_when_due(sb, stop);
	return run(sb, command, out, stop, err);
}

int deno_execute(struct sandbox *sb, const struct exec_request *req,
		 struct exec_result *res, const struct stop *stop,
		 struct error *err)
{
	const struct supervisor s = { .call = call,
				      .arg = sb,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX };

	return supervise_execute(sb, req, res, &s, stop, err);
}

/* "cwd:/home/sandbox" */
static int parse_workdir(struct sandbox *sb, struct str said, struct error *err)
{
	said = str_trim(said);
	if (!str_starts(said, "cwd:/") || memchr(said.ptr, '\n', said.len))
		return error_set(err, ERR_REMOTE,
				 "the working directory cannot be entered");
	said = str_skip(said, 4);
	free(sb->workdir);
	sb->workdir = xstrndup(said.ptr, said.len);
	return 0;
}

int deno_set_workdir(struct sandbox *sb, const struct stop *stop,
		     struct error *err)
{
	struct stop within = stop_within(stop, WORKDIR_MS);
	struct buf command = BUF_INIT(PATH_MAX_BYTES * 16);
	const char *dir = NULL;
	int rc = settings_directory(deno_of(sb->host)->settings, "deno",
				    "workdir", &dir, err);

	if (rc == 0 && dir) {
		buf_adds(&command, "mkdir -p -- ");
		quote_word(&command, str_of(dir));
		buf_adds(&command, " && cd -- ");
		quote_word(&command, str_of(dir));
		buf_adds(&command, " && ");
	}
	buf_adds(&command, "printf 'cwd:%s' \"$(pwd)\"");
	for (int i = 1; rc == 0; i++) {
		struct buf out = BUF_INIT(PATH_MAX_BYTES);
		struct error why = { 0 };

		rc = run(sb, buf_str(&command), &out, &within, &why);
		if (rc == 0)
			rc = parse_workdir(sb, buf_str(&out), &why);
		buf_release(&out);
		if (rc == 0)
			break;
		if (i < TRIES &&
		    (why.code == ERR_NETWORK || why.code == ERR_PROTOCOL))
			rc = retry_sleep(&why, i * PAUSE_MS, &within, err);
		else
			*err = why;
	}
	buf_release(&command);
	return rc;
}
