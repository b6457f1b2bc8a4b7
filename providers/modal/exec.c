/* exec.c - a sandbox's own server, the router, and commands through it. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/loopback.h"
#include "net/retry.h"
#include "providers/kit/env_list.h"
#include "providers/kit/jwt.h"
#include "providers/modal/modal.h"
#include "sandbox/supervise/supervise.h"

enum {
	TRIES = 10,
	PAUSE_MS = 10, /* doubled each time */
	TASK_MS = 500, /* between questions for the task */
	TASK_S = 10,   /* for which the server may hold one */
	FRESH_S = 30,  /* a token that lasts as long is not the cause */
	JWT_MAX = 16 << 10,
	PIPE = 1, /* TaskExecStdoutConfig, TaskExecStderrConfig */
	/* All arguments together are at most 64 KiB (the SDKs' limit); what is
	 * longer goes through the input. */
	ARGUMENT_MAX = 60000,
	COMMAND_MAX = 1 << 20,
	ANSWER_MAX = 4 << 20, /* bytes of a job's answer */
};

struct modal_box *modal_box(struct sandbox *sb)
{
	struct modal_box *b = sb->priv;

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		pthread_mutex_init(&b->lock, NULL);
		sb->priv = b;
	}
	return b;
}

static int fail_gone(const struct sandbox *sb, struct error *err)
{
	return error_set(err, ERR_GONE, "the sandbox %s has ended", sb->id);
}

/* The JavaScript SDK 0.11.1 takes no router but https:// and speaks cleartext
 * to it all the same when the control plane is on the same machine. Owned;
 * NULL when that is not so. */
static char *cleartext_url(const struct modal *m, struct str url)
{
	if (!m->local || !str_starts(url, "https://") || !loopback_url(url))
		return NULL;
	return xasprintf("http://%.*s", (int)(url.len - 8), url.ptr + 8);
}

static int set_router(struct sandbox *sb, const char *url, const char *jwt,
		      struct error *err)
{
	const struct modal *m = modal_of(sb->host);
	struct modal_box *b = modal_box(sb);
	struct str base = str_of(url);
	char *clear;

	while (str_ends(base, "/"))
		base.len--;
	if (!loopback_or_https(base) ||
	    (!m->near && !str_starts(base, "https://")))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: the router's "
				 "address is '%.100s'",
				 url);
	if (strlen(jwt) > JWT_MAX || !str_is_visible(str_of(jwt)))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no token for the "
				 "router");
	clear = cleartext_url(m, base);
	pthread_mutex_lock(&b->lock);
	free(b->router);
	free(b->bearer);
	b->router = clear ? clear : xstrndup(base.ptr, base.len);
	b->bearer = xasprintf("authorization: Bearer %s", jwt);
	b->expires = jwt_expires(jwt);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

/* Waits until the sandbox has been given a machine: its task, owned. */
static int find_task(struct sandbox *sb, char **task, const struct stop *stop,
		     struct error *err)
{
	int rc = 0;

	while (rc == 0 && !*task) {
		const struct protobuf_ask ask = {
			"SandboxGetTaskId", "waiting for the sandbox",
			.request = protobuf_texts("sandbox_id", sb->id, NULL),
			.flags = modal_flags(sb->id)
		};
		ProtobufCMessage *answer;
		const Modal__SandboxGetTaskIdResponse *r;

		cJSON_AddNumberToObject(ask.request, "timeout", TASK_S);
		if (modal_ask(modal_of(sb->host), &ask, &answer, stop, err) < 0)
			return -1;
		r = (Modal__SandboxGetTaskIdResponse *)answer;
		if (r->has_task_id_case && modal_id_ok(r->task_id))
			*task = xstrdup(r->task_id);
		else if (!r->has_task_result_case)
			rc = stop_sleep(stop, TASK_MS, err);
		else if (r->task_result && r->task_result->exception[0])
			rc = error_set(err, ERR_GONE, "the sandbox ended: %s",
				       r->task_result->exception);
		else
			rc = fail_gone(sb, err);
		protobuf_free(answer);
	}
	return rc;
}

static int find_router(struct sandbox *sb, const struct stop *stop,
		       struct error *err)
{
	bool second = modal_flags(sb->id) & MODAL_V2;
	const struct protobuf_ask ask = {
		.method = second ? "SandboxGetCommandRouterAccess"
				 : "TaskGetCommandRouterAccess",
		.what = "asking for the sandbox's router",
		.request = second ? protobuf_texts("sandbox_id", sb->id, NULL)
				  : protobuf_texts("task_id",
						   modal_box(sb)->task, NULL),
		.flags = second ? MODAL_TOKEN : 0,
	};
	ProtobufCMessage *answer = NULL;
	const Modal__CommandRouterAccess *access;
	int rc = modal_ask(modal_of(sb->host), &ask, &answer, stop, err);

	if (rc < 0 && (err->grpc_status == GRPC_FAILED_PRECONDITION ||
		       err->grpc_status == GRPC_NOT_FOUND))
		return fail_gone(sb, err);
	if (rc < 0)
		return -1;
	access = (Modal__CommandRouterAccess *)answer;
	rc = set_router(sb, access->url, access->jwt, err);
	protobuf_free(answer);
	return rc;
}

int modal_ensure_router(struct sandbox *sb, bool renew, const struct stop *stop,
			struct error *err)
{
	struct modal_box *b = modal_box(sb);
	char *task = NULL;

	if (!modal_keep_first(&b->lock, &b->task, NULL)) {
		if (find_task(sb, &task, stop, err) < 0)
			return -1;
		(void)modal_keep_first(&b->lock, &b->task, task);
	}
	if (!renew && modal_keep_first(&b->lock, &b->router, NULL))
		return 0;
	return find_router(sb, stop, err);
}

/* One try, with the address and the token as they are now. */
static int route_once(struct sandbox *sb, const struct protobuf_ask *ask,
		      struct protobuf_result *result, const struct stop *stop,
		      struct error *err)
{
	struct modal_box *b = modal_box(sb);
	const char *headers[] = { NULL, NULL };
	struct protobuf_service where = {
		.http = modal_of(sb->host)->http,
		.service = "modal.task_command_router.TaskCommandRouter",
		.methods = &modal__task_command_router__descriptor,
		.headers = headers
	};
	char *base;
	char *bearer;
	int rc;

	pthread_mutex_lock(&b->lock);
	base = xstrdup(b->router);
	bearer = xstrdup(b->bearer);
	pthread_mutex_unlock(&b->lock);
	where.base = base;
	headers[0] = bearer;
	rc = protobuf_call(&where, ask, result, stop, err);
	free(base);
	mem_wipe(bearer);
	return rc;
}

/* The token was refused. A young one may do when tried again, as the SDKs
 * have it; then a new one is asked for. */
static int renew_token(struct sandbox *sb, int attempt, const struct stop *stop,
		       struct error *err)
{
	struct modal_box *b = modal_box(sb);
	bool young;

	pthread_mutex_lock(&b->lock);
	young = b->expires > clock_unix_ms() / 1000 + FRESH_S;
	pthread_mutex_unlock(&b->lock);
	return young && !attempt ? 0 : modal_ensure_router(sb, true, stop, err);
}

/* After the router did not know the task: ERR_GONE when the sandbox has ended;
 * else err stays. */
static int check_ended(struct sandbox *sb, const struct stop *stop,
		       struct error *err)
{
	struct error why = { 0 };
	int state = modal_is_running(modal_of(sb->host), sb->id, 0, stop, &why);

	if (state == 0 || (state < 0 && why.code == ERR_NOT_FOUND))
		return fail_gone(sb, err);
	return 0;
}

/* After a failed try: 1 to try again, 0 when err is the outcome, -1 with a new
 * one. */
static int handle_failure(struct sandbox *sb, const struct protobuf_ask *ask,
			  int attempt, const struct stop *stop,
			  struct error *err)
{
	int code = err->grpc_status;
	struct error why = { 0 };
	int rc = 0;

	if (ask->source || attempt >= TRIES)
		return code == GRPC_NOT_FOUND ? check_ended(sb, stop, err) : 0;
	if (code == GRPC_UNAUTHENTICATED && attempt < 2) {
		rc = renew_token(sb, attempt, stop, &why);
	} else if (code == GRPC_NOT_FOUND || code == GRPC_FAILED_PRECONDITION) {
		return check_ended(sb, stop, err);
	} else if (!modal_is_passing(err)) {
		return 0;
	} else {
		/* After some failures the sandbox itself is asked for. */
		if (attempt == TRIES / 2)
			rc = check_ended(sb, stop, &why);
		if (rc == 0)
			rc = stop_sleep(stop, (int64_t)PAUSE_MS << attempt,
					&why);
	}
	if (rc == 0)
		return 1;
	*err = why;
	return -1;
}

int modal_route(struct sandbox *sb, const struct protobuf_ask *ask,
		ProtobufCMessage **answer, const struct stop *stop,
		struct error *err)
{
	struct protobuf_result result = { 0 };
	int rc = modal_ensure_router(sb, false, stop, err);

	if (answer)
		*answer = NULL;
	for (int attempt = 0; rc == 0; attempt++) {
		struct error why = { 0 };
		int next;

		rc = route_once(sb, ask, &result, stop, &why);
		if (rc == 0)
			break;
		if (result.outcome.replies)
			attempt = 0;
		next = handle_failure(sb, ask, attempt, stop, &why);
		rc = next > 0 ? 0 : -1;
		if (rc < 0)
			*err = why;
		if (next == 0)
			error_wrap(err, "%s", ask->what);
	}
	cJSON_Delete(ask->request);
	grpc_outcome_release(&result.outcome);
	protobuf_give(result.answer, answer);
	return rc;
}

cJSON *modal_process(const struct modal_exec *x)
{
	return protobuf_texts("task_id", x->task, "exec_id", x->id, NULL);
}

/* The process's id makes a repeated start the same one. */
int modal_start(struct modal_exec *x, struct sandbox *sb,
		const char *const *argv, bool errors, const struct stop *stop,
		struct error *err)
{
	struct protobuf_ask ask = { .method = "TaskExecStart",
				    .what = "starting the command" };
	int n = 0;

	if (modal_ensure_router(sb, false, stop, err) < 0)
		return -1;
	*x = (struct modal_exec){ .sb = sb, .task = modal_box(sb)->task };
	ids_uuid4(x->id);
	while (argv[n])
		n++;
	ask.request = modal_process(x);
	cJSON_AddItemToObject(ask.request, "command_args",
			      cJSON_CreateStringArray(argv, n));
	cJSON_AddNumberToObject(ask.request, "stdout_config", PIPE);
	cJSON_AddNumberToObject(ask.request, "stderr_config",
				errors ? PIPE : 0);
	return modal_route(sb, &ask, NULL, stop, err);
}

struct output_reader {
	cJSON *offset; /* of the request */
	int (*data)(void *arg, struct str chunk, struct error *err);
	void *arg;
};

/* A repeated request begins where this one has come to. */
static int on_stdio(void *arg, const ProtobufCMessage *message,
		    struct error *err)
{
	struct output_reader *r = arg;
	const ProtobufCBinaryData *data =
		&((Modal__TaskExecStdioReadResponse *)message)->data;

	cJSON_SetNumberHelper(r->offset,
			      r->offset->valuedouble + (double)data->len);
	return r->data(r->arg, (struct str){ (char *)data->data, data->len },
		       err);
}

int modal_read(struct modal_exec *x, int stream,
	       int (*data)(void *arg, struct str chunk, struct error *err),
	       void *arg, const struct stop *stop, struct error *err)
{
	cJSON *request = modal_process(x);
	struct output_reader r = { .offset = cJSON_AddNumberToObject(
					   request, "offset", 0),
				   .data = data,
				   .arg = arg };
	const struct protobuf_ask ask = { .method = "TaskExecStdioRead",
					  .what = "reading the output",
					  .request = request,
					  .each = on_stdio,
					  .arg = &r };

	cJSON_AddNumberToObject(request, "file_descriptor", stream);
	return modal_route(x->sb, &ask, NULL, stop, err);
}

int modal_wait(struct modal_exec *x, int *status, const struct stop *stop,
	       struct error *err)
{
	const struct protobuf_ask ask = { "TaskExecWait",
					  "waiting for the command",
					  .request = modal_process(x) };
	ProtobufCMessage *answer;
	const Modal__TaskExecWaitResponse *end;

	if (modal_route(x->sb, &ask, &answer, stop, err) < 0)
		return -1;
	end = (Modal__TaskExecWaitResponse *)answer;
	*status = -1;
	if (end->exit_status_case ==
	    MODAL__TASK_EXEC_WAIT_RESPONSE__EXIT_STATUS_CODE)
		*status = end->code;
	else if (end->exit_status_case ==
		 MODAL__TASK_EXEC_WAIT_RESPONSE__EXIT_STATUS_SIGNAL)
		*status = 128 + end->signal;
	protobuf_free(answer);
	return 0;
}

static int on_output(void *arg, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	buf_addstr(out, chunk);
	if (!out->over)
		return 0;
	return error_set(err, ERR_PROTOCOL,
			 "unexpected server response: longer than requested");
}

/* struct supervisor.call: two calls, start and read to the end; three when
 * the command is long. Our script is printable and holds no NUL. */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	bool large = command.len > ARGUMENT_MAX;
	char *text = xstrndup(command.ptr, command.len);
	const char *argv[] = { "/bin/sh", "-c",
			       large ? "eval \"$(cat)\"" : text, NULL };
	struct transfer file = { .size = (int64_t)command.len };
	struct file_source in = { .file = &file,
				  .is_held = true,
				  .held = { .ptr = text } };
	struct modal_exec x;
	int rc = modal_start(&x, arg, argv, false, stop, err);

	(void)wait_ms;
	if (rc == 0 && large)
		rc = modal_write(&x, &in, stop, err);
	if (rc == 0)
		rc = modal_read(&x, 0, on_output, out, stop, err);
	free(text);
	/* The supervisor asks again after all that may pass. */
	if (rc < 0 && err->code == ERR_REMOTE &&
	    (!err->grpc_status || retry_is_transient(err)))
		err->code = ERR_NETWORK;
	return rc;
}

int modal_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err)
{
	const struct supervisor s = { .call = call,
				      .arg = sb,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX };
	const struct modal_box *b = modal_box(sb);
	const char **env = env_list_join(b->env, b->n_env, req->env);
	struct exec_request own = *req;
	int rc;

	own.env = env;
	rc = supervise_execute(sb, &own, res, &s, stop, err);
	free(env);
	return rc;
}
