/* highlight.c - keywords, strings, comments and numbers of code, by line. */
/* SPDX-License-Identifier: MIT */
#include "markup/highlight.h"

#include <string.h>

#include "markup/diff_lines.h"
#include "markup/languages.h"

enum { LONGEST_WORD = 32 }; /* bytes of a keyword, and of a name */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Whether word is one of those in list, which blanks separate. */
static bool has_word(const char *list, struct str word, bool any_case)
{
	struct str rest = str_of(list);
	struct str item;

	if (word.len > LONGEST_WORD)
		return false;
	while (str_split(&rest, ' ', &item)) {
		char name[LONGEST_WORD + 1] = "";

		if (item.len != word.len)
			continue;
		memcpy(name, item.ptr, item.len);
		if (any_case ? str_is_nocase(word, name) : str_is(word, name))
			return true;
	}
	return false;
}

void highlight_begin(struct highlight *h, struct str name)
{
	size_t n = 0;

	while (n < name.len && name.ptr[n] > ' ' && !strchr(",{:", name.ptr[n]))
		n++;
	name.len = n;
	*h = (struct highlight){ .diff = str_is_nocase(name, "diff") ||
					 str_is_nocase(name, "patch") };
	for (const struct language *l = languages; n && l->names; l++)
		if (has_word(l->names, name, true))
			h->language = l;
}

static void add(struct rows *out, enum style_role role, struct str text)
{
	rows_add(out, (struct style){ .role = (uint8_t)role }, text);
}

/* Bytes of a quoted string, its end included where this line has it. */
static size_t string_length(const struct language *l, struct str text,
			    struct str end, bool *closed)
{
	size_t n = 0;

	*closed = false;
	while (n < text.len) {
		if (!l->raw && text.ptr[n] == '\\') {
			n++;
		} else if (end.len <= text.len - n &&
			   !memcmp(text.ptr + n, end.ptr, end.len)) {
			*closed = true;
			return n + end.len;
		}
		n++;
	}
	return text.len;
}

/* Adds what is left of an open comment or string; bytes of it. */
static size_t add_open(struct highlight *h, struct str text, struct rows *out)
{
	struct str end = str_of(h->until);
	size_t n;
	bool over;

	if (h->comment) {
		n = str_search(text, end);
		over = n < text.len;
		n += over ? end.len : 0;
	} else {
		n = string_length(h->language, text, end, &over);
	}
	add(out, h->comment ? STYLE_COMMENT : STYLE_STRING,
	    (struct str){ text.ptr, n });
	if (over)
		h->until = NULL;
	return n;
}

/* A quote three times, as what ends it. */
static const char *triple_quote(char c)
{
	return c == '"' ? "\"\"\"" : "'''";
}

static const char *one_quote(char c)
{
	return c == '"' ? "\"" : c == '`' ? "`" : "'";
}

/* A string from its quote on; one without an end on its line goes on in the
 * next where the language has such. */
static size_t add_string(struct highlight *h, struct str text, struct rows *out)
{
	const struct language *l = h->language;
	char c = text.ptr[0];
	bool triple = l->triple && str_starts(text, triple_quote(c));
	const char *quote = triple ? triple_quote(c) : one_quote(c);
	struct str end = str_of(quote);
	bool closed;
	size_t n = end.len +
		   string_length(l, str_skip(text, end.len), end, &closed);

	add(out, STYLE_STRING, (struct str){ text.ptr, n });
	if (!closed && (triple || (l->across && strchr(l->across, c))))
		h->until = quote;
	h->comment = false;
	return n;
}

static size_t add_number(struct str text, struct rows *out)
{
	size_t n = 0;

	while (n < text.len && (is_digit(text.ptr[n]) ||
				is_letter(text.ptr[n]) || text.ptr[n] == '.'))
		n++;
	add(out, STYLE_NUMBER, (struct str){ text.ptr, n });
	return n;
}

static size_t add_word(const struct language *l, struct str text,
		       struct rows *out)
{
	struct str word = { text.ptr, 0 };

	while (word.len < text.len &&
	       (is_letter(text.ptr[word.len]) || is_digit(text.ptr[word.len])))
		word.len++;
	add(out,
	    has_word(l->keywords, word, l->any_case) ? STYLE_KEYWORD
						     : STYLE_CODE,
	    word);
	return word.len;
}

static bool begins_with(struct str text, const char *what)
{
	return what && str_starts(text, what);
}

/* "#" within a word is none of the shell's: ${#x}, a#b. */
static bool begins_comment(const struct language *l, struct str text,
			   bool after_blank)
{
	for (size_t i = 0; i < 2; i++)
		if (begins_with(text, l->line[i]) &&
		    (after_blank || l->line[i][0] != '#'))
			return true;
	return false;
}

/* Adds what begins text; bytes of it. */
static size_t add_token(struct highlight *h, struct str text, bool after_blank,
			struct rows *out)
{
	const struct language *l = h->language;
	size_t n = 0;

	if (begins_with(text, l->block[0])) {
		n = strlen(l->block[0]);
		add(out, STYLE_COMMENT, (struct str){ text.ptr, n });
		h->until = l->block[1];
		h->comment = true;
		return n;
	}
	if (begins_comment(l, text, after_blank)) {
		add(out, STYLE_COMMENT, text);
		return text.len;
	}
	if (strchr(l->quotes, text.ptr[0]))
		return add_string(h, text, out);
	if (is_digit(text.ptr[0]))
		return add_number(text, out);
	if (is_letter(text.ptr[0]))
		return add_word(l, text, out);
	do {
		n++;
	} while (n < text.len && text.ptr[n] == ' ');
	add(out, STYLE_CODE, (struct str){ text.ptr, n });
	return n;
}

static void add_diff_line(struct highlight *h, struct str line,
			  struct rows *out)
{
	static const enum style_role roles[] = {
		[DIFF_CONTEXT] = STYLE_CODE,    [DIFF_ADDED] = STYLE_ADDED,
		[DIFF_REMOVED] = STYLE_REMOVED, [DIFF_HUNK] = STYLE_ACCENT,
		[DIFF_HEAD] = STYLE_MUTED,
	};

	add(out, roles[diff_line_kind(line, &h->in_hunk)], line);
}

void highlight_line(struct highlight *h, struct str line, struct rows *out)
{
	char before = ' ';

	if (h->diff) {
		add_diff_line(h, line, out);
		return;
	}
	if (!h->language) {
		add(out, STYLE_CODE, line);
		return;
	}
	while (line.len) {
		size_t n = h->until ? add_open(h, line, out)
				    : add_token(h, line,
						before == ' ' || before == '\t',
						out);

		before = line.ptr[n - 1];
		line = str_skip(line, n);
	}
}
