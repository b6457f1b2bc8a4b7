/* gemini.h - the two halves of Gemini's generateContent. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_GEMINI_H
#define MODEL_GEMINI_H

#include "model/draft.h"

/* See struct wire. */
int gemini_event(struct draft *d, struct str event, struct str data,
		 struct error *err);
bool gemini_complete(const struct draft *d);
void gemini_replay(const struct draft_part *p, struct buf *out);

#endif
