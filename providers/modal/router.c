/* router.c - a sandbox's own server: where it is, and calls of it. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/rest.h"
#include "providers/modal/modal.h"

enum {
	TRIES = 10,
	PAUSE_MS = 10, /* doubled each time */
	TASK_MS = 500, /* between questions for the task */
	TASK_S = 10,   /* for which the server may hold one */
	FRESH_S = 30,  /* a token that lasts as long is not the cause */
	JWT_MAX = 16 << 10,
};

static const char service[] = "modal.task_command_router.TaskCommandRouter";

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

static int gone(const struct sandbox *sb, struct error *err)
{
	return error_set(err, ERR_GONE, "the sandbox %s has ended", sb->id);
}

/* The JavaScript SDK 0.11.1 takes no router but https:// and speaks cleartext
 * to it all the same when the control plane is on the same machine. Owned;
 * NULL when that is not so. */
static char *plain_address(const struct modal *m, struct str url)
{
	char *clear;

	if (!m->local || !str_starts(url, "https://"))
		return NULL;
	clear = xasprintf("http://%.*s", (int)(url.len - 8), url.ptr + 8);
	if (rest_url_ok(str_of(clear)))
		return clear;
	free(clear);
	return NULL;
}

int modal_adopt_access(struct sandbox *sb, const char *url, const char *jwt,
		       struct error *err)
{
	const struct modal *m = modal_of(sb->host);
	struct modal_box *b = modal_box(sb);
	struct str base = str_of(url);
	size_t len = strlen(jwt);
	char *clear;

	while (str_ends(base, "/"))
		base.len--;
	if (!rest_url_ok(base) || (!m->near && !str_starts(base, "https://")))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: the router's "
				 "address is '%.100s'",
				 url);
	if (!len || len > JWT_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no token for the "
				 "router");
	for (size_t i = 0; i < len; i++)
		if (jwt[i] <= ' ' || jwt[i] > '~')
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: a token "
					 "with odd characters");
	clear = plain_address(m, base);
	pthread_mutex_lock(&b->lock);
	free(b->router);
	free(b->bearer);
	b->router = clear ? clear : xstrndup(base.ptr, base.len);
	b->bearer = xasprintf("authorization: Bearer %s", jwt);
	b->expires = modal_jwt_expires(jwt);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

/* Until it has been given a machine. */
static int find_task(struct sandbox *sb, char **task, const struct stop *stop,
		     struct error *err)
{
	Modal__SandboxGetTaskIdRequest request =
		MODAL__SANDBOX_GET_TASK_ID_REQUEST__INIT;
	struct modal_ask ask = {
		.method = "SandboxGetTaskId",
		.what = "waiting for the sandbox",
		.request = &request.base,
		.answer = &modal__sandbox_get_task_id_response__descriptor,
		.flags = modal_flags(sb->id),
	};

	request.sandbox_id = sb->id;
	request.has_timeout_case =
		MODAL__SANDBOX_GET_TASK_ID_REQUEST__HAS_TIMEOUT_TIMEOUT;
	request.timeout = TASK_S;
	for (;;) {
		ProtobufCMessage *answer = NULL;
		const Modal__SandboxGetTaskIdResponse *r;
		int rc =
			modal_ask(modal_of(sb->host), &ask, &answer, stop, err);
		bool has;
		bool ended;

		if (rc < 0)
			return -1;
		r = (Modal__SandboxGetTaskIdResponse *)answer;
		has = r->has_task_id_case && modal_id_ok(r->task_id);
		ended = !has && r->has_task_result_case;
		if (has)
			*task = xstrdup(r->task_id);
		else if (ended && r->task_result &&
			 r->task_result->exception[0])
			rc = error_set(err, ERR_GONE, "the sandbox ended: %s",
				       r->task_result->exception);
		else if (ended)
			rc = gone(sb, err);
		modal_free(answer);
		if (has || ended)
			return rc;
		if (stop_sleep(stop, TASK_MS, err) < 0)
			return -1;
	}
}

static int find_router(struct sandbox *sb, const char *task,
		       const struct stop *stop, struct error *err)
{
	Modal__TaskGetCommandRouterAccessRequest v1 =
		MODAL__TASK_GET_COMMAND_ROUTER_ACCESS_REQUEST__INIT;
	Modal__SandboxGetCommandRouterAccessRequest v2 =
		MODAL__SANDBOX_GET_COMMAND_ROUTER_ACCESS_REQUEST__INIT;
	bool second = modal_flags(sb->id) & MODAL_V2;
	ProtobufCMessage *answer = NULL;
	enum grpc_code code = GRPC_NONE;
	struct modal_ask ask = {
		.method = "TaskGetCommandRouterAccess",
		.what = "asking for the sandbox's router",
		.request = &v1.base,
		.answer = &modal__command_router_access__descriptor,
		.code = &code,
	};
	const Modal__CommandRouterAccess *access;
	int rc;

	v1.task_id = (char *)task;
	if (second) {
		v2.sandbox_id = sb->id;
		ask.method = "SandboxGetCommandRouterAccess";
		ask.request = &v2.base;
		ask.flags = MODAL_TOKEN;
	}
	rc = modal_ask(modal_of(sb->host), &ask, &answer, stop, err);
	if (rc < 0 &&
	    (code == GRPC_FAILED_PRECONDITION || code == GRPC_NOT_FOUND)) {
		*err = (struct error){ 0 };
		return gone(sb, err);
	}
	if (rc < 0)
		return -1;
	access = (Modal__CommandRouterAccess *)answer;
	rc = modal_adopt_access(sb, access->url, access->jwt, err);
	modal_free(answer);
	return rc;
}

int modal_access(struct sandbox *sb, bool renew, const struct stop *stop,
		 struct error *err)
{
	struct modal_box *b = modal_box(sb);
	char *task;
	bool known;
	int rc = 0;

	pthread_mutex_lock(&b->lock);
	task = xstrdup(b->task);
	known = b->router != NULL;
	pthread_mutex_unlock(&b->lock);
	if (!task) {
		rc = find_task(sb, &task, stop, err);
		pthread_mutex_lock(&b->lock);
		if (rc == 0 && !b->task)
			b->task = xstrdup(task);
		pthread_mutex_unlock(&b->lock);
	}
	if (rc == 0 && (!known || renew))
		rc = find_router(sb, task, stop, err);
	free(task);
	return rc;
}

/* One try, with the address and the token as they are now. */
static int route_once(struct sandbox *sb, const struct modal_ask *ask,
		      struct modal_result *result, const struct stop *stop,
		      struct error *err)
{
	struct modal_box *b = modal_box(sb);
	char *base;
	char *bearer;
	int rc;

	pthread_mutex_lock(&b->lock);
	base = xstrdup(b->router);
	bearer = xstrdup(b->bearer);
	pthread_mutex_unlock(&b->lock);
	{
		const char *const headers[] = { bearer, NULL };
		struct modal_where where = { .base = base,
					     .service = service,
					     .headers = headers };

		rc = modal_try(modal_of(sb->host), &where, ask, result, stop,
			       err);
	}
	free(base);
	if (bearer)
		explicit_bzero(bearer, strlen(bearer));
	free(bearer);
	return rc;
}

/* The token was refused. A young one may do when tried again, as the SDKs
 * have it; then a new one is asked for. */
static int renew(struct sandbox *sb, int attempt, const struct stop *stop,
		 struct error *err)
{
	struct modal_box *b = modal_box(sb);
	bool young;

	pthread_mutex_lock(&b->lock);
	young = b->expires > clock_unix_ms() / 1000 + FRESH_S;
	pthread_mutex_unlock(&b->lock);
	return young && !attempt ? 0 : modal_access(sb, true, stop, err);
}

/* The router does not know the task: has the sandbox ended? */
static int look(struct sandbox *sb, const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int state = modal_running(modal_of(sb->host), sb->id, 0, stop, &why);

	if (state == 0 || (state < 0 && why.code == ERR_NOT_FOUND))
		return gone(sb, err);
	return 0;
}

/* 1 to try again, 0 when err is the outcome, -1 with a new one. */
static int judge(struct sandbox *sb, const struct modal_ask *ask,
		 enum grpc_code code, int attempt, const struct stop *stop,
		 struct error *err)
{
	struct error why = { 0 };

	if (ask->source || attempt >= TRIES || ask->flags & MODAL_ONE_TRY)
		return code == GRPC_NOT_FOUND ? look(sb, stop, err) : 0;
	if (code == GRPC_UNAUTHENTICATED && attempt < 2) {
		if (renew(sb, attempt, stop, &why) == 0)
			return 1;
		*err = why;
		return -1;
	}
	if (code == GRPC_NOT_FOUND || code == GRPC_FAILED_PRECONDITION)
		return look(sb, stop, err);
	if (!modal_passing(code, err))
		return 0;
	/* After the first failures: is there anybody at all? */
	if (attempt == TRIES / 2 && look(sb, stop, &why) < 0) {
		*err = why;
		return -1;
	}
	if (stop_sleep(stop, (int64_t)PAUSE_MS << attempt, &why) == 0)
		return 1;
	*err = why;
	return -1;
}

int modal_route(struct sandbox *sb, const struct modal_ask *ask,
		ProtobufCMessage **answer, const struct stop *stop,
		struct error *err)
{
	struct modal_result result = { 0 };
	int rc = modal_access(sb, false, stop, err);

	if (answer)
		*answer = NULL;
	if (rc < 0)
		return -1;
	for (int attempt = 0;; attempt++) {
		struct error why = { 0 };
		int next;

		rc = route_once(sb, ask, &result, stop, &why);
		if (rc == 0)
			break;
		if (result.outcome.replies)
			attempt = 0;
		next = judge(sb, ask, result.outcome.code, attempt, stop, &why);
		if (next > 0)
			continue;
		*err = why;
		if (next == 0)
			error_wrap(err, "%s", ask->what);
		break;
	}
	grpc_outcome_release(&result.outcome);
	if (answer)
		*answer = result.answer;
	else
		modal_free(result.answer);
	return rc;
}
