/* frame.h - what our scripts print in a sandbox, taken apart. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FRAME_H
#define SANDBOX_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A frame is a line "@dcode:NONCE:ENC", a body, and a line
 * "@dcode:NONCE=STATUS". ENC: r raw, b base64, x hexadecimal. What comes before
 * a frame is noise (a shell's profile); several frames may follow each other.
 */
struct frame {
	char nonce[17];
	int state; /* enum in frame.c */
	char enc;
	struct buf held; /* not yet understood */
	unsigned bits;   /* of an unfinished base64 or hexadecimal group */
	int n_bits;
	char noise[201]; /* the first bytes that were no frame */
	size_t noise_len;
	unsigned done; /* frames complete */
};

struct frame_sink {
	/* Decoded bytes of a body; -1 (err filled) stops. */
	int (*body)(void *arg, struct str bytes, struct error *err);
	/* The end of a frame; status is NUL-terminated text. */
	int (*status)(void *arg, const char *status, struct error *err);
	void *arg;
};

void frame_init(struct frame *f, const char *nonce);
/* -1 with what the sink said, or ERR_PROTOCOL on an overlong line. */
int frame_feed(struct frame *f, struct str chunk, const struct frame_sink *sink,
	       struct error *err);
void frame_release(struct frame *f);

/*
 * A script prints RS, "dcode-NONCE ", a text and RS (0x1E). NONCE is made for
 * one command, so that nothing it prints can be taken for ours. All other bytes
 * pass unchanged.
 */
enum { ASIDE_NONCE = 16, ASIDE_MAX = 4096 /* bytes of the text */ };

struct aside {
	char nonce[ASIDE_NONCE + 1];
	struct buf held; /* may begin one */
	struct buf text; /* of the last one that was found */
	bool found;
};

/* With a new nonce. */
void aside_init(struct aside *a);
/* Appends what is not an aside to out. */
void aside_feed(struct aside *a, struct str chunk, struct buf *out);
/* The end: appends what was held back. */
void aside_end(struct aside *a, struct buf *out);
void aside_release(struct aside *a);

/* Paths that arrive in pieces: each ".//./PATH\n", a last "//\n". */
struct path_records {
	struct buf held; /* start from { 0 } */
	bool incomplete; /* the last line said so, or a path was too long */
};
/* each: a path below the root; false stops. Returns false once stopped. */
bool path_records_feed(struct path_records *p, struct str chunk,
		       bool (*each)(void *arg, struct str path), void *arg);
/* whole: nothing was cut off, so the last path counts. */
void path_records_end(struct path_records *p, bool whole,
		      bool (*each)(void *arg, struct str path), void *arg);

enum match_form { MATCH_FILE, MATCH_NULL, MATCH_COLON };
struct match_record {
	struct str path; /* below the root; empty for MATCH_FILE */
	int64_t line;
	bool later; /* text begins later than the line: "12+:" */
	struct str text;
};
/* Takes one match off *rest, skipping what is none; false at the end. */
bool match_record_next(struct str *rest, enum match_form form,
		       struct match_record *m);

#endif
