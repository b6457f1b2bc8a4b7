/* http_call.c - one request of a templated provider, and its answer. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/external/http_provider.h"

enum { URL_MAX = 64 << 10, BODY_MAX = 4 << 20, IDLE_MS = 60000 };

struct http_provider_config *http_provider_of(const struct sandbox_client *host)
{
	return host->priv;
}

struct http_provider_values
http_provider_values(const struct sandbox_client *host,
		     const struct sandbox *sb)
{
	const struct http_provider_config *t = http_provider_of(host);
	struct http_provider_values v = {
		.params = t->p->d.params,
		.settings = t->settings,
	};

	v.is[VALUE_WORKDIR] = str_of(t->p->made.base.workdir);
	if (sb)
		v.is[VALUE_ID] = str_of(sb->id);
	return v;
}

static int compose(const struct http_provider_request *q,
		   const struct http_provider_call *c, struct buf *path,
		   struct buf *body, struct error *err)
{
	struct http_provider_values v = c->values;
	struct buf command = BUF_INIT(BODY_MAX);
	int rc = 0;

	if (q->shell) {
		rc = http_provider_expand(&command, q->shell, PLACE_SHELL, &v,
					  err);
		if (rc == 0)
			rc = buf_check(&command, "the command", err);
		v.is[VALUE_COMMAND] = buf_str(&command);
	}
	if (rc == 0)
		rc = http_provider_path(path, q->path, &v, err);
	if (rc == 0 && q->body && !c->source && !c->raw.ptr)
		rc = http_provider_body(body, q->body, &v, err);
	buf_wipe(&command);
	return rc;
}

int http_provider_send(struct http_provider_config *t,
		       struct http_provider_call *c, struct http_response *res,
		       const struct stop *stop, struct error *err)
{
	static const char *const whats[DEEDS] = {
		[DEED_CREATE] = "creating the sandbox",
		[DEED_READY] = "asking for the sandbox",
		[DEED_EXECUTE] = "running the command",
		[DEED_READ] = "reading the file",
		[DEED_WRITE] = "writing the file",
		[DEED_DELETE] = "deleting the sandbox",
		[DEED_LIST] = "listing the sandboxes",
	};
	const struct http_provider_request *q = &t->p->deeds[c->deed];
	bool raw = c->source || c->raw.ptr;
	struct buf path = BUF_INIT(URL_MAX);
	struct buf body = BUF_INIT(BODY_MAX);
	struct rest_ask ask = {
		.method = q->method,
		.what = whats[c->deed],
		.type = raw ? "application/octet-stream" : NULL,
		.flags = c->flags,
		.timeout_ms =
			c->timeout_ms ? c->timeout_ms : q->timeout_s * 1000,
		.idle_ms = c->data || c->source ? IDLE_MS : 0,
		.source = c->source,
		.source_size = c->source_size,
		.data = c->data,
		.arg = c->arg,
	};
	int rc = compose(q, c, &path, &body, err);

	if (rc == 0) {
		ask.path = path.ptr;
		ask.body = raw ? c->raw : buf_str(&body);
		rc = rest_call(&t->rest, &ask, res, stop, err);
		c->status = res->status;
	} else {
		error_wrap(err, "%s", ask.what);
	}
	buf_wipe(&path);
	buf_wipe(&body);
	return rc;
}

int http_provider_ask(struct http_provider_config *t,
		      struct http_provider_call *c, cJSON **tree,
		      const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	int rc = http_provider_send(t, c, &res, stop, err);

	*tree = NULL;
	if (rc == 0 && str_trim(buf_str(&res.body)).len) {
		*tree = json_parse(buf_str(&res.body));
		if (!*tree)
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the answer is no JSON",
				       t->p->made.base.name);
	}
	http_response_release(&res);
	return rc;
}
