/* echo.c - finds the values of secrets in answers, and replaces them. */
/* SPDX-License-Identifier: MIT */
/*
 * A value is searched for as it is, in the escapes of addresses, JSON and HTML,
 * in hex, and in base64. In base64 it looks different at each of three offsets,
 * and its first and last characters also depend on its neighbours: only those
 * in between are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "egress/credential/credential.h"

/* Which characters of a value an escape concerns. */
enum which {
	EVERY,
	PUNCTUATION, /* all but letters and digits */
	MARKS,       /* but -._~, too (RFC 3986) */
	SLASH,
	QUOTES, /* that end a string of JSON */
	MARKUP, /* of HTML */
	SCRIPT, /* of both, and those that are escaped in pages */
};
/* How servers write such a character: before, the character itself ('c'), its
 * number in hex ('x', 'X') or decimal ('d'), or its name in HTML ('n'), after.
 */
static const struct {
	const char *before;
	const char *after;
	enum which which;
	char as;
} escapes[] = {
	{ "%", "", MARKS, 'X' },
	{ "%", "", MARKS, 'x' },
	{ "%", "", PUNCTUATION, 'X' },
	{ "%", "", PUNCTUATION, 'x' },
	{ "%", "", EVERY, 'X' },
	{ "%", "", EVERY, 'x' },
	{ "\\", "", QUOTES, 'c' },
	{ "\\", "", SLASH, 'c' },
	{ "\\u00", "", SLASH, 'x' },
	{ "\\u00", "", SLASH, 'X' },
	{ "\\u00", "", SCRIPT, 'x' },
	{ "\\u00", "", SCRIPT, 'X' },
	{ "\\u00", "", PUNCTUATION, 'x' },
	{ "\\u00", "", PUNCTUATION, 'X' },
	{ "\\u00", "", EVERY, 'x' },
	{ "\\u00", "", EVERY, 'X' },
	{ "\\x", "", EVERY, 'x' },
	{ "\\x", "", EVERY, 'X' },
	{ "&", ";", MARKUP, 'n' },
	{ "&#", ";", MARKUP, 'd' },
	{ "&#", ";", SLASH, 'd' },
	{ "&#x", ";", SLASH, 'x' },
	{ "&#x", ";", SLASH, 'X' },
	{ "&#", ";", SCRIPT, 'd' },
	{ "&#x", ";", SCRIPT, 'x' },
	{ "&#x", ";", SCRIPT, 'X' },
	{ "&#", ";", PUNCTUATION, 'd' },
	{ "&#x", ";", PUNCTUATION, 'x' },
	{ "&#x", ";", PUNCTUATION, 'X' },
	{ "&#", ";", EVERY, 'd' },
	{ "&#x", ";", EVERY, 'x' },
	{ "&#x", ";", EVERY, 'X' },
	{ "", "", EVERY, 'x' },
	{ "", "", EVERY, 'X' },
};

enum {
	ESCAPES = sizeof(escapes) / sizeof(*escapes),
	/* base64 in two alphabets at three offsets, one of them with escapes,
	 * too, as in an address and in JSON */
	BASE64_FORMS = 3 * 4,
	FORMS = 1 + ESCAPES + BASE64_FORMS, /* of one value */
	BYTES = 128 << 10,
	SHORTEST = 6, /* bytes of a form; a shorter one is ordinary text */
};

struct form {
	struct buf old, new; /* of one length */
};

struct echo {
	struct form *forms;
	size_t n;
	size_t shortest, longest;
	unsigned char shifts[1 << 16]; /* for each pair of bytes */
	size_t most;                   /* the largest one */
	bool begins[256];              /* the first bytes of forms */
};

/* Appends placeholder, repeated, up to len bytes. */
static void fill(struct buf *out, struct str placeholder, size_t len)
{
	while (out->len < len) {
		size_t n = len - out->len < placeholder.len ? len - out->len
							    : placeholder.len;

		buf_add(out, placeholder.ptr, n);
	}
}

static void add_form(struct echo *e, struct str old, struct str new)
{
	struct form *f = &e->forms[e->n];

	for (size_t i = 0; i < e->n; i++)
		if (str_eq(buf_str(&e->forms[i].old), old))
			return;
	if (old.len < SHORTEST)
		return;
	e->n++;
	e->begins[(unsigned char)old.ptr[0]] = true;
	f->old = f->new = BUF_INIT(BYTES);
	buf_addstr(&f->old, old);
	fill(&f->new, new, old.len);
	if (old.len > e->longest)
		e->longest = old.len;
	if (old.len < e->shortest || !e->shortest)
		e->shortest = old.len;
}

/* Appends the characters of base64 that depend on the value only, if `before`
 * bytes precede it. */
static void add_base64(struct buf *out, struct str value, size_t before)
{
	struct buf raw = BUF_INIT(BYTES);
	struct buf text = BUF_INIT(BYTES);
	size_t first = (8 * before + 5) / 6;
	size_t end = 8 * (before + value.len) / 6;

	buf_add(&raw, "\0\0", before);
	buf_addstr(&raw, value);
	json_base64(&text, buf_str(&raw));
	buf_add(out, text.ptr + first, end - first);
	buf_wipe(&raw);
	buf_wipe(&text);
}

/* The alphabet for addresses has other characters for two values. */
static void make_url_safe(struct buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		b->ptr[i] = (char)(b->ptr[i] == '+'   ? '-'
				   : b->ptr[i] == '/' ? '_'
						      : b->ptr[i]);
}

static bool is_concerned(enum which which, char c)
{
	bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9');

	switch (which) {
	case EVERY:
		return true;
	case PUNCTUATION:
		return !word;
	case MARKS:
		return !word && !strchr("-._~", c);
	case SLASH:
		return c == '/';
	case QUOTES:
		return c == '"' || c == '\\';
	case MARKUP:
		return strchr("&<>\"'", c);
	default:
		return strchr("&<>\"'`+/=\\", c);
	}
}

static const char *name_of(char c)
{
	return c == '&'   ? "amp"
	       : c == '<' ? "lt"
	       : c == '>' ? "gt"
	       : c == '"' ? "quot"
			  : "apos";
}

/* Adds the value with the escape of this index. */
static void add_escaped(struct echo *e, struct str value, struct str new,
			size_t index)
{
	struct buf text = BUF_INIT(BYTES);

	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];
		unsigned number = (unsigned char)c;
		bool is = c && is_concerned(escapes[index].which, c);

		if (!is) {
			buf_addc(&text, c);
			continue;
		}
		buf_adds(&text, escapes[index].before);
		switch (escapes[index].as) {
		case 'c':
			buf_addc(&text, c);
			break;
		case 'd':
			buf_addf(&text, "%u", number);
			break;
		case 'n':
			buf_adds(&text, name_of(c));
			break;
		case 'x':
			buf_addf(&text, "%02x", number);
			break;
		default:
			buf_addf(&text, "%02X", number);
		}
		buf_adds(&text, escapes[index].after);
	}
	add_form(e, buf_str(&text), new);
	buf_wipe(&text);
}

enum { IN_ADDRESS = 0, IN_JSON = 7 }; /* indexes of escapes */

static void add_base64_forms(struct echo *e, struct str value,
			     struct str placeholder)
{
	for (size_t before = 0; before < 3; before++) {
		struct buf old = BUF_INIT(BYTES);
		struct buf new = BUF_INIT(BYTES);

		add_base64(&old, value, before);
		add_base64(&new, placeholder, before);
		add_form(e, buf_str(&old), buf_str(&new));
		add_escaped(e, buf_str(&old), buf_str(&new), IN_ADDRESS);
		add_escaped(e, buf_str(&old), buf_str(&new), IN_JSON);
		make_url_safe(&old);
		add_form(e, buf_str(&old), buf_str(&new));
		buf_wipe(&old);
		buf_release(&new);
	}
}

static void add_value(struct echo *e, struct str value, const char *fake)
{
	struct str placeholder = { fake, value.len };

	add_form(e, value, placeholder);
	for (size_t i = 0; i < ESCAPES; i++)
		add_escaped(e, value, placeholder, i);
	add_base64_forms(e, value, placeholder);
}

/* Fills in how far the window may move if its last two bytes are these: not
 * past the next place where a form may begin (Wu and Manber, 1994). */
static void make_shifts(struct echo *e)
{
	e->most = e->shortest < 255 ? e->shortest - 1 : 254;
	memset(e->shifts, (int)e->most, sizeof(e->shifts));
	for (size_t i = 0; i < e->n; i++) {
		const unsigned char *p =
			(const unsigned char *)e->forms[i].old.ptr;

		for (size_t k = 0; k + 1 < e->shortest; k++) {
			unsigned char *shift = &e->shifts[p[k] << 8 | p[k + 1]];
			size_t far = e->shortest - 2 - k;

			if (far < *shift)
				*shift = (unsigned char)far;
		}
	}
}

struct echo *echo_new(const struct secrets *all, const char *host)
{
	struct echo *e = xcalloc(1, sizeof(*e));

	e->forms = xcalloc(2 * all->n * FORMS + 1, sizeof(*e->forms));
	for (size_t i = 0; i < all->n; i++) {
		const struct secret *s = &all->list[i];

		if (!secret_has_host(s, host))
			continue;
		add_value(e, str_of(s->value), s->placeholder);
		if (s->token)
			add_value(e, str_of(s->token), s->token_placeholder);
	}
	if (e->n)
		make_shifts(e);
	return e;
}

void echo_free(struct echo *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n; i++) {
		buf_wipe(&e->forms[i].old);
		buf_release(&e->forms[i].new);
	}
	free(e->forms);
	free(e);
}

/* Replaces the form that stands there. Returns its length, or 0. */
static size_t replace_at(const struct echo *e, char *at, size_t left)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct buf *old = &e->forms[i].old;

		if (old->len <= left && !memcmp(at, old->ptr, old->len)) {
			memcpy(at, e->forms[i].new.ptr, old->len);
			return old->len;
		}
	}
	return 0;
}

/* Returns where the next window ends whose shift is not the largest one. last:
 * where the first one ends. Four at a time, so that no read waits for another.
 */
static size_t skip_most(const struct echo *e, const unsigned char *p,
			size_t last, size_t len)
{
	const size_t m = e->most;

	for (; last + 3 * m < len; last += 4 * m) {
		const unsigned char *q = p + last;
		size_t sum = 0;

		for (size_t i = 0; i < 4; i++, q += m)
			sum += e->shifts[q[-1] << 8 | q[0]];
		if (sum != 4 * m)
			break;
	}
	return last;
}

size_t echo_replace(const struct echo *e, char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t at = 0;
	size_t n = len < e->longest ? len : e->longest - (e->longest > 0);

	while (e->n && at + e->shortest <= len) {
		size_t first = at + e->shortest - 1;
		size_t last = skip_most(e, p, first, len);
		size_t far;

		at += last - first;
		if (last >= len)
			break;
		far = e->shifts[p[last - 1] << 8 | p[last]];
		if (!far)
			far = replace_at(e, bytes + at, len - at);
		at += far ? far : 1;
	}
	for (; n; n--)
		for (size_t i = 0; e->begins[p[len - n]] && i < e->n; i++)
			if (e->forms[i].old.len > n &&
			    !memcmp(bytes + len - n, e->forms[i].old.ptr, n))
				return n;
	return 0;
}
