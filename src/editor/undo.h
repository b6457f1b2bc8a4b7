/* undo.h - the changes of a text, to take back and to repeat. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_UNDO_H
#define EDITOR_UNDO_H

#include <stdbool.h>

#include "base/buf.h"

/* At a place, removed was replaced by inserted. */
struct undo_change {
	size_t at;
	size_t caret; /* before it */
	struct buf removed;
	struct buf inserted;
};

enum { UNDO_CHANGES = 500, UNDO_BYTES = 64 << 20 };

/* Zero-initialise. The oldest changes are forgotten beyond either limit; the
 * newest is always there. */
struct undo {
	struct undo_change *changes;
	size_t n;
	size_t done; /* changes[done..n) have been taken back */
	size_t bytes;
};

/* Records a change. typed: it continues a change of typing before it, so that
 * both are taken back as one. */
void undo_record(struct undo *u, size_t at, size_t caret, struct str removed,
		 struct str inserted);
void undo_record_typed(struct undo *u, size_t at, struct str inserted);
/* The change to take back, or to repeat; NULL: there is none. Valid until the
 * next call. */
const struct undo_change *undo_back(struct undo *u);
const struct undo_change *undo_again(struct undo *u);
void undo_clear(struct undo *u);

#endif
