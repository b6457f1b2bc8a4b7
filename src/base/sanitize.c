/* sanitize.c - removes terminal control sequences from untrusted bytes. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at sanitize_feed(): it decodes UTF-8, and next_state() is the
 * state machine of ECMA-48. handle_char() keeps or drops a character, or passes
 * it to the sink. Stretches of plain ASCII skip all that (count_plain()),
 * because most output is.
 */
#include "base/sanitize.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"

enum state {
	TEXT = 0,
	ESCAPE,       /* after ESC */
	INTERMEDIATE, /* after ESC and 0x20..0x2F */
	CSI,          /* ECMA-48 §5.4: up to a byte in 0x40..0x7E */
	CONTROL_STRING /* OSC, DCS, SOS, PM, APC: until BEL or ST */,
	/* after ESC inside such a string: the first half of ST, or the string
	 * is aborted */
	STRING_ESCAPE,
};

static unsigned char after_text(uint32_t c)
{
	if (c == 0x1B)
		return ESCAPE;
	if (c == 0x9B)
		return CSI;
	if (c == 0x90 || c == 0x98 || (c >= 0x9D && c <= 0x9F))
		return CONTROL_STRING;
	return TEXT;
}

static unsigned char after_escape(uint32_t c)
{
	if (c == '[')
		return CSI;
	if (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_')
		return CONTROL_STRING;
	if (c >= 0x20 && c <= 0x2F)
		return INTERMEDIATE;
	return after_text(c);
}

/* Returns the state after character c. */
static unsigned char next_state(unsigned char state, uint32_t c)
{
	/* CAN and SUB abort any sequence. Here a line end does so too: a
	 * sequence never needs one, and without this a string that is not
	 * terminated would swallow all output after it. */
	if (c == 0x18 || c == 0x1A || c == '\n')
		return TEXT;
	switch ((enum state)state) {
	case TEXT:
		return after_text(c);
	case ESCAPE:
		return after_escape(c);
	case INTERMEDIATE:
		return c >= 0x20 && c <= 0x2F ? INTERMEDIATE : after_text(c);
	case CSI:
		if (c == 0x1B)
			return ESCAPE;
		return c >= 0x40 && c <= 0x7E ? TEXT : CSI;
	case CONTROL_STRING:
		if (c == 0x07 || c == 0x9C)
			return TEXT;
		return c == 0x1B ? STRING_ESCAPE : CONTROL_STRING;
	case STRING_ESCAPE:
		return c == '\\' ? TEXT : after_escape(c);
	}
	return TEXT;
}

bool sanitize_is_invisible(uint32_t c)
{
	static const struct {
		uint32_t first;
		uint32_t last;
	} ranges[] = {
		{ 0x00AD, 0x00AD }, { 0x034F, 0x034F },   { 0x061C, 0x061C },
		{ 0x115F, 0x1160 }, { 0x180B, 0x180F },   { 0x200B, 0x200B },
		{ 0x200E, 0x200F }, { 0x2028, 0x202E },   { 0x2060, 0x206F },
		{ 0x3164, 0x3164 }, { 0xFEFF, 0xFEFF },   { 0xFFA0, 0xFFA0 },
		{ 0xFFF9, 0xFFFB }, { 0x1D173, 0x1D17A }, { 0xE0000, 0xE0FFF },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

/* True for VT, FF, CR, NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR. */
static bool ends_line(uint32_t c)
{
	return (c >= 0x0B && c <= 0x0D) || c == 0x85 || c == 0x2028 ||
	       c == 0x2029;
}

/* largest parameter of a control sequence that is stored */
enum { NUMBER_MAX = 65535 };

/* Handles the next byte of a control sequence's parameters (ECMA-48 section
 * 5.4). */
static void read_number(struct sanitizer *c, uint32_t cp)
{
	int *n = c->n_at < 2 ? &c->n[c->n_at] : NULL;

	if (cp >= '0' && cp <= '9') {
		if (n)
			*n = (*n < 0 ? 0 : *n) * 10 + (int)(cp - '0');
		if (n && *n > NUMBER_MAX)
			*n = NUMBER_MAX;
	} else if (cp == ';') {
		c->n_at += c->n_at < 2;
	} else {
		c->odd = true;
	}
}

/* Adds a character to the current sequence, and passes the sequence to the sink
 * when it is complete. old: the state before this character. */
static void collect_sequence(struct sanitizer *c, unsigned char old,
			     uint32_t cp)
{
	bool in = old == ESCAPE || old == INTERMEDIATE || old == CSI;
	bool final = in && c->state == TEXT && cp >= 0x30 && cp <= 0x7E;

	if (c->state == ESCAPE) {
		c->raw_len = 0;
		return;
	}
	if (c->state == CSI && !in) { /* 8-bit CSI */
		c->raw_len = 0;
		cp = '[';
	} else if (!final &&
		   !(in && (c->state == CSI || c->state == INTERMEDIATE))) {
		return;
	}
	if (c->raw_len < SANITIZE_SEQUENCE && cp >= 0x20 && cp <= 0x7E)
		c->raw[c->raw_len++] = (char)cp;
	else
		c->raw_len = SANITIZE_SEQUENCE + 1;
	if (final && c->raw_len <= SANITIZE_SEQUENCE)
		c->sink->sequence(c->sink->arg,
				  (struct str){ c->raw, c->raw_len });
}

/* True for a control character that is passed to the sink. */
static bool is_passed(const struct sanitize_sink *k, uint32_t cp)
{
	return cp == '\r' || cp == '\b' || cp == '\t' ||
	       (k->sequence && (cp == 0x07 || (cp >= 0x0B && cp <= 0x0F)));
}

/* Passes a character to the sink, as text or as a control. old: the state
 * before this character. */
static void pass_to_sink(struct sanitizer *c, unsigned char old, uint32_t cp,
			 struct str bytes)
{
	const struct sanitize_sink *k = c->sink;

	if (k->sequence)
		collect_sequence(c, old, cp);
	/* A control sequence (CSI, ECMA-48 5.4): its numbers are collected
	 * until the final byte, which is passed on with them. */
	if (c->state == CSI && old != CSI) {
		c->n[0] = c->n[1] = -1;
		c->n_at = 0;
		c->odd = false;
	} else if (c->state == CSI) {
		read_number(c, cp);
	} else if (c->state != TEXT) {
		return;
	} else if (cp == '\n' || (old == TEXT && is_passed(k, cp))) {
		k->control(k->arg, SANITIZE_CONTROL, (unsigned char)cp, NULL);
	} else if (old == CSI && cp >= 0x40 && cp <= 0x7E) {
		if (!c->odd && !k->sequence)
			k->control(k->arg, SANITIZE_CSI, (unsigned char)cp,
				   c->n);
	} else if (old == ESCAPE && cp >= 0x30 && cp <= 0x7E) {
		if (!k->sequence)
			k->control(k->arg, SANITIZE_ESCAPE, (unsigned char)cp,
				   NULL);
	} else if (old == TEXT && cp >= 0x20 && (cp < 0x7F || cp >= 0xA0) &&
		   !sanitize_is_invisible(cp)) {
		k->text(k->arg, bytes, cp);
	}
}

/* Handles one character: passes it to the sink if there is one. Otherwise
 * appends it to out if it is printable. */
static void handle_char(struct sanitizer *c, uint32_t cp, struct str bytes,
			struct buf *out)
{
	unsigned char state = next_state(c->state, cp);
	bool text = state == TEXT && (c->state == TEXT || cp == '\n');
	unsigned char old = c->state;

	c->state = state;
	if (c->sink) {
		pass_to_sink(c, old, cp, bytes);
		return;
	}
	if (!text)
		return;
	if (c->one_line && ends_line(cp)) {
		buf_addc(out, ' ');
		return;
	}
	/* CR LF is one line end */
	if (cp == '\n' && c->after_cr) {
		c->after_cr = false;
		return;
	}
	c->after_cr = cp == '\r';
	if (cp == '\r')
		buf_addc(out, '\n');
	else if (cp == '\n' || cp == '\t')
		buf_addc(out, (char)cp);
	else if (cp >= 0x20 && (cp < 0x7F || cp >= 0xA0) &&
		 !sanitize_is_invisible(cp))
		buf_addstr(out, bytes);
}

static uint32_t decode_char(const unsigned char *p, size_t len)
{
	static const unsigned char first[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	uint32_t cp = p[0] & first[len];

	for (size_t i = 1; i < len; i++)
		cp = cp << 6 | (p[i] & 0x3F);
	return cp;
}

static void emit_replacement(struct sanitizer *c, struct buf *out)
{
	if (c->state != TEXT)
		return;
	if (c->sink)
		c->sink->text(c->sink->arg, STR("\xEF\xBF\xBD"), 0xFFFD);
	else
		buf_adds(out, "\xEF\xBF\xBD");
}

static size_t sequence_length(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xC2 || lead > 0xF4)
		return 0;
	return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Adds one byte to the unfinished UTF-8 sequence. Handles the character when it
 * is complete. */
static void add_byte(struct sanitizer *c, unsigned char b, struct buf *out)
{
	struct str bytes = { (const char *)c->part, 0 };

	if (c->part_len && (b & 0xC0) != 0x80) {
		emit_replacement(c, out);
		c->part_len = 0;
	}
	c->part[c->part_len++] = b;
	if (!sequence_length(c->part[0])) {
		emit_replacement(c, out);
		c->part_len = 0;
		return;
	}
	if (c->part_len < sequence_length(c->part[0]))
		return;
	bytes.len = c->part_len;
	c->part_len = 0;
	if (str_is_utf8(bytes))
		handle_char(c,
			    decode_char((const unsigned char *)bytes.ptr,
					bytes.len),
			    bytes, out);
	else
		emit_replacement(c, out);
}

/* True if all eight bytes are printable ASCII (Hacker's Delight, 6-1). */
static bool are_printable(const char *p)
{
	static const uint64_t ones = 0x0101010101010101u;
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return !((x | (x - ones * 0x20) | ((x ^ ones * 0x7F) - ones)) &
		 ones * 0x80);
}

/* Returns how many bytes at the front are printable ASCII. In state TEXT they
 * can be copied without looking at each. */
static size_t count_printable(struct str s)
{
	size_t n = 0;

	while (s.len - n >= 8 && are_printable(s.ptr + n))
		n += 8;
	while (n < s.len && s.ptr[n] >= 0x20 && s.ptr[n] < 0x7F)
		n++;
	return n;
}

/* Like count_printable(), but with the LF and tabs that are copied, too. */
static size_t count_copied(const struct sanitizer *c, struct str s)
{
	size_t n = count_printable(s);

	while (n < s.len && (s.ptr[n] == '\n' || s.ptr[n] == '\t') &&
	       (n || !c->after_cr))
		n += 1 + count_printable(str_skip(s, n + 1));
	return n;
}

void sanitize_feed(struct sanitizer *c, struct str chunk, struct buf *out)
{
	while (chunk.len) {
		size_t n = 0;

		if (c->state == TEXT && !c->part_len)
			n = c->sink ? count_printable(chunk)
				    : count_copied(c, chunk);
		if (n && c->sink) {
			c->sink->text(c->sink->arg,
				      (struct str){ chunk.ptr, n }, 0);
		} else if (n) {
			c->after_cr = false;
			buf_add(out, chunk.ptr, n);
		} else {
			unsigned char b = (unsigned char)chunk.ptr[0];

			n = 1;
			if (b < 0x80 && !c->part_len)
				handle_char(c, b, (struct str){ chunk.ptr, 1 },
					    out);
			else
				add_byte(c, b, out);
		}
		chunk = str_skip(chunk, n);
	}
}

void sanitize_end(struct sanitizer *c, struct buf *out)
{
	if (c->part_len)
		emit_replacement(c, out);
	*c = (struct sanitizer){ 0 };
}

void sanitize_text(struct str text, struct buf *out)
{
	struct sanitizer c = { 0 };

	sanitize_feed(&c, text, out);
	sanitize_end(&c, out);
}

void sanitize_message(struct str text, struct buf *out)
{
	struct sanitizer c = { .one_line = true };

	sanitize_feed(&c, text, out);
	sanitize_end(&c, out);
}

void sanitize_line(struct str text, struct buf *out)
{
	size_t i = out->len;

	sanitize_message(text, out);
	for (; i < out->len; i++)
		if (out->ptr[i] == '\n' || out->ptr[i] == '\t')
			out->ptr[i] = ' ';
}
