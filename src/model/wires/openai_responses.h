/* openai_responses.h - the two halves of the Responses API. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_OPENAI_RESPONSES_H
#define MODEL_OPENAI_RESPONSES_H

#include "model/draft.h"

/* See struct wire. */
int openai_responses_event(struct draft *d, struct str event, struct str data,
			   struct error *err);
bool openai_responses_complete(const struct draft *d);
void openai_responses_replay(const struct draft_part *p, struct buf *out);

#endif
