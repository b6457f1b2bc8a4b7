/* protobuf.c - protobuf messages from JSON objects, and gRPC calls with them.
 */
/* SPDX-License-Identifier: MIT */
/* Requests are JSON objects whose members have the names of the message's
 * fields (protobuf_build). The memory for an unpacked answer is limited,
 * because an empty message in a list takes two bytes on the wire but a hundred
 * in memory. Begin with protobuf_call(). */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/grpc.h"
#include "providers/modal/modal.h"

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

const char *protobuf_text(const ProtobufCMessage *message, const char *field)
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

void protobuf_envelope(const ProtobufCMessage *message, struct buf *out)
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
	buf_wipe(&body);
	free(path);
	return rc;
}
