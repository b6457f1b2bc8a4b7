/* protobuf.h - protobuf messages: from JSON objects, and unpacked safely. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_PROTOBUF_H
#define PROVIDERS_KIT_PROTOBUF_H

#include <protobuf-c/protobuf-c.h>

#include "base/json.h"

/* Pure: NULL for what is no such message, or would take far more memory than
 * its bytes. protobuf_free() it. */
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

#endif
