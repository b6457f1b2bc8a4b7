/* account.h - the requests of one conversation, as the meter sees them. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_ACCOUNT_H
#define MODEL_ACCOUNT_H

#include "model/exchange.h"
#include "model/money.h"
#include "model/params.h"

struct account {
	struct meter_model *meter; /* borrowed; NULL: nothing is counted */
	size_t bytes;              /* of the last request that was answered */
	int64_t tokens;  /* of its input, as the vendor told; 0: none yet */
	size_t limit_at; /* in the head, where the output limit stands; 0: the
			    request has none of ours */
	int64_t limit;   /* the one that is wished */
	int64_t least;   /* a lower one helps nobody */
	/* Of the files in the conversation: their base64 within the requests,
	 * and the tokens that they are at most; then and now. */
	struct account_media {
		int64_t bytes, tokens;
	} media, media_then;
	struct meter_call call; /* the request that runs, */
	size_t call_bytes;      /* and its size */
};
/* Before params_clean(): with a cap, lets it put a mark where the output limit
 * goes; else only looks at what the user wants there. */
void account_begin(struct account *a, struct meter_model *meter,
		   struct params_options *options);
/* After the head was made with the params that were cleaned. ERR_CONFIG where
 * the wire did not take the mark over. */
int account_find_limit(struct account *a, const struct params_options *options,
		       const cJSON *params, struct buf *head,
		       struct error *err);
/* A message has made the history so much longer: its files count by the
 * vendor's documents instead of by their bytes. */
void account_add(struct account *a, const struct model_choice *choice,
		 const struct history *h, const struct message *m,
		 size_t growth);
/* What was sent last is not the beginning of what will be. */
void account_forget(struct account *a);
/* Before each request of so many bytes: see meter_reserve(). Writes the output
 * limit into the head; stop ends no later than the cap: meter_time_left(). */
int account_reserve(struct account *a, struct buf *head, size_t bytes,
		    struct stop *stop, struct error *err);
/* While it runs: see meter_note(). */
void account_note(struct account *a, const struct exchange *x);
/* After it; rc and why as exchange_end() has left them. */
void account_settle(struct account *a, const struct exchange *x, int rc,
		    const struct error *why);

#endif
