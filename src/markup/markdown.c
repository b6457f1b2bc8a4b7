/* markdown.c - Markdown as rows, while it arrives. */
/* SPDX-License-Identifier: MIT */
#include "markup/markdown.h"

#include <stdio.h>

#include "term/rows.h"

static const struct style muted = { .role = STYLE_MUTED };

/* Room for an empty row between what is done and what follows. */
static void add_gap(struct markdown *m, bool wanted)
{
	rows_close(&m->done);
	if (m->begun && wanted)
		rows_end(&m->done);
	m->begun = true;
}

static void flush_pending(struct markdown *m)
{
	struct rows rows = { 0 };

	if (m->pending.len) {
		m->work += m->pending.len;
		markdown_render(&m->look, buf_str(&m->pending), m->item, &rows);
	}
	if (rows.n) {
		add_gap(m, m->gap);
		rows_append(&m->done, &rows, 0, rows.n);
	}
	rows_release(&rows);
	buf_clear(&m->pending);
	m->item = 0;
	m->gap = true;
}

static void add_code(const struct markdown *m, struct highlight *h,
		     struct str line, struct rows *out)
{
	struct wrap w = { .columns = m->look.columns };
	struct buf code = BUF_INIT(2 * MARKDOWN_BLOCK);
	struct rows text = { 0 };

	blocks_fence_text(&m->blocks, line, &code);
	highlight_line(h, buf_str(&code), &text);
	rows_end(&text);
	wrap_row(&text, 0, &w, out);
	rows_release(&text);
	buf_release(&code);
}

static void begin_code(struct markdown *m, struct str line)
{
	struct str info = blocks_fence_info(line);

	add_gap(m, true);
	highlight_begin(&m->highlight, info);
	markdown_render_plain(&m->look, info, muted, &m->done);
}

static void take_code_line(struct markdown *m, struct str line, unsigned flags)
{
	if (flags & BLOCKS_AFTER)
		return;
	m->work += line.len;
	add_code(m, &m->highlight, line, &m->done);
}

/* What a line that begins a block changes. */
static void begin_block(struct markdown *m, const struct blocks *before)
{
	const struct blocks *b = &m->blocks;
	bool item = b->kind == BLOCK_ITEM;

	flush_pending(m);
	m->gap = !item || b->first || before->blank;
	if (item && (b->mark == '.' || b->mark == ')'))
		m->item = b->number;
}

static void take_line(struct markdown *m, struct str line)
{
	struct blocks before = m->blocks;
	unsigned flags = blocks_line(&m->blocks, line);

	if (before.kind == BLOCK_FENCE) {
		take_code_line(m, line, flags);
		return;
	}
	if (flags & BLOCKS_BEFORE)
		begin_block(m, &before);
	if (m->blocks.kind == BLOCK_FENCE) {
		begin_code(m, line);
		return;
	}
	if (m->blocks.kind == BLOCK_NONE && !flags)
		return;
	buf_addstr(&m->pending, line);
	buf_addc(&m->pending, '\n');
	if (flags & BLOCKS_AFTER || m->pending.len > MARKDOWN_BLOCK) {
		flush_pending(m);
		m->blocks.kind = BLOCK_NONE;
	}
}

/* Takes text up to its line's end, or up to the cap; bytes of it. */
static size_t take_piece(struct markdown *m, struct str text)
{
	size_t n = str_find(text, '\n');
	bool ended = n < text.len;

	if (n > MARKDOWN_BLOCK - m->line.len) {
		n = MARKDOWN_BLOCK - m->line.len;
		/* Not within a character: it began less than 4 bytes ago. */
		while (n && ((unsigned char)text.ptr[n] & 0xC0) == 0x80)
			n--;
		ended = false;
	}
	buf_add(&m->line, text.ptr, n);
	if (!ended && n == text.len)
		return n;
	take_line(m, buf_str(&m->line));
	buf_clear(&m->line);
	return n + ended;
}

void markdown_feed(struct markdown *m, struct str text)
{
	struct str rest;

	m->fresh.max = m->line.max = m->pending.max = SIZE_MAX / 4;
	sanitize_feed(&m->clean, text, &m->fresh);
	rest = buf_str(&m->fresh);
	while (rest.len)
		rest = str_skip(rest, take_piece(m, rest));
	buf_clear(&m->fresh);
	rows_close(&m->done);
}

void markdown_end(struct markdown *m)
{
	m->fresh.max = SIZE_MAX / 4;
	sanitize_end(&m->clean, &m->fresh);
	buf_addstr(&m->line, buf_str(&m->fresh));
	buf_clear(&m->fresh);
	if (m->line.len)
		take_line(m, buf_str(&m->line));
	flush_pending(m);
	buf_clear(&m->line);
	m->blocks = (struct blocks){ 0 };
}

static void add_table_length(const struct markdown *m, struct rows *out)
{
	char text[64];

	snprintf(text, sizeof(text), "%s table, %zu lines so far",
		 theme_glyph(m->look.theme, GLYPH_ELLIPSIS), m->blocks.lines);
	markdown_render_plain(&m->look, str_of(text), muted, out);
}

/* The last part of a long block, as it was written. */
static void add_end(const struct markdown *m, struct str text, struct rows *out)
{
	text = str_skip(text, text.len - MARKDOWN_TAIL);
	while (text.len && ((unsigned char)text.ptr[0] & 0xC0) == 0x80)
		text = str_skip(text, 1);
	markdown_render_plain(&m->look, text, (struct style){ 0 }, out);
}

void markdown_tail(struct markdown *m, struct rows *out)
{
	struct highlight h = m->highlight;
	struct str text;

	if (!m->line.len && !m->pending.len)
		return;
	if (m->begun && m->blocks.kind != BLOCK_FENCE &&
	    (m->gap || !m->pending.len))
		rows_end(out);
	buf_addstr(&m->fresh, buf_str(&m->pending));
	buf_addstr(&m->fresh, buf_str(&m->line));
	text = buf_str(&m->fresh);
	m->work += text.len < MARKDOWN_TAIL ? text.len : MARKDOWN_TAIL;
	if (m->blocks.kind == BLOCK_TEXT && m->blocks.table)
		add_table_length(m, out);
	else if (text.len > MARKDOWN_TAIL)
		add_end(m, text, out);
	else if (m->blocks.kind == BLOCK_FENCE)
		add_code(m, &h, text, out);
	else
		markdown_render(&m->look, text, m->item, out);
	buf_clear(&m->fresh);
}

void markdown_release(struct markdown *m)
{
	rows_release(&m->done);
	buf_release(&m->fresh);
	buf_release(&m->line);
	buf_release(&m->pending);
}
