/* keys_fuzz.c - any bytes of a terminal are clean text, keys and pastes. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "term/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_MAX = 1 << 24 };

struct log {
	struct buf events; /* without the cuts between text or paste events */
	struct buf pasted;
	bool pasting;
	char last;
	size_t n;
};

static void check_text(struct str text)
{
	if (!text.len || !str_is_utf8(text))
		abort();
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c < 0x20 || c == 0x7F)
			abort();
		if (c == 0xC2 && (unsigned char)text.ptr[i + 1] < 0xA0)
			abort();
	}
}

static void check_paste(struct log *l, const struct key_event *e)
{
	if (l->pasting != (e->kind != KEY_EVENT_PASTE_BEGIN))
		abort();
	if (e->kind == KEY_EVENT_PASTE)
		buf_addstr(&l->pasted, e->text);
	l->pasting = e->kind != KEY_EVENT_PASTE_END;
}

static void on_event(void *context, const struct key_event *e)
{
	struct log *l = context;
	char kind = (char)('a' + (int)e->kind);

	l->n++;
	if (e->kind == KEY_EVENT_TEXT)
		check_text(e->text);
	if (e->kind >= KEY_EVENT_PASTE_BEGIN && e->kind <= KEY_EVENT_PASTE_END)
		check_paste(l, e);
	else if (l->pasting)
		abort();
	if (l->last != kind ||
	    (e->kind != KEY_EVENT_TEXT && e->kind != KEY_EVENT_PASTE))
		buf_addf(&l->events, "\n%c", kind);
	l->last = kind;
	buf_addstr(&l->events, e->text);
	if (e->kind == KEY_EVENT_KEY)
		buf_addf(&l->events, "%d %u %u", (int)e->key.name, e->key.c,
			 e->key.mods);
	else if (e->kind > KEY_EVENT_PASTE_END)
		buf_addf(&l->events, "%u %u", e->value, e->state);
}

/* Feeds in pieces that are step ms apart. */
static void feed(struct str bytes, size_t piece, int64_t step, struct log *l)
{
	struct key_reader k = { 0 };
	struct key_sink sink = { on_event, l };
	int64_t now = 0;

	*l = (struct log){ .events = BUF_INIT(OUT_MAX),
			   .pasted = BUF_INIT(OUT_MAX) };
	for (size_t n = bytes.len; n; n = bytes.len) {
		if (n > piece)
			n = piece;
		keys_feed(&k, (struct str){ bytes.ptr, n }, now, sink);
		bytes = str_skip(bytes, n);
		now += step;
	}
	keys_timeout(&k, now + KEYS_WAIT_MS, sink);
	/* Linear: no byte makes more than two events, a lost end one more. */
	if (k.len > sizeof(k.sequence) || k.part_len >= sizeof(k.part))
		abort();
}

static void release(struct log *l)
{
	buf_release(&l->events);
	buf_release(&l->pasted);
}

/* What stands between the marks arrives whole, however it is cut. */
static void check_round_trip(struct str content, size_t piece)
{
	struct buf bytes = BUF_INIT(OUT_MAX);
	struct log l;

	if (str_search(content, STR("\x1b[201~")) < content.len)
		return;
	buf_adds(&bytes, "\x1b[200~");
	buf_addstr(&bytes, content);
	buf_adds(&bytes, "\x1b[201~x");
	feed(buf_str(&bytes), piece, 20, &l);
	if (!str_eq(buf_str(&l.pasted), content) || l.pasting ||
	    l.last != 'a' + KEY_EVENT_TEXT)
		abort();
	release(&l);
	buf_release(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = { (const char *)data, size };
	struct log whole;
	struct log cut;
	size_t piece = size ? 1U + data[0] % 7 : 1;

	feed(bytes, SIZE_MAX, 0, &whole);
	if (whole.n > 3 * size + 3)
		abort();
	feed(bytes, piece, 20, &cut);
	if (!str_eq(buf_str(&whole.events), buf_str(&cut.events)))
		abort();
	release(&cut);
	feed(bytes, piece, 40, &cut); /* all rests are late */
	release(&cut);
	release(&whole);
	check_round_trip(bytes, piece);
	return 0;
}
