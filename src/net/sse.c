/* sse.c - text/event-stream splitter (WHATWG HTML §9.2). */
/* SPDX-License-Identifier: MIT */
#include "net/sse.h"

#include <string.h>

#include "base/str.h"

enum { FIELD_ROOM = 16, EVENT_MAX = 256 }; /* bytes */

struct feed {
	int (*each)(void *arg, struct str event, struct str data,
		    struct error *err);
	void *arg;
	struct error *err;
};

void sse_init(struct sse *s)
{
	*s = (struct sse){
		.line = BUF_INIT(SSE_MAX_EVENT + FIELD_ROOM),
		.data = BUF_INIT(SSE_MAX_EVENT),
		.event = BUF_INIT(EVENT_MAX),
		.retry_ms = -1,
	};
}

void sse_cut(struct sse *s)
{
	buf_clear(&s->line);
	buf_clear(&s->data);
	buf_clear(&s->event);
	memcpy(s->next_id, s->id, sizeof(s->id));
	s->after_cr = false;
	s->begun = false;
}

void sse_release(struct sse *s)
{
	buf_release(&s->line);
	buf_release(&s->data);
	buf_release(&s->event);
}

static int too_large(struct error *err)
{
	return error_set(err, ERR_LIMIT,
			 "an event of the stream is larger than %d bytes",
			 SSE_MAX_EVENT);
}

/* An empty line: the event is whole. One without data is dropped. */
static int dispatch(struct sse *s, const struct feed *f)
{
	int rc = 0;

	memcpy(s->id, s->next_id, sizeof(s->id));
	if (s->data.len) {
		struct str data = { s->data.ptr, s->data.len - 1 };

		rc = f->each(f->arg, buf_str(&s->event), data, f->err);
	}
	buf_clear(&s->data);
	buf_clear(&s->event);
	return rc;
}

/* One that is too long, or holds a NUL, is none. */
static void set_id(struct sse *s, struct str value)
{
	if (value.len >= SSE_ID || str_find(value, '\0') < value.len)
		return;
	if (value.len)
		memcpy(s->next_id, value.ptr, value.len);
	s->next_id[value.len] = '\0';
}

static int take_line(struct sse *s, struct str line, const struct feed *f)
{
	size_t colon;
	struct str name;
	struct str value;
	int64_t retry_ms;

	if (!s->begun && str_starts(line, "\xEF\xBB\xBF"))
		line = str_skip(line, 3);
	s->begun = true;
	if (!line.len)
		return dispatch(s, f);
	colon = str_find(line, ':');
	name = (struct str){ line.ptr, colon };
	value = str_skip(line, colon + 1);
	if (value.len && value.ptr[0] == ' ')
		value = str_skip(value, 1);
	if (str_is(name, "data")) {
		buf_addstr(&s->data, value);
		buf_addc(&s->data, '\n');
		if (s->data.over)
			return too_large(f->err);
	} else if (str_is(name, "event")) {
		buf_clear(&s->event);
		buf_addstr(&s->event, value);
	} else if (str_is(name, "id")) {
		set_id(s, value);
	} else if (str_is(name, "retry") && str_to_int(value, &retry_ms) &&
		   retry_ms >= 0) {
		s->retry_ms = retry_ms;
	}
	return 0; /* comments, and what may yet come */
}

/* Index of the first CR or LF, or s.len. */
static size_t line_end(struct str s)
{
	const char *lf = s.len ? memchr(s.ptr, '\n', s.len) : NULL;
	size_t end = lf ? (size_t)(lf - s.ptr) : s.len;
	const char *cr = end ? memchr(s.ptr, '\r', end) : NULL;

	return cr ? (size_t)(cr - s.ptr) : end;
}

/* Everything up to the line end is in: an unfinished line goes first. */
static int end_line(struct sse *s, struct str rest, const struct feed *f)
{
	int rc;

	if (!s->line.len)
		return take_line(s, rest, f);
	buf_addstr(&s->line, rest);
	if (s->line.over)
		return too_large(f->err);
	rc = take_line(s, buf_str(&s->line), f);
	buf_clear(&s->line);
	return rc;
}

int sse_feed(struct sse *s, struct str chunk,
	     int (*each)(void *arg, struct str event, struct str data,
			 struct error *err),
	     void *arg, struct error *err)
{
	const struct feed f = { each, arg, err };

	while (chunk.len) {
		size_t end;

		if (s->after_cr && chunk.ptr[0] == '\n')
			chunk = str_skip(chunk, 1);
		s->after_cr = false;
		end = line_end(chunk);
		if (end == chunk.len) {
			buf_addstr(&s->line, chunk);
			return s->line.over ? too_large(err) : 0;
		}
		s->after_cr = chunk.ptr[end] == '\r';
		if (end_line(s, (struct str){ chunk.ptr, end }, &f) < 0)
			return -1;
		chunk = str_skip(chunk, end + 1);
	}
	return 0;
}
