/* exchange.h - one request to a model and the stream that answers it. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_EXCHANGE_H
#define MODEL_EXCHANGE_H

#include "model/draft.h"
#include "model/wire.h"
#include "net/event_stream.h"
#include "net/sse.h"

struct exchange {
	const struct wire *wire;           /* borrowed */
	const struct model_choice *choice; /* borrowed */
	struct draft draft;
	struct sse sse;
	struct event_stream frames; /* where wire->aws */
	char error_type[64];        /* x-amzn-errortype, or "" */
	char date[40];              /* Date, the same */
	struct http_response response;
	struct buf lead;     /* what came before the first event */
	uint64_t events;     /* events of any kind */
	size_t flushed;      /* draft.bytes when the sink was last told */
	uint64_t progress;   /* draft.progress when it last moved */
	int64_t progress_at; /* and when that was */
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
/* What http_do() returned becomes the outcome: 0 with a whole answer in
 * draft, or -1 with the error a user should read, and again set. */
int exchange_end(struct exchange *x, int rc, struct error *err);

#endif
