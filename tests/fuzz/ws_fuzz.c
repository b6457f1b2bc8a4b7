/* ws_fuzz.c - cuts of one WebSocket stream must give the same messages. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/ws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE_MAX = 1000, OUT_MAX = 1 << 24 };

static void note(struct ws_parser *p, int event, struct buf *out)
{
	struct buf message = BUF_INIT(0);

	buf_addf(out, "%d:", event);
	if (event == WS_MESSAGE) {
		bool text = ws_parser_take(p, &message) == WS_TEXT;

		if (message.len > MESSAGE_MAX ||
		    (text && !str_is_utf8(buf_str(&message))))
			abort();
		buf_addstr(out, buf_str(&message));
	} else {
		if (p->control_len > WS_CONTROL_MAX)
			abort();
		buf_add(out, p->control, p->control_len);
	}
	buf_release(&message);
}

static void feed(struct str text, size_t piece, struct buf *out)
{
	struct error err = { 0 };
	struct ws_parser p;
	int event = 0;

	ws_parser_init(&p, MESSAGE_MAX);
	while (event >= 0 && text.len) {
		struct str part = text;

		if (part.len > piece)
			part.len = piece;
		text = str_skip(text, part.len);
		while ((event = ws_parser_next(&p, &part, &err)) > 0)
			note(&p, event, out);
	}
	if (event < 0)
		buf_addf(out, "%d %s", p.code, err.message);
	ws_parser_release(&p);
}

/* Whatever a server answers, its parts lie within it. */
static void handshake(struct str text)
{
	struct str head = { text.ptr, ws_head_size(text) };
	struct buf body = BUF_INIT(OUT_MAX);
	char protocol[WS_PROTOCOL_SIZE];
	struct error err = { 0 };

	(void)ws_head_status(text);
	if (!head.len)
		return;
	(void)ws_head_check(head, "dGhlIHNhbXBsZSBub25jZQ==", "a, b", protocol,
			    &err);
	if (strlen(protocol) && strcmp(protocol, "a") && strcmp(protocol, "b"))
		abort();
	(void)ws_head_body(head, str_skip(text, head.len), &body);
	if (body.len > text.len)
		abort();
	buf_release(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT(OUT_MAX);
	struct buf cut = BUF_INIT(OUT_MAX);
	struct str text;

	if (size < 1)
		return 0;
	text = (struct str){ (const char *)data + 1, size - 1 };
	if (data[0] == 'H') {
		handshake(text);
		return 0;
	}
	feed(text, size, &whole);
	feed(text, data[0] % 16u + 1, &cut);
	if (!str_eq(buf_str(&whole), buf_str(&cut)))
		abort();
	buf_release(&whole);
	buf_release(&cut);
	return 0;
}
