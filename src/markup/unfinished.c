/* unfinished.c - how Markdown that is still arriving is shown. */
/* SPDX-License-Identifier: MIT */
#include "markup/unfinished.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "markup/parser.h"

enum { MOST_OPEN = 8 /* marks that are closed at the end of a line */ };

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

static size_t count_run(struct str text, size_t at)
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
	size_t n = count_run(s->line, s->at);
	size_t end = s->at + n;

	while (end < s->line.len) {
		size_t run;

		if (s->line.ptr[end] != '`') {
			end++;
			continue;
		}
		run = count_run(s->line, end);
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
	size_t n = count_run(s->line, s->at);
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

bool unfinished_add(struct str lines, struct str line, bool begins,
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
