/* ws_frame.c - WebSocket frames (RFC 6455 §5): no I/O. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at ws_parser_next(). read_head() collects a frame's header and
 * checks it (check_head()); then read_payload() or read_control() takes the
 * payload. ws.c does the I/O. Servers must not mask their frames, and dcode
 * masks its own (RFC 6455 5.1).
 */
#include "net/ws_frame.h"

#include <string.h>

enum {
	RESERVED = 0x70,
	OPCODE = 0x0f,
	MASKED = 0x80,
	LENGTH = 0x7f,
	LENGTH_16 = 126,
	LENGTH_64 = 127,
};

bool ws_utf8_feed(struct ws_utf8 *u, struct str piece)
{
	const unsigned char *p = (const unsigned char *)piece.ptr;

	for (size_t i = 0; i < piece.len; i++) {
		unsigned char c = p[i];

		if (u->left) {
			if (c < u->low || c > u->high)
				return false;
			u->left--;
			u->low = 0x80;
			u->high = 0xbf;
			continue;
		}
		if (c < 0x80)
			continue;
		if (c < 0xc2 || c > 0xf4)
			return false;
		/* Excludes overlong forms, surrogates and code points above
		 * U+10FFFF. */
		u->left = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
		u->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
		u->high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	}
	return true;
}

void ws_parser_init(struct ws_parser *p, size_t message_max)
{
	*p = (struct ws_parser){ .message = BUF_INIT(message_max) };
}

void ws_parser_release(struct ws_parser *p)
{
	buf_release(&p->message);
}

bool ws_code_valid(int code)
{
	if (code >= 1000 && code <= 1014)
		return code != 1004 && code != WS_CODE_NONE &&
		       code != WS_CODE_ABNORMAL;
	return code >= 3000 && code <= 4999;
}

static int refuse_frame(struct ws_parser *p, int code, const char *why,
			struct error *err)
{
	p->code = code;
	p->ended = true;
	return error_set(err,
			 code == WS_CODE_TOO_BIG ? ERR_LIMIT : ERR_PROTOCOL,
			 "WebSocket: %s", why);
}

static int refuse_malformed(struct ws_parser *p, const char *why,
			    struct error *err)
{
	return refuse_frame(p, WS_CODE_PROTOCOL, why, err);
}

static unsigned get_opcode(const struct ws_parser *p)
{
	return p->head[0] & OPCODE;
}

static bool is_control(const struct ws_parser *p)
{
	return get_opcode(p) >= WS_CLOSE;
}

/* Checks the first two bytes of a frame. */
static int check_head(struct ws_parser *p, struct error *err)
{
	unsigned op = get_opcode(p);

	if (p->head[0] & RESERVED)
		return refuse_malformed(p, "a reserved bit is set", err);
	if (op > WS_PONG || (op > WS_BINARY && op < WS_CLOSE))
		return refuse_malformed(p, "a frame of unknown type", err);
	if (p->head[1] & MASKED)
		return refuse_malformed(p, "the server masks its frames", err);
	if (op >= WS_CLOSE && !(p->head[0] & WS_FIN))
		return refuse_malformed(p, "a fragmented control frame", err);
	if (op >= WS_CLOSE && (p->head[1] & LENGTH) > WS_CONTROL_MAX)
		return refuse_malformed(p, "a control frame of over 125 bytes",
					err);
	if (op == WS_CONTINUATION && !p->kind)
		return refuse_malformed(
			p, "a continuation frame without a message", err);
	if ((op == WS_TEXT || op == WS_BINARY) && p->kind)
		return refuse_malformed(p, "a message inside another", err);
	return 0;
}

static size_t head_size(const struct ws_parser *p)
{
	unsigned len = p->head_len < 2 ? 0 : p->head[1] & LENGTH;

	return len == LENGTH_64 ? 10 : len == LENGTH_16 ? 4 : 2;
}

/* Parses the frame's length after its header is complete. */
static int begin_payload(struct ws_parser *p, struct error *err)
{
	size_t at = head_size(p);
	uint64_t len = 0;

	for (size_t i = 2; i < at; i++)
		len = len << 8 | p->head[i];
	if (at == 2)
		len = p->head[1] & LENGTH;
	if ((at == 4 && len < LENGTH_16) || (at == 10 && len <= 0xffff))
		return refuse_malformed(
			p, "a length in more bytes than it needs", err);
	if (len >> 63)
		return refuse_malformed(p, "a length beyond 63 bits", err);
	p->left = len;
	p->payload = true;
	if (is_control(p)) {
		p->control_len = 0;
		return 0;
	}
	if (get_opcode(p) != WS_CONTINUATION) {
		p->kind = (int)get_opcode(p);
		p->utf8 = (struct ws_utf8){ 0 };
	}
	if (len > p->message.max - p->message.len)
		return refuse_frame(p, WS_CODE_TOO_BIG,
				    "a message is too large", err);
	return 0;
}

/* Reads the frame's header: 1 once it is complete, 0 if more bytes are
 * needed. */
static int read_head(struct ws_parser *p, struct str *data, struct error *err)
{
	while (p->head_len < 2 || p->head_len < head_size(p)) {
		if (!data->len)
			return 0;
		p->head[p->head_len++] = (unsigned char)data->ptr[0];
		*data = str_skip(*data, 1);
		if (p->head_len == 2 && check_head(p, err) < 0)
			return -1;
	}
	return begin_payload(p, err) < 0 ? -1 : 1;
}

/* Checks a close frame and stores its code and reason. */
static int read_close(struct ws_parser *p, struct error *err)
{
	struct ws_utf8 utf8 = { 0 };
	struct str reason;

	p->code = WS_CODE_NONE;
	if (p->control_len == 1)
		return refuse_malformed(p, "an incomplete close code", err);
	if (p->control_len >= 2) {
		p->code = p->control[0] << 8 | p->control[1];
		p->control_len -= 2;
		memmove(p->control, p->control + 2, p->control_len);
		if (!ws_code_valid(p->code))
			return refuse_malformed(p, "a reserved close code",
						err);
	}
	reason = (struct str){ (const char *)p->control, p->control_len };
	if (!ws_utf8_feed(&utf8, reason) || utf8.left)
		return refuse_frame(p, WS_CODE_INVALID,
				    "a close reason that is not UTF-8", err);
	p->ended = true;
	return WS_CLOSED;
}

static void next_frame(struct ws_parser *p)
{
	p->payload = false;
	p->head_len = 0;
}

static struct str cut_payload(struct ws_parser *p, struct str *data)
{
	size_t n = p->left < data->len ? (size_t)p->left : data->len;
	struct str piece = { data->ptr, n };

	*data = str_skip(*data, n);
	p->left -= n;
	return piece;
}

/* Reads the payload of a control frame and returns its event. */
static int read_control(struct ws_parser *p, struct str *data,
			struct error *err)
{
	struct str piece = cut_payload(p, data);

	if (piece.len)
		memcpy(p->control + p->control_len, piece.ptr, piece.len);
	p->control_len += piece.len;
	if (p->left)
		return WS_MORE;
	next_frame(p);
	if (get_opcode(p) == WS_CLOSE)
		return read_close(p, err);
	return get_opcode(p) == WS_PING ? WS_PINGED : WS_PONGED;
}

/* Reads payload of a message; text is checked as UTF-8. */
static int read_payload(struct ws_parser *p, struct str *data,
			struct error *err)
{
	struct str piece = cut_payload(p, data);
	bool last = !p->left && (p->head[0] & WS_FIN);

	if (p->kind == WS_TEXT &&
	    (!ws_utf8_feed(&p->utf8, piece) || (last && p->utf8.left)))
		return refuse_frame(p, WS_CODE_INVALID,
				    "text that is not UTF-8", err);
	if (piece.len)
		buf_addstr(&p->message, piece);
	if (p->left)
		return WS_MORE;
	next_frame(p);
	p->whole = last;
	return last ? WS_MESSAGE : WS_MORE;
}

int ws_parser_next(struct ws_parser *p, struct str *data, struct error *err)
{
	int rc = WS_MORE;

	if (p->whole) {
		buf_clear(&p->message);
		p->kind = 0;
		p->whole = false;
	}
	while (rc == WS_MORE) {
		int ready = 1;

		if (p->ended) {
			*data = (struct str){ 0 };
			return WS_MORE;
		}
		if (!p->payload)
			ready = read_head(p, data, err);
		if (ready <= 0)
			return ready;
		if (p->left && !data->len)
			return WS_MORE;
		rc = is_control(p) ? read_control(p, data, err)
				   : read_payload(p, data, err);
	}
	return rc;
}

enum ws_kind ws_parser_take(struct ws_parser *p, struct buf *message)
{
	enum ws_kind kind = (enum ws_kind)p->kind;
	size_t max = p->message.max;
	struct buf took = p->message;

	took.max = message->max;
	p->message = *message;
	p->message.max = max;
	*message = took;
	buf_clear(&p->message);
	p->kind = 0;
	p->whole = false;
	return kind;
}

size_t ws_frame_write(unsigned char *out, unsigned first, struct str payload,
		      const unsigned char key[4])
{
	size_t n = payload.len;
	size_t wide = n < LENGTH_16 ? 0 : n <= 0xffff ? 2 : 8;
	unsigned char *to = out + 2 + wide + 4;

	out[0] = (unsigned char)first;
	out[1] = (unsigned char)(MASKED | (wide == 0   ? n
					   : wide == 2 ? LENGTH_16
						       : LENGTH_64));
	for (size_t i = 0; i < wide; i++)
		out[2 + i] = (unsigned char)((uint64_t)n >> 8 * (wide - 1 - i));
	memcpy(out + 2 + wide, key, 4);
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)payload.ptr[i] ^ key[i % 4];
	return 2 + wide + 4 + n;
}
