/* frame.h - messages about a command over the WebSocket: pure. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LANGSMITH_FRAME_H
#define PROVIDERS_LANGSMITH_FRAME_H

#include "base/json.h"
#include "sandbox/sandbox.h"

enum langsmith_word {
	LANGSMITH_OTHER, /* a kind that we do not know: to be ignored */
	LANGSMITH_STARTED,
	LANGSMITH_OUTPUT,
	LANGSMITH_EXIT,
	LANGSMITH_TIMEOUT, /* the server has killed it */
	LANGSMITH_UNKNOWN, /* no such command, or not any more */
	LANGSMITH_FAILED,
};

struct langsmith_frame {
	cJSON *tree; /* owned; what follows points into it */
	enum langsmith_word word;
	enum exec_stream stream;
	struct str data; /* UTF-8 */
	int64_t offset;  /* of data in its stream; -1: not told */
	int exit_code;
	const char *message;
};

/* For any bytes. ERR_PROTOCOL for what is no such message; release it in any
 * case. */
int langsmith_frame_parse(struct langsmith_frame *f, struct str text,
			  struct error *err);
void langsmith_frame_release(struct langsmith_frame *f);

/* How far one stream has come. Zero-initialise. */
struct langsmith_stream {
	int64_t at;    /* bytes delivered, as the server counts */
	bool replaced; /* bytes that were no UTF-8 make our count differ */
};

/*
 * The part of the frame's data that is new; moves on. -1 when something
 * between is missing (nothing moves then): ask for it again.
 */
int langsmith_stream_take(struct langsmith_stream *s,
			  const struct langsmith_frame *f, struct str *part);

#endif
