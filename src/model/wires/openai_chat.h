/* openai_chat.h - the two halves of Chat Completions. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_OPENAI_CHAT_H
#define MODEL_OPENAI_CHAT_H

#include <cjson/cJSON.h>

#include "model/draft.h"

/* See struct wire. */
int openai_chat_event(struct draft *d, struct str event, struct str data,
		      struct error *err);
bool openai_chat_complete(const struct draft *d);
void openai_chat_replay(const struct draft_part *p, struct buf *out);
/* Adds pieces of reasoning_details as they come: "[{...},{...}". */
void openai_details_add(struct buf *pieces, const cJSON *list);
/* {"reasoning_details":[...]} with the pieces joined; nothing if they are no
 * JSON. */
void openai_details_print(const struct buf *pieces, struct buf *out);

#endif
