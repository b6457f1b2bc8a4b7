/* protobuf_call.h - one gRPC call: JSON goes in, unpacked messages come out. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_PROTOBUF_CALL_H
#define PROVIDERS_KIT_PROTOBUF_CALL_H

#include "net/grpc.h"
#include "providers/kit/protobuf.h"

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
/* One try; the request stays the caller's, who releases the result's outcome
 * and protobuf_free()s its answer. */
int protobuf_call(const struct protobuf_service *where,
		  const struct protobuf_ask *ask,
		  struct protobuf_result *result, const struct stop *stop,
		  struct error *err);
/* A message of a source: packed, after its head. */
void protobuf_envelope(const ProtobufCMessage *message, struct buf *out);
/* To *answer, or, where that is NULL, to nobody. */
void protobuf_give(ProtobufCMessage *message, ProtobufCMessage **answer);

#endif
