/* anthropic.h - the two halves of the Messages API. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_ANTHROPIC_H
#define MODEL_ANTHROPIC_H

#include "model/draft.h"

/* See struct wire. */
int anthropic_event(struct draft *d, struct str event, struct str data,
		    struct error *err);
bool anthropic_complete(const struct draft *d);

#endif
