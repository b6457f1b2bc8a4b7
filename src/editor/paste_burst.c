/* paste_burst.c - finds pastes of a terminal that does not mark them. */
/* SPDX-License-Identifier: MIT */
/*
 * There are three states: nothing is held; an Enter with the text before it is
 * held until more text makes it a paste or the wait ends; a paste is arriving.
 * Begin reading at paste_burst_feed().
 */
#include "editor/paste_burst.h"

#include "base/str.h"

static bool is_line_end(char c)
{
	return c == '\r' || c == '\n';
}

/* True if the bytes could be part of a paste: text, tabs and line ends. */
static bool is_text(struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char c = (unsigned char)bytes.ptr[i];

		if (c == 0x7F || (c < 0x20 && c != '\t' && !is_line_end(c)))
			return false;
	}
	return true;
}

static bool has_line_end(struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		if (is_line_end(bytes.ptr[i]))
			return true;
	return false;
}

/* Returns how often text follows a line end. Enter pressed several times counts
 * once: users do that while they wait. */
static size_t count_lines(struct str bytes)
{
	size_t lines = 0;

	for (size_t i = 0; i + 1 < bytes.len; i++)
		lines += is_line_end(bytes.ptr[i]) &&
			 !is_line_end(bytes.ptr[i + 1]);
	return lines;
}

/* True if text follows a line end, and if there is too much of it to have been
 * typed ahead. */
static bool is_paste(const struct paste_burst *b)
{
	struct str bytes = buf_str(&b->held);
	size_t lines = count_lines(bytes);

	while (bytes.len && is_line_end(bytes.ptr[bytes.len - 1]))
		bytes.len--;
	return lines > 1 ||
	       (lines && (b->strict || bytes.len >= PASTE_BURST_LEAST ||
			  b->run >= PASTE_BURST_LEAST));
}

static void emit_event(struct key_sink sink, enum key_event_kind kind,
		       struct str text)
{
	sink.event(sink.context,
		   &(struct key_event){ .kind = kind, .text = text });
}

static void begin_paste(struct paste_burst *b, struct key_sink sink)
{
	b->pastes = true;
	emit_event(sink, KEY_EVENT_PASTE_BEGIN, (struct str){ 0 });
	if (b->held.len)
		emit_event(sink, KEY_EVENT_PASTE, buf_str(&b->held));
	buf_clear(&b->held);
}

static void end_paste(struct paste_burst *b, struct key_sink sink)
{
	b->pastes = false;
	emit_event(sink, KEY_EVENT_PASTE_END, (struct str){ 0 });
}

static void release_held(struct paste_burst *b, struct key_reader *k,
			 struct key_sink sink)
{
	struct buf keys = b->held;

	/* A key may lead to another call of this file. */
	b->held = (struct buf){ 0 };
	if (keys.len)
		keys_feed(k, buf_str(&keys), b->last_ms, sink);
	buf_release(&keys);
}

static void hold(struct paste_burst *b, struct str bytes)
{
	b->held.max = SIZE_MAX;
	buf_addstr(&b->held, bytes);
}

/* Counts the characters that have arrived one by one without a pause. */
static void count_run(struct paste_burst *b, struct str bytes, int64_t now_ms)
{
	if (now_ms - b->last_ms > PASTE_BURST_GAP_MS)
		b->run = 0;
	b->run += bytes.len;
}

/* True if the reader expects no rest of a sequence, character or paste. */
static bool is_ready(const struct key_reader *k)
{
	return !keys_in_paste(k) && !k->part_len &&
	       keys_deadline(k) == INT64_MAX;
}

void paste_burst_feed(struct paste_burst *b, struct key_reader *k,
		      struct str bytes, int64_t now_ms, struct key_sink sink)
{
	bool text = is_text(bytes);

	if (!bytes.len)
		return;
	paste_burst_timeout(b, k, now_ms, sink);
	if (text)
		count_run(b, bytes, now_ms);
	else
		b->run = 0;
	if (b->pastes && text) {
		b->last_ms = now_ms;
		emit_event(sink, KEY_EVENT_PASTE, bytes);
		return;
	}
	if (b->pastes)
		end_paste(b, sink);
	if (!text || !is_ready(k)) {
		release_held(b, k, sink);
		b->last_ms = now_ms;
		keys_feed(k, bytes, now_ms, sink);
		return;
	}
	b->last_ms = now_ms;
	hold(b, bytes);
	if (is_paste(b))
		begin_paste(b, sink);
	else if (!has_line_end(buf_str(&b->held)) || b->run < PASTE_BURST_RUN)
		release_held(b, k, sink);
}

bool paste_burst_is_on(const struct paste_burst *b, const struct key_reader *k)
{
	return b->pastes || keys_in_paste(k);
}

int64_t paste_burst_deadline(const struct paste_burst *b)
{
	if (b->pastes)
		return b->last_ms + PASTE_BURST_END_MS;
	return b->held.len ? b->last_ms + PASTE_BURST_HOLD_MS : INT64_MAX;
}

void paste_burst_timeout(struct paste_burst *b, struct key_reader *k,
			 int64_t now_ms, struct key_sink sink)
{
	if (now_ms < paste_burst_deadline(b))
		return;
	if (b->pastes)
		end_paste(b, sink);
	else
		release_held(b, k, sink);
}

void paste_burst_release(struct paste_burst *b)
{
	buf_release(&b->held);
}
