/* frame.h - messages about a command over the WebSocket: pure. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LANGSMITH_FRAME_H
#define PROVIDERS_LANGSMITH_FRAME_H

#include "base/json.h"
#include "sandbox/sandbox.h"

enum langsmith_kind {
	LANGSMITH_OTHER, /* an unknown kind: to be ignored */
	LANGSMITH_STARTED,
	LANGSMITH_OUTPUT,
	LANGSMITH_EXIT,
	LANGSMITH_TIMEOUT, /* the server has killed it */
	LANGSMITH_UNKNOWN, /* the server does not know the command, or forgot it
			    */
	LANGSMITH_FAILED,
};

struct langsmith_frame {
	cJSON *tree; /* owned; what follows points into it */
	enum langsmith_kind kind;
	enum exec_stream stream;
	struct str data; /* UTF-8 */
	int64_t offset;  /* of data in its stream; -1: not given */
	int exit_code;
	const char *message;
};

/* Takes any bytes. ERR_PROTOCOL where text is no such message. The caller
 * releases f in any case. */
int langsmith_frame_parse(struct langsmith_frame *f, struct str text,
			  struct error *err);
void langsmith_frame_release(struct langsmith_frame *f);

/* How far one stream has come. Zero-initialise. */
struct langsmith_stream {
	int64_t at;    /* bytes delivered, as the server counts */
	bool replaced; /* bytes that were no UTF-8 make our count differ */
};

/*
 * Sets *part to the frame's data that was not delivered before, and advances s.
 * -1, with s unchanged, when bytes before the frame are missing: the caller
 * asks for them again.
 */
int langsmith_stream_advance(struct langsmith_stream *s,
			     const struct langsmith_frame *f, struct str *part);

#endif
