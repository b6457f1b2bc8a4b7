/* blocks.c - messages as lists of blocks: Anthropic's form, and Bedrock's. */
/* SPDX-License-Identifier: MIT */
#include "model/wires/blocks.h"

/* Opens the next block of this role: a new message, or one more block. */
static void open_block(struct history *h, enum role role)
{
	wire_open_block(h, role, role == ROLE_USER ? "user" : "assistant",
			"content");
}

/* How many parts are left when those at the end go that may not be there. */
static size_t find_end(const struct message *m, const struct blocks_form *f)
{
	size_t n = m->n;

	while (n && (!f->is_sendable(&m->parts[n - 1]) ||
		     m->parts[n - 1].kind == PART_THINKING))
		n--;
	return n;
}

void blocks_push(struct history *h, const struct message *m,
		 const struct blocks_form *f)
{
	enum role role = m->role == ROLE_ASSISTANT ? m->role : ROLE_USER;
	size_t n = find_end(m, f);
	size_t sent = 0;

	for (size_t i = 0; i < n; i++) {
		if (!f->is_sendable(&m->parts[i]) ||
		    (m->role == ROLE_TOOL && m->parts[i].kind == PART_MEDIA))
			continue;
		open_block(h, role);
		f->put(&h->bytes, m, i);
		sent++;
	}
	if (sent || role != ROLE_USER)
		return;
	open_block(h, role);
	f->put_empty(&h->bytes);
}
