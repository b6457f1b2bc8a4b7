/* link.c - the WebSocket to a Deno sandbox, opened again when it ends. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/deno/deno.h"

enum {
	OPEN_MS = 60000,
	PING_MS = 15000, /* the protocol's own, besides the SDK's text */
	PONG_MS = 30000,
	LOOK_MS = 20, /* whether another thread has connected */
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

/* What a refusal means to those who may ask again. */
static void judge(const struct http_response *answer, struct error *err)
{
	int status = answer->status;

	if (status == 404 || status == 410)
		err->code = status == 410 ? ERR_GONE : ERR_NOT_FOUND;
	else if (status == 408 || status == 425 || status == 429 ||
		 status >= 500)
		err->code = ERR_NETWORK;
	deno_advise(err);
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
		judge(&answer, err);
	else
		rc = deno_rpc_adopt(deno_box(sb)->rpc, ws, err);
	http_response_release(&answer);
	free(url);
	return rc;
}

static int join(struct sandbox *sb, const struct stop *stop, struct error *err)
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
static int connect_surely(struct sandbox *sb, const struct stop *stop,
			  struct error *err)
{
	struct deno_box *b = deno_box(sb);
	int rc = 0;

	if (deno_rpc_alive(b->rpc))
		return 0;
	while (pthread_mutex_trylock(&b->dial) != 0)
		if (stop_sleep(stop, LOOK_MS, err) < 0)
			return -1;
	if (!deno_rpc_alive(b->rpc))
		rc = join(sb, stop, err);
	pthread_mutex_unlock(&b->dial);
	return rc;
}

int deno_call(struct sandbox *sb, struct deno_call *c, const char *what,
	      const struct stop *stop, struct error *err)
{
	int rc = connect_surely(sb, stop, err);

	if (rc == 0)
		rc = deno_rpc_call(deno_box(sb)->rpc, c, stop, err);
	else
		c->ok = NULL;
	if (rc < 0 && err->code != ERR_CANCELLED && err->code != ERR_GONE)
		error_wrap(err, "%s", what);
	return rc;
}
