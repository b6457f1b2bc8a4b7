/* toml_string.c - TOML strings of all four kinds, and keys. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/toml_impl.h"

/* One string being read. */
struct quoted {
	char quote; /* " or ' */
	bool lines; /* opened by three of them */
	struct toml_place at;
};

static bool starts(const struct toml_reader *r, char c, size_t times)
{
	if ((size_t)(r->end - r->at) < times)
		return false;
	for (size_t i = 0; i < times; i++)
		if (r->at[i] != c)
			return false;
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void add_code_point(struct buf *out, unsigned long code)
{
	if (code < 0x80) {
		buf_addc(out, (char)code);
		return;
	}
	if (code < 0x800) {
		buf_addc(out, (char)(0xC0 | code >> 6));
	} else if (code < 0x10000) {
		buf_addc(out, (char)(0xE0 | code >> 12));
		buf_addc(out, (char)(0x80 | (code >> 6 & 0x3F)));
	} else {
		buf_addc(out, (char)(0xF0 | code >> 18));
		buf_addc(out, (char)(0x80 | (code >> 12 & 0x3F)));
		buf_addc(out, (char)(0x80 | (code >> 6 & 0x3F)));
	}
	buf_addc(out, (char)(0x80 | (code & 0x3F)));
}

/* At the digits of \uXXXX or \UXXXXXXXX; at is the backslash's place. */
static int unicode_escape(struct toml_reader *r, int digits,
			  struct toml_place at)
{
	char letter = digits == 4 ? 'u' : 'U';
	unsigned long code = 0;

	for (int i = 0; i < digits; i++) {
		int value = r->at < r->end ? hex_value(*r->at) : -1;

		if (value < 0)
			return toml_fail(r, at,
					 "\\%c needs %d hexadecimal digits",
					 letter, digits);
		code = code << 4 | (unsigned long)value;
		r->at++;
	}
	if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
		return toml_fail(r, at,
				 "\\%c%0*lX is not a Unicode scalar value",
				 letter, digits, code);
	add_code_point(&r->scratch, code);
	return 0;
}

/* A backslash at the end of a line: drops white space up to the next text. */
static bool line_joined(struct toml_reader *r)
{
	const char *start = r->at;

	toml_blanks(r);
	if (!toml_at_newline(r)) {
		r->at = start;
		return false;
	}
	while (toml_at_newline(r)) {
		toml_newline(r);
		toml_blanks(r);
	}
	return true;
}

static int escape(struct toml_reader *r, const struct quoted *q)
{
	static const char letters[] = "btnfr\"\\";
	static const char bytes[] = "\b\t\n\f\r\"\\";
	struct toml_place at = toml_here(r);
	const char *known;
	char found[32];

	r->at++;
	if (q->lines && line_joined(r))
		return 0;
	if (r->at == r->end || toml_at_newline(r))
		return toml_fail(r, q->at, "this string is not closed");
	if (*r->at == 'u' || *r->at == 'U')
		return unicode_escape(r, *r->at++ == 'u' ? 4 : 8, at);
	known = *r->at ? strchr(letters, *r->at) : NULL;
	if (!known)
		return toml_fail(r, at,
				 "bad escape: a backslash before %s (write "
				 "\\\\ for a backslash, or use '...')",
				 toml_found(r, found));
	buf_addc(&r->scratch, bytes[known - letters]);
	r->at++;
	return 0;
}

/* At the quote character: 1 when it closed the string. */
static int closing(struct toml_reader *r, const struct quoted *q)
{
	size_t run = 0;

	if (!q->lines) {
		r->at++;
		return 1;
	}
	while (run < 5 && r->at + run < r->end && r->at[run] == q->quote)
		run++;
	buf_add(&r->scratch, r->at, run < 3 ? run : run - 3);
	r->at += run;
	return run >= 3;
}

static size_t ordinary(const struct toml_reader *r, char quote)
{
	const char *p = r->at;

	while (p < r->end) {
		unsigned char c = (unsigned char)*p;

		if ((c < ' ' && c != '\t') || c == 0x7F || *p == quote ||
		    (*p == '\\' && quote == '"'))
			break;
		p++;
	}
	return (size_t)(p - r->at);
}

static int string_body(struct toml_reader *r, const struct quoted *q)
{
	char found[32];

	for (;;) {
		size_t n = ordinary(r, q->quote);

		buf_add(&r->scratch, r->at, n);
		r->at += n;
		if (r->at == r->end || (toml_at_newline(r) && !q->lines))
			return toml_fail(r, q->at, "this string is not closed");
		if (*r->at == q->quote) {
			if (closing(r, q))
				return 0;
		} else if (*r->at == '\\') {
			if (escape(r, q) < 0)
				return -1;
		} else if (toml_at_newline(r)) {
			buf_add(&r->scratch, r->at, *r->at == '\r' ? 2 : 1);
			toml_newline(r);
		} else {
			return toml_fail(r, toml_here(r),
					 "%s in a string: write \\u%04X "
					 "between double quotes",
					 toml_found(r, found),
					 (unsigned char)*r->at);
		}
	}
}

int toml_string(struct toml_reader *r, struct toml_value *v)
{
	struct quoted q = { *r->at, false, toml_here(r) };

	q.lines = starts(r, q.quote, 3);
	r->at += q.lines ? 3 : 1;
	if (q.lines && toml_at_newline(r))
		toml_newline(r);
	buf_clear(&r->scratch);
	if (string_body(r, &q) < 0)
		return -1;
	v->kind = TOML_STRING;
	v->text = xstrndup(r->scratch.ptr, r->scratch.len);
	v->text_len = r->scratch.len;
	return 0;
}

static int quoted_key(struct toml_reader *r, struct toml_key *key)
{
	struct toml_value v = { 0 };

	if (starts(r, *r->at, 3))
		return toml_fail(r, toml_here(r),
				 "a key cannot be a multi-line string");
	if (toml_string(r, &v) < 0)
		return -1;
	key->text = v.text;
	key->len = v.text_len;
	return 0;
}

static int one_key(struct toml_reader *r, struct toml_key *key)
{
	const char *start = r->at;
	char found[32];

	key->at = toml_here(r);
	if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
		return quoted_key(r, key);
	while (r->at < r->end && toml_is_bare(*r->at))
		r->at++;
	if (r->at == start && r->at < r->end && (*r->at & 0x80))
		return toml_fail(r, key->at,
				 "%s in a key: put the key in quotes",
				 toml_found(r, found));
	if (r->at == start)
		return toml_fail(r, key->at, "expected a key, found %s",
				 toml_found(r, found));
	key->len = (size_t)(r->at - start);
	key->text = xstrndup(start, key->len);
	return 0;
}

int toml_keys(struct toml_reader *r)
{
	toml_drop_keys(r);
	for (;;) {
		if (r->n_keys == TOML_DEEPEST)
			return toml_fail(r, toml_here(r), "more than %d levels",
					 TOML_DEEPEST);
		toml_blanks(r);
		if (one_key(r, &r->keys[r->n_keys]) < 0)
			return -1;
		r->n_keys++;
		toml_blanks(r);
		if (r->at == r->end || *r->at != '.')
			return 0;
		r->at++;
	}
}

void toml_drop_keys(struct toml_reader *r)
{
	for (size_t i = 0; i < r->n_keys; i++) {
		free(r->keys[i].text);
		r->keys[i].text = NULL;
	}
	r->n_keys = 0;
}
