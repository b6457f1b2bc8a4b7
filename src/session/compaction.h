/* compaction.h - what a model goes on with in place of older messages. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_COMPACTION_H
#define SESSION_COMPACTION_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct store; /* session/session.h */

/* The last compaction of the thread no: its body goes to each, and of how many
 * messages it takes the place. Not called when there is none. */
int compaction_find(struct store *s, int64_t no,
		    void (*each)(void *arg, struct str body, int64_t after),
		    void *arg, struct error *err);

#endif
