/* bedrock.h - the two halves of AWS Bedrock's ConverseStream. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_BEDROCK_H
#define MODEL_BEDROCK_H

#include "model/draft.h"

/* See struct wire. */
int bedrock_event(struct draft *d, struct str event, struct str data,
		  struct error *err);
bool bedrock_complete(const struct draft *d);
void bedrock_replay(const struct draft_part *p, struct buf *out);

#endif
