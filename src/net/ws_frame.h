/* ws_frame.h - WebSocket frames (RFC 6455 §5): no I/O. */
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

/* RFC 6455 §7.4.1. Codes 1005 and 1006 are never sent in a frame. */
enum ws_code {
	WS_CODE_NORMAL = 1000,
	WS_CODE_AWAY = 1001,
	WS_CODE_PROTOCOL = 1002,
	WS_CODE_NONE = 1005,     /* the close frame had no code */
	WS_CODE_ABNORMAL = 1006, /* no close frame was received */
	WS_CODE_INVALID = 1007,  /* text that is not UTF-8 */
	WS_CODE_TOO_BIG = 1009,
};

/* Checks UTF-8 in pieces. Initialize to zero. */
struct ws_utf8 {
	unsigned char left;      /* continuation bytes still expected */
	unsigned char low, high; /* allowed range of the next one */
};
/* False at the first invalid byte (RFC 3629). */
bool ws_utf8_feed(struct ws_utf8 *u, struct str piece);

enum ws_event {
	WS_MORE = 0, /* all bytes are used; more are needed */
	WS_MESSAGE,  /* call ws_parser_take() before the next call */
	WS_PINGED,   /* control is the payload for the pong */
	WS_PONGED,   /* control is the payload of the pong */
	/* code is set, control is the reason; later data is discarded */
	WS_CLOSED,
};

/* Parses what a server sends. */
struct ws_parser {
	/* message being received; message.max limits its size */
	struct buf message;
	int kind; /* kind of that message; 0: none has begun */
	unsigned char control[WS_CONTROL_MAX];
	size_t control_len;
	/* the received close code; after -1: the close code to send */
	int code;
	/* Private fields. */
	unsigned char head[WS_HEAD_MAX];
	size_t head_len;
	uint64_t left; /* bytes of the frame's payload still expected */
	struct ws_utf8 utf8;
	bool payload; /* the header is complete */
	bool whole;   /* the message was returned to the caller */
	bool ended;   /* a close frame was received */
};

void ws_parser_init(struct ws_parser *p, size_t message_max);
void ws_parser_release(struct ws_parser *p);
/* Consumes bytes at the start of *data until an event occurs (enum ws_event).
 * -1: the data violates the protocol (ERR_PROTOCOL) or is too large
 * (ERR_LIMIT); code is the code to close with, and no more data may be fed.
 * Memory grows with the bytes received, not with the announced length. */
int ws_parser_next(struct ws_parser *p, struct str *data, struct error *err);
/* After WS_MESSAGE: puts the message into *message. The two buffers are
 * swapped, so that the memory is reused; each keeps its limit. Returns the
 * message's kind. */
enum ws_kind ws_parser_take(struct ws_parser *p, struct buf *message);

/* True if a close frame may have this code (RFC 6455 §7.4, IANA's registry as
 * of 2026-11). */
bool ws_code_valid(int code);
/* Writes one masked frame (at most WS_HEAD_MAX + payload.len bytes) and returns
 * its size. first: the opcode, with WS_FIN on the last frame. key: new random
 * bytes. */
size_t ws_frame_write(unsigned char *out, unsigned first, struct str payload,
		      const unsigned char key[4]);

#endif
