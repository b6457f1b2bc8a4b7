/* rpc.c - calls of Modal's services, repeated as its clients do. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/jwt.h"
#include "providers/modal/modal.h"

enum {
	WISH_MAX_S = 3600,
	CONNECT_MS = 3000, /* when there is another server to go to */
	TRIES = 4,
	THROTTLED_MAX = 100,
	PAUSE_MS = 100, /* doubled each time, at most: */
	PAUSE_MAX_MS = 1000,
	AUTH_MS = 5000,
	AUTH_FOR_S = 1200, /* a token that does not say */
};

static int64_t policy_ms(const Modal__Any *any)
{
	struct str value = { (char *)any->value.data, any->value.len };
	ProtobufCMessage *policy =
		str_ends(str_of(any->type_url), "/modal.client.RPCRetryPolicy")
			? protobuf_unpack(&modal__rpcretry_policy__descriptor,
					  value)
			: NULL;
	float seconds;

	if (!policy)
		return -1;
	seconds = ((Modal__RPCRetryPolicy *)policy)->retry_after_secs;
	protobuf_free(policy);
	if (!(seconds >= 0.1F)) /* also what is no number */
		seconds = 0.1F;
	return seconds > WISH_MAX_S ? WISH_MAX_S * 1000
				    : (int64_t)(seconds * 1000);
}

int64_t modal_retry_wish(struct str details)
{
	ProtobufCMessage *status =
		protobuf_unpack(&modal__rpcstatus__descriptor, details);
	const Modal__RPCStatus *s = (const Modal__RPCStatus *)status;
	int64_t wish = -1;

	for (size_t i = 0; s && wish < 0 && i < s->n_details; i++)
		wish = policy_ms(s->details[i]);
	protobuf_free(status);
	return wish;
}

int modal_answer_id(ProtobufCMessage *answer, const char *field, char **id,
		    struct error *err)
{
	const char *text = protobuf_text(answer, field);
	int rc = 0;

	if (modal_id_ok(text)) {
		free(*id);
		*id = xstrdup(text);
	} else {
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no %s", field);
	}
	protobuf_free(answer);
	return rc;
}

/* Nobody was reached, or nobody any more. */
static bool is_cut(const struct error *why)
{
	return why->code == ERR_NETWORK || why->code == ERR_UNREACHABLE;
}

bool modal_is_passing(const struct error *why)
{
	switch (why->grpc_status) {
	case GRPC_CANCELLED:
	case GRPC_UNKNOWN:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_INTERNAL:
	case GRPC_UNAVAILABLE:
		return why->code != ERR_CANCELLED && why->code != ERR_TIMEOUT;
	default:
		return is_cut(why);
	}
}

struct rpc_tries {
	const char *auth; /* borrowed, or NULL */
	char key[MODAL_UUID];
	int attempt;
	int throttled;
	int64_t waited_ms; /* because a server asked for it */
	int64_t began;     /* clock_ms() */
	int64_t began_at;  /* Unix ms */
	int64_t pause_ms;
	size_t server;
	size_t moves; /* to other servers */
};

/* "x-retry-delay: 1.250", owned. */
static char *seconds_header(const char *name, int64_t ms)
{
	return xasprintf("%s: %lld.%03lld", name, (long long)(ms / 1000),
			 (long long)(ms % 1000));
}

/* The header lines of one try; the caller frees those from *own on. */
static void add_headers(const struct modal *m, const struct rpc_tries *t,
			char **list, size_t *own)
{
	const char *host = strstr(m->servers[t->server], "://") + 3;
	int64_t since = clock_ms() - t->began;
	size_t n = 0;

	list[n++] = (char *)"x-modal-client-type: 9";
	list[n++] = (char *)"x-modal-client-version: 1.0.0";
	list[n++] = (char *)"x-modal-libmodal-version: dcode/" DCODE_VERSION;
	list[n++] = m->id_header;
	list[n++] = m->secret_header;
	*own = n;
	list[n++] =
		xasprintf("x-modal-host: %.*s", (int)strcspn(host, ":/"), host);
	list[n++] = xasprintf("x-idempotency-key: %s", t->key);
	list[n++] = xasprintf("x-retry-attempt: %d", t->attempt);
	list[n++] = xasprintf("x-throttle-retry-attempt: %d", t->throttled);
	list[n++] = seconds_header("x-modal-timestamp", t->began_at);
	if (t->attempt)
		list[n++] = seconds_header("x-retry-delay", since);
	if (t->throttled)
		list[n++] = seconds_header("x-throttle-retry-delay", since);
	if (t->auth)
		list[n++] = xasprintf("x-modal-auth-token: %s", t->auth);
	list[n] = NULL;
}

static int one_try(struct modal *m, const struct protobuf_ask *ask,
		   const struct rpc_tries *t, struct protobuf_result *result,
		   const struct stop *stop, struct error *err)
{
	char *headers[GRPC_HEADERS + 1];
	size_t own = 0;
	struct protobuf_service where = {
		.http = m->http,
		.base = m->servers[t->server],
		.suffix = ask->flags & MODAL_V2 ? "V2" : "",
		.service = "modal.client.ModalClient",
		.methods = &modal__modal_client__descriptor,
		.headers = (const char *const *)headers,
		.connect_ms = m->n_servers > 1 ? CONNECT_MS : 0
	};
	int rc;

	add_headers(m, t, headers, &own);
	rc = protobuf_call(&where, ask, result, stop, err);
	for (; headers[own]; own++)
		mem_wipe(headers[own]);
	return rc;
}

/* Whether a failed call is tried again; waits before that. */
static bool shall_repeat(struct modal *m, struct rpc_tries *t,
			 const struct grpc_outcome *outcome, struct error *why,
			 const struct stop *stop)
{
	int64_t wish = outcome->code > GRPC_OK && outcome->details.len
			       ? modal_retry_wish(buf_str(&outcome->details))
			       : -1;

	/* What no server has seen can go to another one. */
	if (is_cut(why) && !outcome->began && ++t->moves < m->n_servers) {
		t->server = (t->server + 1) % m->n_servers;
		return true;
	}
	if (wish >= 0 && t->throttled < THROTTLED_MAX &&
	    (m->throttle_ms < 0 || t->waited_ms + wish <= m->throttle_ms)) {
		t->throttled++;
		t->waited_ms += wish;
		why->retry_after_ms = wish;
		return retry_sleep(why, 0, stop, why) == 0;
	}
	if (!modal_is_passing(why))
		return false;
	/* Who asked for a sandbox need not ask again (sandbox_create()): the
	 * key that makes the call idempotent is of this one. */
	why->exhausted = t->attempt + 1 >= TRIES;
	if (why->exhausted)
		return false;
	t->attempt++;
	if (retry_sleep(why, t->pause_ms, stop, why) < 0)
		return false;
	t->pause_ms =
		t->pause_ms * 2 < PAUSE_MAX_MS ? t->pause_ms * 2 : PAUSE_MAX_MS;
	return true;
}

static int call(struct modal *m, const struct protobuf_ask *ask,
		const char *auth, ProtobufCMessage **answer,
		const struct stop *stop, struct error *err)
{
	struct rpc_tries t = { .auth = auth,
			       .began = clock_ms(),
			       .began_at = clock_unix_ms(),
			       .server = m->server,
			       .pause_ms = PAUSE_MS };
	struct protobuf_result result = { 0 };
	struct error why;
	int rc;

	ids_uuid4(t.key);
	do {
		why = (struct error){ 0 };
		rc = one_try(m, ask, &t, &result, stop, &why);
	} while (rc < 0 && !ask->each &&
		 shall_repeat(m, &t, &result.outcome, &why, stop));
	if (result.outcome.began)
		m->server = t.server;
	grpc_outcome_release(&result.outcome);
	protobuf_give(result.answer, answer);
	if (rc == 0)
		return 0;
	*err = why;
	if (err->code == ERR_AUTH && !err->hint[0])
		error_hint(err,
			   "Check that the token belongs to this workspace and "
			   "is not revoked: https://modal.com/settings/tokens, "
			   "or run modal setup");
	return error_wrap(err, "%s", ask->what);
}

/* The token for calls about V2 sandboxes, owned; fetched anew when half of its
 * life has passed. */
static int auth_token(struct modal *m, char **token, const struct stop *stop,
		      struct error *err)
{
	struct protobuf_ask ask = { "AuthTokenGet", "fetching a token",
				    .timeout_ms = AUTH_MS };
	ProtobufCMessage *answer = NULL;
	const char *fresh;
	int64_t seconds;

	pthread_mutex_lock(&m->lock);
	*token = clock_ms() < m->auth_until ? xstrdup(m->auth) : NULL;
	pthread_mutex_unlock(&m->lock);
	if (*token)
		return 0;
	if (call(m, &ask, NULL, &answer, stop, err) < 0)
		return -1;
	fresh = ((Modal__AuthTokenGetResponse *)answer)->token;
	seconds = jwt_expires(fresh) - clock_unix_ms() / 1000;
	if (seconds <= 0 || seconds > MODAL_LIFETIME_S)
		seconds = AUTH_FOR_S;
	*token = xstrdup(fresh);
	pthread_mutex_lock(&m->lock);
	free(m->auth);
	m->auth = xstrdup(fresh);
	m->auth_until = clock_ms() + seconds * 500;
	pthread_mutex_unlock(&m->lock);
	protobuf_free(answer);
	return 0;
}

int modal_ask(struct modal *m, const struct protobuf_ask *ask,
	      ProtobufCMessage **answer, const struct stop *stop,
	      struct error *err)
{
	char *token = NULL;
	int rc;

	if (answer)
		*answer = NULL;
	rc = ask->flags & MODAL_TOKEN ? auth_token(m, &token, stop, err) : 0;
	if (rc == 0)
		rc = call(m, ask, token, answer, stop, err);
	free(token);
	cJSON_Delete(ask->request);
	return rc;
}

int modal_ask_id(struct modal *m, const struct protobuf_ask *ask,
		 const char *field, char **id, const struct stop *stop,
		 struct error *err)
{
	ProtobufCMessage *answer = NULL;

	if (modal_ask(m, ask, &answer, stop, err) < 0)
		return -1;
	return modal_answer_id(answer, field, id, err);
}
