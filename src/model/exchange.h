/* exchange.h - one request to a model and the stream of its answer. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_EXCHANGE_H
#define MODEL_EXCHANGE_H

#include "model/draft.h"
#include "model/money.h"
#include "model/params.h"
#include "model/wire.h"
#include "net/events.h"

struct exchange {
	const struct wire *wire;           /* borrowed */
	const struct model_choice *choice; /* borrowed */
	struct draft draft;
	struct sse sse;
	struct event_stream frames; /* used if wire->aws */
	char error_type[64];        /* value of x-amzn-errortype, or "" */
	char date[40];              /* value of Date, or "" */
	struct http_response response;
	struct buf lead;     /* data before the first event */
	uint64_t events;     /* number of events of any kind */
	size_t flushed;      /* draft.bytes at the last flush of the sink */
	uint64_t progress;   /* draft.progress when it last increased */
	int64_t progress_at; /* clock_ms() at that time */
	int64_t quiet_ms;
	bool sent;    /* the request was sent */
	bool refused; /* dcode could not parse the stream; not a network
		       * error */
	bool again;   /* after a failure: a retry may help */
};

void exchange_init(struct exchange *x, const struct wire *wire,
		   const struct model_choice *choice,
		   const struct model_sink *sink, int64_t quiet_ms);
void exchange_release(struct exchange *x);
/* Callbacks of struct http_request; arg is the exchange. */
int exchange_data(void *arg, struct str chunk, struct error *err);
void exchange_sent(void *arg);
void exchange_header(void *arg, struct str line);
int64_t exchange_idle(void *arg);
int64_t exchange_again(void *arg); /* http_request.again */
/* Call with the result of http_do(). Returns 0 with a complete answer in draft,
 * or -1 with the error for the user; `again` is then set if a retry may
 * help. */
int exchange_end(struct exchange *x, int rc, struct error *err);

/* Connects the requests of one conversation to the meter, which counts their
 * cost. */
struct account {
	struct meter_model *meter; /* borrowed; NULL: nothing is counted */
	size_t bytes; /* bytes of the last request that was answered */
	/* its input tokens as counted by the vendor; 0: unknown */
	int64_t tokens;
	/* offset of the output limit in the head; 0: dcode sends none */
	size_t limit_at;
	int64_t limit; /* output limit to send if the cap allows it */
	int64_t least; /* the lowest useful output limit */
	/* Files in the conversation, now and at the last answer: the bytes of
	 * their base64, and the most tokens that the vendor may count for
	 * them. */
	struct account_media {
		int64_t bytes, tokens;
	} media, media_then;
	struct meter_call call; /* the running request */
	size_t call_bytes;      /* size of the running request */
};
/* Call before params_clean(). If there is a cap, params_clean() then puts a
 * mark in place of the output limit, so that account_find_limit() can find
 * it. */
void account_begin(struct account *a, struct meter_model *meter,
		   struct params_options *options);
/* Call after the head was written with the cleaned params. ERR_CONFIG if the
 * head does not contain the mark. */
int account_find_limit(struct account *a, const struct params_options *options,
		       const cJSON *params, struct buf *head,
		       struct error *err);
/* Call after a message has added `growth` bytes to the history. Its files count
 * as many tokens as the vendor documents, instead of one per byte. */
void account_add(struct account *a, const struct model_choice *choice,
		 const struct history *h, const struct message *m,
		 size_t growth);
/* Call if the next request will not begin with the same history as the previous
 * one. */
void account_forget(struct account *a);
/* Call before each request; bytes is its size. Reserves its cost, see
 * meter_reserve(). Writes the output limit into the head. Shortens stop's
 * deadline to the time that the cap allows, see meter_time_left(). */
int account_reserve(struct account *a, struct buf *head, size_t bytes,
		    struct stop *stop, struct error *err);
/* Call while a request runs; see meter_note(). */
void account_note(struct account *a, const struct exchange *x);
/* Call after each request, with the result and error of exchange_end(). */
void account_settle(struct account *a, const struct exchange *x, int rc,
		    const struct error *why);

#endif
