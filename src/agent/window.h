/* window.h - estimates how full the model's context window is. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_WINDOW_H
#define AGENT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/catalog.h"

/*
 * Vendors count tokens; dcode counts the bytes of a request. The vendor's last
 * report is exact. Bytes added since then are assumed to make twice as many
 * tokens as bytes have made so far, so that no request exceeds the window.
 */
struct window {
	int64_t size; /* tokens of the window; 0: unknown */
	bool assumed; /* the size is a guess: neither known nor configured */
	int64_t most; /* maximum input tokens that leave room for an answer */
	/* input tokens above which the conversation is compacted */
	int64_t limit;
	/* The vendor's last report: input tokens, and the bytes of that
	 * request. 0 if there was none since the history was replaced. */
	int64_t reported;
	size_t reported_bytes;
	/* bytes per 1,000 tokens in the last report; 0: no report */
	int64_t last;
	int64_t least; /* the lowest ratio reported so far */
	int64_t at;    /* as given to window_init() */
	bool learned;  /* the size was reported by the server */
};

enum { WINDOW_AT = 85 }; /* percent of the window: the default of at */

/* With facts NULL or without a window, the window is never full. at: percent of
 * the window, or tokens if above 100. In tokens, the window's size is capped so
 * that at is WINDOW_AT percent of it. */
void window_init(struct window *w, const struct model_facts *facts, int64_t at);
/* Records the tokens that the vendor counted for a request of that many bytes.
 * Ignores implausible reports. */
void window_report(struct window *w, const struct usage *usage, size_t bytes);
/*
 * Takes the size reported by the model's server in place of an assumed one.
 * True if it is used. A wrong report must not end a working conversation, so
 * the assumed size is kept if the reported one is too small for dcode, for a
 * head of that many bytes or for the last reported request, or is implausibly
 * large. max_output is 0 if unknown.
 */
bool window_learn(struct window *w, int64_t size, int64_t max_output,
		  size_t head);
/* minimum window in tokens that dcode can work with */
enum { WINDOW_LEAST = 8000 };
/* Drops the last report: it was about a history that has been replaced. */
void window_forget(struct window *w);
/* Call when a request of that many bytes was refused as too long: lowers the
 * size of the window or the bytes per token. Changes nothing if a short prompt
 * would then not fit beside a head of that many bytes. */
void window_refused(struct window *w, size_t bytes, size_t head);
/* True if a request of that many bytes may exceed the limit. For an assumed
 * window only the vendor's count is used: an estimate on top of a guess would
 * shorten conversations that fit. */
bool window_is_full(const struct window *w, size_t bytes);
/* Input tokens of a request of that many bytes: window_at_most() is hardly ever
 * exceeded, window_about() is the likely value. */
int64_t window_at_most(const struct window *w, size_t bytes);
int64_t window_about(const struct window *w, size_t bytes);
/* Bytes that make that many tokens: window_bytes() is the likely value;
 * window_safe_bytes() bytes hardly ever make more tokens. */
size_t window_bytes(const struct window *w, int64_t tokens);
size_t window_safe_bytes(const struct window *w, int64_t tokens);

#endif
