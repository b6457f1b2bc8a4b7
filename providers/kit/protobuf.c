/* protobuf.c - protobuf messages: from JSON objects, and unpacked safely. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/protobuf.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
	/* An empty message of a list is two bytes on the wire and a hundred in
	 * memory. */
	MEMORY_MIN = 8 << 20,
	MEMORY_FACTOR = 8,
};

/* protobuf-c's allocator: fails when the message takes too much. */
struct budget {
	size_t left;
};

static void *allocate(void *arg, size_t size)
{
	struct budget *b = arg;

	if (size > b->left)
		return NULL;
	b->left -= size;
	return xcalloc(1, size ? size : 1);
}

static void deallocate(void *arg, void *ptr)
{
	(void)arg;
	free(ptr);
}

ProtobufCMessage *protobuf_unpack(const ProtobufCMessageDescriptor *type,
				  struct str bytes)
{
	struct budget budget = { .left = MEMORY_MIN +
					 bytes.len * MEMORY_FACTOR };
	ProtobufCAllocator own = { .alloc = allocate,
				   .free = deallocate,
				   .allocator_data = &budget };

	return protobuf_c_message_unpack(type, &own, bytes.len,
					 (const uint8_t *)bytes.ptr);
}

void protobuf_free(ProtobufCMessage *message)
{
	ProtobufCAllocator own = { .alloc = allocate, .free = deallocate };

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

/* A number, or what a text or an object stands for, where at points to. */
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

/* Lists are of texts or messages. */
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
