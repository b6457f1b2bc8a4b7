/* shapes.c - finds strings that have the form of a credential. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at shapes_match(). Each form is a pattern, compiled to a list
 * of elements: literal bytes, or a set of bytes with a least and a largest
 * number. A set takes as many bytes as it can, and nothing is tried again, so
 * the time for a match is linear. A byte and its follower select the patterns
 * that are tried at all (shapes_pairs()).
 */
#include "base/shapes/shapes.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/shapes/shapes_impl.h"
#include "base/str.h"

enum {
	MOST_REPEATS = 1 << 16, /* of one set */
	MOST_SETS = UCHAR_MAX,
	MOST_OWN = 64,          /* added patterns */
	LEAST_LITERAL = 3,      /* bytes that an added pattern begins with */
	LEAST_HIDDEN = 8,       /* bytes that an added pattern hides */
	LONGEST_PATTERN = 1000, /* bytes of an added pattern */
};

enum { BYTE_WORDS = (UCHAR_MAX + 1) / 64 };

struct byte_set {
	uint64_t bits[BYTE_WORDS];
};

struct element {
	const char *literal; /* borrowed from the pattern; NULL: a set */
	size_t least;        /* repeats; for a literal its length */
	size_t most;
	unsigned char set; /* index into sets */
};

struct pattern {
	const struct shape_row *row;
	int kind;
	size_t first; /* index of its first element */
	size_t n;     /* number of elements */
	/* elements before `from` stay readable; those from `to` on are not part
	 * of the match */
	size_t from;
	size_t to;
};

struct shapes {
	struct pattern *patterns;
	size_t n;
	struct element *elements;
	size_t n_elements;
	struct byte_set *sets;
	size_t n_sets;
	bool off[SHAPES_KINDS];
	/* per first byte: indexes of the patterns that may begin with it */
	unsigned short *starts[UCHAR_MAX + 1];
	size_t n_starts[UCHAR_MAX + 1];
	uint64_t pairs[2][SHAPES_PAIRS];
	char **own; /* texts of added patterns */
	size_t n_own;
};

static bool set_has(const struct byte_set *set, unsigned char c)
{
	return set->bits[c / 64] >> c % 64 & 1;
}

static bool is_word(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c == '_';
}

/* Returns the index of the set, which is added if it is new. */
static unsigned char add_set(struct shapes *s, const struct byte_set *set)
{
	for (size_t i = 0; i < s->n_sets; i++)
		if (!memcmp(&s->sets[i], set, sizeof(*set)))
			return (unsigned char)i;
	if (s->n_sets == MOST_SETS)
		abort(); /* added patterns are limited; see shapes_add() */
	s->sets = xrealloc(s->sets, s->n_sets + 1, sizeof(*s->sets));
	s->sets[s->n_sets] = *set;
	return (unsigned char)s->n_sets++;
}

static struct element *add_element(struct shapes *s, struct pattern *p)
{
	/* grows in steps, because the built-in rows have several hundred */
	if (!(s->n_elements & (s->n_elements - 1)) || !s->n_elements)
		s->elements = xrealloc(s->elements,
				       s->n_elements ? 2 * s->n_elements : 1,
				       sizeof(*s->elements));
	p->n++;
	s->elements[s->n_elements] = (struct element){ 0 };
	return &s->elements[s->n_elements++];
}

/* Adds the bytes from first to last. */
static void add_range(struct byte_set *set, unsigned first, unsigned last)
{
	for (unsigned i = first / 64; i <= last / 64; i++) {
		uint64_t bits = UINT64_MAX;

		if (i == first / 64)
			bits <<= first % 64;
		if (i == last / 64)
			bits &= UINT64_MAX >> (63 - last % 64);
		set->bits[i] |= bits;
	}
}

/* Reads "A-Za-z0-9_-]" into set. Returns the text behind it, or NULL. */
static const char *read_set(const char *at, struct byte_set *set)
{
	*set = (struct byte_set){ 0 };
	for (; *at && *at != ']'; at++) {
		unsigned first;
		unsigned last;

		if (*at == '\\' && at[1])
			at++;
		first = last = (unsigned char)*at;
		if (at[1] == '-' && at[2] && at[2] != ']') {
			last = (unsigned char)at[2];
			at += 2;
		}
		if (last < first)
			return NULL;
		add_range(set, first, last);
	}
	return *at ? at + 1 : NULL;
}

static const char *read_number(const char *at, size_t *n)
{
	*n = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		if ((*n = 10 * *n + (size_t)(*at - '0')) > MOST_REPEATS)
			return NULL;
	return at;
}

/* Reads "{3}", "{3,5}" or "{3,}" if there is one. Returns the text behind it,
 * or NULL. */
static const char *read_repeats(const char *at, struct element *e)
{
	e->least = e->most = 1;
	if (*at != '{')
		return at;
	at = read_number(at + 1, &e->least);
	e->most = e->least;
	if (at && *at == ',') {
		at = read_number(at + 1, &e->most);
		e->most = at && e->most ? e->most : MOST_REPEATS;
	}
	return at && *at == '}' && e->most && e->most >= e->least ? at + 1
								  : NULL;
}

/* Adds the literal that begins at `at`; returns the text behind it. */
static const char *read_literal(struct shapes *s, struct pattern *p,
				const char *at)
{
	struct element *e = add_element(s, p);

	/* an escaped character is an element of its own */
	e->literal = at + (*at == '\\' && at[1]);
	e->least = *at == '\\' ? 1 : strcspn(at, "[]{}()\\");
	return e->literal + e->least;
}

/* Compiles the text. Returns NULL, or what is wrong with it. */
static const char *compile(struct shapes *s, struct pattern *p,
			   const char *text)
{
	const char *at = text;
	bool open = false;
	bool marked = false;

	p->first = s->n_elements;
	while (*at) {
		struct byte_set set;

		if (*at == '(' && !marked) {
			open = marked = true;
			p->from = p->n;
			at++;
		} else if (*at == ')' && open) {
			open = false;
			p->to = p->n;
			at++;
		} else if (*at == '[') {
			struct element *e = add_element(s, p);

			at = read_set(at + 1, &set);
			at = at ? read_repeats(at, e) : NULL;
			if (!at)
				return "has a set that cannot be read";
			e->set = add_set(s, &set);
		} else if (strchr("]{}()", *at)) {
			return "has a bracket in the wrong place";
		} else {
			at = read_literal(s, p, at);
		}
	}
	if (open || !p->n)
		return open ? "has a bracket in the wrong place" : "is empty";
	if (!marked)
		while (p->from < p->n &&
		       s->elements[p->first + p->from].literal)
			p->from++;
	if (!p->to)
		p->to = p->n;
	return NULL;
}

/* Sets *set to the bytes that can stand at this place of a pattern, 0 to 2. */
static void bytes_at(const struct shapes *s, const struct pattern *p,
		     size_t place, struct byte_set *set)
{
	const struct element *e = &s->elements[p->first];

	for (; e->least <= place; e++)
		place -= e->least;
	if (!e->literal) {
		*set = s->sets[e->set];
		return;
	}
	*set = (struct byte_set){ 0 };
	set->bits[(unsigned char)e->literal[place] / 64] |=
		(uint64_t)1 << (unsigned char)e->literal[place] % 64;
}

/* Returns the least byte of the set, which is removed from it, or -1. */
static int take_byte(struct byte_set *set)
{
	for (int i = 0; i < (int)BYTE_WORDS; i++)
		if (set->bits[i]) {
			int bit = __builtin_ctzll(set->bits[i]);

			set->bits[i] &= set->bits[i] - 1;
			return 64 * i + bit;
		}
	return -1;
}

static void add_pairs(struct shapes *s, int place, struct byte_set one,
		      const struct byte_set *two)
{
	int c;

	while ((c = take_byte(&one)) >= 0)
		for (int i = 0; i < (int)BYTE_WORDS; i++)
			s->pairs[place][c * BYTE_WORDS + i] |= two->bits[i];
}

/* Lists the pattern under the bytes that it can begin with. */
static void index_pattern(struct shapes *s, size_t number)
{
	struct byte_set bytes[3];
	int c;

	for (size_t i = 0; i < 3; i++)
		bytes_at(s, &s->patterns[number], i, &bytes[i]);
	add_pairs(s, 0, bytes[0], &bytes[1]);
	add_pairs(s, 1, bytes[1], &bytes[2]);
	while ((c = take_byte(&bytes[0])) >= 0) {
		s->starts[c] = xrealloc(s->starts[c], s->n_starts[c] + 1,
					sizeof(*s->starts[c]));
		s->starts[c][s->n_starts[c]++] = (unsigned short)number;
	}
}

static const struct shape_row own_row = {
	.kind = "own pattern",
};

const char *shapes_kind(int kind)
{
	const char *before = "";
	int n = 0;

	for (const struct shape_row *row = shape_rows; row->kind; row++) {
		if (!strcmp(row->kind, before))
			continue;
		before = row->kind;
		if (n++ == kind)
			return before;
	}
	return n == kind ? own_row.kind : NULL;
}

static struct pattern *add_pattern(struct shapes *s,
				   const struct shape_row *row, int kind)
{
	if (!(s->n & (s->n - 1)) || !s->n)
		s->patterns = xrealloc(s->patterns, s->n ? 2 * s->n : 1,
				       sizeof(*s->patterns));
	s->patterns[s->n] = (struct pattern){ .row = row, .kind = kind };
	return &s->patterns[s->n++];
}

struct shapes *shapes_new(void)
{
	struct shapes *s = xcalloc(1, sizeof(*s));
	const char *before = "";
	int kind = -1;

	for (const struct shape_row *row = shape_rows; row->kind; row++) {
		kind += strcmp(row->kind, before) != 0;
		before = row->kind;
		if (compile(s, add_pattern(s, row, kind), row->pattern))
			abort();
		index_pattern(s, s->n - 1);
	}
	return s;
}

void shapes_free(struct shapes *s)
{
	if (!s)
		return;
	for (size_t i = 0; i <= UCHAR_MAX; i++)
		free(s->starts[i]);
	for (size_t i = 0; i < s->n_own; i++)
		free(s->own[i]);
	free(s->own);
	free(s->patterns);
	free(s->elements);
	free(s->sets);
	free(s);
}

bool shapes_turn_off(struct shapes *s, const char *kind)
{
	bool found = false;
	const char *name;

	for (int i = 0; (name = shapes_kind(i)) && strcmp(name, own_row.kind);
	     i++)
		if (!strcasecmp(kind, "all") || !strcasecmp(kind, name))
			found = s->off[i] = true;
	return found;
}

/* Returns NULL, or why an added pattern would hide too much. */
static const char *check_pattern(const struct shapes *s,
				 const struct pattern *p)
{
	const struct element *e = &s->elements[p->first];
	size_t literal = 0;
	size_t hidden = 0;

	for (size_t i = 0; i < p->n && e[i].literal; i++)
		literal += e[i].least;
	for (size_t i = p->from; i < p->to; i++)
		hidden += e[i].least;
	if (literal < LEAST_LITERAL)
		return "must begin with at least 3 characters that stand for "
		       "themselves";
	return hidden < LEAST_HIDDEN ? "must hide at least 8 characters" : NULL;
}

int shapes_add(struct shapes *s, const char *pattern, struct error *err)
{
	int kind = 0;
	struct pattern *p;
	const char *why;

	if (strlen(pattern) > LONGEST_PATTERN || s->n_own == MOST_OWN)
		return error_set(err, ERR_USAGE,
				 "at most 64 patterns of 1000 bytes");
	while (strcmp(shapes_kind(kind), own_row.kind) != 0)
		kind++;
	s->own = xrealloc(s->own, s->n_own + 1, sizeof(*s->own));
	s->own[s->n_own] = xstrdup(pattern);
	p = add_pattern(s, &own_row, kind);
	why = compile(s, p, s->own[s->n_own++]);
	if (!why)
		why = check_pattern(s, p);
	if (why) {
		s->n--;
		return error_set(err, ERR_USAGE, "the pattern '%s' %s", pattern,
				 why);
	}
	index_pattern(s, s->n - 1);
	return 0;
}

const uint64_t *shapes_pairs(const struct shapes *s, int place)
{
	return s->pairs[place];
}

/* True if a match may begin at text[at]: not inside a longer word. The
 * character before is also an edge if it ends an escape: "\n" or "%3D". */
static bool is_edge(struct str text, size_t at)
{
	const unsigned char *p = (const unsigned char *)text.ptr + at;

	if (!at || !is_word(p[-1]))
		return true;
	if (at >= 2 && p[-2] == '\\')
		return strchr("bfnrt", p[-1]) != NULL;
	return at >= 3 && p[-3] == '%' &&
	       strspn(text.ptr + at - 2, "0123456789ABCDEFabcdef") >= 2;
}

/* Shannon entropy of the bytes, in tenths of a bit per byte. */
static unsigned entropy(struct str s)
{
	size_t counts[UCHAR_MAX + 1] = { 0 };
	double sum = 0;

	for (size_t i = 0; i < s.len; i++)
		counts[(unsigned char)s.ptr[i]]++;
	for (size_t i = 0; i <= UCHAR_MAX; i++)
		if (counts[i])
			sum += (double)counts[i] * log2((double)counts[i]);
	return s.len ? (unsigned)(10 * (log2((double)s.len) -
					sum / (double)s.len) +
				  1e-6)
		     : 0;
}

static bool has_word(struct str text, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (!strncasecmp(text.ptr + i, word, len))
			return true;
	return false;
}

/* Matches one element at *at and moves *at behind it. */
static enum shape_result match_element(const struct shapes *s,
				       const struct element *e, struct str text,
				       size_t *at, bool last)
{
	size_t left = text.len - *at;
	size_t n = 0;

	if (e->literal) {
		n = left < e->least ? left : e->least;
		if (memcmp(text.ptr + *at, e->literal, n) != 0)
			return SHAPE_NONE;
		*at += n;
		if (n == e->least)
			return SHAPE_HIT;
		return last ? SHAPE_NONE : SHAPE_MAYBE;
	}
	while (n < left && n < e->most &&
	       set_has(&s->sets[e->set], (unsigned char)text.ptr[*at + n]))
		n++;
	*at += n;
	if (n == left && n < e->most && !last)
		return SHAPE_MAYBE;
	return n >= e->least ? SHAPE_HIT : SHAPE_NONE;
}

/* Tests that the match does not end within a longer word. */
static enum shape_result match_edge(const struct shapes *s,
				    const struct element *e, struct str text,
				    size_t at, bool last)
{
	unsigned char c;

	if (at == text.len)
		return last ? SHAPE_HIT : SHAPE_MAYBE;
	c = (unsigned char)text.ptr[at];
	if (!e->literal && set_has(&s->sets[e->set], c))
		return SHAPE_NONE;
	return is_word(c) && is_word((unsigned char)text.ptr[at - 1])
		       ? SHAPE_NONE
		       : SHAPE_HIT;
}

/* True if the hidden part has the characters that the row's flags want. */
static bool has_letters(struct str hidden, unsigned flags)
{
	bool digit = false;
	bool upper = false;
	bool lower = false;

	for (size_t i = 0; i < hidden.len; i++) {
		digit |= hidden.ptr[i] >= '0' && hidden.ptr[i] <= '9';
		upper |= hidden.ptr[i] >= 'A' && hidden.ptr[i] <= 'Z';
		lower |= hidden.ptr[i] >= 'a' && hidden.ptr[i] <= 'z';
	}
	return digit || !(flags & (SHAPE_DIGIT | SHAPE_MIXED)) ||
	       (upper && lower && !(flags & SHAPE_DIGIT));
}

/* Tests what the row says about the hidden part. */
static enum shape_result match_row(const struct shape_row *row,
				   struct shape_match *m)
{
	size_t before = m->at < SHAPES_CONTEXT ? m->at : SHAPES_CONTEXT;
	enum shape_result rc = SHAPE_HIT;
	struct str hidden;

	if (row->context &&
	    !has_word((struct str){ m->text.ptr + m->at - before, before },
		      row->context))
		return SHAPE_NONE;
	if (row->check)
		rc = row->check(m);
	if (rc != SHAPE_HIT)
		return rc;
	hidden =
		(struct str){ m->text.ptr + m->at + m->keep, m->len - m->keep };
	/* the word that documentation puts into its sample credentials */
	if (row != &own_row && has_word(hidden, "example"))
		return SHAPE_NONE;
	/* masked before */
	if (str_starts(hidden, SHAPE_MARK) || !has_letters(hidden, row->flags))
		return SHAPE_NONE;
	return row->entropy && entropy(hidden) < row->entropy ? SHAPE_NONE
							      : SHAPE_HIT;
}

static enum shape_result match_pattern(const struct shapes *s,
				       const struct pattern *p,
				       struct shape_match *m)
{
	const struct element *e = &s->elements[p->first];
	size_t at = m->at;
	size_t end = 0;
	enum shape_result rc = SHAPE_HIT;

	for (size_t i = 0; i < p->n && rc == SHAPE_HIT; i++) {
		if (i == p->from)
			m->keep = at - m->at;
		if (i == p->to)
			end = at;
		rc = match_element(s, &e[i], m->text, &at, m->last);
	}
	if (p->from == p->n)
		m->keep = at - m->at;
	if (rc == SHAPE_HIT)
		rc = match_edge(s, &e[p->n - 1], m->text, at, m->last);
	m->len = (p->to < p->n ? end : at) - m->at;
	return rc == SHAPE_HIT ? match_row(p->row, m) : rc;
}

enum shape_result shapes_match(const struct shapes *s, struct str text,
			       size_t at, bool last, struct shape_hit *hit)
{
	unsigned char c = (unsigned char)text.ptr[at];
	enum shape_result found = SHAPE_NONE;
	bool edge = is_edge(text, at);

	*hit = (struct shape_hit){ 0 };
	for (size_t i = 0; i < s->n_starts[c]; i++) {
		const struct pattern *p = &s->patterns[s->starts[c][i]];
		struct shape_match m = { .text = text, .at = at, .last = last };
		enum shape_result rc;

		if (s->off[p->kind] ||
		    (!edge && !(p->row->flags & SHAPE_INNER)))
			continue;
		rc = match_pattern(s, p, &m);
		if (rc == SHAPE_MAYBE)
			return rc;
		if (rc != SHAPE_HIT || m.len <= hit->len)
			continue;
		found = SHAPE_HIT;
		*hit = (struct shape_hit){ m.keep, m.len, p->kind };
	}
	return found;
}
