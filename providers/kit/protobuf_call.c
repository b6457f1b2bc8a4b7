/* protobuf_call.c - one gRPC call: JSON goes in, unpacked messages come out. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/protobuf_call.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/envelope.h"

enum {
	REQUEST_MAX = 8 << 20,
	ANSWER_MAX = 4 << 20,  /* bytes of a single message */
	STREAM_MAX = 32 << 20, /* of one of a stream */
	CALL_MS = 60000,
};

void protobuf_envelope(const ProtobufCMessage *message, struct buf *out)
{
	envelope_head(out, protobuf_c_message_get_packed_size(message));
	protobuf_pack(message, out);
}

void protobuf_give(ProtobufCMessage *message, ProtobufCMessage **answer)
{
	if (answer)
		*answer = message;
	else
		protobuf_free(message);
}

struct stream_relay { /* between one call and who asked for it */
	const struct protobuf_ask *ask;
	const ProtobufCMessageDescriptor *type; /* of the answer */
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

static int64_t on_source(void *arg, char *room, size_t len, struct error *err)
{
	const struct stream_relay *r = arg;

	return r->ask->source(r->ask->arg, room, len, err);
}

int protobuf_call(const struct protobuf_service *where,
		  const struct protobuf_ask *ask,
		  struct protobuf_result *result, const struct stop *stop,
		  struct error *err)
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
		.source = ask->source ? on_source : NULL,
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
	buf_release(&body);
	free(path);
	return rc;
}
