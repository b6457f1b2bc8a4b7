/* rpc.c - calls to Modal's two services, and processes in a sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * The parts of the file: a call to the control plane (modal_ask), whose
 * retries, changes of the server and delays are those of Modal's own clients;
 * the router of one sandbox (modal_route), whose address and token come from
 * the control plane; and a process that the router starts, with its output,
 * input and end (modal_start, modal_read, modal_write, modal_wait). Begin with
 * wait_to_repeat() and handle_failure(), which decide what is retried.
 *
 * Requests are JSON objects whose members have the names of the message's
 * fields (protobuf_build). The memory for an unpacked answer is limited,
 * because an empty message in a list takes two bytes on the wire but a hundred
 * in memory. Begin with protobuf_call().
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/grpc.h"
#include "net/resolve.h"
#include "net/retry.h"
#include "providers/kit/rest.h"
#include "providers/modal/modal.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

enum {
	/* Constants for the control plane: */
	WISH_MAX_S = 3600,
	CONNECT_MS = 3000, /* if another server can be tried */
	TRIES = 4,
	THROTTLED_MAX = 100,
	/* first pause; each is twice as long as the one before */
	PAUSE_MS = 100,
	PAUSE_MAX_MS = 1000,
	AUTH_MS = 5000,
	/* seconds that a token is used if it does not say when it ends */
	AUTH_FOR_S = 1200,
	/* Constants for the router: */
	ROUTE_TRIES = 10,
	/* first pause; each is twice as long as the one before */
	ROUTE_PAUSE_MS = 10,
	TASK_MS = 500, /* pause between requests for the task */
	TASK_S = 10,   /* longest time that the server may delay an answer */
	/* seconds; if a token is valid for longer, the router did not refuse it
	 * because of its age */
	FRESH_S = 30,
	JWT_MAX = 16 << 10,
	PIPE = 1, /* a value of TaskExecStdoutConfig and TaskExecStderrConfig */
	/* Constants for a process's input: */
	CHUNK = 64 << 10, /* bytes of input in one message */
	/* bytes of sent input that are stored, because they may have to be sent
	 * again */
	WINDOW = 4 << 20,
	FRAME_MAX = 256 << 10,
	LONG_MS = 24 * 3600 * 1000,
	/* times that the input is resumed without progress in between */
	RESUMES = 9,
	RESUME_MS = 100,
};

/* Protobuf messages from JSON objects, and gRPC calls with them. */

enum {
	MEMORY_MIN = 8 << 20,
	MEMORY_FACTOR = 8,
	REQUEST_MAX = 8 << 20,
	ANSWER_MAX = 4 << 20,  /* bytes of an answer that is a single message */
	STREAM_MAX = 32 << 20, /* bytes of one message of a stream */
	CALL_MS = 60000,
};

/* Allocator for protobuf-c that fails if a message needs too much memory. */
struct budget {
	size_t left;
};

static void *allocate_block(void *arg, size_t size)
{
	struct budget *b = arg;

	if (size > b->left)
		return NULL;
	b->left -= size;
	return xcalloc(1, size ? size : 1);
}

static void free_block(void *arg, void *ptr)
{
	(void)arg;
	free(ptr);
}

ProtobufCMessage *protobuf_unpack(const ProtobufCMessageDescriptor *type,
				  struct str bytes)
{
	struct budget budget = { .left = MEMORY_MIN +
					 bytes.len * MEMORY_FACTOR };
	ProtobufCAllocator own = { .alloc = allocate_block,
				   .free = free_block,
				   .allocator_data = &budget };

	return protobuf_c_message_unpack(type, &own, bytes.len,
					 (const uint8_t *)bytes.ptr);
}

void protobuf_free(ProtobufCMessage *message)
{
	ProtobufCAllocator own = { .alloc = allocate_block,
				   .free = free_block };

	if (message)
		protobuf_c_message_free_unpacked(message, &own);
}

void protobuf_pack(const ProtobufCMessage *message, struct buf *out)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	char *room = buf_room(out, len);

	if (room)
		buf_added(out,
			  protobuf_c_message_pack(message, (uint8_t *)room));
}

/* Sets the field at this address: a number, a string, or the message that an
 * object describes. */
static void set_value(const ProtobufCFieldDescriptor *f, void *at,
		      const cJSON *value)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		*(char **)at = xstrdup(value->valuestring);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		*(ProtobufCMessage **)at = protobuf_build(f->descriptor, value);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		*(float *)at = (float)value->valuedouble;
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)at = value->valuedouble;
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
		*(int64_t *)at = (int64_t)value->valuedouble;
		break;
	default:
		*(uint32_t *)at = (uint32_t)(int64_t)value->valuedouble;
	}
}

/* Sets a field that is a list of strings or messages. */
static void set_list(const ProtobufCFieldDescriptor *f,
		     ProtobufCMessage *message, const cJSON *list)
{
	size_t *n = (size_t *)((char *)message + f->quantifier_offset);
	void **items =
		xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*items));
	const cJSON *item;

	*(void ***)((char *)message + f->offset) = items;
	cJSON_ArrayForEach (item, list)
		set_value(f, &items[(*n)++], item);
}

ProtobufCMessage *protobuf_build(const ProtobufCMessageDescriptor *type,
				 const cJSON *object)
{
	ProtobufCMessage *message = xcalloc(1, type->sizeof_message);
	const cJSON *member;

	type->message_init(message);
	cJSON_ArrayForEach (member, object) {
		const ProtobufCFieldDescriptor *f =
			protobuf_c_message_descriptor_get_field_by_name(
				type, member->string);

		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			set_list(f, message, member);
			continue;
		}
		set_value(f, (char *)message + f->offset, member);
		if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
			*(uint32_t *)((char *)message + f->quantifier_offset) =
				f->id;
	}
	return message;
}

/* Returns the string in the field of this name. The message's type must have
 * it. */
static const char *protobuf_text(const ProtobufCMessage *message,
				 const char *field)
{
	const ProtobufCFieldDescriptor *f =
		protobuf_c_message_descriptor_get_field_by_name(
			message->descriptor, field);

	return *(char *const *)((const char *)message + f->offset);
}

cJSON *protobuf_texts(const char *name, ...)
{
	cJSON *object = cJSON_CreateObject();
	va_list ap;

	va_start(ap, name);
	for (; name; name = va_arg(ap, const char *))
		cJSON_AddStringToObject(object, name, va_arg(ap, const char *));
	va_end(ap);
	return object;
}

/* Appends a message in the form that a source must supply: its length prefix,
 * then the packed message. */
static void protobuf_envelope(const ProtobufCMessage *message, struct buf *out)
{
	envelope_head(out, protobuf_c_message_get_packed_size(message));
	protobuf_pack(message, out);
}

struct stream_relay { /* passes the messages of one call to the caller */
	const struct protobuf_ask *ask;
	const ProtobufCMessageDescriptor *type; /* type of the answer */
	struct protobuf_result *result;
};

static int on_message(void *arg, struct str bytes, struct error *err)
{
	const struct stream_relay *r = arg;
	ProtobufCMessage *message = protobuf_unpack(r->type, bytes);
	int rc = 0;

	if (message && !r->ask->each && !r->result->answer) {
		r->result->answer = message;
		return 0;
	}
	if (message && r->ask->each)
		rc = r->ask->each(r->ask->arg, message, err);
	else
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: %s %s",
			       message ? "two of" : "no", r->type->short_name);
	protobuf_free(message);
	return rc;
}

static int64_t on_grpc_source(void *arg, char *room, size_t len,
			      struct error *err)
{
	const struct stream_relay *r = arg;

	return r->ask->source(r->ask->arg, room, len, err);
}

/* Sends the call once. The caller still owns the request, and releases the
 * result's outcome and answer (protobuf_free()). */
static int protobuf_call(const struct protobuf_service *where,
			 const struct protobuf_ask *ask,
			 struct protobuf_result *result,
			 const struct stop *stop, struct error *err)
{
	const ProtobufCMethodDescriptor *method =
		protobuf_c_service_descriptor_get_method_by_name(where->methods,
								 ask->method);
	struct stream_relay relay = { ask, method->output, result };
	struct buf body = BUF_INIT(REQUEST_MAX);
	char *path = xasprintf("/%s/%s%s", where->service, ask->method,
			       where->suffix ? where->suffix : "");
	struct grpc_call call = {
		.base = where->base,
		.path = path,
		.headers = where->headers,
		.source = ask->source ? on_grpc_source : NULL,
		.source_size = ask->source_size,
		.reply = on_message,
		.arg = &relay,
		.timeout_ms = ask->timeout_ms ? ask->timeout_ms : CALL_MS,
		.connect_ms = where->connect_ms,
		.largest = ask->each ? STREAM_MAX : ANSWER_MAX,
	};
	int rc;

	if (ask->request) {
		ProtobufCMessage *request =
			protobuf_build(method->input, ask->request);

		protobuf_pack(request, &body);
		protobuf_free(request);
	}
	call.message = buf_str(&body);
	rc = buf_check(&body, "the request", err);
	if (rc == 0)
		rc = grpc_do(where->http, &call, &result->outcome, stop, err);
	if (rc == 0 && !ask->each && !result->answer)
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no answer");
	if (rc < 0) {
		protobuf_free(result->answer);
		result->answer = NULL;
	}
	buf_wipe(&body);
	free(path);
	return rc;
}

bool modal_id_ok(const char *id)
{
	size_t len = strlen(id);

	return len > 3 && len <= MODAL_ID_MAX &&
	       strspn(id, LETTERS DIGITS "-_") == len;
}

/* Returns the flags for V1 if the id is "sb-" followed by exactly 22 letters
 * and digits, else those for V2. */
unsigned modal_flags(const char *id)
{
	if (strncmp(id, "sb-", 3) == 0 && strlen(id) == 25 &&
	    strspn(id + 3, LETTERS DIGITS) == 22)
		return 0;
	return MODAL_V2 | MODAL_TOKEN;
}

const char *modal_keep_first(pthread_mutex_t *lock, char **field, char *value)
{
	pthread_mutex_lock(lock);
	if (*field)
		free(value);
	else
		*field = value;
	value = *field;
	pthread_mutex_unlock(lock);
	return value;
}

/* Returns the delay in ms that one detail of the status requests; -1 for other
 * kinds of details. */
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
	if (!(seconds >= 0.1F)) /* also true for NaN */
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

/* True if the server was not reached or the connection broke, so that no server
 * has answered. */
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
	const char *auth; /* borrowed: token for V2 calls, or NULL */
	char key[MODAL_UUID];
	int attempt;
	int throttled;
	int64_t waited_ms; /* sum of the delays that servers demanded */
	int64_t began;     /* clock_ms() when the call began */
	int64_t began_at;  /* the same as Unix time in ms */
	int64_t pause_ms;
	size_t server;
	size_t moves; /* how often the call went to another server */
};

/* Returns a header like "x-retry-delay: 1.250", owned by the caller. */
static char *seconds_header(const char *name, int64_t ms)
{
	return xasprintf("%s: %lld.%03lld", name, (long long)(ms / 1000),
			 (long long)(ms % 1000));
}

/* Fills in the header lines of one try. The caller frees those from *own on. */
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

static int call_once(struct modal *m, const struct protobuf_ask *ask,
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

/* True if a failed call must be tried again. Waits before it returns. */
static bool wait_to_repeat(struct modal *m, struct rpc_tries *t,
			   const struct grpc_outcome *outcome,
			   struct error *why, const struct stop *stop)
{
	int64_t wish = outcome->code > GRPC_OK && outcome->details.len
			       ? modal_retry_wish(buf_str(&outcome->details))
			       : -1;

	/* No answer has begun: the request may be sent to another server. */
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
	/* Tell sandbox_create() not to repeat the create: a new call would have
	 * another idempotency key. */
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

/* Stores the message in *answer, or frees it if answer is NULL. */
static void give_answer(ProtobufCMessage *message, ProtobufCMessage **answer)
{
	if (answer)
		*answer = message;
	else
		protobuf_free(message);
}

/* Sends one call with all its retries. auth is the token of V2 calls, or
 * NULL. */
static int call_control(struct modal *m, const struct protobuf_ask *ask,
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
		rc = call_once(m, ask, &t, &result, stop, &why);
	} while (rc < 0 && !ask->each &&
		 wait_to_repeat(m, &t, &result.outcome, &why, stop));
	if (result.outcome.began)
		m->server = t.server;
	grpc_outcome_release(&result.outcome);
	give_answer(result.answer, answer);
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

/* Gets the token for V2 calls, owned by the caller. Requests a new one when
 * half of the old one's lifetime is over. */
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
	if (call_control(m, &ask, NULL, &answer, stop, err) < 0)
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
		rc = call_control(m, ask, token, answer, stop, err);
	free(token);
	body_wipe(ask->request); /* it may have the values of secrets */
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

int modal_is_running(struct modal *m, const char *id, float wait_s,
		     const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = {
		"SandboxWait", "asking for the sandbox",
		.request = protobuf_texts("sandbox_id", id, NULL),
		.flags = modal_flags(id)
	};
	ProtobufCMessage *answer = NULL;
	const Modal__GenericResult *result;
	int state;

	cJSON_AddNumberToObject(ask.request, "timeout", wait_s);
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	result = ((Modal__SandboxWaitResponse *)answer)->result;
	state = !result || !result->status;
	protobuf_free(answer);
	return state;
}

/* From here on: the router of one sandbox. */

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

static int fail_ended(const struct sandbox *sb, struct error *err)
{
	return error_set(err, ERR_GONE, "the sandbox %s has ended", sb->id);
}

/* Returns the router's address with http:// instead of https://, owned by the
 * caller. NULL: use the address as it is. The JavaScript SDK 0.11.1 accepts
 * only https:// as a router's address, but connects in cleartext if the control
 * plane is on this machine. dcode does the same. */
static char *cleartext_url(const struct modal *m, struct str url)
{
	if (!m->local || !str_starts(url, "https://") || !loopback_url(url))
		return NULL;
	return xasprintf("http://%.*s", (int)(url.len - 8), url.ptr + 8);
}

char *modal_take_address(const struct modal *m, const char *url,
			 const char *what, struct error *err)
{
	struct str base = str_of(url);
	char *clear;

	while (str_ends(base, "/"))
		base.len--;
	if (!loopback_or_https(base) ||
	    (!m->near && !str_starts(base, "https://"))) {
		error_set(err, ERR_PROTOCOL,
			  "unexpected server response: the %s's address is "
			  "'%.100s'",
			  what, url);
		return NULL;
	}
	clear = cleartext_url(m, base);
	return clear ? clear : xstrndup(base.ptr, base.len);
}

/* Stores the router's address and token. Fails if a token must not be sent to
 * that address. */
static int set_router(struct sandbox *sb, const char *url, const char *jwt,
		      struct error *err)
{
	const struct modal *m = sb->client->priv;
	struct modal_box *b = modal_box(sb);
	char *address;

	if (strlen(jwt) > JWT_MAX || !str_is_visible(str_of(jwt)))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no token for the "
				 "router");
	address = modal_take_address(m, url, "router", err);
	if (!address)
		return -1;
	pthread_mutex_lock(&b->lock);
	free(b->router);
	free(b->bearer);
	b->router = address;
	b->bearer = xasprintf("authorization: Bearer %s", jwt);
	b->expires = jwt_expires(jwt);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

/* Waits until the sandbox has a machine. Sets *task, owned by the caller. */
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
		if (modal_ask(sb->client->priv, &ask, &answer, stop, err) != 0)
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
			rc = fail_ended(sb, err);
		protobuf_free(answer);
	}
	return rc;
}

/* Requests the router's address and a new token from the control plane. */
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
	int rc = modal_ask(sb->client->priv, &ask, &answer, stop, err);

	if (rc < 0 && (err->grpc_status == GRPC_FAILED_PRECONDITION ||
		       err->grpc_status == GRPC_NOT_FOUND))
		return fail_ended(sb, err);
	if (rc != 0)
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

/* Sends one request with the current address and token. */
static int route_once(struct sandbox *sb, const struct protobuf_ask *ask,
		      struct protobuf_result *result, const struct stop *stop,
		      struct error *err)
{
	const struct modal *m = sb->client->priv;
	struct modal_box *b = modal_box(sb);
	const char *headers[] = { NULL, NULL };
	struct protobuf_service where = {
		.http = m->http,
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

/* Call after the router refused the token. As in the SDKs, a token that should
 * still be valid is tried once more before a new one is requested. */
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

/* Call after the router did not know the task. ERR_GONE if the sandbox has
 * ended; otherwise returns 0 and err is unchanged. */
static int check_ended(struct sandbox *sb, const struct stop *stop,
		       struct error *err)
{
	struct error why = { 0 };
	int state = modal_is_running(sb->client->priv, sb->id, 0, stop, &why);

	if (state == 0 || (state < 0 && why.code == ERR_NOT_FOUND))
		return fail_ended(sb, err);
	return 0;
}

/* Call after a failed try. Returns 1 to try again, 0 if err is final, -1 if it
 * has set another error. */
static int handle_failure(struct sandbox *sb, const struct protobuf_ask *ask,
			  int attempt, const struct stop *stop,
			  struct error *err)
{
	int code = err->grpc_status;
	struct error why = { 0 };
	int rc = 0;

	if (ask->source || attempt >= ROUTE_TRIES)
		return code == GRPC_NOT_FOUND ? check_ended(sb, stop, err) : 0;
	if (code == GRPC_UNAUTHENTICATED && attempt < 2) {
		rc = renew_token(sb, attempt, stop, &why);
	} else if (code == GRPC_NOT_FOUND || code == GRPC_FAILED_PRECONDITION) {
		return check_ended(sb, stop, err);
	} else if (!modal_is_passing(err)) {
		return 0;
	} else {
		/* After some failures, check if the sandbox has ended. */
		if (attempt == ROUTE_TRIES / 2)
			rc = check_ended(sb, stop, &why);
		if (rc == 0)
			rc = stop_sleep(
				stop, (int64_t)ROUTE_PAUSE_MS << attempt, &why);
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
	give_answer(result.answer, answer);
	return rc;
}

/* From here on: a process, started by the router. */

/* Builds a request that names the process. */
static cJSON *modal_process(const struct modal_exec *x)
{
	return protobuf_texts("task_id", x->task, "exec_id", x->id, NULL);
}

/* Starts a process. dcode chooses the process's id, so that a repeated request
 * does not start a second process. */
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
	cJSON *offset; /* member of the request that on_stdio() advances */
	int (*data)(void *arg, struct str chunk, struct error *err);
	void *arg;
};

/* Passes on output, and advances the request's offset so that a retry continues
 * there. */
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

struct input_writer {
	struct modal_exec *x;
	struct file_source *in;
	/* the last WINDOW bytes read from in; the byte at offset n is at n %
	 * WINDOW */
	char *window;
	int64_t at; /* offset of the next byte to send */
	struct buf out;
	bool ended;
};

/* Appends a message with this payload, and frees the payload. */
static void add_payload(struct input_writer *w, const char *name,
			cJSON *payload)
{
	const ProtobufCMessageDescriptor *type =
		&modal__task_exec_stdin_write_stream_request__descriptor;
	cJSON *object = cJSON_CreateObject();
	ProtobufCMessage *message;

	cJSON_AddItemToObject(object, name, payload);
	message = protobuf_build(type, object);
	protobuf_envelope(message, &w->out);
	protobuf_free(message);
	cJSON_Delete(object);
}

/* Reads more of the input into the window, up to offset end. */
static int fill_window(struct input_writer *w, int64_t end, struct error *err)
{
	while (w->in->sent < end) {
		size_t place = (size_t)(w->in->sent % WINDOW);
		size_t room = (size_t)(end - w->in->sent);

		if (room > WINDOW - place)
			room = WINDOW - place;
		if (file_source_read(w->in, w->window + place, room, err) < 0)
			return -1;
	}
	return 0;
}

/* Appends the next message. Its bytes begin at offset w->at, and come from the
 * window or are read now. */
static int add_data(struct input_writer *w, struct error *err)
{
	Modal__TaskExecStdinWriteStreamRequest message =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__INIT;
	size_t place = (size_t)(w->at % WINDOW);
	size_t n = WINDOW - place < CHUNK ? WINDOW - place : CHUNK;

	if (w->in->file->size - w->at < (int64_t)n)
		n = (size_t)(w->in->file->size - w->at);
	if (fill_window(w, w->at + (int64_t)n, err) < 0)
		return -1;
	message.payload_case =
		MODAL__TASK_EXEC_STDIN_WRITE_STREAM_REQUEST__PAYLOAD_DATA;
	message.data.data = (uint8_t *)w->window + place;
	message.data.len = n;
	w->at += (int64_t)n;
	protobuf_envelope(&message.base, &w->out);
	return 0;
}

/* Supplies the request's body: data messages, then "end". */
static int64_t on_source(void *arg, char *room, size_t len, struct error *err)
{
	struct input_writer *w = arg;

	if (!w->out.len && w->at < w->in->file->size) {
		if (add_data(w, err) < 0)
			return -1;
	} else if (!w->out.len && !w->ended) {
		add_payload(w, "end", cJSON_CreateObject());
		w->ended = true;
	}
	return buf_take(&w->out, room, len);
}

/* Opens one request and sends all input from the current offset on. */
static int write_once(struct input_writer *w, const struct stop *stop,
		      struct error *err)
{
	cJSON *start = modal_process(w->x);
	const struct protobuf_ask ask = { .method = "TaskExecStdinWriteStream",
					  .what = "sending the input",
					  .source = on_source,
					  .source_size = -1,
					  .arg = w,
					  .timeout_ms = LONG_MS };

	cJSON_AddNumberToObject(start, "offset", (double)w->at);
	w->out.max = FRAME_MAX;
	buf_clear(&w->out);
	w->ended = false;
	add_payload(w, "start", start);
	return modal_route(w->x->sb, &ask, NULL, stop, err);
}

/* Requests how much input has arrived. Returns 1 if that is all, 0 if the input
 * must be sent from that offset on. */
static int find_offset(struct input_writer *w, const struct stop *stop,
		       struct error *err)
{
	const struct protobuf_ask ask = { "TaskExecStdinStatus",
					  "sending the input",
					  .request = modal_process(w->x) };
	ProtobufCMessage *answer = NULL;
	const Modal__TaskExecStdinStatusResponse *status;
	int64_t at;
	bool closed;

	if (modal_route(w->x->sb, &ask, &answer, stop, err) < 0)
		return -1;
	status = (Modal__TaskExecStdinStatusResponse *)answer;
	at = (int64_t)status->num_bytes_written;
	closed = status->closed;
	protobuf_free(answer);
	if (at < 0 || at > w->in->sent || at < w->in->sent - WINDOW)
		return error_set(err, ERR_NETWORK,
				 "sending the input was interrupted and cannot "
				 "be resumed");
	w->at = at;
	if (closed && at < w->in->file->size)
		return error_set(err, ERR_REMOTE,
				 "the input was closed too early");
	return closed;
}

int modal_write(struct modal_exec *x, struct file_source *in,
		const struct stop *stop, struct error *err)
{
	struct input_writer w = { .x = x, .in = in };
	int64_t before = 0;
	int rc;

	w.window = xcalloc(1, WINDOW);
	for (int i = 0;; i++) {
		struct error why = { 0 };

		rc = write_once(&w, stop, &why);
		if (rc == 0)
			break;
		if (why.grpc_status == GRPC_FAILED_PRECONDITION)
			why.code = ERR_REMOTE;
		if (in->failed || i == RESUMES ||
		    (!modal_is_passing(&why) &&
		     why.grpc_status != GRPC_UNAUTHENTICATED) ||
		    stop_sleep(stop, (int64_t)i * RESUME_MS, &why) < 0) {
			*err = why;
			break;
		}
		rc = find_offset(&w, stop, err);
		if (rc != 0)
			break;
		if (w.at > before)
			i = 0;
		before = w.at;
	}
	buf_release(&w.out);
	free(w.window);
	return rc < 0 ? -1 : 0;
}
