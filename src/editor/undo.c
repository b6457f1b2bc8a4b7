/* undo.c - the changes of a text, to take back and to repeat. */
/* SPDX-License-Identifier: MIT */
#include "editor/undo.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void forget(struct undo *u, size_t i)
{
	u->bytes -= u->changes[i].removed.len + u->changes[i].inserted.len;
	buf_release(&u->changes[i].removed);
	buf_release(&u->changes[i].inserted);
}

static void forget_oldest(struct undo *u)
{
	forget(u, 0);
	u->n--;
	u->done--;
	memmove(u->changes, u->changes + 1, u->n * sizeof(*u->changes));
}

void undo_record(struct undo *u, size_t at, size_t caret, struct str removed,
		 struct str inserted)
{
	struct undo_change *c;

	if (!u->changes)
		u->changes = xcalloc(UNDO_CHANGES, sizeof(*u->changes));
	while (u->n > u->done)
		forget(u, --u->n);
	u->bytes += removed.len + inserted.len;
	while (u->n && (u->n == UNDO_CHANGES ||
			u->bytes - removed.len - inserted.len > UNDO_BYTES))
		forget_oldest(u);
	c = &u->changes[u->n++];
	*c = (struct undo_change){ at, caret, BUF_INIT(SIZE_MAX),
				   BUF_INIT(SIZE_MAX) };
	buf_addstr(&c->removed, removed);
	buf_addstr(&c->inserted, inserted);
	u->done = u->n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t';
}

void undo_record_typed(struct undo *u, size_t at, struct str inserted)
{
	struct undo_change *c = u->done ? &u->changes[u->done - 1] : NULL;

	/* A word with the blanks after it is one change. */
	if (!c || u->done < u->n || !c->inserted.len ||
	    c->at + c->inserted.len != at ||
	    (is_blank(c->inserted.ptr[c->inserted.len - 1]) &&
	     !is_blank(inserted.ptr[0]))) {
		undo_record(u, at, at, (struct str){ 0 }, inserted);
		return;
	}
	buf_addstr(&c->inserted, inserted);
	u->bytes += inserted.len;
}

const struct undo_change *undo_back(struct undo *u)
{
	return u->done ? &u->changes[--u->done] : NULL;
}

const struct undo_change *undo_again(struct undo *u)
{
	return u->done < u->n ? &u->changes[u->done++] : NULL;
}

void undo_clear(struct undo *u)
{
	while (u->n)
		forget(u, --u->n);
	free(u->changes);
	*u = (struct undo){ 0 };
}
