/* aside.c - a word from a script of ours, within what a command prints. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/aside.h"

#include <string.h>

#include "base/ids.h"
#include "base/str.h"

enum { MARK = 0x1E };

static const char name[] = "dcode-";

void aside_init(struct aside *a)
{
	*a = (struct aside){ .held = BUF_INIT(2 * ASIDE_MAX),
			     .text = BUF_INIT(ASIDE_MAX) };
	ids_random(a->nonce, ASIDE_NONCE);
}

/* Whether the bytes held, after their mark, can be or begin one of ours. */
static bool may_be_ours(const struct aside *a)
{
	char head[sizeof(name) + ASIDE_NONCE + 1];
	size_t all = sizeof(name) + ASIDE_NONCE;
	size_t len = a->held.len - 1;

	memcpy(head, name, sizeof(name) - 1);
	memcpy(head + sizeof(name) - 1, a->nonce, ASIDE_NONCE);
	head[all - 1] = ' ';
	return memcmp(a->held.ptr + 1, head, len < all ? len : all) == 0 &&
	       len <= all + ASIDE_MAX;
}

static void give_back(struct aside *a, struct buf *out)
{
	buf_addstr(out, buf_str(&a->held));
	buf_clear(&a->held);
}

void aside_feed(struct aside *a, struct str chunk, struct buf *out)
{
	size_t head = sizeof(name) + ASIDE_NONCE + 1; /* with the mark */

	while (chunk.len) {
		if (!a->held.len) {
			size_t n = str_find(chunk, MARK);

			buf_add(out, chunk.ptr, n);
			chunk = str_skip(chunk, n);
			if (!chunk.len)
				return;
			buf_addc(&a->held, MARK);
		} else if (*chunk.ptr == MARK && a->held.len >= head) {
			a->found = true;
			buf_clear(&a->text);
			buf_addstr(&a->text, str_skip(buf_str(&a->held), head));
			buf_clear(&a->held);
		} else if (*chunk.ptr == MARK) {
			give_back(a, out);
			continue;
		} else {
			buf_addc(&a->held, *chunk.ptr);
			if (!may_be_ours(a))
				give_back(a, out);
		}
		chunk = str_skip(chunk, 1);
	}
}

void aside_end(struct aside *a, struct buf *out)
{
	give_back(a, out);
}

void aside_release(struct aside *a)
{
	buf_release(&a->held);
	buf_release(&a->text);
}
