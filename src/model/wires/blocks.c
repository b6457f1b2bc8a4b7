/* blocks.c - messages as lists of blocks: Anthropic's form, and Bedrock's. */
/* SPDX-License-Identifier: MIT */
#include "model/wires/blocks.h"

#include "base/str.h"

bool blocks_blank(const char *text)
{
	return !str_trim(str_of(text)).len;
}

static bool is_sendable(const struct part *p, const struct blocks_form *f)
{
	if (p->kind == PART_TEXT)
		return !blocks_blank(p->text);
	if (p->kind == PART_THINKING) /* not another vendor's thoughts */
		return p->replay && str_starts(str_of(p->replay), f->thinking);
	return true;
}

static void put_part(struct buf *out, const struct message *m, size_t i,
		     const struct blocks_form *f)
{
	const struct part *p = &m->parts[i];

	switch (p->kind) {
	case PART_TEXT:
		f->put_text(out, p->text);
		break;
	case PART_MEDIA:
		f->put_media(out, p);
		break;
	case PART_THINKING:
		buf_adds(out, p->replay);
		break;
	case PART_TOOL_CALL:
		f->put_call(out, p);
		break;
	case PART_TOOL_RESULT:
		f->put_result(out, p, message_count_media(m, i));
		break;
	}
}

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

	while (n && (!is_sendable(&m->parts[n - 1], f) ||
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
		if (!is_sendable(&m->parts[i], f) ||
		    (m->role == ROLE_TOOL && m->parts[i].kind == PART_MEDIA))
			continue;
		open_block(h, role);
		put_part(&h->bytes, m, i, f);
		sent++;
	}
	if (sent || role != ROLE_USER)
		return;
	open_block(h, role);
	f->put_empty(&h->bytes);
}
