/* paste_burst.h - finds pastes of a terminal that does not mark them. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_PASTE_BURST_H
#define EDITOR_PASTE_BURST_H

/*
 * Sits between read() and keys_feed(). A terminal without bracketed paste sends
 * a paste like typed keys, where each line end is the Enter key: the first line
 * of a paste would be sent as a message. But nobody types a line end and more
 * text within one read. Such bytes become the events of a paste.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/keys.h"

enum {
	/* Enter that arrived together with text waits this long for more. */
	PASTE_BURST_HOLD_MS = 20,
	/* A paste ends when nothing has arrived for this time. */
	PASTE_BURST_END_MS = 40,
	/* Keys that arrive one by one, but this soon after each other, were not
	 * typed. */
	PASTE_BURST_GAP_MS = 3,
	PASTE_BURST_RUN = 4, /* that many of them */
	/* Fewer bytes with only one line end may have been typed while the
	 * connection or dcode was busy. */
	PASTE_BURST_LEAST = 32,
};

/* Zero-initialise. */
struct paste_burst {
	/* Set by the caller while a letter would answer a question: then any
	 * text behind a line end makes a paste. Attack: "y", Enter and more,
	 * copied from a page. */
	bool strict;
	struct buf held; /* text and line ends that may begin a paste */
	bool pastes;     /* a paste is arriving */
	int64_t last_ms; /* time of the last byte */
	size_t run;      /* characters that arrived without a pause */
};

/* Passes bytes read at now_ms to the key reader or, if they are a paste, to the
 * sink. */
void paste_burst_feed(struct paste_burst *b, struct key_reader *k,
		      struct str bytes, int64_t now_ms, struct key_sink sink);
/* True until the end of a paste, with or without marks. */
bool paste_burst_is_on(const struct paste_burst *b, const struct key_reader *k);
/* Returns when paste_burst_timeout() must be called; INT64_MAX: not needed. */
int64_t paste_burst_deadline(const struct paste_burst *b);
/* Ends a paste, or passes held keys on. Does nothing before the deadline. */
void paste_burst_timeout(struct paste_burst *b, struct key_reader *k,
			 int64_t now_ms, struct key_sink sink);
void paste_burst_release(struct paste_burst *b);

#endif
