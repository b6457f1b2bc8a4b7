/* recall.c - the stored conversation, for the tool read_history. */
/* SPDX-License-Identifier: MIT */
#include "agent/recall.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "agent/history_text.h"
#include "base/str.h"
#include "session/thread.h"

enum {
	MOST_BYTES = 24000, /* of one result: it goes into the window */
	MOST_MESSAGES = 500,
	AROUND = 200, /* bytes before and after what was found */
	MAX_TEXT = 256 << 20,
};

struct recall {
	const struct tool_recall *what;
	struct buf *out;
	struct buf text; /* of one message */
	int64_t number, shown;
	int64_t next; /* where to go on; 0: that was all */
	size_t skip;  /* there */
};

/* Index of the first needle, ASCII case ignored, or s.len. */
static size_t find(struct str s, struct str needle)
{
	for (size_t i = 0; i + needle.len <= s.len; i++)
		if (strncasecmp(s.ptr + i, needle.ptr, needle.len) == 0)
			return i;
	return s.len;
}

static bool inside_char(struct str s, size_t at)
{
	return at < s.len && ((unsigned char)s.ptr[at] & 0xC0) == 0x80;
}

static struct str around(struct str s, size_t at, size_t len)
{
	size_t from = at > AROUND ? at - AROUND : 0;
	size_t to = at + len + AROUND < s.len ? at + len + AROUND : s.len;

	while (inside_char(s, from))
		from--;
	while (inside_char(s, to))
		to++;
	return (struct str){ s.ptr + from, to - from };
}

static void stop_at(struct recall *r, size_t skip)
{
	r->next = r->number;
	r->skip = skip;
}

/* False when there is no room for more. */
static bool add_found(struct recall *r, struct str needle)
{
	struct str text = buf_str(&r->text);
	size_t at = find(text, needle);
	struct str part;

	if (at == text.len)
		return true;
	part = around(text, at, needle.len);
	if (r->out->len + part.len > MOST_BYTES) {
		stop_at(r, 0);
		return false;
	}
	buf_addf(r->out, "-- message %" PRId64 ":\n", r->number);
	buf_addstr(r->out, part);
	buf_addc(r->out, '\n');
	r->shown++;
	return true;
}

static bool add_whole(struct recall *r)
{
	struct str text = buf_str(&r->text);
	size_t skip = r->shown ? 0 : (size_t)r->what->skip;
	size_t room = MOST_BYTES - r->out->len;
	size_t end;

	while (inside_char(text, skip))
		skip--;
	text = str_skip(text, skip);
	if (text.len <= room) {
		buf_addstr(r->out, text);
		r->shown++;
		return true;
	}
	if (r->shown) {
		stop_at(r, 0);
		return false;
	}
	end = room;
	while (end && inside_char(text, end))
		end--;
	buf_add(r->out, text.ptr, end);
	buf_addc(r->out, '\n');
	r->shown++;
	stop_at(r, skip + end);
	return false;
}

static bool add(void *arg, struct thread_message *m)
{
	struct recall *r = arg;
	struct str needle = str_of(r->what->pattern);

	r->number++;
	if (m->damaged)
		return true;
	if (r->shown >= r->what->limit || r->shown >= MOST_MESSAGES) {
		stop_at(r, 0);
		return false;
	}
	buf_clear(&r->text);
	history_text_add(&m->message, (size_t)r->number, 0, &r->text);
	return needle.len ? add_found(r, needle) : add_whole(r);
}

static int finish(struct recall *r, struct error *err)
{
	if (!r->shown) {
		buf_adds(r->out, r->what->pattern && r->what->pattern[0]
					 ? "No message from there on has this "
					   "text."
					 : "Unknown message.");
		return error_set(err, ERR_NOT_FOUND, "unknown message");
	}
	if (r->next) {
		buf_addf(r->out, "[Go on with offset=%" PRId64, r->next);
		if (r->skip)
			buf_addf(r->out, ", skip=%zu", r->skip);
		buf_adds(r->out, "]\n");
	}
	return 0;
}

int recall_read(struct agent *a, const struct tool_recall *what,
		struct buf *out, struct error *err)
{
	struct recall r = { .what = what,
			    .out = out,
			    .text = BUF_INIT(MAX_TEXT),
			    .number = what->from - 1 };
	struct store *store;
	int64_t no = 0;
	int rc;

	store = a->session ? session_store(a->session, &no) : NULL;
	if (!no || what->skip < 0)
		return error_set(err, ERR_USAGE,
				 no ? "Error: skip is negative"
				    : "Error: this conversation is not stored");
	rc = thread_each_message_from(store, no, r.number, add, &r, err);
	buf_release(&r.text);
	return rc < 0 ? -1 : finish(&r, err);
}
