/* wire.c - what the vendors' protocols have in common. */
/* SPDX-License-Identifier: MIT */
#include "model/wire.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

enum { NAME_MAX_LEN = 64 };

const struct wire *wire_find(const char *name)
{
	static const struct wire *const wires[] = { &wire_anthropic,
						    &wire_openai_chat };

	for (size_t i = 0; i < sizeof(wires) / sizeof(wires[0]); i++)
		if (strcmp(wires[i]->name, name) == 0)
			return wires[i];
	return NULL;
}

void wire_params(const cJSON *params, struct buf *out)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, params) {
		json_quote(out, str_of(item->string));
		buf_addc(out, ':');
		json_print(out, item);
		buf_addc(out, ',');
	}
}

static void plain(struct buf *out, const char *text, size_t max,
		  const char *empty)
{
	size_t len = text ? strlen(text) : 0;

	buf_addc(out, '"');
	if (!len)
		buf_adds(out, empty);
	for (size_t i = 0; i < len && i < max; i++)
		if (isascii(text[i]) && isalnum((unsigned char)text[i]))
			buf_addc(out, text[i]);
		else
			buf_addc(out, text[i] == '-' ? '-' : '_');
	buf_addc(out, '"');
}

void wire_name(struct buf *out, const char *name)
{
	plain(out, name, NAME_MAX_LEN, "unknown");
}

void wire_id(struct buf *out, const char *id)
{
	plain(out, id, SIZE_MAX, "call");
}

void wire_args(struct buf *out, const struct part *call)
{
	if (call->args && !call->bad_args) {
		buf_adds(out, call->args);
		return;
	}
	/* the model shall see what it wrote, in a form that no server minds */
	buf_addc(out, '{');
	json_member(out, "invalid_arguments", str_of(call->args));
	buf_addc(out, '}');
}
