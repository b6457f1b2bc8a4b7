/* ws_frame.h - frames of WebSocket (RFC 6455 §5): pure, without a socket. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_WS_FRAME_H
#define NET_WS_FRAME_H

#include <stdint.h>

#include "base/str.h"

enum ws_kind { WS_TEXT = 1, WS_BINARY = 2 }; /* the opcodes */

enum {
	WS_CONTINUATION = 0,
	WS_CLOSE = 8,
	WS_PING = 9,
	WS_PONG = 10,
	WS_FIN = 0x80, /* the message's last frame */
	WS_HEAD_MAX = 14,
	WS_CONTROL_MAX = 125,
};

/* RFC 6455 §7.4.1. Those without a frame of their own are never sent. */
enum ws_code {
	WS_CODE_NORMAL = 1000,
	WS_CODE_AWAY = 1001,
	WS_CODE_PROTOCOL = 1002,
	WS_CODE_NONE = 1005,     /* the close frame had none */
	WS_CODE_ABNORMAL = 1006, /* there was no close frame */
	WS_CODE_INVALID = 1007,  /* text that is no UTF-8 */
	WS_CODE_TOO_BIG = 1009,
};

/* UTF-8 in pieces. Zero-initialise. */
struct ws_utf8 {
	unsigned char left;      /* continuation bytes still to come */
	unsigned char low, high; /* what the next of them may be */
};
/* False at the first byte that no UTF-8 has there (RFC 3629). */
bool ws_utf8_feed(struct ws_utf8 *u, struct str piece);

enum ws_event {
	WS_MORE = 0, /* all bytes are used up, nothing is whole */
	WS_MESSAGE,  /* message and kind: take them before going on */
	WS_PINGED,   /* control is what to send back */
	WS_PONGED,   /* control */
	WS_CLOSED,   /* code and, in control, the reason; what follows is
			dropped */
};

/* Reads what a server sends. */
struct ws_parser {
	struct buf message; /* so far; its ceiling is that of a message */
	int kind;           /* of that message, 0: none has begun */
	unsigned char control[WS_CONTROL_MAX];
	size_t control_len;
	int code; /* received, or to send after -1 */
	/* Private from here on. */
	unsigned char head[WS_HEAD_MAX];
	size_t head_len;
	uint64_t left; /* of the frame's payload */
	struct ws_utf8 utf8;
	bool payload; /* the head is whole */
	bool whole;   /* the message has been announced */
	bool ended;   /* by a close frame */
};

void ws_parser_init(struct ws_parser *p, size_t message_max);
void ws_parser_release(struct ws_parser *p);
/*
 * Takes bytes off the front of *data until something is whole: an enum
 * ws_event. -1: what came breaks the protocol (ERR_PROTOCOL) or is too large
 * (ERR_LIMIT), code says how to close, and nothing more may be fed. Memory
 * grows with the bytes that came, never with the length that was announced.
 */
int ws_parser_next(struct ws_parser *p, struct str *data, struct error *err);
/* After WS_MESSAGE: moves it to *message, whose memory is used for the next
 * one and whose ceiling stays. Returns its kind. */
enum ws_kind ws_parser_take(struct ws_parser *p, struct buf *message);

/* True when this code may stand in a close frame (RFC 6455 §7.4, IANA's
 * registry as of 2026-11). */
bool ws_code_valid(int code);
/* Writes one masked frame (WS_HEAD_MAX + payload.len bytes fit) and returns
 * its size. first: WS_FIN or not, and the opcode; key: fresh random bytes. */
size_t ws_frame_write(unsigned char *out, unsigned first, struct str payload,
		      const unsigned char key[4]);

#endif
