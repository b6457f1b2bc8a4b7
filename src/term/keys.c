/* keys.c - takes apart what a terminal sends, whatever the pieces. */
/* SPDX-License-Identifier: MIT */
#include "term/keys.h"

#include <string.h>

#include "base/str.h"
#include "term/keys_impl.h"

enum {
	LONE_BRACKET_MS = 100, /* nobody types Esc and [ as fast as this */
	STALE_MS = 1000,       /* so long the rest of ESC and one byte, or of
				  a string, is waited for and swallowed */
	ESC = 0x1B,
};

#define PASTE_END "\x1b[201~"

static bool is_string_introducer(unsigned char c)
{
	return c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_';
}

static void emit_text(struct key_sink sink, enum key_event_kind kind,
		      struct str text)
{
	const struct key_event event = { .kind = kind, .text = text };

	if (text.len || kind != KEY_EVENT_PASTE)
		sink.event(sink.context, &event);
}

static void begin(struct key_reader *k, unsigned char state,
		  unsigned char introducer)
{
	k->state = state;
	k->introducer = introducer;
	k->len = 0;
	k->over = false;
	k->stale = false;
	k->late = false;
}

static void keep(struct key_reader *k, unsigned char b)
{
	if (k->len < sizeof(k->sequence))
		k->sequence[k->len++] = (char)b;
	else
		k->over = true;
}

static void begin_paste(struct key_reader *k, struct key_sink sink)
{
	begin(k, PASTE, 0);
	k->matched = 0;
	emit_text(sink, KEY_EVENT_PASTE_BEGIN, (struct str){ 0 });
}

/* 8-bit C1, raw or as UTF-8. */
static void begin_c1(struct key_reader *k, uint32_t c)
{
	k->alt = false;
	if (c == 0x9B)
		begin(k, CSI, '[');
	else if (c == 0x8F)
		begin(k, SS3, 'O');
	else if (c == 0x90 || c == 0x98 || (c >= 0x9D && c <= 0x9F))
		begin(k, STRING, (unsigned char)(c - 0x40));
}

static void emit_control(const struct key_reader *k, unsigned char b,
			 unsigned mods, struct key_sink sink)
{
	if (b == '\r')
		keys_emit_key(sink, KEY_ENTER, 0, mods);
	else if (b == '\t')
		keys_emit_key(sink, KEY_TAB, 0, mods);
	else if (b == 0x7F)
		keys_emit_key(sink, KEY_BACKSPACE, 0, mods);
	else if (b == 0x08)
		keys_emit_key(sink, KEY_BACKSPACE, 0,
			      mods | (k->erase_is_bs ? 0 : KEY_CTRL));
	else if (b == 0)
		keys_emit_key(sink, KEY_CHAR, ' ', mods | KEY_CTRL);
	else if (b <= 26)
		keys_emit_key(sink, KEY_CHAR, b + 96U, mods | KEY_CTRL);
	else
		keys_emit_key(sink, KEY_CHAR, b + 64U, mods | KEY_CTRL);
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

/* One character that is none of a run of text: a control, a broken one. */
static void ground_char(struct key_reader *k, struct str bytes, uint32_t c,
			struct key_sink sink)
{
	unsigned mods = k->alt ? KEY_ALT : 0;

	k->alt = false;
	if (c >= 0x80 && c < 0xA0)
		begin_c1(k, c);
	else if (is_control(c))
		emit_control(k, (unsigned char)c, mods, sink);
	else if (mods)
		keys_emit_char(sink, c, mods);
	else
		emit_text(sink, KEY_EVENT_TEXT, bytes);
}

/* Completes a character whose first bytes came before. Returns the bytes that
 * it took. */
static size_t ground_part(struct key_reader *k, struct str bytes,
			  struct key_sink sink)
{
	unsigned char whole[4];
	uint32_t c = 0;
	size_t len;

	memcpy(whole, k->part, k->part_len);
	whole[k->part_len] = (unsigned char)bytes.ptr[0];
	len = keys_next_char(whole, k->part_len + 1U, &c);
	if (len > k->part_len + 1U) {
		k->part[k->part_len] = whole[k->part_len];
		k->part_len++;
		return 1;
	}
	k->part_len = 0;
	if (len) {
		ground_char(k, (struct str){ (const char *)whole, len }, c,
			    sink);
		return 1;
	}
	ground_char(k, STR("\xEF\xBF\xBD"), 0xFFFD, sink);
	return 0;
}

/* Text and controls; returns the bytes that it took. */
static size_t ground(struct key_reader *k, struct str bytes,
		     struct key_sink sink)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;
	size_t n = 0;
	size_t len = 0;
	uint32_t c = 0;

	if (k->part_len)
		return ground_part(k, bytes, sink);
	while (!k->alt && n < bytes.len) {
		len = keys_next_char(p + n, bytes.len - n, &c);
		if (!len || len > bytes.len - n || is_control(c))
			break;
		n += len;
	}
	if (n) {
		emit_text(sink, KEY_EVENT_TEXT, (struct str){ bytes.ptr, n });
		return n;
	}
	if (p[0] == ESC && !k->alt) {
		begin(k, ESCAPE, 0);
		return 1;
	}
	len = keys_next_char(p, bytes.len, &c);
	if (len > bytes.len) {
		memcpy(k->part, p, bytes.len);
		k->part_len = (unsigned char)bytes.len;
		return bytes.len;
	}
	if (len)
		ground_char(k, (struct str){ bytes.ptr, len }, c, sink);
	else if (p[0] >= 0x80 && p[0] < 0xA0)
		ground_char(k, (struct str){ 0 }, p[0], sink);
	else
		ground_char(k, STR("\xEF\xBF\xBD"), 0xFFFD, sink);
	return len ? len : keys_broken_length(p, bytes.len);
}

static size_t escape(struct key_reader *k, unsigned char b,
		     struct key_sink sink)
{
	if (b == '[') {
		begin(k, CSI, b);
	} else if (b == 'O') {
		begin(k, SS3, b);
	} else if (is_string_introducer(b)) {
		if (k->alt)
			keys_emit_key(sink, KEY_ESCAPE, 0, 0);
		k->alt = false;
		begin(k, STRING, b);
	} else if (b == ESC) {
		if (k->alt)
			keys_emit_key(sink, KEY_ESCAPE, 0, 0);
		k->alt = true;
	} else {
		/* Legacy Alt: the key with ESC before it. */
		if (k->alt)
			keys_emit_key(sink, KEY_ESCAPE, 0, 0);
		k->alt = true;
		begin(k, GROUND, 0);
		return 0;
	}
	return 1;
}

static void finish(struct key_reader *k, unsigned char final,
		   struct key_sink sink)
{
	unsigned extra = k->alt ? KEY_ALT : 0;
	struct str body = { k->sequence, k->len };
	enum key_sequence what = KEY_SEQUENCE_UNKNOWN;
	/* Of a sequence that came too late only the begin of a paste counts:
	 * what follows is no typing. */
	struct key_sink to = k->stale ? (struct key_sink){ 0 } : sink;

	if (!k->over)
		what = k->state == SS3
			       ? keys_decode_ss3(body, (char) final, extra, to)
			       : keys_decode_csi(body, (char) final, extra, to);
	k->alt = false;
	begin(k, GROUND, 0);
	if (what == KEY_SEQUENCE_MOUSE) {
		k->state = MOUSE;
		k->skip = 3;
	}
	if (what == KEY_SEQUENCE_PASTE)
		begin_paste(k, sink);
}

/* A control or a byte beyond ASCII ends any sequence, and is read anew. */
static bool abandons(unsigned char b)
{
	return b < 0x20 || b >= 0x7F;
}

static size_t control_sequence(struct key_reader *k, unsigned char b,
			       struct key_sink sink)
{
	bool first = k->len == 0;
	bool final = b >= 0x40;

	if (abandons(b)) {
		k->alt = false;
		begin(k, GROUND, 0);
		return 0;
	}
	if (k->state == SS3)
		final = b < '0' || b > ';';
	/* Linux: CSI [ A. rxvt: CSI 3 $, where $ ends it; in an answer to
	 * DECRQM it does not. */
	else if (b == '[' && first && !k->stale)
		final = false;
	else if (b == '$' && !first && k->sequence[0] >= '0' &&
		 k->sequence[0] <= '9')
		final = true;
	if (!final) {
		keep(k, b);
		return 1;
	}
	finish(k, b, sink);
	return 1;
}

/* After a pause only what an answer of a terminal can be is swallowed. */
static bool may_continue(const struct key_reader *k, unsigned char b)
{
	if (!k->stale || k->len)
		return true;
	if (k->introducer == ']')
		return b >= '0' && b <= '9';
	return k->introducer == 'P' && strchr("01>!", b) && b;
}

static size_t control_string(struct key_reader *k, unsigned char b,
			     struct key_sink sink)
{
	if (k->state == STRING_ESCAPE) {
		bool ended = b == '\\';

		if (ended && !k->stale && !k->over && k->introducer == ']')
			keys_decode_osc((struct str){ k->sequence, k->len },
					sink);
		begin(k, ended ? GROUND : ESCAPE, 0);
		return ended;
	}
	if (b == 0x07 || b == 0x9C) {
		k->state = STRING_ESCAPE;
		return control_string(k, '\\', sink);
	}
	if (b == ESC) {
		k->state = STRING_ESCAPE;
		return 1;
	}
	if (b < 0x20 || b == 0x7F || !may_continue(k, b)) {
		begin(k, GROUND, 0);
		return 0;
	}
	keep(k, b);
	return 1;
}

/* What was held back was typed after all. */
static void release_late(struct key_reader *k, struct key_sink sink)
{
	struct str text = { k->sequence, k->len };

	begin(k, GROUND, 0);
	if (text.len)
		emit_text(sink, KEY_EVENT_TEXT, text);
}

/* "[A" and "OA" may be typed; they are a rest only when nothing follows. */
static void finish_late(struct key_reader *k, unsigned char b, bool last,
			struct key_sink sink)
{
	struct key_sink quiet = { 0 };
	struct str body = { k->sequence + 1, k->len - 1U };
	enum key_sequence what =
		k->introducer == 'O' ? keys_decode_ss3(body, (char)b, 0, quiet)
				     : keys_decode_csi(body, (char)b, 0, quiet);

	if (what == KEY_SEQUENCE_PASTE) {
		begin_paste(k, sink);
	} else if (what == KEY_SEQUENCE_UNKNOWN || (!body.len && !last)) {
		keep(k, b);
		release_late(k, sink);
	} else {
		begin(k, GROUND, 0);
	}
}

/* After a lone ESC has acted: b is part of the rest of a sequence that was cut
 * there, or it was typed. next: the byte after it, or -1. */
static size_t late(struct key_reader *k, unsigned char b, int next,
		   struct key_sink sink)
{
	if (!k->len) {
		k->introducer = b;
		keep(k, b);
		return 1;
	}
	if (k->over || abandons(b)) {
		release_late(k, sink);
		return 0;
	}
	if (k->introducer == ']' || k->introducer == 'P') {
		bool digit = b >= '0' && b <= '9';
		bool sure = k->len > 1 &&
			    strchr(k->introducer == ']' ? ";" : "|+$", b);

		if (sure) {
			k->state = STRING;
			k->stale = true;
		} else if (!digit && !(k->introducer == 'P' && b == '>')) {
			release_late(k, sink);
			return 0;
		}
		keep(k, b);
	} else if (b >= 0x40) {
		finish_late(k, b, next < 0 || next == ESC, sink);
	} else {
		keep(k, b);
	}
	return 1;
}

static size_t paste(struct key_reader *k, struct str bytes,
		    struct key_sink sink)
{
	const char *esc;
	size_t n;

	while (k->matched && bytes.len) {
		if (bytes.ptr[0] != PASTE_END[k->matched]) {
			/* Only its first byte can begin the mark anew. */
			emit_text(sink, KEY_EVENT_PASTE,
				  (struct str){ PASTE_END, k->matched });
			k->matched = 0;
			return 0;
		}
		if (++k->matched == sizeof(PASTE_END) - 1) {
			k->matched = 0;
			begin(k, GROUND, 0);
			emit_text(sink, KEY_EVENT_PASTE_END, (struct str){ 0 });
		}
		return 1;
	}
	esc = memchr(bytes.ptr, ESC, bytes.len);
	n = esc ? (size_t)(esc - bytes.ptr) : bytes.len;
	emit_text(sink, KEY_EVENT_PASTE, (struct str){ bytes.ptr, n });
	k->matched = esc != NULL;
	return n + (esc != NULL);
}

static bool may_be_late(unsigned char b)
{
	return b == '[' || b == 'O' || b == ']' || b == 'P';
}

static size_t step(struct key_reader *k, struct str bytes, struct key_sink sink)
{
	unsigned char b = (unsigned char)bytes.ptr[0];

	switch (k->state) {
	case ESCAPE:
		return escape(k, b, sink);
	case CSI:
	case SS3:
		return control_sequence(k, b, sink);
	case STRING:
	case STRING_ESCAPE:
		return control_string(k, b, sink);
	case MOUSE:
		if (!--k->skip)
			begin(k, GROUND, 0);
		return 1;
	case LATE:
		return late(k, b,
			    bytes.len > 1 ? (unsigned char)bytes.ptr[1] : -1,
			    sink);
	case PASTE:
		return paste(k, bytes, sink);
	default:
		return ground(k, bytes, sink);
	}
}

void keys_feed(struct key_reader *k, struct str bytes, int64_t now_ms,
	       struct key_sink sink)
{
	if (!bytes.len)
		return;
	keys_timeout(k, now_ms, sink);
	/* Parameters are no typing, however late the rest comes. */
	if (k->stale && now_ms - k->last_ms > STALE_MS &&
	    !(k->state == CSI && k->len))
		begin(k, GROUND, 0);
	if (k->late && may_be_late((unsigned char)bytes.ptr[0]))
		begin(k, LATE, 0);
	k->late = false;
	k->last_ms = now_ms;
	while (bytes.len)
		bytes = str_skip(bytes, step(k, bytes, sink));
}

bool keys_in_paste(const struct key_reader *k)
{
	return k->state == PASTE;
}

int64_t keys_deadline(const struct key_reader *k)
{
	if (k->state == GROUND || k->state == PASTE || k->stale)
		return INT64_MAX;
	return k->last_ms + KEYS_WAIT_MS;
}

void keys_timeout(struct key_reader *k, int64_t now_ms, struct key_sink sink)
{
	if (now_ms < keys_deadline(k))
		return;
	switch (k->state) {
	case ESCAPE:
		if (k->alt)
			keys_emit_key(sink, KEY_ESCAPE, 0, 0);
		keys_emit_key(sink, KEY_ESCAPE, 0, 0);
		k->alt = false;
		begin(k, GROUND, 0);
		k->late = true;
		k->late_ms = now_ms;
		return;
	case LATE:
		if (k->introducer == '[' &&
		    (k->len > 1 || k->last_ms - k->late_ms < LONE_BRACKET_MS))
			begin(k, CSI, '[');
		else
			release_late(k, sink);
		break;
	case MOUSE:
		begin(k, GROUND, 0);
		return;
	default:
		if (!k->len && k->introducer)
			keys_emit_char(sink, k->introducer, KEY_ALT);
		break;
	}
	k->alt = false;
	k->stale = k->state != GROUND;
}
