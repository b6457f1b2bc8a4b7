/* stream.c - the three requests of an exec. */
/* SPDX-License-Identifier: MIT */
#include "providers/docker/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/ws_impl.h"

enum {
	HEAD_MAX = 32 << 10, /* bytes of an answer's head or error */
	REFUSAL_MS = 1000,   /* longest wait for the words of a refusal */
};

/* Engines differ in how they refuse a container that does not run, so its
 * state is asked for. */
static bool has_ended(struct engine *e, const char *container,
		      const struct stop *stop)
{
	struct error err = { 0 };
	cJSON *answer = NULL;
	bool ended;

	if (engine_inspect(e, container, &answer, stop, &err) < 0)
		return err.code == ERR_NOT_FOUND;
	ended = !json_bool(json_get(answer, "State"), "Running", true);
	cJSON_Delete(answer);
	return ended;
}

static int refuse_exec(struct engine *e, const char *container,
		       const struct http_response *res, const struct stop *stop,
		       struct error *err)
{
	http_status_error(res, "running a command", err);
	if (has_ended(e, container, stop))
		return error_set(err, ERR_GONE, "the container has ended");
	return -1;
}

int exec_create(struct engine *e, const char *container, struct str body,
		char **id, const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .method = "POST",
				  .path = "/containers/",
				  .id = container,
				  .action = "/exec",
				  .body = body,
				  .what = "running a command" };
	int rc = engine_call(e, &ask, &res, stop, err);
	cJSON *answer = NULL;
	const char *found;

	if (rc == 0 && res.status >= 400) {
		rc = refuse_exec(e, container, &res, stop, err);
	} else if (rc == 0) {
		answer = json_parse(buf_str(&res.body));
		found = json_string(answer, "Id", "");
		if (engine_name_ok(found))
			*id = xstrdup(found);
		else
			rc = error_set(err, ERR_PROTOCOL,
				       "the engine returned no exec id");
	}
	cJSON_Delete(answer);
	http_response_release(&res);
	return rc;
}

static int send_start(struct engine *e, struct conn *c, const char *id,
		      const struct stop *stop, struct error *err)
{
	static const char body[] = "{\"Detach\":false,\"Tty\":false}";
	const char *host = strstr(e->base, "://") + 3;
	char *text = xasprintf("POST /exec/%s/start HTTP/1.1\r\n"
			       "Host: %s\r\n"
			       "User-Agent: dcode\r\n"
			       "Content-Type: application/json\r\n"
			       "Connection: Upgrade\r\n"
			       "Upgrade: tcp\r\n"
			       "Content-Length: %zu\r\n\r\n%s",
			       id, host, sizeof(body) - 1, body);
	int rc = conn_send(c, str_of(text), stop, err);

	free(text);
	return rc;
}

/* Receives some more of the answer. */
static int receive_more(struct conn *c, struct buf *in, const struct stop *stop,
			struct error *err)
{
	char *room = buf_room(in, 4096);
	int64_t n;

	if (!room)
		return error_set(err, ERR_PROTOCOL,
				 "the engine's answer has no end");
	n = conn_recv(c, room, 4096, stop, err);
	if (n == 0)
		return error_set(err, ERR_NETWORK,
				 "the engine closed the connection");
	if (n > 0)
		buf_added(in, (size_t)n);
	return n < 0 ? -1 : 0;
}

/* in: the whole head, and what there is of the body, which says why. */
static int parse_refusal(struct conn *c, int status, struct buf *in,
			 const struct stop *stop, struct error *err)
{
	struct stop brief = stop_within(stop, REFUSAL_MS);
	struct http_response res = { .status = status,
				     .body = BUF_INIT(HEAD_MAX) };
	struct error ignored = { 0 };
	size_t head = ws_head_size(buf_str(in));

	while (!ws_head_body((struct str){ in->ptr, head },
			     str_skip(buf_str(in), head), &res.body) &&
	       receive_more(c, in, &brief, &ignored) == 0)
		buf_clear(&res.body);
	http_status_error(&res, "starting a command", err);
	if (status == 404 || status == 409)
		err->code = ERR_GONE;
	http_response_release(&res);
	return -1;
}

/* The engine, or a proxy in its place, answered with another address. */
static int redirected(int status, struct str head, struct error *err)
{
	struct http_response res = { .status = status, .retry_after_ms = -1 };
	struct str line;

	while (ws_head_line(&head, &line)) {
		struct str name = { line.ptr, str_find(line, ':') };
		struct str value = str_trim(str_skip(line, name.len + 1));

		if (str_is_nocase(name, "location"))
			snprintf(res.location, sizeof(res.location), "%.*s",
				 (int)value.len, value.len ? value.ptr : "");
	}
	return http_status_error(&res, "starting a command", err);
}

int exec_start(struct engine *e, const char *id, struct exec_link *link,
	       const struct stop *stop, struct error *err)
{
	struct conn_target to = { .url = e->base, .unix_socket = e->socket };
	struct buf *rest = &link->rest;
	size_t head;
	int status;

	*link = (struct exec_link){ .rest = BUF_INIT(HEAD_MAX) };
	if (conn_open(&link->conn, e->http, &to, stop, err) < 0)
		return engine_unreachable(e, err);
	link->sent = true;
	if (send_start(e, link->conn, id, stop, err) < 0)
		return -1;
	while (!(head = ws_head_size(buf_str(rest))))
		if (receive_more(link->conn, rest, stop, err) < 0)
			return -1;
	status = ws_head_status(buf_str(rest));
	link->sent = status == 101 || status == 200;
	if (status >= 300 && status < 400)
		return redirected(status, (struct str){ rest->ptr, head }, err);
	if (status >= 400)
		return parse_refusal(link->conn, status, rest, stop, err);
	if (!link->sent)
		return error_set(err, ERR_PROTOCOL,
				 "the engine does not start the command");
	buf_consume(rest, head);
	return 0;
}

void exec_link_release(struct exec_link *link)
{
	conn_close(link->conn);
	buf_release(&link->rest);
	*link = (struct exec_link){ 0 };
}

int exec_inspect(struct engine *e, const char *id, struct exec_state *state,
		 const struct stop *stop, struct error *err)
{
	cJSON *answer = NULL;
	struct engine_ask ask = { .method = "GET",
				  .path = "/exec/",
				  .id = id,
				  .action = "/json",
				  .what = "asking for the exit status" };
	int rc = engine_json(e, &ask, &answer, stop, err);
	const cJSON *code;

	if (rc < 0 && err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE; /* the exec goes with its container */
	if (rc == 0) {
		code = json_get(answer, "ExitCode");
		state->running = json_bool(answer, "Running", false);
		state->exit_code = cJSON_IsNumber(code) ? code->valueint : -1;
		state->pid = json_int(answer, "Pid", 0);
	}
	cJSON_Delete(answer);
	return rc;
}
