/* vi.c - the keys of vi for the draft, as a layer above the editor. */
/* SPDX-License-Identifier: MIT */
/*
 * From top to bottom: positions in the text, motions, text objects, operators,
 * commands, the selection of visual mode, and "." which types the last change
 * again.
 * Begin reading at vi_event() and run_command(). The text is changed only
 * through editor_replace_before(), so that undo and the markers of pastes work
 * as with other keys. A position is a byte offset at the start of a cluster.
 */
#include "editor/vi.h"

#include <string.h>

#include "base/str.h"

static size_t text_len(const struct editor *e)
{
	return gap_len(&e->text);
}

static unsigned char byte_at(const struct editor *e, size_t at)
{
	return at < text_len(e) ? gap_byte(&e->text, at) : '\n';
}

/* Returns the position after the cluster at a position. */
static size_t next_of(struct editor *e, size_t at)
{
	size_t len = text_len(e);
	size_t most = len - at < 256 ? len - at : 256;
	size_t cells;

	if (at >= len)
		return len;
	if (byte_at(e, at) == PASTES_LEAD)
		return at + PASTES_MARK;
	if (byte_at(e, at) < 0x80 && byte_at(e, at + 1) < 0x80)
		return at + 1;
	return at + width_next(gap_view(&e->text, at, at + most), &cells);
}

static size_t line_start(struct editor *e, size_t at)
{
	return gap_after_last(&e->text, 0, at, '\n');
}

static size_t line_end(struct editor *e, size_t at)
{
	return gap_find(&e->text, at, text_len(e), '\n');
}

/* Returns the position before a position. */
static size_t prev_of(struct editor *e, size_t at)
{
	size_t start = at ? line_start(e, at - 1) : 0;
	size_t next;

	if (!at || byte_at(e, at - 1) == '\n')
		return at ? at - 1 : 0;
	while ((next = next_of(e, start)) < at)
		start = next;
	return start;
}

enum { CHANGE_MOST = 1 << 16 }; /* bytes that "." repeats */
enum { ERASES = 0x7f };         /* Backspace, in them */

enum { BLANK, MARK, WORD };

/* Returns the class of a character: big words consist of all but blanks. */
static int class_at(const struct editor *e, size_t at, bool big)
{
	unsigned char c = byte_at(e, at);
	bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80 ||
		    c == PASTES_LEAD;

	if (c == ' ' || c == '\t' || c == '\n')
		return BLANK;
	return word || big ? WORD : MARK;
}

static size_t word_forward(struct editor *e, size_t at, bool big)
{
	int kind = class_at(e, at, big);

	while (at < text_len(e) && kind != BLANK &&
	       class_at(e, at, big) == kind)
		at = next_of(e, at);
	while (at < text_len(e) && class_at(e, at, big) == BLANK)
		at = next_of(e, at);
	return at;
}

static size_t word_end(struct editor *e, size_t at, bool big)
{
	int kind;

	at = next_of(e, at);
	while (at < text_len(e) && class_at(e, at, big) == BLANK)
		at = next_of(e, at);
	kind = class_at(e, at, big);
	while (next_of(e, at) < text_len(e) &&
	       class_at(e, next_of(e, at), big) == kind)
		at = next_of(e, at);
	return at < text_len(e) ? at : prev_of(e, at);
}

static size_t word_back(struct editor *e, size_t at, bool big)
{
	int kind;

	at = prev_of(e, at);
	while (at && class_at(e, at, big) == BLANK)
		at = prev_of(e, at);
	kind = class_at(e, at, big);
	while (at && class_at(e, prev_of(e, at), big) == kind)
		at = prev_of(e, at);
	return at;
}

static size_t first_nonblank(struct editor *e, size_t at)
{
	at = line_start(e, at);
	while (byte_at(e, at) == ' ' || byte_at(e, at) == '\t')
		at++;
	return at;
}

/* In normal mode the caret is on a character, not after the last one. */
static void clamp_caret(struct editor *e)
{
	size_t at = e->caret;

	if (at == line_end(e, at) && at > line_start(e, at))
		e->caret = prev_of(e, at);
	e->has_goal = false;
}

/* A motion's result. */
struct motion {
	size_t to;
	bool inclusive; /* an operator includes the character at `to` */
	bool lines;     /* an operator acts on whole lines */
	bool fails;
};

/* Finds the character of the last f, F, t or T in the caret's line. reverse: in
 * the other direction, for ','. */
static struct motion find_char(struct vi *v, struct editor *e, size_t count,
			       bool reverse)
{
	bool forward = (v->find == 'f' || v->find == 't') != reverse;
	bool till = v->find == 't' || v->find == 'T';
	size_t start = line_start(e, e->caret);
	size_t end = line_end(e, e->caret);
	size_t at = e->caret;
	struct motion m = { at, forward, false, true };

	while (v->find && count && (forward ? at < end : at > start)) {
		at = forward ? next_of(e, at) : prev_of(e, at);
		if (at + v->found_len <= end &&
		    !memcmp(gap_view(&e->text, at, at + v->found_len).ptr,
			    v->found, v->found_len))
			count--;
	}
	if (!v->find || count)
		return m;
	m.fails = false;
	m.to = !till ? at : forward ? prev_of(e, at) : next_of(e, at);
	return m;
}

/* Returns the start of the line that is n lines below (or above) the caret's.
 */
static struct motion move_lines(struct editor *e, size_t n, bool down)
{
	struct motion m = { line_start(e, e->caret), false, true, false };

	for (; n && !m.fails; n--) {
		size_t end = line_end(e, m.to);

		m.fails = down ? end == text_len(e) : !m.to;
		if (!m.fails)
			m.to = down ? end + 1 : line_start(e, m.to - 1);
	}
	return m;
}

/* Repeats a word motion. */
static struct motion move_words(struct vi *v, struct editor *e, char c,
				size_t n)
{
	bool big = c == 'W' || c == 'B' || c == 'E';
	bool single = n == 1;
	struct motion m = { e->caret, false, false, false };

	/* Like vi, "cw" does not change the blanks after the word. */
	if (v->op == 'c' && (c == 'w' || c == 'W') &&
	    class_at(e, e->caret, big) != BLANK) {
		int kind;

		for (; n > 1; n--)
			m.to = word_forward(e, m.to, big);
		kind = class_at(e, m.to, big);
		while (m.to < text_len(e) && class_at(e, m.to, big) == kind)
			m.to = next_of(e, m.to);
		return m;
	}
	for (; n; n--)
		m.to = c == 'w' || c == 'W'   ? word_forward(e, m.to, big)
		       : c == 'b' || c == 'B' ? word_back(e, m.to, big)
					      : word_end(e, m.to, big);
	m.inclusive = c == 'e' || c == 'E';
	/* "dw" on the last word of a line keeps the line end. */
	if (v->op && (c == 'w' || c == 'W') && single &&
	    e->caret < line_end(e, e->caret) && m.to > line_end(e, e->caret))
		m.to = line_end(e, e->caret);
	return m;
}

/* Moves left or right within the line. */
static struct motion move_chars(struct editor *e, size_t n, bool right)
{
	struct motion m = { e->caret, false, false, false };
	size_t start = line_start(e, e->caret);
	size_t end = line_end(e, e->caret);

	for (; n && (right ? m.to < end : m.to > start); n--)
		m.to = right ? next_of(e, m.to) : prev_of(e, m.to);
	return m;
}

/* Returns where a motion leads. fails: c is not a motion, or it leads nowhere.
 */
static struct motion find_motion(struct vi *v, struct editor *e, char c)
{
	size_t n = (v->count ? v->count : 1) * (v->op_count ? v->op_count : 1);
	struct motion m = { e->caret, false, false, false };

	/* "2d3w" deletes six words */
	n = n < VI_COUNT_MAX ? n : VI_COUNT_MAX;
	if (strchr("wWbBeE", c))
		return move_words(v, e, c, n);
	switch (c) {
	case 'h':
	case 'l':
	case ' ':
		return move_chars(e, n, c != 'h');
	case '0':
		m.to = line_start(e, e->caret);
		return m;
	case '^':
		m.to = first_nonblank(e, e->caret);
		return m;
	case '$':
		m.to = line_end(e, e->caret);
		return m;
	case ';':
	case ',':
		return find_char(v, e, n, c == ',');
	case 'j':
	case 'k':
		return move_lines(e, n, c == 'j');
	case 'G':
		m.to = line_start(e, text_len(e));
		m.lines = true;
		return m;
	default:
		m.fails = true;
		return m;
	}
}

/* The text from one position to another. fails: there is no such object. */
struct object {
	size_t from, to;
	bool fails;
};

static void skip_blanks(struct editor *e, size_t *to)
{
	while (*to < line_end(e, *to) && class_at(e, *to, true) == BLANK)
		*to = next_of(e, *to);
}

/* "iw", "aw": the word at the caret, or the blanks there. */
static struct object find_word(struct editor *e, bool around, bool big)
{
	size_t start = line_start(e, e->caret);
	size_t end = line_end(e, e->caret);
	int kind = class_at(e, e->caret, big);
	struct object s = { e->caret, e->caret, start == end };

	while (s.from > start && class_at(e, prev_of(e, s.from), big) == kind)
		s.from = prev_of(e, s.from);
	while (s.to < end && class_at(e, s.to, big) == kind)
		s.to = next_of(e, s.to);
	if (around && kind == BLANK && s.to < end) {
		kind = class_at(e, s.to, big);
		while (s.to < end && class_at(e, s.to, big) == kind)
			s.to = next_of(e, s.to);
	} else if (around && s.to < end && class_at(e, s.to, big) == BLANK) {
		skip_blanks(e, &s.to);
	} else if (around) {
		while (s.from > start &&
		       class_at(e, prev_of(e, s.from), big) == BLANK)
			s.from = prev_of(e, s.from);
	}
	return s;
}

/* Finds the next quote in the caret's line; one behind a backslash is none. */
static bool find_quote(struct editor *e, size_t *at, char quote)
{
	size_t end = line_end(e, e->caret);

	while (*at < end && byte_at(e, *at) != (unsigned char)quote) {
		if (byte_at(e, *at) == '\\' && *at + 1 < end)
			*at = next_of(e, *at);
		*at = next_of(e, *at);
	}
	return *at < end;
}

/* 'i"', 'a"': the quoted text at the caret, or the next one in its line. */
static struct object find_quoted(struct editor *e, bool around, char quote)
{
	struct object s = { line_start(e, e->caret), 0, false };

	for (;;) {
		if (!find_quote(e, &s.from, quote))
			break;
		s.to = s.from + 1;
		if (!find_quote(e, &s.to, quote))
			break;
		if (s.to < e->caret) {
			s.from = s.to + 1;
			continue;
		}
		s.from += !around;
		s.to += around;
		if (around)
			skip_blanks(e, &s.to);
		return s;
	}
	s.fails = true;
	return s;
}

/* "i(", "a(": the text in the brackets around the caret, over several lines,
 * too. */
static struct object find_bracketed(struct editor *e, bool around, char open,
				    char close)
{
	struct object s = { e->caret, 0, false };
	size_t depth = byte_at(e, s.from) != (unsigned char)open;

	while (depth && s.from) {
		s.from--;
		if (byte_at(e, s.from) == (unsigned char)close)
			depth++;
		else if (byte_at(e, s.from) == (unsigned char)open)
			depth--;
	}
	s.fails = depth;
	depth = 1;
	for (s.to = s.from + 1; s.to < text_len(e); s.to++) {
		if (byte_at(e, s.to) == (unsigned char)open)
			depth++;
		else if (byte_at(e, s.to) == (unsigned char)close && !--depth)
			break;
	}
	s.fails = s.fails || s.to >= text_len(e);
	s.from += !around;
	s.to += around;
	return s;
}

/* Returns the text object that a character names. */
static struct object find_object(struct editor *e, bool around, char c)
{
	static const char pairs[][4] = { "()b", "[]", "{}B", "<>" };

	if (c == 'w' || c == 'W')
		return find_word(e, around, c == 'W');
	if (c && strchr("\"'`", c))
		return find_quoted(e, around, c);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (c && strchr(pairs[i], c))
			return find_bracketed(e, around, pairs[i][0],
					      pairs[i][1]);
	return (struct object){ e->caret, e->caret, true };
}

static void replace(struct editor *e, size_t from, size_t to, struct str text)
{
	e->caret = to;
	editor_replace_before(e, to - from, text);
}

static void keep_text(struct vi *v, struct editor *e, size_t from, size_t to,
		      bool lines)
{
	buf_clear(&v->text);
	v->text.max = SIZE_MAX;
	buf_addstr(&v->text, gap_view(&e->text, from, to));
	v->lines = lines;
	v->draft = e->drafts;
}

/* Clears the text to put (p, P) if it has markers of pasted text that belong to
 * an earlier draft. */
static void drop_old_pastes(struct vi *v, const struct editor *e)
{
	struct str text = buf_str(&v->text);

	if (v->draft != e->drafts && str_find(text, PASTES_LEAD) < text.len)
		buf_clear(&v->text);
}

/* Applies the operator to whole lines, from the one with `from` to the one with
 * `to`. */
static void operate_lines(struct vi *v, struct editor *e, size_t from,
			  size_t to)
{
	size_t end = line_end(e, to);

	from = line_start(e, from);
	keep_text(v, e, from, end, true);
	if (v->op == 'c') {
		replace(e, from, end, (struct str){ 0 });
	} else if (v->op == 'd') {
		if (end < text_len(e))
			end++;
		else if (from)
			from--;
		replace(e, from, end, (struct str){ 0 });
		e->caret = first_nonblank(e, from < text_len(e) ? from
								: text_len(e));
	}
}

/* Applies the pending operator to the text between the caret and a motion's
 * end. */
static void operate(struct vi *v, struct editor *e, struct motion m)
{
	size_t from = m.to < e->caret ? m.to : e->caret;
	size_t to = m.to < e->caret ? e->caret : m.to;

	if (m.lines) {
		operate_lines(v, e, from, to);
	} else {
		if (m.inclusive)
			to = next_of(e, to);
		keep_text(v, e, from, to, false);
		if (v->op == 'y')
			e->caret = from;
		else if (from < to)
			replace(e, from, to, (struct str){ 0 });
	}
	v->normal = v->op != 'c';
}

static void clear_pending(struct vi *v)
{
	v->op = v->waits = 0;
	v->count = v->op_count = 0;
}

/* Moves the caret or, with a pending operator, changes the text. */
static void apply_motion(struct vi *v, struct editor *e, struct motion m)
{
	if (!m.fails && v->op)
		operate(v, e, m);
	else if (!m.fails)
		e->caret = m.lines ? first_nonblank(e, m.to) : m.to;
	clear_pending(v);
}

/* Runs "dd", "x", "D" and the like as an operator with a motion. */
static void run_operator(struct vi *v, struct editor *e, char op, char motion)
{
	v->op = op;
	apply_motion(v, e, find_motion(v, e, motion));
}

/* "dd", "cc" and "yy": as many lines as the count. */
static void operate_count_lines(struct vi *v, struct editor *e)
{
	size_t n = (v->count ? v->count : 1) * (v->op_count ? v->op_count : 1);
	size_t to = e->caret;

	for (; n > 1 && line_end(e, to) < text_len(e); n--)
		to = line_end(e, to) + 1;
	operate(v, e, (struct motion){ to, false, true, false });
	clear_pending(v);
}

/* "p" and "P": inserts the kept text after or before the caret. */
static void put_text(struct vi *v, struct editor *e, bool after)
{
	size_t n = v->count ? v->count : 1;
	struct buf all = BUF_INIT(64 << 20);
	struct str text;
	size_t at;

	drop_old_pastes(v, e);
	text = buf_str(&v->text);
	for (size_t i = 0; i < n && text.len; i++) {
		if (v->lines && after)
			buf_addc(&all, '\n');
		buf_addstr(&all, text);
		if (v->lines && !after)
			buf_addc(&all, '\n');
	}
	if (v->lines)
		at = after ? line_end(e, e->caret) : line_start(e, e->caret);
	else
		at = after && e->caret < line_end(e, e->caret)
			     ? next_of(e, e->caret)
			     : e->caret;
	if (all.len && !all.over) {
		replace(e, at, at, buf_str(&all));
		e->caret = v->lines ? first_nonblank(e, at + after)
				    : prev_of(e, e->caret);
	}
	buf_release(&all);
	clear_pending(v);
}

/* Begins insert mode at a position. */
static void begin_insert(struct vi *v, struct editor *e, size_t at)
{
	e->caret = at;
	e->has_goal = false;
	v->normal = false;
	v->visual = 0;
	clear_pending(v);
}

/* "o" and "O": begins insert mode in a new line below or above. */
static void open_line(struct vi *v, struct editor *e, bool below)
{
	size_t at = below ? line_end(e, e->caret) : line_start(e, e->caret);

	replace(e, at, at, STR("\n"));
	begin_insert(v, e, below ? at + 1 : at);
}

/* "r": replaces as many characters as the count. */
static void replace_chars(struct vi *v, struct editor *e, struct str c)
{
	size_t n = v->count ? v->count : 1;
	struct buf text = BUF_INIT(1 << 16);
	size_t from = e->caret;
	size_t to = from;

	for (; n && to < line_end(e, from); n--) {
		to = next_of(e, to);
		buf_addstr(&text, c);
	}
	if (!n && !text.over) {
		replace(e, from, to, buf_str(&text));
		e->caret = prev_of(e, e->caret);
	}
	buf_release(&text);
	clear_pending(v);
}

/* Applies the pending operator to a text object, or selects it. */
static void apply_object(struct vi *v, struct editor *e, struct object s)
{
	if (!s.fails && v->op) {
		e->caret = s.from;
		operate(v, e, (struct motion){ s.to, false, false, false });
	} else if (!s.fails && s.from < s.to) {
		v->anchor = s.from;
		e->caret = prev_of(e, s.to);
	}
	clear_pending(v);
}

/* Handles the character that "r", "f", "g" or a text object waits for. */
static void finish_command(struct vi *v, struct editor *e, struct str c)
{
	char command = v->waits;

	v->waits = 0;
	if (command == 'i' || command == 'a') {
		apply_object(v, e,
			     find_object(e, command == 'a',
					 c.len == 1 ? c.ptr[0] : '\0'));
	} else if (command == 'r') {
		replace_chars(v, e, c);
	} else if (command == 'g') {
		apply_motion(
			v, e,
			(struct motion){ 0, false, true, !str_is(c, "g") });
	} else {
		v->find = command;
		v->found_len =
			c.len < sizeof(v->found) ? c.len : sizeof(v->found);
		memcpy(v->found, c.ptr, v->found_len);
		apply_motion(v, e,
			     find_char(v, e, v->count ? v->count : 1, false));
	}
}

static enum editor_result press_key(struct editor *e, struct key key)
{
	return editor_event(
		e, &(struct key_event){ .kind = KEY_EVENT_KEY, .key = key });
}

/* Commands that begin insert mode. Returns false for others. */
static bool run_insert(struct vi *v, struct editor *e, char c)
{
	switch (c) {
	case 'i':
		begin_insert(v, e, e->caret);
		return true;
	case 'a':
		begin_insert(v, e,
			     e->caret < line_end(e, e->caret)
				     ? next_of(e, e->caret)
				     : e->caret);
		return true;
	case 'I':
		begin_insert(v, e, first_nonblank(e, e->caret));
		return true;
	case 'A':
		begin_insert(v, e, line_end(e, e->caret));
		return true;
	case 'o':
	case 'O':
		open_line(v, e, c == 'o');
		return true;
	default:
		return false;
	}
}

/* Commands that are short for an operator with a motion. Returns false for
 * others. */
static bool run_short(struct vi *v, struct editor *e, char c)
{
	static const char shorts[][4] = { "xdl", "Xdh", "Dd$", "Cc$", "scl" };

	for (size_t i = 0; i < sizeof(shorts) / sizeof(*shorts); i++)
		if (shorts[i][0] == c) {
			run_operator(v, e, shorts[i][1], shorts[i][2]);
			return true;
		}
	if (c != 'S' && c != 'Y')
		return false;
	v->op = c == 'S' ? 'c' : 'y';
	operate_count_lines(v, e);
	return true;
}

/* Moves by rows as the arrow keys do, and beyond them through the history. */
static enum editor_result move_rows(struct vi *v, struct editor *e, bool down)
{
	size_t n = v->count ? v->count : 1;
	enum editor_result result = EDITOR_CHANGED;

	clear_pending(v);
	for (; n && result == EDITOR_CHANGED; n--)
		result = press_key(
			e, (struct key){ down ? KEY_DOWN : KEY_UP, 0, 0 });
	return result;
}

/* Undo leaves the caret where the change began. */
static void undo_change(struct vi *v, struct editor *e, bool again)
{
	enum editor_result result = press_key(
		e, (struct key){ KEY_CHAR, '_', again ? KEY_ALT : KEY_CTRL });
	const struct undo *u = &e->undo;

	if (result == EDITOR_CHANGED && !again)
		e->caret = u->changes[u->done].at;
	clear_pending(v);
}

/* Returns the start of the cluster that has this byte: the text may have been
 * replaced since the byte was chosen. */
static size_t snap(struct editor *e, size_t at)
{
	size_t start;

	at = at < text_len(e) ? at : text_len(e);
	start = line_start(e, at);
	while (start < at && next_of(e, start) <= at)
		start = next_of(e, start);
	return start;
}

/* Applies an operator to the selection. */
static void operate_selection(struct vi *v, struct editor *e, char op)
{
	size_t anchor = snap(e, v->anchor);
	size_t from = anchor < e->caret ? anchor : e->caret;
	size_t to = anchor < e->caret ? e->caret : anchor;
	bool lines = v->visual == 'V';

	v->op = op;
	v->visual = 0;
	e->caret = from;
	/* a selected line end is a character, too */
	operate(v, e,
		(struct motion){ lines ? to : next_of(e, to), false, lines,
				 false });
	clear_pending(v);
}

/* Runs a command of visual mode. Returns false for others: motions move the end
 * of the selection. */
static bool run_visual(struct vi *v, struct editor *e, char c)
{
	size_t anchor = v->anchor;

	if (c == 'v' || c == 'V') {
		v->anchor = v->visual ? v->anchor : e->caret;
		v->visual = v->visual == c ? '\0' : c;
	} else if (!v->visual) {
		return false;
	} else if (c == 'o') {
		v->anchor = e->caret;
		e->caret = snap(e, anchor);
	} else if (c == 'i' || c == 'a') {
		v->waits = c;
		return true;
	} else if (c && strchr("dxcsy", c)) {
		operate_selection(v, e, c == 'x' ? 'd' : c == 's' ? 'c' : c);
	} else {
		/* what changes the text without the selection ends it */
		if (c && strchr("pPuUrXDCSYIAO/.", c))
			v->visual = 0;
		return false;
	}
	clear_pending(v);
	return true;
}

/* Runs one command of normal mode. */
static enum editor_result run_command(struct vi *v, struct editor *e, char c)
{
	if ((c >= '1' && c <= '9') || (c == '0' && v->count)) {
		if (v->count < VI_COUNT_MAX)
			v->count = v->count * 10 + (size_t)(c - '0');
		return EDITOR_CHANGED;
	}
	if (!v->op && run_visual(v, e, c))
		return EDITOR_CHANGED;
	if (v->op && c == v->op) {
		operate_count_lines(v, e);
	} else if (v->op && (c == 'i' || c == 'a')) {
		v->waits = c;
	} else if (strchr("fFtTg", c) || (c == 'r' && !v->op)) {
		v->waits = c;
	} else if (v->op) {
		apply_motion(v, e, find_motion(v, e, c));
	} else if (c == 'd' || c == 'c' || c == 'y') {
		v->op = c;
		v->op_count = v->count;
		v->count = 0;
	} else if (c == 'j' || c == 'k') {
		return move_rows(v, e, c == 'j');
	} else if (c == 'p' || c == 'P') {
		put_text(v, e, c == 'p');
	} else if (c == 'u' || c == 'U') {
		undo_change(v, e, c == 'U');
	} else if (c == '/') {
		clear_pending(v);
		return EDITOR_SEARCH;
	} else if (!run_insert(v, e, c) && !run_short(v, e, c)) {
		apply_motion(v, e, find_motion(v, e, c));
	}
	return EDITOR_CHANGED;
}

static void note(struct buf *keys, struct str text)
{
	keys->max = CHANGE_MOST;
	buf_addstr(keys, text);
}

/* True if the keys of a command change the text or begin insert mode. */
static bool is_change(struct str keys)
{
	while (keys.len && keys.ptr[0] >= '0' && keys.ptr[0] <= '9')
		keys = str_skip(keys, 1);
	return keys.len && strchr("dcxXDCsSrpPiaIAoO", keys.ptr[0]);
}

/* Remembers the keys of a command that is complete, if it was a change. */
static void note_command(struct vi *v, bool selected)
{
	if (v->op || v->waits || v->count || v->op_count)
		return;
	if (!v->repeats && !selected && is_change(buf_str(&v->keys))) {
		buf_clear(&v->change);
		note(&v->change, buf_str(&v->keys));
		v->inserts = !v->normal;
	}
	buf_clear(&v->keys);
}

static enum editor_result type_text(struct vi *v, struct editor *e,
				    struct str text)
{
	if (v->inserts && !v->repeats)
		note(&v->change, text);
	return editor_event(
		e, &(struct key_event){ .kind = KEY_EVENT_TEXT, .text = text });
}

/* Handles one character in normal mode. */
static enum editor_result run_char(struct vi *v, struct editor *e, struct str c)
{
	enum editor_result result = EDITOR_CHANGED;
	bool selected = v->visual;

	note(&v->keys, c);
	if (v->waits)
		finish_command(v, e, c);
	else if (c.len == 1)
		result = run_command(v, e, c.ptr[0]);
	else
		clear_pending(v);
	if (v->normal)
		clamp_caret(e);
	note_command(v, selected);
	return result;
}

/* Types the remembered change once more, and leaves insert mode. */
static void type_change(struct vi *v, struct editor *e)
{
	struct str rest = buf_str(&v->change);

	while (rest.len) {
		size_t n = v->normal ? str_char_offset(rest, 1)
				     : str_find(rest, ERASES);
		struct str part = { rest.ptr, n };

		if (v->normal)
			(void)run_char(v, e, part);
		else if (n)
			(void)type_text(v, e, part);
		else
			(void)press_key(e, (struct key){ KEY_BACKSPACE, 0, 0 });
		rest = str_skip(rest, n ? n : 1);
	}
	if (!v->normal && e->caret > line_start(e, e->caret))
		e->caret = prev_of(e, e->caret);
	v->normal = true;
	clear_pending(v);
}

/* "." */
static void repeat_change(struct vi *v, struct editor *e)
{
	size_t n = v->count ? v->count : 1;

	clear_pending(v);
	buf_clear(&v->keys);
	v->repeats = true;
	for (; n; n--)
		type_change(v, e);
	v->repeats = false;
}

/* Handles typed text in normal mode. */
static enum editor_result on_text(struct vi *v, struct editor *e,
				  struct str text)
{
	enum editor_result result = EDITOR_CHANGED;

	while (text.len && v->normal && result == EDITOR_CHANGED) {
		size_t n = str_char_offset(text, 1);
		struct str c = { text.ptr, n < text.len ? n : text.len };

		text = str_skip(text, c.len);
		if (str_is(c, ".") && !v->op && !v->waits && !v->visual)
			repeat_change(v, e);
		else
			result = run_char(v, e, c);
	}
	if (text.len && !v->normal)
		result = type_text(v, e, text);
	return result;
}

/* True for the keys that extend a selection; others end it. */
static bool moves(struct key key)
{
	switch (key.name) {
	case KEY_LEFT:
	case KEY_RIGHT:
	case KEY_UP:
	case KEY_DOWN:
	case KEY_HOME:
	case KEY_END:
		return true;
	default:
		return false;
	}
}

/* Handles a key that is not text. */
static enum editor_result on_key(struct vi *v, struct editor *e,
				 const struct key_event *event)
{
	struct key key = event->key;
	bool pending = v->op || v->waits || v->count || v->visual;
	enum editor_result result;

	clear_pending(v);
	buf_clear(&v->keys);
	if (key.name == KEY_ESCAPE && !key.mods) {
		v->visual = 0;
		if (v->normal)
			return pending ? EDITOR_CHANGED : EDITOR_ESCAPE;
		v->normal = true;
		v->inserts = false;
		if (e->caret > line_start(e, e->caret))
			e->caret = prev_of(e, e->caret);
		return EDITOR_CHANGED;
	}
	if (v->normal && key.name == KEY_BACKSPACE)
		key = (struct key){ KEY_LEFT, 0, 0 };
	if (v->normal && key.name == KEY_CHAR && key.c == 'r' &&
	    key.mods == KEY_CTRL)
		key = (struct key){ KEY_CHAR, '_', KEY_ALT }; /* redo */
	/* Of the other keys, "." repeats only Backspace. */
	if (v->inserts && key.name == KEY_BACKSPACE && !key.mods)
		note(&v->change, STR("\x7f"));
	else
		v->inserts = false;
	v->visual = moves(key) ? v->visual : 0;
	result = press_key(e, key);
	if (result == EDITOR_SUBMIT || result == EDITOR_INTERRUPT)
		v->normal = false;
	else if (v->normal && result == EDITOR_CHANGED)
		clamp_caret(e);
	return result;
}

/* Marks what is selected, to be drawn. */
static void mark_selection(struct vi *v, struct editor *e)
{
	size_t anchor = v->visual ? snap(e, v->anchor) : 0;
	size_t from = anchor < e->caret ? anchor : e->caret;
	size_t to = anchor < e->caret ? e->caret : anchor;

	e->mark_from = e->mark_to = 0;
	if (!v->visual)
		return;
	e->mark_from = v->visual == 'V' ? line_start(e, from) : from;
	e->mark_to = v->visual == 'V' ? line_end(e, to) : next_of(e, to);
}

enum editor_result vi_event(struct vi *v, struct editor *e,
			    const struct key_event *event)
{
	enum editor_result result;

	if (v->on && event->kind == KEY_EVENT_KEY)
		result = on_key(v, e, event);
	else if (v->on && v->normal && event->kind == KEY_EVENT_TEXT)
		result = on_text(v, e, event->text);
	else if (v->on && event->kind == KEY_EVENT_TEXT)
		result = type_text(v, e, event->text);
	else
		result = editor_event(e, event);
	if (v->on)
		mark_selection(v, e);
	return result;
}

void vi_release(struct vi *v)
{
	buf_release(&v->text);
	buf_release(&v->keys);
	buf_release(&v->change);
}
