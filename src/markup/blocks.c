/* blocks.c - finds where a top-level block of Markdown ends, line by line. */
/* SPDX-License-Identifier: MIT */
#include "markup/blocks.h"

enum {
	CODE_INDENT = 4,     /* columns, also of a tab */
	MOST_DIGITS = 9,     /* of an item's number */
	UNDERLINE_LEAST = 3, /* "---", ":--": what md4c 0.4 asks for */
	MOST_MARKS = 16, /* containers that one line may open, looked through */
};

/* The columns before the text of a line, which is left in *line. */
static size_t skip_indent(struct str *line, size_t column)
{
	size_t from = column;

	while (line->len && (line->ptr[0] == ' ' || line->ptr[0] == '\t')) {
		if (line->ptr[0] == '\t')
			column += CODE_INDENT - column % CODE_INDENT;
		else
			column++;
		*line = str_skip(*line, 1);
	}
	return column - from;
}

static bool is_blank(struct str text)
{
	return !str_trim(text).len;
}

/* How often text begins with c. */
static size_t count_run(struct str text, char c)
{
	size_t n = 0;

	while (n < text.len && text.ptr[n] == c)
		n++;
	return n;
}

static bool is_rule(struct str text)
{
	size_t n = 0;
	char c = text.len ? text.ptr[0] : 0;

	if (c != '-' && c != '_' && c != '*')
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == c)
			n++;
		else if (text.ptr[i] != ' ' && text.ptr[i] != '\t')
			return false;
	}
	return n >= 3;
}

static bool is_heading(struct str text)
{
	size_t n = count_run(text, '#');

	return n >= 1 && n <= 6 &&
	       (n == text.len || text.ptr[n] == ' ' || text.ptr[n] == '\t');
}

static bool is_underline(struct str text)
{
	char c = text.len ? text.ptr[0] : '\0';

	return (c == '=' || c == '-') &&
	       is_blank(str_skip(text, count_run(text, c)));
}

/* The length of the fence that text begins with, or 0. */
static size_t fence_length(struct str text)
{
	char c = text.len ? text.ptr[0] : '\0';
	size_t n = c == '`' || c == '~' ? count_run(text, c) : 0;

	if (n < 3)
		return 0;
	if (c == '`' && str_find(str_skip(text, n), '`') < text.len - n)
		return 0;
	return n;
}

static bool closes_fence(const struct blocks *b, struct str text)
{
	size_t n = count_run(text, b->fence);

	text = str_skip(text, n);
	return n >= b->fence_len && count_run(text, ' ') == text.len;
}

static void skip_char(struct str *text, char c)
{
	if (text->len && text->ptr[0] == c)
		*text = str_skip(*text, 1);
}

/* "| :-- | --: |": the second line of a table. */
static bool is_table_line(struct str text)
{
	bool pipe = str_find(text, '|') < text.len;

	skip_char(&text, '|');
	text = str_trim(text);
	while (text.len) {
		size_t left = text.len;

		skip_char(&text, ':');
		text = str_skip(text, count_run(text, '-'));
		skip_char(&text, ':');
		if (left - text.len < UNDERLINE_LEAST)
			return false;
		text = str_trim(text);
		if (text.len && text.ptr[0] != '|')
			return false;
		skip_char(&text, '|');
		text = str_trim(text);
	}
	return pipe;
}

struct mark {
	char c; /* as in struct blocks, '>', or 0: none */
	size_t len;
	size_t number;
};

static struct mark read_mark(struct str text)
{
	struct mark m = { .len = 1 };
	size_t n = 0;

	if (!text.len)
		return m;
	if (text.ptr[0] == '>') {
		m.c = '>';
		return m;
	}
	while (n < text.len && n < MOST_DIGITS && text.ptr[n] >= '0' &&
	       text.ptr[n] <= '9')
		m.number = 10 * m.number + (size_t)(text.ptr[n++] - '0');
	m.len = n + 1;
	if (m.len < text.len && text.ptr[m.len] != ' ' &&
	    text.ptr[m.len] != '\t')
		return m;
	if (n ? n < text.len && (text.ptr[n] == '.' || text.ptr[n] == ')')
	      : text.ptr[0] == '-' || text.ptr[0] == '+' || text.ptr[0] == '*')
		m.c = text.ptr[n];
	return m;
}

/* An empty item, or one that is not the first, interrupts no paragraph. */
static bool may_interrupt(struct mark m, struct str text)
{
	bool ordered = m.c == '.' || m.c == ')';

	return m.c == '>' || (m.c && !is_blank(str_skip(text, m.len)) &&
			      (!ordered || m.number == 1));
}

/* What is left of a line behind the marks of the containers that it opens;
 * empty when that is indented code. */
static struct str skip_marks(struct str text, bool paragraph)
{
	for (int i = 0; i < MOST_MARKS && !is_rule(text); i++) {
		struct mark m = read_mark(text);

		if (!m.c || (paragraph && !may_interrupt(m, text)))
			break;
		text = str_skip(text, m.len);
		if (skip_indent(&text, 0) > CODE_INDENT)
			return STR("");
		paragraph = false;
	}
	return text;
}

/* Follows the code blocks and paragraphs within a quote or an item; indent: of
 * text within it. */
static void follow_inside(struct blocks *b, struct str text, size_t indent)
{
	bool paragraph = b->lazy && !b->blank;
	size_t before = text.len;

	if (b->fence) {
		if (closes_fence(b, text))
			b->fence = 0;
		b->lazy = false;
		return;
	}
	b->lazy = paragraph || indent < CODE_INDENT;
	text = skip_marks(text, paragraph);
	b->deep = text.len < before || (paragraph && b->deep);
	b->fence_len = fence_length(text);
	b->fence = b->fence_len ? text.ptr[0] : 0;
	if (b->fence || is_blank(text) || is_heading(text) || is_rule(text) ||
	    (paragraph && !b->deep && is_underline(text)))
		b->lazy = false;
}

/* The same behind the mark of a quote. */
static void follow_quote(struct blocks *b, struct str text)
{
	size_t indent;

	text = str_skip(text, 1);
	indent = skip_indent(&text, 0);
	if (b->fence)
		text = skip_marks(text, false);
	follow_inside(b, text, indent > 0 ? indent - 1 : 0);
}

static unsigned begin_item(struct blocks *b, struct str text, size_t indent,
			   struct mark m)
{
	struct str content = str_skip(text, m.len);
	size_t column = indent + m.len;
	size_t space = skip_indent(&content, column);

	b->first = b->mark != m.c;
	b->number = b->first ? m.number : b->number + 1;
	b->kind = BLOCK_ITEM;
	b->mark = m.c;
	b->empty = is_blank(content);
	b->indent = column + (b->empty || space > CODE_INDENT ? 1 : space);
	follow_inside(b, content, space > CODE_INDENT ? CODE_INDENT : 0);
	return BLOCKS_BEFORE;
}

/* A line that no open block takes. */
static unsigned begin_block(struct blocks *b, struct str text, size_t indent)
{
	struct mark m = read_mark(text);
	char list = b->mark;
	size_t number = b->number;
	/* md4c lets a fence of any indentation follow a paragraph. */
	bool fence = fence_length(text) && !b->blank &&
		     (b->kind == BLOCK_TEXT || b->lazy);

	*b = (struct blocks){ .lines = 1 };
	if (indent >= CODE_INDENT && !fence) {
		b->kind = BLOCK_INDENTED;
	} else if (is_rule(text) || is_heading(text)) {
		return BLOCKS_BEFORE | BLOCKS_AFTER;
	} else if (m.c == '>') {
		b->kind = BLOCK_QUOTE;
		follow_quote(b, text);
	} else if (m.c) {
		b->mark = list;
		b->number = number;
		return begin_item(b, text, indent, m);
	} else if (fence_length(text)) {
		b->kind = BLOCK_FENCE;
		b->fence = text.ptr[0];
		b->fence_len = fence_length(text);
		b->indent = indent;
	} else {
		b->kind = BLOCK_TEXT;
	}
	return BLOCKS_BEFORE;
}

static unsigned end_block(struct blocks *b)
{
	char mark = b->kind == BLOCK_ITEM ? b->mark : 0;
	size_t number = b->number;

	*b = (struct blocks){ .mark = mark, .number = number };
	return BLOCKS_AFTER;
}

/* What begins a block even where a paragraph might go on. */
static bool interrupts(struct str text)
{
	return is_rule(text) || is_heading(text) || fence_length(text) ||
	       read_mark(text).c;
}

static unsigned text_line(struct blocks *b, struct str text, size_t indent)
{
	struct mark m = read_mark(text);

	if (indent >= CODE_INDENT && (b->table || !fence_length(text)))
		return 0;
	if (b->table)
		return is_rule(text) || m.c ? begin_block(b, text, indent) : 0;
	if (is_underline(text))
		return end_block(b);
	if (m.c && !is_rule(text) && !may_interrupt(m, text))
		return 0;
	if (interrupts(text))
		return begin_block(b, text, indent);
	b->table = b->lines == 2 && is_table_line(text);
	return 0;
}

/* A line at the left of what is in a quote or an item. */
static unsigned outside_line(struct blocks *b, struct str text, size_t indent)
{
	bool inner = b->fence;

	/* md4c lets a fence close a code block that is deeper. */
	if (inner && indent < CODE_INDENT && closes_fence(b, text))
		return end_block(b);
	if (inner || b->blank || !b->lazy ||
	    ((indent < CODE_INDENT || fence_length(text)) && interrupts(text)))
		return begin_block(b, text, indent);
	return 0;
}

static unsigned item_line(struct blocks *b, struct str text, size_t indent)
{
	if (indent < b->indent || (b->empty && b->blank && b->lines == 3))
		return outside_line(b, text, indent);
	follow_inside(b, text, indent - b->indent);
	return 0;
}

static unsigned quote_line(struct blocks *b, struct str text, size_t indent)
{
	if (indent >= CODE_INDENT || text.ptr[0] != '>')
		return outside_line(b, text, indent);
	follow_quote(b, text);
	return 0;
}

static unsigned blank_line(struct blocks *b)
{
	if (b->kind == BLOCK_TEXT || b->kind == BLOCK_QUOTE)
		return end_block(b);
	return 0;
}

unsigned blocks_line(struct blocks *b, struct str line)
{
	struct str text = line;
	size_t indent = skip_indent(&text, 0);
	bool blank = is_blank(text);
	unsigned flags = 0;

	b->lines++;
	if (b->kind == BLOCK_FENCE) {
		if (indent < CODE_INDENT && closes_fence(b, text))
			return end_block(b);
		return 0;
	}
	if (blank)
		flags = blank_line(b);
	else if (b->kind == BLOCK_TEXT)
		flags = text_line(b, text, indent);
	else if (b->kind == BLOCK_ITEM)
		flags = item_line(b, text, indent);
	else if (b->kind == BLOCK_QUOTE)
		flags = quote_line(b, text, indent);
	else if (b->kind == BLOCK_NONE || indent < CODE_INDENT)
		flags = begin_block(b, text, indent);
	b->blank = blank;
	return flags;
}

void blocks_fence_text(const struct blocks *b, struct str line, struct buf *out)
{
	size_t indent = skip_indent(&line, 0);

	for (size_t i = b->indent; i < indent; i++)
		buf_addc(out, ' ');
	buf_addstr(out, line);
}

struct str blocks_fence_info(struct str line)
{
	line = str_trim(line);
	return str_trim(
		str_skip(line, line.len ? count_run(line, line.ptr[0]) : 0));
}
