/* kills.c - what was cut from drafts, newest first, to put back. */
/* SPDX-License-Identifier: MIT */
#include "editor/kills.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"

static void drop(struct kills *k, size_t i)
{
	buf_release(&k->texts[i]);
	k->n--;
	memmove(&k->texts[i], &k->texts[i + 1],
		(k->n - i) * sizeof(k->texts[0]));
	k->texts[k->n] = (struct buf){ 0 };
}

void kills_add(struct kills *k, struct str text, enum kill_how how)
{
	struct buf new = BUF_INIT(SIZE_MAX);

	k->at = 0;
	if (!text.len)
		return;
	if (how == KILL_AFTER && k->n) {
		buf_addstr(&k->texts[0], text);
		return;
	}
	buf_addstr(&new, text);
	if (how == KILL_BEFORE && k->n) {
		buf_addstr(&new, buf_str(&k->texts[0]));
		drop(k, 0);
	}
	if (k->n == KILLS_MAX)
		drop(k, KILLS_MAX - 1);
	memmove(&k->texts[1], &k->texts[0], k->n * sizeof(k->texts[0]));
	k->texts[0] = new;
	k->n++;
}

struct str kills_newest(struct kills *k)
{
	k->at = 0;
	return buf_str(&k->texts[0]);
}

struct str kills_rotate(struct kills *k)
{
	k->at = k->n ? (k->at + 1) % k->n : 0;
	return buf_str(&k->texts[k->at]);
}

void kills_drop_with(struct kills *k, char byte)
{
	for (size_t i = k->n; i-- > 0;) {
		struct str text = buf_str(&k->texts[i]);

		if (str_find(text, byte) < text.len)
			drop(k, i);
	}
	k->at = 0;
}

void kills_release(struct kills *k)
{
	while (k->n)
		drop(k, k->n - 1);
}
