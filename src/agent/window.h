/* window.h - estimates how full the model's context window is. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_WINDOW_H
#define AGENT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/catalog.h"

/*
 * Vendors count tokens; dcode counts the bytes of a request. What the vendor
 * reported for the last request is exact. Bytes added since then are assumed to
 * be twice as many tokens as earlier bytes were on average, so that no request
 * exceeds the window.
 */
struct window {
	int64_t size; /* tokens of the window; 0: unknown */
	bool assumed; /* the size is a guess: neither known nor configured */
	int64_t most; /* maximum input tokens; leaves room for an answer */
	/* input tokens above which the conversation is compacted */
	int64_t limit;
	/* The vendor's last report: input tokens, and the bytes of that
	 * request. 0 if there was none since the history was replaced. */
	int64_t reported;
	size_t reported_bytes;
	/* bytes per 1,000 tokens in the last report; 0: no report */
	int64_t last;
	/* the lowest number of bytes per 1,000 tokens reported so far */
	int64_t least;
	int64_t at;   /* the value given to window_init() */
	bool learned; /* the model's server has reported the size */
};

enum { WINDOW_AT = 85 }; /* default for window_init(): percent of the window */

/* If facts is NULL or has no window, the window counts as never full. at: when
 * to compact, in percent of the window, or in tokens if above 100. Tokens also
 * limit the window's size, so that at is WINDOW_AT percent of it. */
void window_init(struct window *w, const struct model_facts *facts, int64_t at);
/* Records the tokens that the vendor counted for a request of that many bytes.
 * Ignores implausible reports. */
void window_report(struct window *w, const struct usage *usage, size_t bytes);
/*
 * Replaces an assumed size by the one that the model's server reported. True if
 * it is used. A wrong report must not end a conversation that works. So the
 * assumed size stays if the reported one is implausibly large, or too small for
 * dcode, for `head` bytes before the messages, or for the last reported
 * request. max_output is 0 if unknown.
 */
bool window_learn(struct window *w, int64_t size, int64_t max_output,
		  size_t head);
/* minimum size, in tokens, of a window with which dcode works */
enum { WINDOW_LEAST = 8000 };
/* Discards the last report: call after the history was replaced. */
void window_forget(struct window *w);
/* Call when a request of so many bytes was refused as too long: lowers the size
 * of the window or the bytes per token. Changes nothing if after that a short
 * prompt would not fit together with `head` bytes before the messages. */
void window_refused(struct window *w, size_t bytes, size_t head);
/* True if a request of so many bytes may exceed the limit. For an assumed
 * window only the vendor's last count is used: to add a cautious estimate to a
 * guess would shorten conversations that fit. */
bool window_is_full(const struct window *w, size_t bytes);
/* Input tokens of a request of so many bytes. window_about() is the likely
 * number; window_at_most() is hardly ever exceeded. */
int64_t window_at_most(const struct window *w, size_t bytes);
int64_t window_about(const struct window *w, size_t bytes);
/* How many bytes make so many tokens. window_bytes() is the likely number;
 * window_safe_bytes() bytes hardly ever make more tokens. */
size_t window_bytes(const struct window *w, int64_t tokens);
size_t window_safe_bytes(const struct window *w, int64_t tokens);

#endif
