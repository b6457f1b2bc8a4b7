/* echo.c - finds the values of secrets in answers, and replaces them. */
/* SPDX-License-Identifier: MIT */
/*
 * A value is searched for as it is, percent-encoded, with the escaped slashes
 * of JSON, and in base64. In base64 it looks different at each of three
 * offsets, and its first and last characters also depend on its neighbours:
 * only those in between are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "egress/credential/credential.h"

enum {
	FORMS = 9, /* of one value: raw, two encoded, two alphabets at 3 */
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

static void add_base64_forms(struct echo *e, struct str value,
			     struct str placeholder)
{
	for (size_t before = 0; before < 3; before++) {
		struct buf old = BUF_INIT(BYTES);
		struct buf new = BUF_INIT(BYTES);

		add_base64(&old, value, before);
		add_base64(&new, placeholder, before);
		add_form(e, buf_str(&old), buf_str(&new));
		make_url_safe(&old);
		add_form(e, buf_str(&old), buf_str(&new));
		buf_wipe(&old);
		buf_release(&new);
	}
}

static void add_value(struct echo *e, struct str value, const char *fake)
{
	struct str placeholder = { fake, value.len };
	struct buf text = BUF_INIT(BYTES);

	add_form(e, value, placeholder);
	percent_encode(&text, value, "");
	add_form(e, buf_str(&text), placeholder);
	buf_wipe(&text);
	text = BUF_INIT(BYTES);
	for (size_t i = 0; i < value.len; i++) {
		buf_adds(&text, value.ptr[i] == '/' ? "\\" : "");
		buf_addc(&text, value.ptr[i]);
	}
	add_form(e, buf_str(&text), placeholder);
	buf_wipe(&text);
	add_base64_forms(e, value, placeholder);
}

/* Fills in how far the window may move if its last two bytes are these: not
 * past the next place where a form may begin (Wu and Manber, 1994). */
static void make_shifts(struct echo *e)
{
	memset(e->shifts, (int)(e->shortest < 255 ? e->shortest - 1 : 254),
	       sizeof(e->shifts));
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

size_t echo_replace(const struct echo *e, char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t at = 0;
	size_t n = len < e->longest ? len : e->longest - (e->longest > 0);

	while (e->n && at + e->shortest <= len) {
		size_t last = at + e->shortest - 1;
		size_t far = e->shifts[p[last - 1] << 8 | p[last]];

		if (!far)
			far = replace_at(e, bytes + at, len - at);
		at += far ? far : 1;
	}
	for (; n; n--)
		for (size_t i = 0; i < e->n; i++)
			if (e->forms[i].old.len > n &&
			    !memcmp(bytes + len - n, e->forms[i].old.ptr, n))
				return n;
	return 0;
}
