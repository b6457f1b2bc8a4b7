/* markdown.c - renders Markdown as rows while it arrives. */
/* SPDX-License-Identifier: MIT */
/*
 * First what is still arriving: unfinished_add(). Then the block parser: it
 * goes line by line and finds where a top-level block ends, so that no line is
 * parsed twice. Then the stream: begin reading at markdown_feed().
 * markdown_render.c renders a complete block.
 */
#include "markup/markdown.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "markup/parser.h"
#include "term/rows.h"

enum {
	UNFINISHED_MOST = 200, /* bytes */
	MOST_OPEN = 8,         /* marks that are closed at the end of a line */
};

struct open_mark {
	char c;    /* '*', '_', '~' or '`' */
	size_t n;  /* how many of them */
	size_t at; /* where the first one is */
};

struct line_scan {
	struct str line;
	size_t at;    /* what is before has been examined */
	size_t shown; /* bytes of line that are shown */
	struct open_mark open[MOST_OPEN];
	size_t n;
};

/* Counts the equal bytes from position at on. */
static size_t count_equal(struct str text, size_t at)
{
	size_t n = 1;

	while (at + n < text.len && text.ptr[at + n] == text.ptr[at])
		n++;
	return n;
}

/* True if what begins at `at` may still be completed. */
static bool may_complete(const struct line_scan *s, size_t at)
{
	return s->line.len - at <= UNFINISHED_MOST;
}

/* Ends the scan: the line is shown up to `at`. */
static void hold_back(struct line_scan *s, size_t at)
{
	s->shown = at;
	s->at = s->line.len;
}

static void push_mark(struct line_scan *s, size_t n)
{
	if (s->n < MOST_OPEN && may_complete(s, s->at))
		s->open[s->n++] =
			(struct open_mark){ s->line.ptr[s->at], n, s->at };
}

/* Skips code; what follows an opening mark without its end is all code. */
static void scan_code(struct line_scan *s)
{
	size_t n = count_equal(s->line, s->at);
	size_t end = s->at + n;

	while (end < s->line.len) {
		size_t run;

		if (s->line.ptr[end] != '`') {
			end++;
			continue;
		}
		run = count_equal(s->line, end);
		end += run;
		if (run == n) {
			s->at = end;
			return;
		}
	}
	/* three of them are a fence: "- ```c" */
	if (s->at + n == s->line.len || n >= 3)
		hold_back(s, s->at);
	else
		push_mark(s, n);
	s->at = s->line.len;
}

/* Returns the position after the bracket that closes the one at `at`; 0: it is
 * not closed within UNFINISHED_MOST bytes. */
static size_t find_closing(struct str text, size_t at, char open, char close)
{
	size_t deep = 0;

	for (size_t i = at; i < text.len && i - at < UNFINISHED_MOST; i++) {
		if (text.ptr[i] == '\\')
			i++;
		else if (text.ptr[i] == open)
			deep++;
		else if (text.ptr[i] == close && !--deep)
			return i + 1;
	}
	return 0;
}

/* Skips a whole link; holds back one that may still be completed. */
static void scan_link(struct line_scan *s)
{
	size_t text = find_closing(s->line, s->at, '[', ']');
	size_t begin = s->at;
	size_t end = 0;

	if (begin && s->line.ptr[begin - 1] == '!')
		begin--;
	if (text && text < s->line.len && s->line.ptr[text] != '(') {
		s->at++; /* just a bracket */
		return;
	}
	if (text && text < s->line.len)
		end = find_closing(s->line, text, '(', ')');
	if (end)
		s->at = end;
	else if (may_complete(s, begin))
		hold_back(s, begin);
	else
		s->at++;
}

/* Removes n marks of c from the newest ones that are open. */
static bool close_marks(struct line_scan *s, char c, size_t n)
{
	bool closed = false;

	while (s->n && n && s->open[s->n - 1].c == c) {
		struct open_mark *last = &s->open[s->n - 1];
		size_t less = n < last->n ? n : last->n;

		closed = true;
		n -= less;
		last->n -= less;
		if (!last->n)
			s->n--;
	}
	return closed;
}

static void scan_emphasis(struct line_scan *s)
{
	char c = s->line.ptr[s->at];
	size_t n = count_equal(s->line, s->at);
	size_t end = s->at + n;
	char before = s->at ? s->line.ptr[s->at - 1] : ' ';
	char after;
	bool closes;
	bool opens;

	if (end == s->line.len) {
		hold_back(s, s->at);
		return;
	}
	after = s->line.ptr[end];
	closes = before != ' ' && (c != '_' || !isalnum((unsigned char)after));
	opens = after != ' ' && (c != '_' || !isalnum((unsigned char)before));
	if (!(closes && close_marks(s, c, n)) && opens)
		push_mark(s, n);
	s->at = end;
}

static void scan_line(struct line_scan *s)
{
	while (s->at < s->line.len) {
		switch (s->line.ptr[s->at]) {
		case '\\':
			s->at += 2;
			break;
		case '`':
			scan_code(s);
			break;
		case '[':
			scan_link(s);
			break;
		case '*':
		case '_':
		case '~':
			scan_emphasis(s);
			break;
		default:
			s->at++;
		}
	}
}

/* True for a line that begins or ends a code block. */
static bool is_fence(struct str line)
{
	line = str_trim(line);
	return str_starts(line, "```") || str_starts(line, "~~~");
}

/* Appends an unfinished line with its open marks closed. */
static void add_line(struct str line, struct buf *out)
{
	struct line_scan s = { .line = line, .shown = line.len };

	if (is_fence(line)) /* its language may still be incomplete */
		return;
	scan_line(&s);
	/* a mark before a blank does not close, one after nothing not open */
	while (s.n && s.shown) {
		const struct open_mark *last = &s.open[s.n - 1];

		if (s.line.ptr[s.shown - 1] == ' ')
			s.shown--;
		else if (last->at + last->n >= s.shown)
			s.shown = s.open[--s.n].at;
		else
			break;
	}
	buf_add(out, line.ptr, s.shown);
	while (s.n--)
		for (size_t i = 0; i < s.open[s.n].n; i++)
			buf_addc(out, s.open[s.n].c);
}

/* If a table may begin with head, which may be unfinished, appends head and a
 * second line that makes it one. next: the part of the second line that has
 * arrived. */
static bool add_head(struct str head, struct str next, struct buf *out)
{
	struct str text = str_trim(head);

	for (size_t i = 0; i < next.len; i++)
		if (!strchr("|:- \t", next.ptr[i]))
			return false;
	if (!str_starts(text, "|"))
		return false;
	text = str_skip(text, 1);
	text.len -= str_ends(text, "|");
	if (!str_trim(text).len)
		return true; /* nothing to show yet */
	buf_addc(out, '|');
	add_line(text, out);
	buf_adds(out, "|\n");
	for (size_t n = table_line(head).cells; n; n--)
		buf_adds(out, "|---");
	buf_adds(out, "|\n");
	return true;
}

/*
 * The last line of an answer often ends within "**bold" or "[a link](http". So
 * that the user does not see these marks until the rest comes, the line is
 * completed before it is rendered: emphasis and code are closed, and a link is
 * held back until it is whole. What is open for longer than UNFINISHED_MOST
 * bytes, or at the end of the line, is shown as written.
 *
 * Appends a block that is still arriving, as it should be rendered now. lines:
 * its complete lines; line: the unfinished one. begins: these may be the first
 * two lines of a table. Returns true if they are: then a second line that makes
 * them one is added or completed.
 */
static bool unfinished_add(struct str lines, struct str line, bool begins,
			   struct buf *out)
{
	struct str head = lines;

	head.len -= str_ends(head, "\n");
	if (begins && (lines.len ? add_head(head, line, out)
				 : add_head(line, lines, out)))
		return true;
	buf_addstr(out, lines);
	add_line(line, out);
	return false;
}

enum {
	BLOCKS_BEFORE = 1, /* the open block ended before this line */
	BLOCKS_AFTER = 2,  /* this line ends its block */
};

enum {
	CODE_INDENT = 4, /* from this indentation on, a line is code; also the
			    width of a tab */
	MOST_DIGITS = 9, /* digits of a list item's number */
	MOST_MARKS = 16, /* quotes and list items begun by one line that are
			    examined, at most */
};

struct mark {
	char c; /* '>' for a quote, else as blocks.mark; 0: no mark */
	size_t len;
	size_t number;
};

/* Skips the indentation of *line and returns its width in columns. */
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

/* Returns how many times text begins with c. */
static size_t count_run(struct str text, char c)
{
	size_t n = 0;

	while (n < text.len && text.ptr[n] == c)
		n++;
	return n;
}

/* True for a thematic break: three or more of the same "-", "_" or "*". */
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

/* Returns the length of the fence at the beginning of text, or 0. */
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

/* True for the second line of a table. */
static bool is_table_line(const struct blocks *b, struct str text)
{
	struct table_line t = table_line(text);

	return t.delimits && (!t.narrow || t.cells == b->cells);
}

/* Reads the mark of a quote or list item at the front of text; c is 0 if there
 * is none. */
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

/* False for an empty list item and for one whose number is not 1: they cannot
 * interrupt a paragraph. */
static bool may_interrupt(struct mark m, struct str text)
{
	bool ordered = m.c == '.' || m.c == ')';

	return m.c == '>' || (m.c && !is_blank(str_skip(text, m.len)) &&
			      (!ordered || m.number == 1));
}

/* Returns the rest of a line after the marks of all quotes and list items that
 * it begins; empty if the rest is indented code. */
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

/* Tracks code blocks and paragraphs within a quote or list item. indent: the
 * indentation of text within it. */
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

/* Like follow_inside(), for the text after a quote's mark. */
static void follow_quote(struct blocks *b, struct str text)
{
	size_t indent;

	text = str_skip(text, 1);
	indent = skip_indent(&text, 0);
	if (b->fence)
		text = skip_marks(text, false);
	follow_inside(b, text, indent > 0 ? indent - 1 : 0);
}

/* Begins a list item and notes the indentation of its content. */
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

/* Begins a new block with a line that does not belong to the open one. */
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
		b->cells = table_line(text).cells;
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

/* True if text begins a block that can interrupt a paragraph. */
static bool interrupts_paragraph(struct str text)
{
	return is_rule(text) || is_heading(text) || fence_length(text) ||
	       read_mark(text).c;
}

/* Handles a line after a line of a paragraph or table. */
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
	if (interrupts_paragraph(text))
		return begin_block(b, text, indent);
	b->table = b->lines == 2 && is_table_line(b, text);
	return 0;
}

/* Handles a line that is indented less than the content of the quote or item.
 */
static unsigned outside_line(struct blocks *b, struct str text, size_t indent)
{
	bool inner = b->fence;

	/* md4c lets a fence close a code block that is nested deeper. */
	if (inner && indent < CODE_INDENT && closes_fence(b, text))
		return end_block(b);
	if (inner || b->blank || !b->lazy ||
	    ((indent < CODE_INDENT || fence_length(text)) &&
	     interrupts_paragraph(text)))
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

/* Handles the next line, without its LF. Returns BLOCKS_ flags. Unless
 * BLOCKS_AFTER is set, b->kind becomes the kind of the block that the line
 * belongs to. */
static unsigned blocks_line(struct blocks *b, struct str line)
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

/* Appends a line of a fenced code block without the fence's indentation. Tabs
 * at its beginning become spaces. */
static void blocks_fence_text(const struct blocks *b, struct str line,
			      struct buf *out)
{
	size_t indent = skip_indent(&line, 0);

	for (size_t i = b->indent; i < indent; i++)
		buf_addc(out, ' ');
	buf_addstr(out, line);
}

/* Returns the text after an opening fence: the language. */
static struct str blocks_fence_info(struct str line)
{
	line = str_trim(line);
	return str_trim(
		str_skip(line, line.len ? count_run(line, line.ptr[0]) : 0));
}

static const struct style muted = { .role = STYLE_MUTED };

/* Ends the open row. If wanted, then adds an empty row, except before the first
 * block. */
static void add_gap(struct markdown *m, bool wanted)
{
	rows_close(&m->done);
	if (m->begun && wanted)
		rows_end(&m->done);
	m->begun = true;
}

/* Renders the pending block. */
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
	struct wrap w = { .columns = m->look.columns, .soft = m->look.soft };
	struct buf code = BUF_INIT(2 * MARKDOWN_BLOCK);
	struct rows text = { 0 };

	blocks_fence_text(&m->blocks, line, &code);
	highlight_line(h, buf_str(&code), &text);
	rows_end(&text);
	wrap_row(&text, 0, &w, out);
	rows_release(&text);
	buf_release(&code);
}

/* Adds a line above or below code. */
static void add_fence(struct markdown *m, struct str language)
{
	enum { MOST = 40 }; /* cells */
	struct buf line = BUF_INIT(2 * MARKDOWN_BLOCK);
	size_t columns = m->look.columns;

	theme_add_rule(m->look.theme, language, columns < MOST ? columns : MOST,
		       &line);
	rows_add(&m->done, muted, buf_str(&line));
	rows_end(&m->done);
	buf_release(&line);
}

static void begin_code(struct markdown *m, struct str line)
{
	struct str info = blocks_fence_info(line);

	add_gap(m, true);
	highlight_begin(&m->highlight, info);
	if (!m->look.unnamed)
		add_fence(m, info);
}

static void end_code(struct markdown *m)
{
	if (!m->look.unnamed)
		add_fence(m, (struct str){ 0 });
}

static void handle_code_line(struct markdown *m, struct str line,
			     unsigned flags)
{
	if (flags & BLOCKS_AFTER) {
		end_code(m);
		return;
	}
	m->work += line.len;
	add_code(m, &m->highlight, line, &m->done);
}

/* Updates the state for a line that begins a block. */
static void note_block(struct markdown *m, const struct blocks *before)
{
	const struct blocks *b = &m->blocks;
	bool item = b->kind == BLOCK_ITEM;

	flush_pending(m);
	m->gap = !item || b->first || before->blank;
	if (item && (b->mark == '.' || b->mark == ')'))
		m->item = b->number;
}

/* Passes a complete line to the block parser and renders the blocks that it
 * ends. */
static void handle_line(struct markdown *m, struct str line)
{
	struct blocks before = m->blocks;
	unsigned flags = blocks_line(&m->blocks, line);

	if (before.kind == BLOCK_FENCE) {
		handle_code_line(m, line, flags);
		return;
	}
	if (flags & BLOCKS_BEFORE)
		note_block(m, &before);
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

/* Appends text to m->line until the line ends or has MARKDOWN_BLOCK bytes.
 * Returns the number of bytes used. */
static size_t append_piece(struct markdown *m, struct str text)
{
	size_t n = str_find(text, '\n');
	bool ended = n < text.len;

	if (n > MARKDOWN_BLOCK - m->line.len) {
		n = MARKDOWN_BLOCK - m->line.len;
		/* Do not cut within a character, which is at most 4 bytes long.
		 */
		while (n && ((unsigned char)text.ptr[n] & 0xC0) == 0x80)
			n--;
		ended = false;
	}
	buf_add(&m->line, text.ptr, n);
	if (!ended && n == text.len)
		return n;
	handle_line(m, buf_str(&m->line));
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
		rest = str_skip(rest, append_piece(m, rest));
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
		handle_line(m, buf_str(&m->line));
	if (m->blocks.kind == BLOCK_FENCE)
		end_code(m); /* its closing fence is missing */
	flush_pending(m);
	buf_clear(&m->line);
	m->blocks = (struct blocks){ 0 };
}

/* Returns the length of the first two lines: the head of a table. */
static size_t head_length(struct str text)
{
	size_t n = str_find(text, '\n') + 1;

	return n + str_find(str_skip(text, n), '\n') + 1;
}

/* Adds a table that is still arriving: its head, and as many of its last lines
 * as MARKDOWN_TAIL allows. The columns become wider as lines arrive. */
static void add_table(struct markdown *m, struct str text, struct rows *out)
{
	size_t head = head_length(text);
	struct buf part = BUF_INIT(2 * MARKDOWN_TAIL);
	struct str lines;

	if (text.len > MARKDOWN_TAIL && head < MARKDOWN_TAIL / 2) {
		lines = str_skip(text, text.len - (MARKDOWN_TAIL - head));
		lines = str_skip(lines, str_find(lines, '\n') + 1);
		buf_add(&part, text.ptr, head);
		buf_addstr(&part, lines);
		text = buf_str(&part);
	}
	if (text.len > MARKDOWN_TAIL)
		text.len = str_utf8_prefix(
			(struct str){ text.ptr, MARKDOWN_TAIL });
	markdown_render(&m->look, text, 0, out);
	buf_release(&part);
}

/* Adds the end of a long block as plain text. */
static void add_end(const struct markdown *m, struct str text, struct rows *out)
{
	struct markdown_look look = m->look;

	text = str_skip(text, text.len - MARKDOWN_TAIL);
	while (text.len && ((unsigned char)text.ptr[0] & 0xC0) == 0x80)
		text = str_skip(text, 1);
	look.parse = NULL;
	markdown_render(&look, text, 0, out);
}

/* True if the unfinished line has only characters of the fence so far. */
static bool may_close(const struct blocks *b, struct str line)
{
	size_t n = 0;

	while (n < line.len && line.ptr[n] == b->fence)
		n++;
	return n == line.len;
}

/* Appends the lines of the open block and the unfinished one, as Markdown to
 * show now. Returns true if they are a table. */
static bool add_arrived(const struct markdown *m, struct buf *out)
{
	const struct blocks *b = &m->blocks;
	struct str lines = buf_str(&m->pending);
	struct str line = buf_str(&m->line);
	bool begins = !lines.len || (b->kind == BLOCK_TEXT && b->lines == 1);

	if (b->fence && may_close(b, str_trim(line)))
		line.len = 0;
	if (b->fence || b->kind == BLOCK_INDENTED ||
	    lines.len + line.len > MARKDOWN_TAIL) {
		buf_addstr(out, lines);
		buf_addstr(out, line);
		return b->table;
	}
	if (b->table && str_is(str_trim(line), "|"))
		line.len = 0; /* a row begins */
	return unfinished_add(lines, line, begins, out) || b->table;
}

void markdown_tail(struct markdown *m, struct rows *out)
{
	struct highlight h = m->highlight;
	bool soft = m->look.soft;
	struct str text;
	bool table;

	if (!m->line.len && !m->pending.len)
		return;
	m->look.soft = false; /* live rows must not be wrapped again */
	if (m->begun && m->blocks.kind != BLOCK_FENCE &&
	    (m->gap || !m->pending.len))
		rows_end(out);
	table = add_arrived(m, &m->fresh);
	text = buf_str(&m->fresh);
	m->work += text.len < MARKDOWN_TAIL ? text.len : MARKDOWN_TAIL;
	if (table)
		add_table(m, text, out);
	else if (text.len > MARKDOWN_TAIL)
		add_end(m, text, out);
	else if (m->blocks.kind == BLOCK_FENCE)
		add_code(m, &h, text, out);
	else
		markdown_render(&m->look, text, m->item, out);
	m->look.soft = soft;
	buf_clear(&m->fresh);
}

void markdown_release(struct markdown *m)
{
	rows_release(&m->done);
	buf_release(&m->fresh);
	buf_release(&m->line);
	buf_release(&m->pending);
}
