/* modal_reply_fuzz.c - Modal's messages, tokens and profiles: any bytes. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/kit/rest.h"
#include "providers/modal/modal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *const types[] = {
	&modal__sandbox_list_response__descriptor,
	&modal__image_join_streaming_response__descriptor,
	&modal__sandbox_get_task_id_response__descriptor,
	&modal__environment_get_or_create_response__descriptor,
	&modal__task_exec_stdio_read_response__descriptor,
	&modal__task_exec_wait_response__descriptor,
	&modal__sandbox_create_request__descriptor,
	&modal__task_exec_stdin_write_stream_request__descriptor,
	&modal__sandbox_tags_get_response__descriptor,
};

/* What can be read can be written, and that read; protobuf-c keeps fields that
 * it does not know, even of number 0, which it then refuses. */
static void message(const ProtobufCMessageDescriptor *type, struct str bytes)
{
	ProtobufCMessage *first = protobuf_unpack(type, bytes);
	ProtobufCMessage *second;
	struct buf wire = BUF_INIT(16 << 20);

	if (!first)
		return;
	protobuf_pack(first, &wire);
	if (wire.len > 16 * (bytes.len + 16))
		abort();
	second = protobuf_unpack(type, buf_str(&wire));
	buf_release(&wire);
	protobuf_free(first);
	protobuf_free(second);
}

static void profile(struct str text)
{
	const struct toml_value *found;
	struct toml_value root = { 0 };
	struct error err = { 0 };

	if (toml_parse(&root, text, "x", &err) == 0) {
		(void)modal_profile(&root, NULL, &found, &err);
		(void)modal_profile(&root, "default", &found, &err);
		toml_release(&root);
	}
}

/* The first byte says what the rest is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = sizeof(types) / sizeof(*types);
	struct str rest;
	char *text;

	if (!size)
		return 0;
	rest = (struct str){ (const char *)data + 1, size - 1 };
	if (data[0] < n) {
		message(types[data[0]], rest);
	} else if (data[0] == n) {
		if (modal_retry_wish(rest) < -1)
			abort();
	} else if (data[0] == n + 1) {
		profile(rest);
	} else {
		text = xstrndup(rest.ptr ? rest.ptr : "", rest.len);
		if (jwt_expires(text) < 0)
			abort();
		free(text);
	}
	return 0;
}
