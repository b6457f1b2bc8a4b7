/* window.h - how full the model's context window is. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_WINDOW_H
#define AGENT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/catalog.h"

/*
 * Vendors count tokens, we count the bytes of a request. What the vendor
 * reported last is exact; bytes added since are counted dearly, as twice the
 * tokens that bytes made so far, so that no request passes the window.
 */
struct window {
	int64_t size;  /* tokens of the window; 0: unknown */
	bool assumed;  /* nobody knows the size, nor chose one */
	int64_t most;  /* input tokens that leave room for an answer */
	int64_t limit; /* input tokens above which is compacted */
	/* The last report: input tokens and the bytes of that request; 0 when
	 * there was none since the history was changed. */
	int64_t reported;
	size_t reported_bytes;
	int64_t last;  /* bytes for 1,000 tokens as last reported; 0: never */
	int64_t least; /* the same, the fewest so far */
	int64_t at;    /* as given to window_init() */
	bool learned;  /* the size is what the server says it is */
};

enum { WINDOW_AT = 85 }; /* percent of the window: the default of at */

/* facts NULL or without a window: nothing is ever too full. at: percent of the
 * window, or tokens when above 100: the window then counts as no larger than
 * what they are WINDOW_AT percent of. */
void window_init(struct window *w, const struct model_facts *facts, int64_t at);
/* What the vendor counted for a request of so many bytes. Ignored where it is
 * more tokens than bytes, or too few to be true. */
void window_report(struct window *w, const struct usage *usage, size_t bytes);
/*
 * What the model's server says of an assumed size: true where it holds from now
 * on. A server may say anything, so that it must not end a conversation that it
 * has just answered: a size too small for dcode, for a head of so many bytes,
 * or for what it has reported itself, and one too large to be true, leave the
 * assumption. max_output: 0 where it is not known.
 */
bool window_learn(struct window *w, int64_t size, int64_t max_output,
		  size_t head);
enum { WINDOW_LEAST = 8000 }; /* tokens that dcode can work with */
/* The history was replaced: the last report is of another. */
void window_forget(struct window *w);
/* A request of so many bytes was refused as too long: the window is smaller, or
 * the tokens are more, than was believed. Not where a short prompt would not
 * fit then beside a head of so many bytes: nothing is learned of such a one. */
void window_refused(struct window *w, size_t bytes, size_t head);
/* Whether a request of so many bytes may pass the limit. An assumed window is
 * full by what the vendor has counted alone: an estimate upon an assumption
 * would shorten conversations that fit. */
bool window_is_full(const struct window *w, size_t bytes);
/* Input tokens of a request of so many bytes: hardly ever more, and about. */
int64_t window_at_most(const struct window *w, size_t bytes);
int64_t window_about(const struct window *w, size_t bytes);
/* Bytes that make about so many tokens, and that hardly ever make more. */
size_t window_bytes(const struct window *w, int64_t tokens);
size_t window_safe_bytes(const struct window *w, int64_t tokens);

#endif
