/* toml_number.c - TOML integers, floats, booleans and other bare words. */
/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/toml_impl.h"

enum outcome { IS_VALUE, NOT_THIS, TOO_LARGE };

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct str bare_word(const struct toml_reader *r)
{
	const char *p = r->at;

	while (p < r->end && *p &&
	       (digit(*p) || letter(*p) || strchr("_+-.:", *p)))
		p++;
	return (struct str){ r->at, (size_t)(p - r->at) };
}

static int digit_value(char c)
{
	if (digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Digits of the base with single underscores between them; their value. */
static enum outcome read_digits(struct str s, unsigned base, uint64_t limit,
				uint64_t *value)
{
	bool large = false;
	uint64_t sum = 0;

	if (!s.len || s.ptr[0] == '_' || s.ptr[s.len - 1] == '_')
		return NOT_THIS;
	for (size_t i = 0; i < s.len; i++) {
		unsigned n = (unsigned)digit_value(s.ptr[i]);

		if (s.ptr[i] == '_' && s.ptr[i - 1] != '_')
			continue;
		if (n >= base)
			return NOT_THIS;
		if (large || sum > (limit - n) / base)
			large = true;
		else
			sum = sum * base + n;
	}
	*value = sum;
	return large ? TOO_LARGE : IS_VALUE;
}

static enum outcome read_integer(struct str s, int64_t *value)
{
	bool negative = str_starts(s, "-");
	uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
	uint64_t sum = 0;
	unsigned base = 10;
	enum outcome got;

	if (negative || str_starts(s, "+"))
		s = str_skip(s, 1);
	else if (str_starts(s, "0x"))
		base = 16;
	else if (str_starts(s, "0o"))
		base = 8;
	else if (str_starts(s, "0b"))
		base = 2;
	if (base != 10)
		s = str_skip(s, 2);
	else if (s.len > 1 && s.ptr[0] == '0')
		return NOT_THIS;
	got = read_digits(s, base, limit, &sum);
	*value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
	return got;
}

/* Takes decimal digits with underscores off the front. */
static bool take_digits(struct str *s, bool leading_zeros)
{
	uint64_t ignored;
	size_t n = 0;

	while (n < s->len && (digit(s->ptr[n]) || s->ptr[n] == '_'))
		n++;
	if (!n || (!leading_zeros && n > 1 && s->ptr[0] == '0'))
		return false;
	if (read_digits((struct str){ s->ptr, n }, 10, INT64_MAX, &ignored) ==
	    NOT_THIS)
		return false;
	*s = str_skip(*s, n);
	return true;
}

static void take_sign(struct str *s)
{
	if (str_starts(*s, "-") || str_starts(*s, "+"))
		*s = str_skip(*s, 1);
}

static bool float_shape(struct str s)
{
	bool fraction;
	bool exponent;

	take_sign(&s);
	if (!take_digits(&s, false))
		return false;
	fraction = str_starts(s, ".");
	if (fraction) {
		s = str_skip(s, 1);
		if (!take_digits(&s, true))
			return false;
	}
	exponent = str_starts(s, "e") || str_starts(s, "E");
	if (exponent) {
		s = str_skip(s, 1);
		take_sign(&s);
		if (!take_digits(&s, true))
			return false;
	}
	return !s.len && (fraction || exponent);
}

/* Whatever locale the program runs in: a point is a point. */
static double to_double(struct str s)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *text = xcalloc(s.len + 1, 1);
	size_t n = 0;
	double value;

	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] != '_')
			text[n++] = s.ptr[i];
	value = plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
	free(text);
	if (plain)
		freelocale(plain);
	return value;
}

static bool read_float(struct str s, double *value)
{
	struct str word = s;

	take_sign(&word);
	if (str_is(word, "inf"))
		*value = str_starts(s, "-") ? -INFINITY : INFINITY;
	else if (str_is(word, "nan"))
		*value = NAN;
	else if (float_shape(s))
		*value = to_double(s);
	else
		return false;
	return true;
}

/* Why the word is no value at all. */
static const char *complaint(struct str w)
{
	struct str number = w;

	if (str_is_nocase(w, "true") || str_is_nocase(w, "false"))
		return "write true and false in lower case";
	take_sign(&number);
	if (str_is_nocase(number, "inf") || str_is_nocase(number, "nan"))
		return "write inf and nan in lower case";
	if (letter(w.ptr[0]) || w.ptr[0] == '_')
		return "a string needs quotes";
	if (str_find(w, ':') < w.len || str_find(number, '-') < number.len)
		return "not a valid date or time (like 2026-01-31T07:32:00Z)";
	if (number.len > 1 && number.ptr[0] == '0' &&
	    (digit(number.ptr[1]) || number.ptr[1] == '_'))
		return "a number cannot start with 0 (0o755 is octal)";
	if (str_find(w, '_') < w.len)
		return "'_' must stand between two digits";
	if (str_starts(number, ".") || str_ends(number, "."))
		return "a float has digits on both sides of the point";
	return "not a valid number";
}

int toml_bare(struct toml_reader *r, struct toml_value *v)
{
	struct str word = bare_word(r);
	enum outcome got;
	char found[32];

	if (!word.len)
		return toml_fail(r, toml_here(r), "expected a value, found %s",
				 toml_found(r, found));
	if (toml_looks_dated(word))
		return toml_date(r, v, word);
	if (str_is(word, "true") || str_is(word, "false")) {
		v->kind = TOML_BOOL;
		v->integer = word.ptr[0] == 't';
		r->at += word.len;
		return 0;
	}
	got = read_integer(word, &v->integer);
	v->kind = TOML_INT;
	if (got == TOO_LARGE)
		return toml_fail(r, toml_here(r),
				 "this integer does not fit in 64 bits");
	if (got == NOT_THIS) {
		v->kind = TOML_FLOAT;
		v->integer = 0;
		if (!read_float(word, &v->real))
			return toml_fail(r, toml_here(r), "'%.*s%s': %s",
					 (int)(word.len > 40 ? 40 : word.len),
					 word.ptr, word.len > 40 ? "..." : "",
					 complaint(word));
	}
	r->at += word.len;
	return 0;
}
