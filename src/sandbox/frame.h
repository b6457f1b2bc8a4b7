/* frame.h - parsers for the output of dcode's scripts in a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FRAME_H
#define SANDBOX_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A frame is a line "@dcode:NONCE:ENC", a body, and a line
 * "@dcode:NONCE=STATUS". ENC: r raw, b base64, x hexadecimal. Bytes before a
 * frame are noise (output of a shell's profile). Several frames may follow each
 * other.
 */
struct frame {
	char nonce[17];
	int state; /* enum state of frame.c */
	char enc;
	struct buf held; /* bytes not yet parsed */
	unsigned bits;   /* bits of an unfinished base64 or hexadecimal group */
	int n_bits;
	char noise[201]; /* the first bytes outside of frames */
	size_t noise_len;
	unsigned done; /* number of complete frames */
};

struct frame_sink {
	/* Receives decoded bytes of a body; -1 (err filled) stops. */
	int (*body)(void *arg, struct str bytes, struct error *err);
	/* Receives the status at the end of a frame: NUL-terminated text. */
	int (*status)(void *arg, const char *status, struct error *err);
	void *arg;
};

void frame_init(struct frame *f, const char *nonce);
/* Returns -1 with the sink's error, or with ERR_PROTOCOL for an overlong
 * line. */
int frame_feed(struct frame *f, struct str chunk, const struct frame_sink *sink,
	       struct error *err);
void frame_release(struct frame *f);

/*
 * An aside: a script prints RS (0x1E), "dcode-NONCE ", a text and RS between
 * the output of a command. NONCE is new for each command, so the command's own
 * output cannot be mistaken for an aside. aside_feed() passes on all other
 * bytes unchanged.
 */
enum { ASIDE_NONCE = 16, ASIDE_MAX = 4096 /* bytes of the text */ };

struct aside {
	char nonce[ASIDE_NONCE + 1];
	struct buf held; /* bytes that may be the beginning of an aside */
	struct buf text; /* text of the last aside found */
	bool found;
};

/* Initialises the parser with a new nonce. */
void aside_init(struct aside *a);
/* Appends all bytes that are not an aside to out. */
void aside_feed(struct aside *a, struct str chunk, struct buf *out);
/* Call at the end of the output: appends bytes that looked like the beginning
 * of an aside. */
void aside_end(struct aside *a, struct buf *out);
void aside_release(struct aside *a);

/* Parser of paths that arrive in pieces. Each is ".//./PATH\n". A final "//\n"
 * means that some paths are missing. */
struct path_records {
	struct buf held; /* initialise with { 0 } */
	/* paths are missing: the answer ended in "//\n", or a path was too
	 * long */
	bool incomplete;
};
/* Calls each with every path that is complete, relative to the root; it returns
 * false to stop. Returns false once stopped. */
bool path_records_feed(struct path_records *p, struct str chunk,
		       bool (*each)(void *arg, struct str path), void *arg);
/* whole: the output was not cut off, so the last path is complete. */
void path_records_end(struct path_records *p, bool whole,
		      bool (*each)(void *arg, struct str path), void *arg);

enum match_form { MATCH_FILE, MATCH_NULL, MATCH_COLON };
struct match_record {
	struct str path; /* relative to the root; empty for MATCH_FILE */
	int64_t line;
	/* true for "12+:": the start of the line was cut off */
	bool later;
	struct str text;
};
/* Parses the next match of *rest and skips lines that are not matches; false at
 * the end. */
bool match_record_next(struct str *rest, enum match_form form,
		       struct match_record *m);

#endif
