/* invoke.c - one call of a tool, and the stream of its answer. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/event_stream.h"
#include "net/retry.h"
#include "providers/agentcore/agentcore.h"

enum {
	BODY_MAX = 64 << 20,
	SLACK_MS = 5000,
	TRIES = 4,
};

struct reading {
	const struct agentcore_invoke *call;
	const struct agentcore_ask *ask;
	struct event_stream stream;
	size_t results;
	bool throttled; /* an exception said so, and nothing came before it */
	bool missing;   /* 404 of a session that is said to be READY */
	bool failed;    /* err is what an exception or an error frame says */
};

/* Names of exceptions, as in a head (ValidationException) or in a stream
 * (validationException). */
static const struct {
	const char *name;
	enum err code;
} kinds[] = {
	{ "accessDeniedException", ERR_AUTH },
	{ "conflictException", ERR_NETWORK },
	{ "internalServerException", ERR_NETWORK },
	{ "resourceNotFoundException", ERR_GONE },
	{ "serviceQuotaExceededException", ERR_LIMIT },
	{ "throttlingException", ERR_NETWORK },
	{ "validationException", ERR_REMOTE },
};

static enum err code_of(struct str name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (str_is_nocase(name, kinds[i].name))
			return kinds[i].code;
	return ERR_REMOTE;
}

/* What the stream says instead of a result. */
static int refused(struct reading *r, const struct event_message *m,
		   struct error *err)
{
	struct str name = m->exception.len ? m->exception : m->code;
	cJSON *tree = json_parse(m->payload);
	struct str text = m->text.len
				  ? m->text
				  : str_of(json_string(tree, "message", ""));

	r->failed = true;
	r->throttled =
		!r->results && str_is_nocase(name, "throttlingException");
	error_set(err, code_of(name), "%.*s%s%.*s",
		  name.len > 100 ? 100 : (int)name.len,
		  name.len ? name.ptr : "", text.len ? ": " : "",
		  text.len > 300 ? 300 : (int)text.len,
		  text.len ? text.ptr : "");
	cJSON_Delete(tree);
	return -1;
}

static int on_message(void *arg, const struct event_message *m,
		      struct error *err)
{
	struct reading *r = arg;
	cJSON *tree;
	int rc;

	if (str_is(m->kind, "exception") || str_is(m->kind, "error"))
		return refused(r, m, err);
	if (!str_is(m->kind, "event"))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message of no "
				 "kind");
	if (!str_is(m->event, "result"))
		return 0;
	tree = json_parse(m->payload);
	if (!cJSON_IsObject(tree)) {
		cJSON_Delete(tree);
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a result that is "
				 "no JSON");
	}
	r->results++;
	rc = r->call->result
		     ? r->call->result(r->call->arg, tree, m->payload, err)
		     : 0;
	cJSON_Delete(tree);
	return rc;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct reading *r = arg;

	if (strncasecmp(r->ask->content_type,
			"application/vnd.amazon.eventstream", 34) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: %.60s instead of "
				 "an event stream",
				 r->ask->content_type);
	return event_stream_feed(&r->stream, chunk, on_message, r, err);
}

/* What an answer without a stream says, in the same terms. */
static void judge(struct sandbox *sb, struct reading *r,
		  const struct stop *stop, struct error *err)
{
	const struct agentcore_ask *ask = r->ask;
	struct error why = { 0 };

	if (ask->status == 429 || ask->status == 409 || ask->status >= 500)
		err->code = ERR_NETWORK;
	if (ask->status != 404 && err->code != ERR_GONE)
		return;
	/* Only its owner's word counts: a proxy may say 404, too. */
	if (agentcore_alive(sb, stop, &why) == 0) {
		r->missing = true;
		err->code = ERR_REMOTE;
	} else {
		*err = why;
	}
}

static int once(struct sandbox *sb, const struct agentcore_invoke *call,
		struct str body, struct reading *r, const struct stop *stop,
		struct error *err)
{
	struct agentcore_ask ask = {
		.rest = { .method = "POST",
			  .path = "/tools/invoke",
			  .body = body,
			  .what = call->what,
			  .timeout_ms = call->timeout_ms + SLACK_MS,
			  .data = on_data,
			  .arg = r },
		.session = sb->id,
	};
	int rc;

	*r = (struct reading){ .call = call, .ask = &ask };
	rc = agentcore_call(agentcore_of(sb->host), &ask, NULL, stop, err);
	if (rc == 0)
		rc = event_stream_end(&r->stream, err);
	if (rc == 0 && !r->results)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: a stream without a "
			       "result");
	event_stream_release(&r->stream);
	if (rc < 0)
		judge(sb, r, stop, err);
	return rc;
}

int agentcore_invoke(struct sandbox *sb, const struct agentcore_invoke *call,
		     const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	int rc;

	buf_addc(&body, '{');
	json_member(&body, "name", str_of(call->tool));
	buf_adds(&body, ",\"arguments\":");
	buf_addstr(&body, call->arguments);
	buf_addc(&body, '}');
	rc = buf_check(&body, "the request", err);
	for (int i = 1; rc == 0; i++) {
		struct reading r;
		struct error why = { 0 };

		if (once(sb, call, buf_str(&body), &r, stop, &why) == 0)
			break;
		/* Throttled before anything, or not found: it was not
		 * performed. */
		if ((r.throttled || r.missing) && i < TRIES &&
		    retry_sleep(&why, 250 << i, stop, &why) == 0)
			continue;
		if (r.missing)
			error_add(&why, " (though it is said to be READY)");
		*err = why;
		rc = -1;
	}
	buf_release(&body);
	return rc;
}

void agentcore_output(const cJSON *result, struct buf *out)
{
	const char *text = json_string(json_get(result, "structuredContent"),
				       "stdout", NULL);
	const cJSON *block;

	if (text && *text) {
		buf_adds(out, text);
		return;
	}
	cJSON_ArrayForEach (block, json_get(result, "content"))
		if (strcmp(json_string(block, "type", ""), "text") == 0)
			buf_adds(out, json_string(block, "text", ""));
}

static int on_result(void *arg, const cJSON *result, struct str raw,
		     struct error *err)
{
	struct buf *out = arg;

	(void)raw;
	agentcore_output(result, out);
	return buf_check(out, "the answer", err);
}

int agentcore_run(struct sandbox *sb, struct str command, int64_t timeout_ms,
		  struct buf *out, const struct stop *stop, struct error *err)
{
	struct buf arguments = BUF_INIT(BODY_MAX);
	struct agentcore_invoke call = { .tool = "executeCommand",
					 .what = "running the command",
					 .timeout_ms = timeout_ms,
					 .result = on_result,
					 .arg = out };
	int rc;

	buf_addc(&arguments, '{');
	json_member(&arguments, "command", command);
	buf_addc(&arguments, '}');
	call.arguments = buf_str(&arguments);
	rc = buf_check(&arguments, "the command", err);
	if (rc == 0)
		rc = agentcore_invoke(sb, &call, stop, err);
	buf_release(&arguments);
	return rc;
}
