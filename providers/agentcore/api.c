/* api.c - signed requests to AgentCore, and calls of a session's tools. */
/* SPDX-License-Identifier: MIT */
/* agentcore_call() signs and sends one request. wait_to_repeat() decides about
 * retries: it gets new credentials when the key has expired, and adjusts the
 * signatures to the server's clock when this machine's clock is wrong.
 * agentcore_invoke() calls a tool of a session, whose answer is an event stream
 * of results. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "aws/sigv4.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/events.h"
#include "net/retry.h"
#include "providers/agentcore/agentcore.h"

enum {
	TRIES = 4,
	ANSWER_MAX = 4 << 20,
	/* AWS accepts signatures whose time is up to 5 minutes off */
	SKEW_S = 300,
	HEADERS = 8,
	/* Constants for tool calls: */
	INVOKE_TRIES = 4,
	BODY_MAX = 64 << 20,
	SLACK_MS = 5000, /* ms added to a call's time limit, for the transfer */
};

/* What is read from an answer's headers. */
struct head {
	struct agentcore_ask *ask;
	int64_t date; /* Unix time in seconds; 0 unknown */
};

static void copy_text(char *out, size_t room, struct str s)
{
	snprintf(out, room, "%.*s", (int)s.len, s.ptr ? s.ptr : "");
}

/* Cuts the error's name out of "ValidationException:http://..." or
 * "x#ValidationException". */
static struct str parse_type(struct str type)
{
	size_t mark = str_find(type, '#');

	type.len = str_find(type, ':');
	if (mark < type.len)
		type = str_skip(type, mark + 1);
	return str_trim(type);
}

static int64_t http_date(struct str value)
{
	char text[64];
	struct tm tm = { 0 };

	copy_text(text, sizeof(text), value);
	if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return 0;
	return timegm(&tm);
}

static void on_header(void *arg, struct str line)
{
	struct head *h = arg;
	size_t colon = str_find(line, ':');
	struct str name = { line.ptr, colon };
	struct str value = str_trim(str_skip(line, colon + 1));

	if (str_is_nocase(name, "x-amzn-errortype"))
		copy_text(h->ask->type, AGENTCORE_TYPE, parse_type(value));
	else if (str_is_nocase(name, "content-type"))
		copy_text(h->ask->content_type, sizeof(h->ask->content_type),
			  value);
	else if (str_is_nocase(name, "date"))
		h->date = http_date(value);
}

static int pass_body(void *arg, struct str chunk, struct error *err)
{
	struct head *h = arg;

	return h->ask->rest.data(h->ask->rest.arg, chunk, err);
}

/* Header lines: those of the request, then those of its signature. */
struct signed_head {
	char *lines[HEADERS];
	size_t n;
};

static void add_header(struct signed_head *s, const char *name,
		       const char *value)
{
	if (value)
		s->lines[s->n++] = xasprintf("%s: %s", name, value);
}

/* Fills s with the request's headers, then with those of the signature. */
static void sign_request(struct agentcore *a, const struct agentcore_ask *ask,
			 const struct aws_credentials *c, struct signed_head *s)
{
	const struct sigv4_key key = { c->id, c->secret };
	char *target = xasprintf("%s%s%s", a->prefix, a->path, ask->rest.path);
	const char *lines[HEADERS + 1] = { NULL };
	struct sigv4_request r = { .method = ask->rest.method,
				   .target = str_of(target),
				   .headers = lines,
				   .body = ask->rest.body,
				   .region = a->region,
				   .service = "bedrock-agentcore" };
	struct buf value = BUF_INIT(16 << 10);
	char when[SIGV4_TIME];

	pthread_mutex_lock(&a->lock);
	r.time = clock_unix_ms() / 1000 + a->skew_s;
	pthread_mutex_unlock(&a->lock);
	sigv4_time(r.time, when);
	add_header(s, "Host", a->host);
	add_header(s, "X-Amz-Date", when);
	add_header(s, "X-Amz-Security-Token", c->token);
	add_header(s, "x-amzn-code-interpreter-session-id", ask->session);
	for (size_t i = 0; i < s->n; i++)
		lines[i] = s->lines[i];
	if (ask->rest.body.len)
		lines[s->n] = "Content-Type: application/json";
	sigv4_authorize(&r, &key, &value);
	add_header(s, "Authorization", value.ptr);
	buf_wipe(&value);
	free(target);
}

/* Reads the error's name from the body. For answers without a header that
 * contains it. */
static void parse_error_name(struct agentcore_ask *ask, struct str body)
{
	cJSON *tree = ask->type[0] ? NULL : json_parse(body);
	const char *type = json_string(tree, "__type", NULL);

	if (!type)
		type = json_string(tree, "code", "");
	if (tree)
		copy_text(ask->type, AGENTCORE_TYPE, parse_type(str_of(type)));
	cJSON_Delete(tree);
}

struct request_tries {
	struct retry retry;
	struct aws_credentials key; /* used for the current try */
	int64_t date;               /* Date header of its answer; 0 unknown */
	bool renewed;
	bool adjusted;
};

/* Signs the request with the current time and sends it once. */
static int send_once(struct agentcore *a, struct agentcore_ask *ask,
		     struct request_tries *t, struct http_response *res,
		     const struct stop *stop, struct error *err)
{
	char *path = xasprintf("%s%s", a->path, ask->rest.path);
	const char *lines[HEADERS + 1] = { NULL };
	struct signed_head s = { .n = 0 };
	struct head head = { .ask = ask };
	struct http_request rest = ask->rest;
	int rc;

	sign_request(a, ask, &t->key, &s);
	for (size_t i = 0; i < s.n; i++)
		lines[i] = s.lines[i];
	rest.path = path;
	rest.headers = lines;
	rest.flags &= ~(unsigned)REST_AGAIN;
	ask->type[0] = '\0';
	ask->content_type[0] = '\0';
	rest.header = on_header;
	rest.data = ask->rest.data ? pass_body : NULL;
	rest.arg = &head;
	ask->tries++;
	rc = rest_call(&a->api, &rest, res, stop, err);
	ask->status = res->status;
	if (rc < 0 && res->status >= 400)
		parse_error_name(ask, buf_str(&res->body));
	t->date = head.date;
	for (size_t i = 0; i < s.n; i++)
		mem_wipe(s.lines[i]);
	free(path);
	return rc;
}

static bool is_type(const struct agentcore_ask *ask, const char *type)
{
	return strcasecmp(ask->type, type) == 0;
}

/* True if the request failed because this machine's clock is wrong. Later
 * signatures then use the time of the server's Date header. */
static bool adjust_clock(struct agentcore *a, const struct agentcore_ask *ask,
			 int64_t date)
{
	int64_t ahead = date - clock_unix_ms() / 1000;
	bool wrong;

	if (ask->status != 403 || !date ||
	    !(is_type(ask, "InvalidSignatureException") ||
	      is_type(ask, "SignatureDoesNotMatch") ||
	      is_type(ask, "RequestExpired") ||
	      is_type(ask, "RequestTimeTooSkewed")))
		return false;
	pthread_mutex_lock(&a->lock);
	wrong = ahead - a->skew_s > SKEW_S || a->skew_s - ahead > SKEW_S;
	if (wrong)
		a->skew_s = ahead;
	pthread_mutex_unlock(&a->lock);
	return wrong;
}

static bool is_expired(const struct agentcore_ask *ask)
{
	return (ask->status == 403 || ask->status == 401 ||
		ask->status == 400) &&
	       (is_type(ask, "ExpiredTokenException") ||
		is_type(ask, "ExpiredToken"));
}

/* True if a failed request should be sent again. In that case it waits
 * first. */
static bool wait_to_repeat(struct agentcore *a, const struct agentcore_ask *ask,
			   struct request_tries *t, const struct stop *stop,
			   struct error *err)
{
	if (!t->renewed && is_expired(ask) && aws_forget(&a->aws, t->key.id)) {
		t->renewed = true;
		return true;
	}
	if (!t->adjusted && adjust_clock(a, ask, t->date)) {
		t->adjusted = true;
		return true;
	}
	if (ask->rest.flags & REST_ONCE ||
	    (!(ask->rest.flags & REST_AGAIN) && ask->status != 429))
		return false;
	return retry_is_transient(err) && retry_after(&t->retry, stop, err);
}

static void add_hint(const struct agentcore_ask *ask, struct error *err)
{
	if (err->code == ERR_AUTH && is_expired(ask))
		error_hint(err, "The AWS key has expired: get a new one (aws "
				"sso login, or new AWS_... variables).");
	else if (err->code == ERR_AUTH && !err->hint[0])
		error_hint(
			err,
			"Check the AWS key: it needs bedrock-agentcore:Start-, "
			"Invoke-, Get-, List- and StopCodeInterpreterSession.");
	if (is_type(ask, "ServiceQuotaExceededException"))
		err->code = ERR_LIMIT;
}

int agentcore_call(struct agentcore *a, struct agentcore_ask *ask, cJSON **tree,
		   const struct stop *stop, struct error *err)
{
	struct http_response res = { .body = BUF_INIT(ANSWER_MAX) };
	struct request_tries t = { .retry = { .max = TRIES } };
	bool more;
	int rc;

	do {
		struct error why = { 0 };

		ask->status = 0;
		t.key = (struct aws_credentials){ 0 };
		more = false;
		rc = aws_get(&a->aws, &t.key, stop, &why);
		if (rc == 0) {
			rc = send_once(a, ask, &t, &res, stop, &why);
			more = rc < 0 && wait_to_repeat(a, ask, &t, stop, &why);
		}
		aws_credentials_release(&t.key);
		if (rc < 0 && !more)
			*err = why;
	} while (more);
	if (rc < 0)
		add_hint(ask, err);
	if (tree)
		*tree = NULL;
	if (rc == 0 && tree && res.body.len) {
		*tree = json_parse(buf_str(&res.body));
		if (!*tree) {
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the answer is not JSON",
				       ask->rest.what);
			err->http_status = ask->status;
		}
	}
	http_response_release(&res);
	return rc;
}

int agentcore_get_session(struct sandbox_client *client, const char *id,
			  cJSON **session, const struct stop *stop,
			  struct error *err)
{
	char *path = xasprintf("/sessions/get?sessionId=%s", id);
	struct agentcore_ask ask = {
		.rest = { .method = "GET",
			  .path = path,
			  .what = "asking for the session",
			  .flags = REST_AGAIN },
	};
	struct error why = { 0 };
	const char *got;
	int rc = agentcore_call(client->priv, &ask, session, stop, &why);

	free(path);
	if (rc < 0 && ask.status == 404)
		return 0;
	if (rc < 0) {
		*err = why;
		return -1;
	}
	got = json_string(*session, "sessionId", "");
	if (strcmp(got, id) == 0)
		return 0;
	error_set(err, ERR_PROTOCOL,
		  "unexpected server response: asked for session %s, got "
		  "%.60s",
		  id, *got ? got : "nothing");
	cJSON_Delete(*session);
	*session = NULL;
	return -1;
}

struct result_stream { /* the answer to one tool call */
	const struct agentcore_invoke *call;
	const struct agentcore_ask *ask;
	struct event_stream events;
	size_t results;
	bool throttled; /* an exception came before any result */
	/* status 404, although the API says that the session is READY */
	bool missing;
};

/* Names of exceptions, as in a header (ValidationException) or in a stream
 * (validationException). */
static const struct {
	const char *name;
	enum err code;
} exceptions[] = {
	{ "accessDeniedException", ERR_AUTH },
	{ "conflictException", ERR_NETWORK },
	{ "internalServerException", ERR_NETWORK },
	{ "resourceNotFoundException", ERR_GONE },
	{ "serviceQuotaExceededException", ERR_LIMIT },
	{ "throttlingException", ERR_NETWORK },
	{ "validationException", ERR_REMOTE },
};

static enum err exception_code(struct str name)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++)
		if (str_is_nocase(name, exceptions[i].name))
			return exceptions[i].code;
	return ERR_REMOTE;
}

/* Fills err from a message of the stream that contains an exception or an
 * error. */
static int parse_exception(struct result_stream *r,
			   const struct event_message *m, struct error *err)
{
	struct str name = m->exception.len ? m->exception : m->code;
	cJSON *tree = json_parse(m->payload);
	struct str text = m->text.len
				  ? m->text
				  : str_of(json_string(tree, "message", ""));

	r->throttled =
		!r->results && str_is_nocase(name, "throttlingException");
	error_set(err, exception_code(name), "%.*s%s%.*s",
		  name.len > 100 ? 100 : (int)name.len,
		  name.len ? name.ptr : "", text.len ? ": " : "",
		  text.len > 300 ? 300 : (int)text.len,
		  text.len ? text.ptr : "");
	cJSON_Delete(tree);
	return -1;
}

/* Handles one message of the event stream: a result, or an exception. */
static int on_message(void *arg, const struct event_message *m,
		      struct error *err)
{
	struct result_stream *r = arg;
	cJSON *tree;
	int rc;

	if (str_is(m->kind, "exception") || str_is(m->kind, "error"))
		return parse_exception(r, m, err);
	if (!str_is(m->kind, "event"))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message of "
				 "unknown kind");
	if (!str_is(m->event, "result"))
		return 0;
	tree = json_parse(m->payload);
	if (cJSON_IsObject(tree)) {
		r->results++;
		rc = r->call->result(r->call->arg, tree, m->payload, err);
	} else {
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: a result that is "
			       "not JSON");
	}
	cJSON_Delete(tree);
	return rc;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct result_stream *r = arg;

	if (strncasecmp(r->ask->content_type,
			"application/vnd.amazon.eventstream", 34) != 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: %.60s instead of "
				 "an event stream",
				 r->ask->content_type);
	return event_stream_feed(&r->events, chunk, on_message, r, err);
}

/* Call after a tool call failed. 0: the session is READY. -1: ERR_GONE, or the
 * error of the request. */
static int check_alive(struct sandbox *sb, const struct stop *stop,
		       struct error *err)
{
	cJSON *session = NULL;
	int rc = agentcore_get_session(sb->client, sb->id, &session, stop, err);

	if (rc == 0 && strcmp(json_string(session, "status", ""), "READY") != 0)
		rc = error_set(err, ERR_GONE, "the session %s has ended",
			       sb->id);
	cJSON_Delete(session);
	return rc;
}

/* Sets err->code after a failure, as the comment of agentcore_invoke() says. */
static void classify_failure(struct sandbox *sb, struct result_stream *r,
			     const struct stop *stop, struct error *err)
{
	int status = r->ask->status;
	struct error why = { 0 };

	if (status == 429 || status == 409 || status >= 500)
		err->code = ERR_NETWORK;
	if (status != 404 && err->code != ERR_GONE)
		return;
	/* A proxy may also answer 404: ask the API about the session. */
	if (check_alive(sb, stop, &why) == 0) {
		r->missing = true;
		err->code = ERR_REMOTE;
	} else {
		*err = why;
	}
}

/* Sends the call once and reads its event stream to the end. */
static int invoke_once(struct sandbox *sb, const struct agentcore_invoke *call,
		       struct str body, struct result_stream *r,
		       const struct stop *stop, struct error *err)
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

	*r = (struct result_stream){ .call = call, .ask = &ask };
	rc = agentcore_call(sb->client->priv, &ask, NULL, stop, err);
	if (rc == 0)
		rc = event_stream_end(&r->events, err);
	if (rc == 0 && !r->results)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: a stream without a "
			       "result");
	event_stream_release(&r->events);
	if (rc < 0)
		classify_failure(sb, r, stop, err);
	return rc;
}

int agentcore_invoke(struct sandbox *sb, const struct agentcore_invoke *call,
		     const struct stop *stop, struct error *err)
{
	struct buf body = BUF_INIT(BODY_MAX);
	int rc;

	buf_addc(&body, '{');
	json_member(&body, "name", str_of(call->tool));
	buf_adds(&body, ",\"arguments\":{");
	if (call->items.len)
		buf_addf(&body, "\"%s\":[", call->key);
	else
		json_member(&body, call->key, call->text);
	buf_addstr(&body, call->items);
	buf_adds(&body, call->items.len ? "]}}" : "}}");
	rc = buf_check(&body, "the request", err);
	for (int i = 1; rc == 0; i++) {
		struct result_stream r;
		struct error why = { 0 };

		if (invoke_once(sb, call, buf_str(&body), &r, stop, &why) == 0)
			break;
		/* the tool did not run: throttled before any result, or 404 */
		if ((r.throttled || r.missing) && i < INVOKE_TRIES &&
		    retry_sleep(&why, 250 << i, stop, &why) == 0)
			continue;
		if (r.missing)
			error_add(&why, " (although the session is READY)");
		*err = why;
		rc = -1;
	}
	buf_release(&body);
	return rc;
}

int agentcore_add_output(const cJSON *result, struct buf *out,
			 struct error *err)
{
	const char *text = json_string(json_get(result, "structuredContent"),
				       "stdout", "");
	const cJSON *block;

	buf_adds(out, text);
	if (!*text)
		cJSON_ArrayForEach (block, json_get(result, "content"))
			if (strcmp(json_string(block, "type", ""), "text") == 0)
				buf_adds(out, json_string(block, "text", ""));
	return buf_check(out, "the answer", err);
}

static int on_output(void *arg, const cJSON *result, struct str raw,
		     struct error *err)
{
	(void)raw;
	return agentcore_add_output(result, arg, err);
}

int agentcore_run(struct sandbox *sb, struct str command, int64_t timeout_ms,
		  struct buf *out, const struct stop *stop, struct error *err)
{
	const struct agentcore_invoke call = { .tool = "executeCommand",
					       .key = "command",
					       .text = command,
					       .what = "running the command",
					       .timeout_ms = timeout_ms,
					       .result = on_output,
					       .arg = out };

	return agentcore_invoke(sb, &call, stop, err);
}
