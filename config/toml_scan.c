/* toml_scan.c - scans TOML tokens: keys, strings, numbers, dates. */
/* SPDX-License-Identifier: MIT */
/*
 * In order: positions and messages; dates; numbers; strings and keys. Each
 * function moves the reader past what it read, or returns -1 with the line and
 * column. Source: toml.io/en/v1.0.0. toml.c builds tables from the tokens.
 */
#include "config/toml_scan.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

/* Returns the current line and column. Counting continues from the previous
 * call, so a long line is scanned only once. */
struct toml_place toml_here(struct toml_reader *r)
{
	for (; r->mark < r->at; r->mark++)
		if (((unsigned char)*r->mark & 0xC0) != 0x80)
			r->mark_column++;
	return (struct toml_place){ r->line, r->mark_column };
}

int toml_fail(struct toml_reader *r, struct toml_place at, const char *fmt, ...)
{
	char what[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return error_set(r->err, ERR_CONFIG, "%s:%d:%d: %s", r->name, at.line,
			 at.column, what);
}

/* Returns the code point that begins at `at`; U+FFFD for invalid UTF-8. */
static unsigned decode_code_point(const char *at, const char *end)
{
	size_t len = str_char_offset((struct str){ at, (size_t)(end - at) }, 1);
	unsigned code = (unsigned char)*at;

	if (len > 1)
		code &= 0x7FU >> len;
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)at[i] & 0x3F);
	return code;
}

const char *toml_found(const struct toml_reader *r, char out[32])
{
	if (r->at == r->end)
		return "the end of the file";
	if (toml_at_newline(r))
		return "the end of the line";
	if (*r->at == '\r')
		return "a carriage return without a line feed";
	if (*r->at == ' ')
		return "a space";
	if (*r->at == '\t')
		return "a tab";
	if (*r->at > ' ' && *r->at < 0x7F)
		snprintf(out, 32, "'%c'", *r->at);
	else
		snprintf(out, 32, "the character U+%04X",
			 decode_code_point(r->at, r->end));
	return out;
}

/* True for characters allowed in an unquoted key. */
static bool is_bare_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool is_bare(struct str key)
{
	for (size_t i = 0; i < key.len; i++)
		if (!is_bare_char(key.ptr[i]))
			return false;
	return key.len > 0;
}

const char *toml_shown(struct str key, char out[64])
{
	enum { LONGEST = 48 };
	const char *quote = is_bare(key) ? "'" : "'\"";
	const char *unquote = is_bare(key) ? "'" : "\"'";
	struct buf text = BUF_INIT(LONGEST);

	sanitize_text(key, &text);
	text.len = str_utf8_prefix(buf_str(&text));
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '\n' || text.ptr[i] == '\t')
			text.ptr[i] = ' ';
	snprintf(out, 64, "%s%.*s%s%s", quote, (int)text.len,
		 text.len ? text.ptr : "", text.over ? "..." : "", unquote);
	buf_release(&text);
	return out;
}

bool toml_at_newline(const struct toml_reader *r)
{
	if (r->at == r->end)
		return false;
	return *r->at == '\n' ||
	       (*r->at == '\r' && r->end - r->at > 1 && r->at[1] == '\n');
}

/* Skips a newline. */
static void skip_newline(struct toml_reader *r)
{
	r->at += *r->at == '\r' ? 2 : 1;
	r->line++;
	r->mark = r->at;
	r->mark_column = 1;
}

void toml_blanks(struct toml_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
}

/* Skips a comment, if there is one. */
static int skip_comment(struct toml_reader *r)
{
	char found[32];

	if (r->at == r->end || *r->at != '#')
		return 0;
	for (; r->at < r->end && !toml_at_newline(r); r->at++) {
		unsigned char c = (unsigned char)*r->at;

		if ((c < ' ' && c != '\t') || c == 0x7F)
			return toml_fail(r, toml_here(r), "%s in a comment",
					 toml_found(r, found));
	}
	return 0;
}

int toml_gap(struct toml_reader *r)
{
	for (;;) {
		toml_blanks(r);
		if (skip_comment(r) < 0)
			return -1;
		if (!toml_at_newline(r))
			return 0;
		skip_newline(r);
	}
}

int toml_line_end(struct toml_reader *r, const char *after)
{
	char found[32];

	toml_blanks(r);
	if (skip_comment(r) < 0)
		return -1;
	if (r->at == r->end)
		return 0;
	if (!toml_at_newline(r))
		return toml_fail(r, toml_here(r),
				 "expected the end of the line after %s, "
				 "found %s",
				 after, toml_found(r, found));
	skip_newline(r);
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Removes two digits from the front of *s and returns their value; -1 if s does
 * not begin with two digits. */
static int read_two_digits(struct str *s)
{
	int value;

	if (s->len < 2 || !is_digit(s->ptr[0]) || !is_digit(s->ptr[1]))
		return -1;
	value = (s->ptr[0] - '0') * 10 + s->ptr[1] - '0';
	*s = str_skip(*s, 2);
	return value;
}

static bool skip_char(struct str *s, char c)
{
	if (!s->len || s->ptr[0] != c)
		return false;
	*s = str_skip(*s, 1);
	return true;
}

static int month_days(int year, int month)
{
	static const char days[] = { 31, 28, 31, 30, 31, 30,
				     31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* Each parse_ function removes what it has parsed from the front of *s. Returns
 * NULL, or what is wrong. */
static const char *parse_date(struct str *s)
{
	int high = read_two_digits(s);
	int low = read_two_digits(s);
	int month;
	int day;

	if (high < 0 || low < 0 || !skip_char(s, '-'))
		return "expected a date like 2026-01-31";
	month = read_two_digits(s);
	if (month < 0 || !skip_char(s, '-'))
		return "expected a date like 2026-01-31";
	day = read_two_digits(s);
	if (day < 0)
		return "expected a date like 2026-01-31";
	if (month < 1 || month > 12)
		return "the month is not between 01 and 12";
	if (day < 1 || day > month_days(high * 100 + low, month))
		return "that month has no such day";
	return NULL;
}

static const char *parse_time(struct str *s)
{
	static const char shape[] = "expected a time like 07:32:00";
	int hour = read_two_digits(s);
	int minute = hour < 0 || !skip_char(s, ':') ? -1 : read_two_digits(s);
	int second = minute < 0 || !skip_char(s, ':') ? -1 : read_two_digits(s);

	if (second < 0)
		return shape;
	if (hour > 23)
		return "the hour is not between 00 and 23";
	if (minute > 59)
		return "the minute is not between 00 and 59";
	if (second > 60) /* 60: a leap second */
		return "the second is not between 00 and 60";
	if (!skip_char(s, '.'))
		return NULL;
	if (!s->len || !is_digit(s->ptr[0]))
		return "expected digits after the decimal point";
	while (s->len && is_digit(s->ptr[0]))
		*s = str_skip(*s, 1);
	return NULL;
}

static const char *parse_offset(struct str *s)
{
	int hour;
	int minute;

	if (skip_char(s, 'Z') || skip_char(s, 'z'))
		return NULL;
	*s = str_skip(*s, 1); /* skips + or - */
	hour = read_two_digits(s);
	minute = hour < 0 || !skip_char(s, ':') ? -1 : read_two_digits(s);
	if (minute < 0)
		return "expected an offset like +02:00";
	if (hour > 23 || minute > 59)
		return "the offset is not between -23:59 and +23:59";
	return NULL;
}

static bool is_date_like(struct str word)
{
	size_t n = 0;

	while (n < word.len && is_digit(word.ptr[n]))
		n++;
	return (n == 4 && n < word.len && word.ptr[n] == '-') ||
	       (n == 2 && n < word.len && word.ptr[n] == ':');
}

/* A date and a time may be separated by one space: then returns the word with
 * both. */
static struct str extend_with_time(const struct toml_reader *r, struct str word)
{
	const char *p = word.ptr + word.len;

	if (word.len != 10 || r->end - p < 2 || *p != ' ' || !is_digit(p[1]))
		return word;
	for (p++;
	     p < r->end && (is_digit(*p) || *p == ':' || *p == '.' ||
			    *p == '+' || *p == '-' || *p == 'Z' || *p == 'z');)
		p++;
	return (struct str){ word.ptr, (size_t)(p - word.ptr) };
}

/* Checks the spelling of a date or time and determines its kind. */
static const char *read_date(struct str s, enum toml_kind *kind)
{
	const char *wrong;

	if (s.ptr[2] == ':') {
		*kind = TOML_LOCAL_TIME;
		wrong = parse_time(&s);
		return wrong || !s.len ? wrong : "text after the time";
	}
	*kind = TOML_LOCAL_DATE;
	wrong = parse_date(&s);
	if (wrong || !s.len)
		return wrong;
	if (!skip_char(&s, 'T') && !skip_char(&s, 't') && !skip_char(&s, ' '))
		return "text after the date";
	*kind = TOML_LOCAL_DATETIME;
	wrong = parse_time(&s);
	if (wrong || !s.len)
		return wrong;
	if (s.ptr[0] != 'Z' && s.ptr[0] != 'z' && s.ptr[0] != '+' &&
	    s.ptr[0] != '-')
		return "text after the time";
	*kind = TOML_DATETIME;
	wrong = parse_offset(&s);
	return wrong || !s.len ? wrong : "text after the offset";
}

/* Parses a date or time and stores it in RFC 3339 form. */
static int read_date_value(struct toml_reader *r, struct toml_value *v,
			   struct str word)
{
	const char *wrong;

	word = extend_with_time(r, word);
	wrong = read_date(word, &v->kind);
	if (wrong)
		return toml_fail(r, toml_here(r), "'%.*s%s': %s",
				 (int)(word.len > 40 ? 40 : word.len), word.ptr,
				 word.len > 40 ? "..." : "", wrong);
	v->text = xstrndup(word.ptr, word.len);
	v->text_len = word.len;
	for (size_t i = 0; i < word.len; i++) {
		if (v->text[i] == ' ' || v->text[i] == 't')
			v->text[i] = 'T';
		else if (v->text[i] == 'z')
			v->text[i] = 'Z';
	}
	r->at = word.ptr + word.len;
	return 0;
}

enum outcome { IS_VALUE, NOT_THIS, TOO_LARGE };

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the bytes from here on that could belong to a number, a date or a
 * boolean. The caller determines which it is. */
static struct str bare_word(const struct toml_reader *r)
{
	const char *p = r->at;

	while (p < r->end && *p &&
	       (is_digit(*p) || is_letter(*p) || strchr("_+-.:", *p)))
		p++;
	return (struct str){ r->at, (size_t)(p - r->at) };
}

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Parses digits of this base. Single underscores between digits are allowed. */
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

/* Parses an integer, decimal or with a 0x, 0o or 0b prefix. */
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

/* Removes decimal digits from the front of *s; single underscores may be
 * between them. False if they are invalid. */
static bool skip_digits(struct str *s, bool leading_zeros)
{
	uint64_t ignored;
	size_t n = 0;

	while (n < s->len && (is_digit(s->ptr[n]) || s->ptr[n] == '_'))
		n++;
	if (!n || (!leading_zeros && n > 1 && s->ptr[0] == '0'))
		return false;
	if (read_digits((struct str){ s->ptr, n }, 10, INT64_MAX, &ignored) ==
	    NOT_THIS)
		return false;
	*s = str_skip(*s, n);
	return true;
}

static void skip_sign(struct str *s)
{
	if (str_starts(*s, "-") || str_starts(*s, "+"))
		*s = str_skip(*s, 1);
}

/* True if s has the syntax of a float with digits. */
static bool float_shape(struct str s)
{
	bool fraction;
	bool exponent;

	skip_sign(&s);
	if (!skip_digits(&s, false))
		return false;
	fraction = str_starts(s, ".");
	if (fraction) {
		s = str_skip(s, 1);
		if (!skip_digits(&s, true))
			return false;
	}
	exponent = str_starts(s, "e") || str_starts(s, "E");
	if (exponent) {
		s = str_skip(s, 1);
		skip_sign(&s);
		if (!skip_digits(&s, true))
			return false;
	}
	return !s.len && (fraction || exponent);
}

/* Converts s to double. The decimal point is '.' in any locale. */
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

	skip_sign(&word);
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

/* Returns a message: why the word is not a value. */
static const char *explain_invalid(struct str w)
{
	struct str number = w;

	if (str_is_nocase(w, "true") || str_is_nocase(w, "false"))
		return "write true and false in lower case";
	skip_sign(&number);
	if (str_is_nocase(number, "inf") || str_is_nocase(number, "nan"))
		return "write inf and nan in lower case";
	if (is_letter(w.ptr[0]) || w.ptr[0] == '_')
		return "a string needs quotes";
	if (str_find(w, ':') < w.len || str_find(number, '-') < number.len)
		return "not a valid date or time (like 2026-01-31T07:32:00Z)";
	if (number.len > 1 && number.ptr[0] == '0' &&
	    (is_digit(number.ptr[1]) || number.ptr[1] == '_'))
		return "a number cannot start with 0 (0o755 is octal)";
	if (str_find(w, '_') < w.len)
		return "'_' must be between two digits";
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
	if (is_date_like(word))
		return read_date_value(r, v, word);
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
					 explain_invalid(word));
	}
	r->at += word.len;
	return 0;
}

/* State of parsing one string. */
struct quoted {
	char quote; /* " or ' */
	bool lines; /* multi-line: opened by three quotes */
	struct toml_place at;
};

static bool is_at_repeated(const struct toml_reader *r, char c, size_t times)
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

/* Appends a code point as UTF-8. */
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

/* Parses the digits of \uXXXX or \UXXXXXXXX. at is the position of the
 * backslash. */
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

/* Handles a backslash at the end of a line: skips white space up to the next
 * text. False if text follows on the line. */
static bool skip_line_join(struct toml_reader *r)
{
	const char *start = r->at;

	toml_blanks(r);
	if (!toml_at_newline(r)) {
		r->at = start;
		return false;
	}
	while (toml_at_newline(r)) {
		skip_newline(r);
		toml_blanks(r);
	}
	return true;
}

/* Parses an escape sequence, at the backslash. */
static int read_escape(struct toml_reader *r, const struct quoted *q)
{
	static const char letters[] = "btnfr\"\\";
	static const char bytes[] = "\b\t\n\f\r\"\\";
	struct toml_place at = toml_here(r);
	const char *known;
	char found[32];

	r->at++;
	if (q->lines && skip_line_join(r))
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

/* Handles the quote character. Returns 1 if it closed the string. */
static int read_closing(struct toml_reader *r, const struct quoted *q)
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

static size_t ordinary_length(const struct toml_reader *r, char quote)
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

/* Parses a string up to its closing quotes. */
static int read_string_body(struct toml_reader *r, const struct quoted *q)
{
	char found[32];

	for (;;) {
		size_t n = ordinary_length(r, q->quote);

		buf_add(&r->scratch, r->at, n);
		r->at += n;
		if (r->at == r->end || (toml_at_newline(r) && !q->lines))
			return toml_fail(r, q->at, "this string is not closed");
		if (*r->at == q->quote) {
			if (read_closing(r, q))
				return 0;
		} else if (*r->at == '\\') {
			if (read_escape(r, q) < 0)
				return -1;
		} else if (toml_at_newline(r)) {
			buf_add(&r->scratch, r->at, *r->at == '\r' ? 2 : 1);
			skip_newline(r);
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

	q.lines = is_at_repeated(r, q.quote, 3);
	r->at += q.lines ? 3 : 1;
	if (q.lines && toml_at_newline(r))
		skip_newline(r);
	buf_clear(&r->scratch);
	if (read_string_body(r, &q) < 0)
		return -1;
	v->kind = TOML_STRING;
	v->text = xstrndup(r->scratch.ptr, r->scratch.len);
	v->text_len = r->scratch.len;
	return 0;
}

static int quoted_key(struct toml_reader *r, struct toml_key *key)
{
	struct toml_value v = { 0 };

	if (is_at_repeated(r, *r->at, 3))
		return toml_fail(r, toml_here(r),
				 "a key cannot be a multi-line string");
	if (toml_string(r, &v) < 0)
		return -1;
	key->text = v.text;
	key->len = v.text_len;
	return 0;
}

/* Parses one key without dots, bare or quoted. */
static int parse_key(struct toml_reader *r, struct toml_key *key)
{
	const char *start = r->at;
	char found[32];

	key->at = toml_here(r);
	if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
		return quoted_key(r, key);
	while (r->at < r->end && is_bare_char(*r->at))
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
		if (parse_key(r, &r->keys[r->n_keys]) < 0)
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
