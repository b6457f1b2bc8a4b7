/* exec.c - calls of a session's tools, and commands run by them. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/event_stream.h"
#include "net/retry.h"
#include "providers/agentcore/agentcore.h"
#include "sandbox/supervise/supervise.h"

enum {
	BODY_MAX = 64 << 20,
	SLACK_MS = 5000, /* that an answer may be late */
	TRIES = 4,
	PATH_BYTES = 4096,
	PWD_MS = 30000,
	/* Commands as supervised jobs. */
	COMMAND_MAX = 120000, /* Linux takes 128 KiB in one argument */
	ANSWER_MAX = 4 << 20,
	LONGEST_MS = 30000,
	BRIEF_MS = 10000, /* a follower's executeCommand is held no longer */
	EXEC_SLACK_MS = 8000,
	/* Tasks. */
	TASK_ID_MAX = 128,
	TASK_CALL_MS = 30000,
	TASK_FIRST_MS = 250, /* pause between two polls, 1.5 times longer each
				time */
	TASK_LAST_MS = 2000,
};

struct result_stream { /* the answer to one tool call */
	const struct agentcore_invoke *call;
	const struct agentcore_ask *ask;
	struct event_stream events;
	size_t results;
	bool throttled; /* by an exception before any result */
	bool missing;   /* 404 of a session that is said to be READY */
};

/* Names of exceptions, as in a head (ValidationException) or in a stream
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

/* The stream carries an exception or an error instead of a result. */
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

/* Gives a failure the code that agentcore_invoke() promises. */
static void classify_failure(struct sandbox *sb, struct result_stream *r,
			     const struct stop *stop, struct error *err)
{
	int status = r->ask->status;
	struct error why = { 0 };

	if (status == 429 || status == 409 || status >= 500)
		err->code = ERR_NETWORK;
	if (status != 404 && err->code != ERR_GONE)
		return;
	/* A proxy may say 404, too: ask the API about the session. */
	if (agentcore_check_alive(sb, stop, &why) == 0) {
		r->missing = true;
		err->code = ERR_REMOTE;
	} else {
		*err = why;
	}
}

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
	rc = agentcore_call(agentcore_of(sb->host), &ask, NULL, stop, err);
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
		/* Throttled at once, or not found: it was not performed. */
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

/* Appends a result's standard output, or its text where it has none. */
static int add_output(const cJSON *result, struct buf *out, struct error *err)
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

static int on_result(void *arg, const cJSON *result, struct str raw,
		     struct error *err)
{
	(void)raw;
	return add_output(result, arg, err);
}

int agentcore_run(struct sandbox *sb, struct str command, int64_t timeout_ms,
		  struct buf *out, const struct stop *stop, struct error *err)
{
	const struct agentcore_invoke call = { .tool = "executeCommand",
					       .key = "command",
					       .text = command,
					       .what = "running the command",
					       .timeout_ms = timeout_ms,
					       .result = on_result,
					       .arg = out };

	return agentcore_invoke(sb, &call, stop, err);
}

const char *agentcore_cwd(struct sandbox *sb)
{
	struct agentcore_box *b = sb->priv;
	const char *cwd;

	pthread_mutex_lock(&b->lock);
	cwd = b->cwd;
	pthread_mutex_unlock(&b->lock);
	return cwd;
}

/* Sets the directory from the first line of what "pwd" printed; false when
 * there is none. */
static bool parse_cwd(struct sandbox *sb, struct str text)
{
	struct agentcore_box *b = sb->priv;
	struct str dir = { text.ptr, str_find(text, '\n') };

	if (!str_starts(dir, "/") || dir.len == text.len ||
	    dir.len > PATH_BYTES)
		return false;
	pthread_mutex_lock(&b->lock);
	if (!b->cwd)
		b->cwd = xstrndup(dir.ptr, dir.len);
	pthread_mutex_unlock(&b->lock);
	return true;
}

int agentcore_find_cwd(struct sandbox *sb, const struct stop *stop,
		       struct error *err)
{
	struct buf out = BUF_INIT(PATH_BYTES);
	int rc;

	if (agentcore_cwd(sb))
		return 0;
	rc = agentcore_run(sb, STR("pwd"), PWD_MS, &out, stop, err);
	if (rc == 0 && !parse_cwd(sb, buf_str(&out)))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no directory");
	buf_release(&out);
	return rc;
}

struct agentcore_task { /* a command that is started by one call, polled by
			   others */
	char id[TASK_ID_MAX + 1];
	char status[32];
	struct buf *out; /* NULL for the starting call */
};

static int on_task(void *arg, const cJSON *result, struct str raw,
		   struct error *err)
{
	struct agentcore_task *t = arg;
	const cJSON *content = json_get(result, "structuredContent");

	(void)raw;
	if (!t->id[0])
		snprintf(t->id, sizeof(t->id), "%s",
			 json_string(content, "taskId", ""));
	snprintf(t->status, sizeof(t->status), "%s",
		 json_string(content, "taskStatus", ""));
	return t->out ? add_output(result, t->out, err) : 0;
}

/* Starts the task with a command, or polls it by its id. */
static int call_task(struct sandbox *sb, struct agentcore_task *t,
		     struct str text, const struct stop *stop,
		     struct error *err)
{
	const struct agentcore_invoke call = {
		.tool = t->out ? "getTask" : "startCommandExecution",
		.key = t->out ? "taskId" : "command",
		.text = text,
		.what = "waiting for the command",
		.timeout_ms = TASK_CALL_MS,
		.result = on_task,
		.arg = t
	};

	t->status[0] = '\0';
	return agentcore_invoke(sb, &call, stop, err);
}

/* From now on executeCommand alone is used. */
static int disable_tasks(struct sandbox *sb, struct error *err)
{
	struct agentcore_box *b = sb->priv;

	atomic_store(&b->no_tasks, true);
	return error_set(err, ERR_USAGE, "this provider has no tasks");
}

static bool goes_on(const struct agentcore_task *t)
{
	return strcmp(t->status, "submitted") == 0 ||
	       strcmp(t->status, "working") == 0;
}

/* As agentcore_run(), by a task. ERR_USAGE: tasks do not work here. */
static int run_task(struct sandbox *sb, struct str command, struct buf *out,
		    const struct stop *stop, struct error *err)
{
	struct agentcore_task t = { .out = NULL };
	struct error why = { 0 };
	int64_t pause = TASK_FIRST_MS;
	int rc = call_task(sb, &t, command, stop, &why);

	if (rc < 0 ? why.code == ERR_REMOTE : !t.id[0])
		return disable_tasks(sb, err);
	if (rc < 0) {
		*err = why;
		return -1;
	}
	t.out = out;
	do {
		buf_clear(out);
		if (stop_sleep(stop, pause, err) < 0 ||
		    call_task(sb, &t, str_of(t.id), stop, err) < 0)
			return -1;
		pause = pause * 3 / 2 < TASK_LAST_MS ? pause * 3 / 2
						     : TASK_LAST_MS;
	} while (goes_on(&t));
	if (strcmp(t.status, "completed") != 0 || !out->len)
		return disable_tasks(sb, err);
	return 0;
}

/* The first executeCommand also asks for the interpreter's directory, which
 * the file tools need: output around the answer does no harm. */
static int run_with_pwd(struct sandbox *sb, struct str command, int64_t wait_ms,
			struct buf *out, const struct stop *stop,
			struct error *err)
{
	struct buf both = BUF_INIT(COMMAND_MAX + 16);
	bool known = agentcore_cwd(sb);
	int rc;

	buf_adds(&both, known ? "" : "pwd\n");
	buf_addstr(&both, command);
	rc = agentcore_run(sb, buf_str(&both), wait_ms + EXEC_SLACK_MS, out,
			   stop, err);
	if (rc == 0 && !known)
		(void)parse_cwd(sb, buf_str(out));
	buf_release(&both);
	return rc;
}

struct execution {
	struct sandbox *sb;
	bool silent; /* the last request was held to its end, for nothing */
};

/*
 * struct supervisor.call. The first request is executeCommand: one round trip
 * for a command that ends soon. One that then stays silent is polled as a
 * task, so that no request is open for long.
 */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct execution *x = arg;
	struct agentcore_box *b = x->sb->priv;
	struct error why = { 0 };
	bool silent = x->silent;
	int64_t began = clock_ms();
	int rc;

	x->silent = false;
	if (silent && wait_ms > BRIEF_MS && !atomic_load(&b->no_tasks)) {
		rc = run_task(x->sb, command, out, stop, &why);
		if (rc == 0 || why.code != ERR_USAGE) {
			if (rc < 0)
				*err = why;
			x->silent = rc == 0;
			return rc;
		}
	}
	rc = run_with_pwd(x->sb, command, wait_ms, out, stop, err);
	x->silent = rc == 0 && clock_ms() - began >= wait_ms;
	return rc;
}

int agentcore_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err)
{
	struct execution x = { .sb = sb };
	const struct supervisor s = { .call = call,
				      .arg = &x,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX,
				      .longest_ms = LONGEST_MS };

	return supervise_execute(sb, req, res, &s, stop, err);
}
