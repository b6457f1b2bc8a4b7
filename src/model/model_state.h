/* model_state.h - a conversation with one model; for src/model only. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MODEL_STATE_H
#define MODEL_MODEL_STATE_H

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
	struct model_choice choice; /* own copies */
	char *origin;               /* see model_origin() */
	char *url;
	char *system;                   /* of the brief */
	char *cache_key;                /* the same, or NULL */
	char *headers[MAX_HEADERS + 1]; /* owned, NULL-terminated */
	size_t n_headers;
	struct tool_set *tools; /* NULL: all are dcode's own */
	struct buf offered;     /* their names, a NUL behind each */
	struct buf head;
	struct history history;
	struct history_point prompt; /* before the last one */
	/* Bytes of files in the history, and what stands for them when tokens
	 * are estimated; the same of the history before the last prompt. */
	struct model_media {
		size_t bytes, weight;
	} media, prompt_media;
	struct call_ids call_ids;
	size_t marked; /* block_end of the last request that was answered */
	struct params_options options;
	struct account account;
	struct exchange *running;    /* borrowed, while a request runs */
	struct bedrock_account *aws; /* borrowed from the choice, or NULL */
	bool renewed;                /* key or token, in this turn */
	bool corrected;              /* the clock of signatures, the same */
};

#endif
