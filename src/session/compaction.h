/* compaction.h - what a model goes on with in place of older messages. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_COMPACTION_H
#define SESSION_COMPACTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct store; /* session/session.h */

struct compaction_mark {
	int64_t after;   /* messages of the thread before it */
	int64_t created; /* Unix ms */
};
struct compaction_marks { /* start from { 0 }; compaction_marks_release() */
	struct compaction_mark *list; /* in their order */
	size_t n;
	size_t at; /* the next one, for whoever goes through the messages */
};
/* Where the thread no was compacted. */
int compaction_list(struct store *s, int64_t no, struct compaction_marks *out,
		    struct error *err);
/* The next mark that stands behind so many messages, or NULL. Moves m->at. */
const struct compaction_mark *compaction_next(struct compaction_marks *m,
					      int64_t messages);
/* [{"after":12,"created":1790000000000},...] */
void compaction_marks_json(const struct compaction_marks *m, struct buf *out);
void compaction_marks_release(struct compaction_marks *m);

/* The last compaction of the thread no: its body goes to each, and of how many
 * messages it takes the place. Not called when there is none. */
int compaction_find(struct store *s, int64_t no,
		    void (*each)(void *arg, struct str body, int64_t after),
		    void *arg, struct error *err);

#endif
