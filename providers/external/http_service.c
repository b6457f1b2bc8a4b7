/* http_service.c - one request to a described service, and its answer. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "providers/external/http_provider.h"

enum { URL_MAX = 64 << 10, BODY_MAX = 4 << 20, IDLE_MS = 60000 };

struct http_service *http_service_of(const struct sandbox_client *client)
{
	return client->priv;
}

/* The server that an operation is asked of: commands and files go to the
 * sandbox's own, where it has one. */
static const struct rest *server_of(const struct http_call *c)
{
	const struct http_box *box = c->box;
	bool own = c->op == OP_EXECUTE || c->op == OP_READ || c->op == OP_WRITE;

	return own && box && box->rest.base ? &box->rest : &c->service->rest;
}

struct http_call http_service_call(const struct sandbox_client *client,
				   const struct sandbox *sb, enum http_op op)
{
	const struct http_service *t = http_service_of(client);
	struct http_call c = { .service = t,
			       .op = op,
			       .values = { .params = t->p->config.params,
					   .settings = t->settings } };

	c.values.is[VALUE_WORKDIR] = str_of(t->p->made.base.workdir);
	if (sb) {
		c.values.is[VALUE_ID] = str_of(sb->id);
		c.box = sb->priv;
	}
	return c;
}

/* Writes the path and the body into their buffers, and both into c->ask. */
static int compose(const struct http_operation *op, struct http_call *c,
		   struct buf *path, struct buf *body, struct error *err)
{
	struct http_values v = c->values;
	struct buf command = BUF_INIT(BODY_MAX);
	int rc = 0;

	if (op->shell) {
		rc = http_text_expand(&command, op->shell, CONTEXT_SHELL, &v,
				      err);
		if (rc == 0)
			rc = buf_check(&command, "the command", err);
		v.is[VALUE_COMMAND] = buf_str(&command);
	}
	if (rc == 0)
		rc = http_text_path(path, op->path, &v, err);
	if (rc == 0 && op->body && op->body->kind == TOML_STRING) {
		rc = http_text_expand(body, op->body->text, CONTEXT_RAW, &v,
				      err);
		if (rc == 0)
			rc = buf_check(body, "the request", err);
		c->ask.type = op->type ? op->type : "text/plain";
	} else if (rc == 0 && op->body) {
		rc = http_text_body(body, op->body, &v, err);
		c->ask.type = op->type;
	}
	buf_wipe(&command);
	c->ask.path = path->ptr;
	c->ask.body = buf_str(body);
	return rc;
}

int http_call_send(struct http_call *c, struct http_response *res, cJSON **tree,
		   const struct stop *stop, struct error *err)
{
	static const char *const whats[OP_COUNT] = {
		[OP_CREATE] = "creating the sandbox",
		[OP_READY] = "asking for the sandbox",
		[OP_EXECUTE] = "running the command",
		[OP_READ] = "reading the file",
		[OP_WRITE] = "writing the file",
		[OP_DELETE] = "deleting the sandbox",
		[OP_LIST] = "listing the sandboxes",
	};
	const struct http_operation *op = &c->service->p->operations[c->op];
	const struct rest *rest = server_of(c);
	struct buf path = BUF_INIT(URL_MAX);
	struct buf body = BUF_INIT(BODY_MAX);
	int rc = compose(op, c, &path, &body, err);

	c->ask.method = op->method;
	c->ask.what = whats[c->op];
	if (c->ask.source)
		c->ask.type = "application/octet-stream";
	if (c->ask.source || c->ask.data)
		c->ask.idle_ms = IDLE_MS;
	if (!c->ask.timeout_ms)
		c->ask.timeout_ms = op->timeout_s * 1000;
	if (c->op == OP_CREATE && c->service->start_ms)
		c->ask.timeout_ms = c->service->start_ms;
	if (rc < 0)
		error_wrap(err, "%s", c->ask.what);
	else if (res)
		rc = rest_call(rest, &c->ask, res, stop, err);
	else
		rc = rest_json(rest, &c->ask, tree, NULL, stop, err);
	buf_wipe(&path);
	buf_wipe(&body);
	return rc;
}
