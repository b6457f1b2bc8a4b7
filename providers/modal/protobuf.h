/* protobuf.h - protobuf messages from JSON objects, and gRPC calls with them.
 */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_MODAL_PROTOBUF_H
#define PROVIDERS_MODAL_PROTOBUF_H

#include <protobuf-c/protobuf-c.h>

#include "base/json.h"
#include "net/grpc.h"

/* Pure: NULL for bytes that are not such a message, or that would take far more
 * memory than their size. protobuf_free() it. */
ProtobufCMessage *protobuf_unpack(const ProtobufCMessageDescriptor *type,
				  struct str bytes);
/* Pure: the message whose fields have the names and values of the object's
 * members; lists are of texts or messages. protobuf_free() it. */
ProtobufCMessage *protobuf_build(const ProtobufCMessageDescriptor *type,
				 const cJSON *object);
void protobuf_pack(const ProtobufCMessage *message, struct buf *out);
void protobuf_free(ProtobufCMessage *message); /* NULL is fine */
/* The text in the message's field of this name, which its type has. */
const char *protobuf_text(const ProtobufCMessage *message, const char *field);
/* An object of texts: name, value, ... NULL. A NULL value is left out. */
cJSON *protobuf_texts(const char *name, ...) __attribute__((sentinel));

struct protobuf_ask {       /* one call; all but request is borrowed */
	const char *method; /* "SandboxCreate" */
	const char *what;   /* the request, for messages */
	cJSON *request;     /* owned; NULL: an empty message */
	/* For streams: each message of the answer; -1 ends the call. */
	int (*each)(void *arg, const ProtobufCMessage *message,
		    struct error *err);
	/* For streaming requests, instead of request: see grpc.h. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	void *arg;
	int64_t timeout_ms; /* of one try; 0: 60 s */
	unsigned flags;     /* the vendor's */
};

struct protobuf_result {          /* start from { 0 } */
	ProtobufCMessage *answer; /* the one message; NULL unless it came */
	struct grpc_outcome outcome;
};

struct protobuf_service { /* all borrowed */
	struct http *http;
	const char *base;
	const char *service; /* "modal.client.ModalClient" */
	const char *suffix;  /* of the method's name in the path, or NULL */
	const ProtobufCServiceDescriptor *methods; /* its */
	const char *const *headers;
	int64_t connect_ms;
};

/* One try. The request stays the caller's, who also releases the result's
 * outcome and answer (protobuf_free()). */
int protobuf_call(const struct protobuf_service *where,
		  const struct protobuf_ask *ask,
		  struct protobuf_result *result, const struct stop *stop,
		  struct error *err);
/* A message of a source: packed, after its head. */
void protobuf_envelope(const ProtobufCMessage *message, struct buf *out);
/* Stores the message in *answer, or frees it if answer is NULL. */
void protobuf_give(ProtobufCMessage *message, ProtobufCMessage **answer);

#endif
