/* model_state.h - a conversation with one model; for src/model only. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MODEL_STATE_H
#define MODEL_MODEL_STATE_H

#include "base/spool.h"
#include "model/draft.h"
#include "model/exchange.h"
#include "model/model.h"
#include "model/params.h"
#include "model/tool_set.h"
#include "model/wire.h"

enum {
	MAX_HISTORY = 1 << 30, /* bytes of one conversation */
	MAX_HEAD = 64 << 20,
	MAX_HEADERS = 40,
};

struct model {
	struct http *http; /* borrowed */
	const struct wire *wire;
	struct model_choice choice; /* its strings are copies */
	char *origin;               /* see model_origin() */
	char *url;
	char *system;                   /* from the brief */
	const struct mask *mask;        /* from the brief; borrowed, or NULL */
	char *cache_key;                /* from the brief, or NULL */
	char *headers[MAX_HEADERS + 1]; /* owned, NULL-terminated */
	size_t n_headers;
	struct tool_set *tools; /* NULL: all tools are dcode's own */
	struct buf offered;     /* names of the offered tools, each followed
				 * by a NUL */
	struct buf head;
	/* The front of the conversation, which changes no more, and the rest.
	 * Positions in the conversation count from the start of older. */
	struct spool older;
	struct history history;
	/* the position before the last prompt: see model_forget_prompt() */
	struct history_point prompt;
	/* Bytes of the files in the history, and their weight in token
	 * estimates. prompt_media: the same before the last prompt. */
	struct model_media {
		size_t bytes, weight;
	} media, prompt_media;
	struct call_ids call_ids;
	/* position of the last answered request's cache mark; 0: none */
	size_t marked;
	struct params_options options;
	struct account account;
	struct exchange *running;    /* borrowed, during a request */
	struct bedrock_account *aws; /* borrowed from the choice, or NULL */
	bool renewed;                /* key or token was renewed in this turn */
	bool corrected;              /* the signature clock was corrected in
				      * this turn */
};

#endif
