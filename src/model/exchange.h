/* exchange.h - one request to a model and the stream that answers it. */
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
	struct event_stream frames; /* if wire->aws */
	char error_type[64];        /* x-amzn-errortype, or "" */
	char date[40];              /* Date, or "" */
	struct http_response response;
	struct buf lead;     /* what came before the first event */
	uint64_t events;     /* events of any kind */
	size_t flushed;      /* draft.bytes at the sink's last flush */
	uint64_t progress;   /* draft.progress when it last grew */
	int64_t progress_at; /* and when that was, clock_ms() */
	int64_t quiet_ms;
	bool sent;    /* the request is on its way */
	bool refused; /* our reading of the stream failed, not the network */
	bool again;   /* after a failure: a retry may help */
};

void exchange_init(struct exchange *x, const struct wire *wire,
		   const struct model_choice *choice,
		   const struct model_sink *sink, int64_t quiet_ms);
void exchange_release(struct exchange *x);
/* For http_request.data, with the exchange as its arg. */
int exchange_data(void *arg, struct str chunk, struct error *err);
/* For http_request.sent, .header and .idle, the same. */
void exchange_sent(void *arg);
void exchange_header(void *arg, struct str line);
int64_t exchange_idle(void *arg);
int64_t exchange_again(void *arg); /* http_request.again */
/* Takes what http_do() returned. 0 with a complete answer in draft, or -1 with
 * the error for the user, and again set. */
int exchange_end(struct exchange *x, int rc, struct error *err);

/* The requests of one conversation, as the meter sees them. */
struct account {
	struct meter_model *meter; /* borrowed; NULL: nothing is counted */
	size_t bytes;              /* of the last request that was answered */
	int64_t tokens;  /* of its input, as the vendor counted; 0: unknown */
	size_t limit_at; /* place of the output limit in the head; 0: dcode
			    sends none */
	int64_t limit;   /* the wanted one */
	int64_t least;   /* a lower one is of no use */
	/* Files in the conversation: the bytes of their base64 in requests, and
	 * the tokens that they are at most. Now, and at the last answer. */
	struct account_media {
		int64_t bytes, tokens;
	} media, media_then;
	struct meter_call call; /* the running request */
	size_t call_bytes;      /* its size */
};
/* Call before params_clean(). With a cap, lets it put a mark in the place of
 * the output limit. */
void account_begin(struct account *a, struct meter_model *meter,
		   struct params_options *options);
/* Call after the head was written with the cleaned params. ERR_CONFIG if the
 * wire has not written the mark. */
int account_find_limit(struct account *a, const struct params_options *options,
		       const cJSON *params, struct buf *head,
		       struct error *err);
/* Call after a message has made the history growth bytes longer: its files
 * count by the vendor's documents instead of by their bytes. */
void account_add(struct account *a, const struct model_choice *choice,
		 const struct history *h, const struct message *m,
		 size_t growth);
/* Call when the next request will not begin with the last one. */
void account_forget(struct account *a);
/* Call before each request of so many bytes: see meter_reserve(). Writes the
 * output limit into the head, and lets stop end no later than the cap:
 * meter_time_left(). */
int account_reserve(struct account *a, struct buf *head, size_t bytes,
		    struct stop *stop, struct error *err);
/* Call while a request runs: see meter_note(). */
void account_note(struct account *a, const struct exchange *x);
/* Call after each request; rc and why as exchange_end() has left them. */
void account_settle(struct account *a, const struct exchange *x, int rc,
		    const struct error *why);

#endif
