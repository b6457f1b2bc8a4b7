/* mask.c - hides secret values in everything that is shown, stored or sent. */
/* SPDX-License-Identifier: MIT */
/*
 * Secret values are matched as bytes in one pass over the text. Two parts build
 * on that: masking of JSON strings in their decoded form, and the filter for
 * command output. The filter masks before and after it removes escape
 * sequences, because a sequence may split a value. DOORS of
 * tests/lint/limits.py lists all places that call these functions. A tool's
 * result is masked in tool_call(), and each message to the model in
 * store_and_push() (src/agent/loop.c).
 */
#include "base/mask/mask.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <utf8proc.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/shapes/shapes.h"
#include "base/str.h"

enum {
	SHORTEST = 8, /* minimum bytes of a hidden value */
	/* the same for values whose name says that they are secret */
	SHORTEST_SECRET = 4,
	/* minimum bytes of an encoded form of a value, or of one line of it */
	SHORTEST_FORM = 12,
	/* minimum bytes of a value that is found with line breaks in it, and of
	 * it before the first break */
	SHORTEST_WRAPPED = 16,
	BEFORE_BREAK = 4,
	/* a line break, and the indentation of the next line */
	LONGEST_BREAK = 32,
	BLOCK = 16384, /* bytes of locked memory per allocation */
	/* how long a chain of overlapping values is followed, in multiples of
	 * the longest value */
	CHAIN = 4,
};

struct block { /* A block of locked memory; its bytes follow the struct. */
	struct block *next;
	size_t used;
	size_t size;
	char bytes[];
};

struct hidden {            /* one byte sequence to hide */
	const char *bytes; /* in locked memory */
	size_t len;
	char *shown; /* "[masked:NAME]", owned */
	/* one was replaced, see mask_has_written(); owned */
	_Atomic bool *given;
	int next; /* index of the next item with the same first byte, or -1 */
};

struct mask {
	pthread_rwlock_t *lock; /* guards all fields below; owned */
	struct block *blocks;
	struct hidden *items;
	int n;
	int room;
	/* per first byte: index of the longest item that begins with it, or -1;
	 * `next` leads to the shorter ones */
	int first[UCHAR_MAX + 1];
	size_t longest;
	/* Bit sets of the first two bytes of all values and shapes, of their
	 * second and third byte, and of both. Text at which nothing can begin
	 * is skipped quickly with them. */
	uint64_t first_pairs[SHAPES_PAIRS];
	uint64_t second_pairs[SHAPES_PAIRS];
	uint64_t any_pairs[SHAPES_PAIRS];
	struct shapes *shapes; /* owned; NULL: only values are hidden */
	struct mask *values;   /* see mask_values(); owned, NULL in itself */
	/* per kind of shapes: one was replaced; owned */
	_Atomic bool *given;
};

static struct mask *make_mask(void)
{
	struct mask *m = xcalloc(1, sizeof(*m));

	if (sodium_init() < 0)
		abort();
	m->lock = xcalloc(1, sizeof(*m->lock));
	pthread_rwlock_init(m->lock, NULL);
	for (int i = 0; i <= UCHAR_MAX; i++)
		m->first[i] = -1;
	m->given = xcalloc(SHAPES_KINDS, sizeof(*m->given));
	return m;
}

struct mask *mask_new(void)
{
	struct mask *m = make_mask();

	m->values = make_mask();
	mask_set_shapes(m, shapes_new());
	return m;
}

const struct mask *mask_values(const struct mask *m)
{
	return m && m->values ? m->values : m;
}

void mask_set_shapes(struct mask *m, struct shapes *shapes)
{
	pthread_rwlock_wrlock(m->lock);
	shapes_free(m->shapes);
	m->shapes = shapes;
	for (size_t i = 0; shapes && i < SHAPES_PAIRS; i++) {
		m->first_pairs[i] |= shapes_pairs(shapes, 0)[i];
		m->second_pairs[i] |= shapes_pairs(shapes, 1)[i];
		m->any_pairs[i] |= m->first_pairs[i] | m->second_pairs[i];
	}
	pthread_rwlock_unlock(m->lock);
}

void mask_free(struct mask *m)
{
	if (!m)
		return;
	for (int i = 0; i < m->n; i++) {
		free(m->items[i].shown);
		free(m->items[i].given);
	}
	free(m->items);
	shapes_free(m->shapes);
	mask_free(m->values);
	free(m->given);
	while (m->blocks) {
		struct block *b = m->blocks;

		m->blocks = b->next;
		sodium_free(b); /* also zeroes it */
	}
	pthread_rwlock_destroy(m->lock);
	free(m->lock);
	free(m);
}

/* Copies a value into locked memory, which is freed with the mask. */
static const char *store_copy(struct mask *m, struct str value)
{
	struct block *b = m->blocks;
	char *at;

	if (!b || value.len > b->size - b->used) {
		size_t size = value.len > BLOCK ? value.len : BLOCK;

		/* sodium_malloc() aligns the end of a block. So the size is
		 * rounded up, for the start to be aligned too. */
		size = (size + 15) & ~(size_t)15;
		b = sodium_malloc(sizeof(*b) + size);
		if (!b)
			abort();
		*b = (struct block){ .next = m->blocks, .size = size };
		m->blocks = b;
	}
	at = b->bytes + b->used;
	memcpy(at, value.ptr, value.len);
	b->used += value.len;
	return at;
}

static unsigned pair_of(const char *p)
{
	return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

static bool has_pair(const uint64_t *set, const char *p)
{
	unsigned pair = pair_of(p);

	return set[pair / 64] >> pair % 64 & 1;
}

static void add_pair(struct mask *m, uint64_t *set, const char *p)
{
	unsigned pair = pair_of(p);

	set[pair / 64] |= (uint64_t)1 << pair % 64;
	m->any_pairs[pair / 64] |= (uint64_t)1 << pair % 64;
}

/* Adds one byte sequence to hide. Those with the same first byte are linked
 * from the longest to the shortest. */
static void add_form(struct mask *m, const char *name, struct str value)
{
	int *link;

	if (m->n == m->room) {
		m->room = m->room ? m->room * 2 : 16;
		m->items =
			xrealloc(m->items, (size_t)m->room, sizeof(*m->items));
	}
	link = &m->first[(unsigned char)value.ptr[0]];
	for (; *link >= 0; link = &m->items[*link].next) {
		const struct hidden *h = &m->items[*link];

		if (h->len == value.len &&
		    !memcmp(h->bytes, value.ptr, value.len))
			return;
		if (h->len < value.len)
			break;
	}
	m->items[m->n] = (struct hidden){
		.bytes = store_copy(m, value),
		.len = value.len,
		.shown = xasprintf("[masked:%s]", name),
		.given = xcalloc(1, sizeof(*m->items->given)),
		.next = *link,
	};
	*link = m->n++;
	add_pair(m, m->first_pairs, value.ptr);
	add_pair(m, m->second_pairs, value.ptr + 1);
	if (value.len > m->longest)
		m->longest = value.len;
}

static void hide_form(struct mask *m, const char *name, struct str form)
{
	if (form.len >= SHORTEST_FORM)
		add_form(m, name, form);
}

/* Hides the base64 forms of the value. There are three, because the value may
 * begin at any byte of a group of three. Only the characters that do not depend
 * on neighbouring bytes are hidden. */
static void hide_base64(struct mask *m, const char *name, struct str value,
			int variant)
{
	/* per alignment: characters that also depend on the bytes before */
	static const size_t mixed[] = { 0, 2, 3 };
	size_t size = sodium_base64_encoded_len(value.len + 2, variant);
	unsigned char *raw = xcalloc(value.len + 2, 1);
	char *text = xcalloc(size, 1);

	memcpy(raw + 2, value.ptr, value.len);
	for (size_t before = 0; before <= 2; before++) {
		struct str form;

		sodium_bin2base64(text, size, raw + 2 - before,
				  value.len + before, variant);
		form = str_skip(str_of(text), mixed[before]);
		hide_form(m, name, form);
		if ((value.len + before) % 3 && form.len) {
			/* its last character also depends on the bytes after */
			form.len--;
			hide_form(m, name, form);
		}
	}
	sodium_memzero(raw, value.len + 2);
	sodium_memzero(text, size);
	free(raw);
	free(text);
}

/* Hides the percent-encoded form, in which all bytes except RFC 3986's
 * unreserved characters are encoded. */
static void hide_percent(struct mask *m, const char *name, struct str value,
			 const char *format)
{
	struct buf form = BUF_INIT(SIZE_MAX / 4);

	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			     (c >= 'a' && c <= 'z') || (c && strchr("-._~", c));

		if (plain)
			buf_addc(&form, (char)c);
		else
			buf_addf(&form, *format == 'x' ? "%%%02x" : "%%%02X",
				 c);
	}
	if (form.len > value.len)
		hide_form(m, name, buf_str(&form));
	buf_wipe(&form);
}

/* Hides the form printed by `od -An -tx1 | tr -d ' '` and `xxd -p`. */
static void hide_hex(struct mask *m, const char *name, struct str value,
		     const char *format)
{
	struct buf form = BUF_INIT(SIZE_MAX / 4);

	for (size_t i = 0; i < value.len; i++)
		buf_addf(&form, *format == 'x' ? "%02x" : "%02X",
			 (unsigned char)value.ptr[i]);
	hide_form(m, name, buf_str(&form));
	buf_wipe(&form);
}

static void hide_json(struct mask *m, const char *name, struct str value)
{
	struct buf form = BUF_INIT(SIZE_MAX / 4);

	json_quote(&form, value);
	if (form.len > value.len + 2)
		hide_form(m, name, (struct str){ form.ptr + 1, form.len - 2 });
	buf_wipe(&form);
}

/* Hides each line of a multi-line key, because tools may print its lines with
 * numbers or indentation. */
static void hide_lines(struct mask *m, const char *name, struct str value)
{
	struct str line;

	if (str_find(value, '\n') == value.len)
		return;
	while (str_split(&value, '\n', &line))
		if (!str_starts(line, "-----"))
			hide_form(m, name, str_trim(line));
}

static bool names_secret(const char *name)
{
	static const char *const words[] = { "KEY", "TOKEN", "SECRET",
					     "PASSWORD" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

bool mask_add(struct mask *m, const char *name, struct str value)
{
	size_t least = names_secret(name) ? SHORTEST_SECRET : SHORTEST;

	if (value.len < least)
		return false;
	pthread_rwlock_wrlock(m->lock);
	add_form(m, name, value);
	hide_lines(m, name, value);
	hide_base64(m, name, value, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
	hide_base64(m, name, value, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	hide_percent(m, name, value, "X");
	hide_percent(m, name, value, "x");
	hide_hex(m, name, value, "X");
	hide_hex(m, name, value, "x");
	hide_json(m, name, value);
	pthread_rwlock_unlock(m->lock);
	return m->values ? mask_add(m->values, name, value) : true;
}

/* Returns how many bytes at the start of text are the value with line breaks in
 * it, or 0: tools wrap long lines, and base64 has 76 characters a line. */
static size_t match_wrapped(const struct hidden *h, struct str text,
			    bool *maybe)
{
	size_t breaks = 0; /* bytes since the last one of the value */
	size_t n = 0;
	size_t at = 0;

	if (h->len < SHORTEST_WRAPPED || text.len < BEFORE_BREAK ||
	    memcmp(h->bytes, text.ptr, BEFORE_BREAK) != 0)
		return 0;
	for (; n < h->len && at < text.len; at++) {
		char c = text.ptr[at];

		if (c == h->bytes[n]) {
			n++;
			breaks = 0;
		} else if (c != '\n' && c != '\r' &&
			   !(breaks && (c == ' ' || c == '\t'))) {
			return 0;
		} else if (++breaks > LONGEST_BREAK) {
			return 0;
		}
	}
	*maybe |= n < h->len;
	return n < h->len ? 0 : at;
}

/* Returns how many bytes at the start of text are the value, or 0. *maybe: more
 * bytes may change that. */
static size_t match_value(const struct hidden *h, struct str text, bool *maybe)
{
	size_t len = h->len < text.len ? h->len : text.len;

	if (memcmp(h->bytes, text.ptr, len) != 0)
		return match_wrapped(h, text, maybe);
	*maybe |= h->len > text.len;
	return h->len > text.len ? 0 : h->len;
}

/* Returns the longest value at the start of text, or NULL, and its length
 * there. *maybe: a longer one may match there when more bytes arrive. */
static const struct hidden *find_match(const struct mask *m, struct str text,
				       size_t *length, bool *maybe)
{
	int i = m->first[(unsigned char)text.ptr[0]];

	*maybe = false;
	for (; i >= 0; i = m->items[i].next) {
		*length = match_value(&m->items[i], text, maybe);
		if (*length)
			return &m->items[i];
	}
	return NULL;
}

/* True if something may begin at the start of text: a quick test of the first
 * three bytes. */
static bool may_begin(const struct mask *m, struct str text)
{
	return text.len < 3 || (has_pair(m->first_pairs, text.ptr) &&
				has_pair(m->second_pairs, text.ptr + 1));
}

/* Returns how many bytes at the start of text must be hidden: inside the value
 * `first`, which has len bytes there, another one may begin that extends beyond
 * it. Such a chain of overlapping values is followed only up to a limit,
 * because all its bytes are held back. */
static size_t match_end(const struct mask *m, struct str text,
			const struct hidden *first, size_t len, bool *maybe)
{
	for (size_t at = 1; at < len && len < CHAIN * m->longest; at++) {
		const struct hidden *h;
		size_t more_len;
		bool more;

		if (!may_begin(m, str_skip(text, at)))
			continue;
		h = find_match(m, str_skip(text, at), &more_len, &more);
		*maybe |= more;
		if (h && h != first && at + more_len > len)
			len = at + more_len;
	}
	return len;
}

/* What is replaced at one place of a text. */
struct replacement {
	const struct hidden *value; /* NULL: a shape */
	size_t keep;                /* bytes that stay readable */
	size_t len;                 /* bytes of keep and of what is replaced */
	int kind;                   /* of the shape */
};

/* Values are hidden in the part of a shape that stays readable, too: shortens
 * it to end before the first of them. */
static void clip_keep(const struct mask *m, struct str text,
		      struct replacement *r, bool *maybe)
{
	for (size_t at = 0; at < r->keep; at++) {
		size_t len;
		bool more;

		if (!may_begin(m, str_skip(text, at)))
			continue;
		if (find_match(m, str_skip(text, at), &len, &more))
			r->keep = at;
		*maybe |= more;
	}
}

/* Extends the replacement to the end of a value that begins in it. */
static void extend_shape(const struct mask *m, struct str text,
			 struct replacement *r, bool *maybe)
{
	size_t at = r->len > m->longest ? r->len - m->longest : 1;

	for (; m->n && at < r->len; at++) {
		const struct hidden *h;
		size_t len;
		bool more;

		if (!may_begin(m, str_skip(text, at)))
			continue;
		h = find_match(m, str_skip(text, at), &len, &more);
		*maybe |= more;
		if (h) {
			r->len = at + match_end(m, str_skip(text, at), h, len,
						maybe);
			return;
		}
	}
}

/* Returns the value that fills exactly the first len bytes of text, or NULL.
 * There it is preferred to a shape, because its name says more. */
static const struct hidden *find_whole(const struct mask *m, struct str text,
				       size_t len, bool *maybe)
{
	const struct hidden *h;
	size_t own;
	bool more;

	if (!may_begin(m, text))
		return NULL;
	h = find_match(m, text, &own, &more);
	*maybe |= more;
	return h && match_end(m, text, h, own, maybe) == len ? h : NULL;
}

/* Finds what must be replaced at text[at]. False: nothing. *maybe: the bytes
 * that follow text may change that. */
static bool find_replacement(const struct mask *m, struct str text, size_t at,
			     bool last, struct replacement *r, bool *maybe)
{
	struct str rest = str_skip(text, at);
	struct shape_hit hit;
	enum shape_result rc;
	size_t len;

	*r = (struct replacement){ .value = find_match(m, rest, &len, maybe) };
	if (r->value)
		r->len = match_end(m, rest, r->value, len, maybe);
	if (!m->shapes)
		return r->value;
	rc = shapes_match(m->shapes, text, at, last, &hit);
	*maybe |= rc == SHAPE_MAYBE;
	/* a short value may be the beginning of a longer shape */
	if (rc != SHAPE_HIT || hit.len <= r->len)
		return r->value;
	*r = (struct replacement){ NULL, hit.keep, hit.len, hit.kind };
	r->value = find_whole(m, str_skip(rest, hit.keep), hit.len - hit.keep,
			      maybe);
	clip_keep(m, rest, r, maybe);
	extend_shape(m, rest, r, maybe);
	return true;
}

static void add_replacement(const struct mask *m, struct str rest,
			    const struct replacement *r, struct buf *out)
{
	buf_add(out, rest.ptr, r->keep);
	if (r->value) {
		*r->value->given = true;
		buf_adds(out, r->value->shown);
		return;
	}
	m->given[r->kind] = true;
	buf_addf(out, SHAPE_MARK "%s]", shapes_kind(r->kind));
}

/* Returns the next place, from `at` on, where something may begin. What begins
 * at p or p + 1 has the two bytes at p + 1 in its first three. last: nothing
 * follows text, so nothing begins within its last two bytes. */
static size_t skip_plain(const struct mask *m, struct str text, size_t at,
			 bool last)
{
	while (at + 3 < text.len) {
		if (has_pair(m->any_pairs, text.ptr + at + 1)) {
			if (may_begin(m, str_skip(text, at)))
				return at;
			if (may_begin(m, str_skip(text, at + 1)))
				return at + 1;
		}
		at += 2;
	}
	while (at < text.len && !may_begin(m, str_skip(text, at)))
		at++;
	return last && at + 3 > text.len ? text.len : at;
}

/* Appends text from byte `at` on with what must be hidden replaced, as far as
 * the bytes so far decide that. Returns how many bytes of text were
 * processed. */
static size_t replace_values(const struct mask *m, struct str text, size_t at,
			     bool last, struct buf *out)
{
	size_t from = at;

	while ((at = skip_plain(m, text, at, last)) < text.len) {
		struct replacement r;
		bool maybe;
		bool found;

		found = find_replacement(m, text, at, last, &r, &maybe);
		if (maybe && !last)
			break;
		if (!found) {
			at++;
			continue;
		}
		buf_add(out, text.ptr + from, at - from);
		add_replacement(m, str_skip(text, at), &r, out);
		at += r.len;
		from = at;
	}
	buf_add(out, text.ptr + from, at - from);
	return at;
}

static bool hides_something(const struct mask *m)
{
	return m->n || m->shapes;
}

void mask_text(const struct mask *m, struct str text, struct buf *out)
{
	if (!text.len)
		return;
	if (!m) {
		buf_addstr(out, text);
		return;
	}
	pthread_rwlock_rdlock(m->lock);
	if (hides_something(m))
		replace_values(m, text, 0, true, out);
	else
		buf_addstr(out, text);
	pthread_rwlock_unlock(m->lock);
}

bool mask_buf(const struct mask *m, struct buf *text)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);
	bool differs;

	if (!m || !text->len)
		return false;
	mask_text(m, buf_str(text), &masked);
	differs = !str_eq(buf_str(&masked), buf_str(text));
	if (!differs) {
		buf_release(&masked);
		return false;
	}
	masked.max = text->max > masked.len ? text->max : masked.len;
	masked.over = text->over;
	buf_wipe(text);
	*text = masked;
	return true;
}

bool mask_string(const struct mask *m, char **text)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);
	bool differs;

	if (!m || !*text)
		return false;
	mask_text(m, str_of(*text), &masked);
	differs = !str_eq(buf_str(&masked), str_of(*text));
	if (differs) {
		free(*text);
		*text = buf_detach(&masked);
	}
	buf_release(&masked);
	return differs;
}

void mask_prefix(const struct mask *m, struct str text, size_t most,
		 struct buf *out)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);
	struct str first;

	mask_text(m, text, &masked);
	first = buf_str(&masked);
	if (first.len > most) {
		first.len = most;
		first.len = str_utf8_prefix(first);
	}
	buf_addstr(out, first);
	buf_release(&masked);
}

bool mask_holds(const struct mask *m, struct str text)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);
	bool holds;

	mask_text(m, text, &masked);
	holds = !str_eq(buf_str(&masked), text);
	buf_wipe(&masked);
	return holds;
}

/* Returns how often needle is in the text. */
static size_t count_of(struct str text, struct str needle)
{
	size_t n = 0;

	for (;;) {
		size_t at = str_search(text, needle);

		if (at == text.len)
			return n;
		text = str_skip(text, at + needle.len);
		n++;
	}
}

/* Appends "2 GitHub tokens", after a comma if it is not the first. */
static void add_count(struct buf *out, size_t from, size_t n, const char *kind)
{
	if (n)
		buf_addf(out, "%s%zu %s%s", out->len > from ? ", " : "", n,
			 kind, n > 1 ? "s" : "");
}

/* Appends what masking has hidden in text and not in before. Returns how many
 * shapes these are. */
static size_t count_shapes(const struct mask *m, struct str before,
			   struct str text, struct buf *out)
{
	size_t from = out->len;
	size_t sum = 0;
	const char *kind;

	if (!m || str_search(text, STR(SHAPE_MARK)) == text.len)
		return 0;
	for (int i = 0; (kind = shapes_kind(i)); i++) {
		char *mark;
		size_t n;

		if (!m->given[i])
			continue;
		mark = xasprintf(SHAPE_MARK "%s]", kind);
		n = count_of(text, str_of(mark)) -
		    count_of(before, str_of(mark));
		add_count(out, from, n, kind);
		sum += n;
		free(mark);
	}
	return sum;
}

void mask_count(const struct mask *m, struct str text, struct buf *out)
{
	(void)count_shapes(m, (struct str){ 0 }, text, out);
}

void mask_describe(const struct mask *m, struct str text, struct buf *out)
{
	static const struct str mark = { "[masked:", 8 };
	struct buf masked = BUF_INIT(SIZE_MAX / 4);
	size_t from = out->len;
	size_t shapes;
	size_t all;

	mask_text(m, text, &masked);
	if (!str_eq(buf_str(&masked), text)) {
		shapes = count_shapes(m, text, buf_str(&masked), out);
		all = count_of(buf_str(&masked), mark) - count_of(text, mark);
		add_count(out, from, all - shapes, "known value");
	}
	buf_release(&masked);
}

bool mask_take_mark(struct str *text, struct str *mark)
{
	*text = str_skip(*text, str_search(*text, STR("[masked:")));
	mark->ptr = text->ptr;
	mark->len = str_find(*text, ']') + 1;
	if (!text->len || mark->len > text->len)
		return false;
	*text = str_skip(*text, mark->len);
	return true;
}

bool mask_has_written(const struct mask *m, struct str mark)
{
	const struct str name = { mark.ptr + strlen("[masked:"),
				  mark.len - strlen("[masked:]") };
	bool is = false;
	const char *kind;

	for (int i = 0; (kind = shapes_kind(i)); i++)
		is |= m->given[i] && str_is(name, kind);
	pthread_rwlock_rdlock(m->lock);
	for (int i = 0; i < m->n; i++)
		is |= *m->items[i].given && str_is(mark, m->items[i].shown);
	pthread_rwlock_unlock(m->lock);
	return is;
}

static void copy_text(struct str text, struct buf *out)
{
	buf_addstr(out, text);
}

static void clean_lines(struct str text, struct buf *out)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		visible_line(line, out);
		buf_addc(out, '\n');
	}
}

void mask_clean(const struct mask *m, enum clean_kind kind, struct str text,
		struct buf *out)
{
	static void (*const filters[])(struct str text, struct buf * out) = {
		[CLEAN_LATER] = copy_text,
		[CLEAN_TEXT] = sanitize_text,
		[CLEAN_MESSAGE] = sanitize_message,
		[CLEAN_LINE] = sanitize_line,
		[CLEAN_NAME] = visible_line,
		[CLEAN_NAMES] = clean_lines,
	};
	struct buf masked = BUF_INIT(SIZE_MAX / 4);
	struct buf clean = BUF_INIT(SIZE_MAX / 4);

	mask_text(m, text, &masked);
	filters[kind](buf_str(&masked), &clean);
	mask_text(m, buf_str(&clean), out);
	buf_release(&masked);
	buf_release(&clean);
}

/* Caller holds the lock. */
static void feed_stream(const struct mask *m, struct mask_stream *s, bool last,
			struct buf *out)
{
	size_t done = replace_values(m, buf_str(&s->held), s->done, last, out);
	size_t drop = done > SHAPES_CONTEXT ? done - SHAPES_CONTEXT : 0;

	buf_consume(&s->held, drop);
	s->done = done - drop;
}

void mask_feed(const struct mask *m, struct mask_stream *s, struct str chunk,
	       struct buf *out)
{
	if (!chunk.len)
		return;
	if (!m) {
		buf_addstr(out, chunk);
		return;
	}
	pthread_rwlock_rdlock(m->lock);
	if (hides_something(m)) {
		/* these are at most one chunk, the context, and one private key
		 * or chain of values */
		s->held.max = SIZE_MAX / 4;
		buf_addstr(&s->held, chunk);
		feed_stream(m, s, false, out);
	} else {
		buf_addstr(out, chunk);
	}
	pthread_rwlock_unlock(m->lock);
}

void mask_end(const struct mask *m, struct mask_stream *s, struct buf *out)
{
	if (m && s->held.len > s->done) {
		pthread_rwlock_rdlock(m->lock);
		feed_stream(m, s, true, out);
		pthread_rwlock_unlock(m->lock);
	}
	buf_wipe(&s->held);
	s->done = 0;
}

void mask_pass(const struct mask *m, struct mask_stream *s, struct str chunk,
	       bool last, struct buf *out)
{
	mask_feed(m, s, chunk, out);
	if (last)
		mask_end(m, s, out);
}

/* Returns the length of the JSON string at the front, including its quotes. */
static size_t string_length(struct str s)
{
	for (size_t i = 1; i < s.len; i++) {
		if (s.ptr[i] == '"')
			return i + 1;
		i += s.ptr[i] == '\\';
	}
	return s.len;
}

/* Returns the number of a "\u1234" escape at the front, or -1. */
static utf8proc_int32_t read_unit(struct str s)
{
	utf8proc_int32_t unit = 0;

	if (s.len < 6 || !str_starts(s, "\\u"))
		return -1;
	for (size_t i = 2; i < 6; i++) {
		static const char digits[] = "0123456789abcdef";
		char c = s.ptr[i] >= 'A' && s.ptr[i] <= 'F'
				 ? (char)(s.ptr[i] | 0x20)
				 : s.ptr[i];
		const char *at = c ? strchr(digits, c) : NULL;

		if (!at)
			return -1;
		unit = unit << 4 | (utf8proc_int32_t)(at - digits);
	}
	return unit;
}

/* Appends the character of the escape at the front and returns the escape's
 * length. Half a surrogate pair becomes U+FFFD. */
static size_t add_escape(struct buf *out, struct str s)
{
	static const char names[] = "bfnrt\"\\/";
	static const char values[] = "\b\f\n\r\t\"\\/";
	const char *at = s.len > 1 && s.ptr[1] ? strchr(names, s.ptr[1]) : NULL;
	utf8proc_int32_t c = read_unit(s);
	utf8proc_int32_t low = read_unit(str_skip(s, 6));
	utf8proc_uint8_t bytes[4];
	size_t len = 6;

	if (at) {
		buf_addc(out, values[at - names]);
		return 2;
	}
	if (c < 0) {
		buf_addc(out, s.ptr[0]);
		return 1;
	}
	if (c >= 0xD800 && c < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
		c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
		len = 12;
	}
	if (!utf8proc_codepoint_valid(c))
		c = 0xFFFD;
	buf_add(out, bytes, (size_t)utf8proc_encode_char(c, bytes));
	return len;
}

/* Returns what is between the quotes of a JSON string. */
static struct str string_inside(struct str s)
{
	return (struct str){ s.ptr + 1, s.len < 2 ? 0 : s.len - 2 };
}

/* Appends the decoded JSON string. */
static void decode_string(struct buf *out, struct str s)
{
	s = string_inside(s);
	while (s.len) {
		size_t n = str_find(s, '\\');

		buf_add(out, s.ptr, n);
		s = str_skip(s, n);
		if (s.len)
			s = str_skip(s, add_escape(out, s));
	}
}

/* Appends a JSON string or number masked. text is the token's decoded form. */
static void add_token(const struct mask *m, struct str token, struct str text,
		      struct buf *out)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);

	mask_text(m, text, &masked);
	if (str_eq(buf_str(&masked), text))
		buf_addstr(out, token);
	else
		json_quote(out, buf_str(&masked));
	buf_release(&masked);
}

static bool in_number(char c)
{
	return c && strchr("0123456789+-.eE", c);
}

/* Appends the next token of the JSON masked. Returns the token's length. */
static size_t add_next(const struct mask *m, struct str rest, struct buf *out)
{
	struct buf text = BUF_INIT(SIZE_MAX / 4);
	struct str token;
	size_t n = 0;

	if (rest.ptr[0] == '"') {
		n = string_length(rest);
		token = (struct str){ rest.ptr, n };
		if (memchr(token.ptr, '\\', n)) {
			decode_string(&text, token);
			add_token(m, token, buf_str(&text), out);
			buf_wipe(&text);
		} else {
			add_token(m, token, string_inside(token), out);
		}
		return n;
	}
	if (rest.ptr[0] == '-' || (rest.ptr[0] >= '0' && rest.ptr[0] <= '9')) {
		while (n < rest.len && in_number(rest.ptr[n]))
			n++;
		add_token(m, (struct str){ rest.ptr, n },
			  (struct str){ rest.ptr, n }, out);
		return n;
	}
	buf_addc(out, rest.ptr[0]);
	return 1;
}

void mask_json(const struct mask *m, struct str json, struct buf *out)
{
	struct buf strings = BUF_INIT(SIZE_MAX / 4);
	struct buf whole = BUF_INIT(SIZE_MAX / 4);

	while (json.len)
		json = str_skip(json, add_next(m, json, &strings));
	mask_text(m, buf_str(&strings), &whole);
	if (str_eq(buf_str(&strings), buf_str(&whole))) {
		buf_addstr(out, buf_str(&whole));
	} else {
		buf_addc(out, '{');
		json_member(out, "masked", buf_str(&whole));
		buf_addc(out, '}');
	}
	buf_wipe(&strings);
	buf_release(&whole);
}

static void clear_screen_scratch(struct redact_screen *s)
{
	s->masked.max = s->text.max = SIZE_MAX / 2;
	buf_clear(&s->masked);
	buf_clear(&s->text);
}

void redact_screen_rest(struct redact_screen *s, const struct mask *mask,
			struct buf *out)
{
	clear_screen_scratch(s);
	buf_addstr(&s->text, str_skip(buf_str(&s->after.held), s->after.done));
	screen_text_rest(&s->screen, &s->text);
	mask_text(mask, buf_str(&s->text), out);
}

void redact_screen_pass(struct redact_screen *s, const struct mask *mask,
			struct str chunk, enum redact_until until,
			struct buf *out)
{
	clear_screen_scratch(s);
	mask_feed(mask, &s->before, chunk, &s->masked);
	if (until == REDACT_END)
		mask_end(mask, &s->before, &s->masked);
	screen_text_feed(&s->screen, buf_str(&s->masked), &s->text);
	if (until == REDACT_ALL)
		screen_text_give(&s->screen, &s->text);
	else if (until == REDACT_END)
		screen_text_end(&s->screen, &s->text);
	mask_feed(mask, &s->after, buf_str(&s->text), out);
	if (until != REDACT_END)
		return;
	mask_end(mask, &s->after, out);
	buf_wipe(&s->masked);
	buf_wipe(&s->text);
}
