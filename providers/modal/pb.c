/* pb.c - messages as bytes and back, and what their texts say. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/modal/modal.h"

enum {
	/* An empty message of a list is two bytes on the wire and a hundred in
	 * memory. */
	MEMORY_MIN = 8 << 20,
	MEMORY_FACTOR = 8,
	TOKEN_MAX = 16 << 10,
	WISH_MAX_S = 3600,
};

/* protobuf-c's allocator: fails when the message takes too much. */
struct budget {
	size_t left;
};

static void *take(void *arg, size_t size)
{
	struct budget *b = arg;

	if (size > b->left)
		return NULL;
	b->left -= size;
	return xcalloc(1, size ? size : 1);
}

static void give_back(void *arg, void *ptr)
{
	(void)arg;
	free(ptr);
}

ProtobufCMessage *modal_unpack(const ProtobufCMessageDescriptor *type,
			       struct str bytes)
{
	struct budget budget = { .left = MEMORY_MIN +
					 bytes.len * MEMORY_FACTOR };
	ProtobufCAllocator own = { .alloc = take,
				   .free = give_back,
				   .allocator_data = &budget };

	return protobuf_c_message_unpack(type, &own, bytes.len,
					 (const uint8_t *)bytes.ptr);
}

void modal_free(ProtobufCMessage *message)
{
	ProtobufCAllocator own = { .alloc = take, .free = give_back };

	if (message)
		protobuf_c_message_free_unpacked(message, &own);
}

void modal_pack(const ProtobufCMessage *message, struct buf *out)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	char *room = buf_room(out, len);

	if (room)
		buf_added(out,
			  protobuf_c_message_pack(message, (uint8_t *)room));
}

int64_t modal_jwt_expires(const char *token)
{
	const char *body = strchr(token, '.');
	const char *end = body ? strchr(++body, '.') : NULL;
	size_t len = end ? (size_t)(end - body) : 0;
	char *room;
	cJSON *tree = NULL;
	size_t n = 0;
	int64_t at;

	if (!len || len > TOKEN_MAX)
		return 0;
	room = xcalloc(1, len);
	if (sodium_base642bin((unsigned char *)room, len, body, len, "=", &n,
			      NULL,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0)
		tree = json_parse((struct str){ room, n });
	at = json_int(tree, "exp", 0);
	cJSON_Delete(tree);
	free(room);
	return at > 0 ? at : 0;
}

int64_t modal_retry_wish(struct str details)
{
	ProtobufCMessage *status =
		modal_unpack(&modal__rpcstatus__descriptor, details);
	const Modal__RPCStatus *s = (const Modal__RPCStatus *)status;
	int64_t wish = -1;

	for (size_t i = 0; s && wish < 0 && i < s->n_details; i++) {
		const Modal__Any *any = s->details[i];
		ProtobufCMessage *policy;
		float seconds;

		if (!str_ends(str_of(any->type_url),
			      "/modal.client.RPCRetryPolicy"))
			continue;
		policy = modal_unpack(&modal__rpcretry_policy__descriptor,
				      (struct str){ (char *)any->value.data,
						    any->value.len });
		if (!policy)
			continue;
		seconds = ((Modal__RPCRetryPolicy *)policy)->retry_after_secs;
		/* Also for what is no number. */
		if (!(seconds >= 0.1F))
			seconds = 0.1F;
		if (seconds > WISH_MAX_S)
			seconds = WISH_MAX_S;
		wish = (int64_t)(seconds * 1000);
		modal_free(policy);
	}
	modal_free(status);
	return wish;
}

void modal_uuid4(char out[MODAL_UUID])
{
	unsigned char b[16];

	randombytes_buf(b, sizeof(b));
	b[6] = (unsigned char)((b[6] & 0x0F) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3F) | 0x80);
	snprintf(out, MODAL_UUID,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
		 b[10], b[11], b[12], b[13], b[14], b[15]);
}
