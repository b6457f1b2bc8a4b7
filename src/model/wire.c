/* wire.c - what the vendors' protocols have in common. */
/* SPDX-License-Identifier: MIT */
#include "model/wire.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

#define POINTER(name) &wire_##name,

const struct wire *const wires[] = { WIRES(POINTER) NULL };

const struct wire *wire_find(const char *name)
{
	for (size_t i = 0; wires[i]; i++)
		if (strcmp(wires[i]->name, name) == 0)
			return wires[i];
	return NULL;
}

void wire_push(const struct wire *w, struct history *h, const char *origin,
	       const struct message *m)
{
	struct message plain = *m; /* borrows all but the list of parts */

	if (!m->origin || strcmp(m->origin, origin) == 0) {
		w->push(h, m);
		return;
	}
	plain.parts = xcalloc(m->n + 1, sizeof(*plain.parts));
	for (size_t i = 0; i < m->n; i++) {
		plain.parts[i] = m->parts[i];
		plain.parts[i].replay = NULL;
	}
	h->thoughts |= h->wants_thoughts;
	w->push(h, &plain);
	free(plain.parts);
}

void wire_names(struct buf *out)
{
	for (size_t i = 0; wires[i]; i++)
		buf_addf(out, "%s\"%s\"", i ? " or " : "", wires[i]->name);
}

/* The code after \\u, or -1. */
static long unit_at(struct str s)
{
	char digits[5] = { 0 };
	char *end;
	long code;

	if (s.len < 6 || s.ptr[0] != '\\' || s.ptr[1] != 'u' ||
	    !isxdigit((unsigned char)s.ptr[2]))
		return -1;
	memcpy(digits, s.ptr + 2, 4);
	code = strtol(digits, &end, 16);
	return *end ? -1 : code;
}

/* How many bytes of s, which begins with a backslash, stay as they are; 0 for
 * a unit that stands for no character. */
static size_t sound_escape(struct str s)
{
	long code = unit_at(s);
	long next;

	if (code < 0)
		return s.len < 2 ? s.len : 2;
	if (code == 0 || (code >= 0xDC00 && code <= 0xDFFF))
		return 0;
	if (code < 0xD800 || code > 0xDBFF)
		return 6;
	next = unit_at(str_skip(s, 6));
	return next >= 0xDC00 && next <= 0xDFFF ? 12 : 0;
}

static void repair(struct str s, struct buf *out)
{
	while (s.len) {
		size_t n = str_find(s, '\\');

		buf_add(out, s.ptr, n);
		s = str_skip(s, n);
		if (!s.len)
			break;
		n = sound_escape(s);
		if (n)
			buf_add(out, s.ptr, n);
		else
			buf_adds(out, "\\ufffd");
		s = str_skip(s, n ? n : 6);
	}
}

cJSON *wire_parse(struct str data, struct error *err)
{
	struct str nul = STR("\\u0000");
	bool cut = memmem(data.ptr, data.len, nul.ptr, nul.len) != NULL;
	cJSON *tree = cut ? NULL : json_parse(data);
	struct buf again = BUF_INIT(SIZE_MAX / 2);

	if (!tree) {
		repair(data, &again);
		tree = json_parse(buf_str(&again));
		buf_release(&again);
	}
	if (cJSON_IsObject(tree))
		return tree;
	cJSON_Delete(tree);
	(void)error_set(err, ERR_PROTOCOL,
			"the model's stream holds an event that is no JSON "
			"object");
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

void wire_args(struct buf *out, const struct part *call)
{
	if (call->args && !call->bad_args) {
		buf_adds(out, call->args);
		return;
	}
	/* Shown to the model as it wrote them, but as valid JSON. */
	buf_addc(out, '{');
	json_member(out, "invalid_arguments", str_of(call->args));
	buf_addc(out, '}');
}
