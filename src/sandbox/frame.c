/* frame.c - the reply of a helper, picked out of a command's output. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/frame.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum state { SEEK, ENCODING, BODY, STATUS };

enum {
	SLICE = 65536,   /* bytes taken in at once */
	LINE_MAX = 1024, /* of a status line */
};

void frame_init(struct frame *f, const char *nonce)
{
	*f = (struct frame){ .held = BUF_INIT(SLICE + 2 * LINE_MAX) };
	snprintf(f->nonce, sizeof(f->nonce), "%s", nonce);
}

void frame_release(struct frame *f)
{
	buf_release(&f->held);
}

static size_t marker(const struct frame *f, char end, char out[40])
{
	bool raw = f->state == BODY && f->enc == 'r';

	return (size_t)snprintf(out, 40, "%s@dcode:%s%c", raw ? "\n" : "",
				f->nonce, end);
}

static int base64_value(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

static int hex_value(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes in place; the result is never longer. */
static size_t decode(struct frame *f, char *bytes, size_t len)
{
	int width = f->enc == 'b' ? 6 : 4;
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];
		int v = width == 6 ? base64_value(c) : hex_value(c);

		if (c == '=')
			f->n_bits = 0; /* padding: what is left means nothing */
		if (v < 0)
			continue; /* line ends */
		f->bits = (f->bits << width | (unsigned)v) & 0xffff;
		f->n_bits += width;
		if (f->n_bits < 8)
			continue;
		f->n_bits -= 8;
		bytes[out++] = (char)(f->bits >> f->n_bits & 0xff);
	}
	return out;
}

static int emit(struct frame *f, size_t len, const struct frame_sink *sink,
		struct error *err)
{
	struct str bytes = { f->held.ptr, len };

	if (f->enc != 'r' && len)
		bytes.len = decode(f, f->held.ptr, len);
	if (bytes.len && sink->body(sink->arg, bytes, err))
		return -1;
	buf_consume(&f->held, len);
	return 0;
}

static void noise(struct frame *f, size_t len)
{
	size_t room = sizeof(f->noise) - 1 - f->noise_len;
	size_t take = len < room ? len : room;

	if (take)
		memcpy(f->noise + f->noise_len, f->held.ptr, take);
	f->noise_len += take;
	f->noise[f->noise_len] = '\0';
	buf_consume(&f->held, len);
}

/* Looks for the marker; what surely is not part of one goes to the noise or to
 * the sink. 1: found and taken, 0: more bytes are needed. */
static int upto_marker(struct frame *f, const struct frame_sink *sink,
		       struct error *err)
{
	char mark[40];
	size_t n = marker(f, f->state == SEEK ? ':' : '=', mark);
	size_t at = str_search(buf_str(&f->held), (struct str){ mark, n });
	bool found = at < f->held.len;
	size_t sure = found ? at : 0;

	if (!found && f->held.len >= n)
		sure = f->held.len - n + 1;
	if (f->state == SEEK)
		noise(f, sure);
	else if (emit(f, sure, sink, err))
		return -1;
	if (!found)
		return 0;
	buf_consume(&f->held, n);
	f->state = f->state == SEEK ? ENCODING : STATUS;
	return 1;
}

static int upto_newline(struct frame *f, const struct frame_sink *sink,
			struct error *err)
{
	size_t len = str_find(buf_str(&f->held), '\n');
	char line[LINE_MAX];

	if (len >= sizeof(line))
		return error_set(
			err, ERR_PROTOCOL,
			"unexpected server response: a line without an end");
	if (len == f->held.len)
		return 0;
	if (len)
		memcpy(line, f->held.ptr, len);
	buf_consume(&f->held, len + 1);
	if (len && line[len - 1] == '\r')
		len--;
	line[len] = '\0';
	if (f->state == ENCODING) {
		if (len != 1 || !strchr("rbx", line[0]))
			return error_set(err, ERR_PROTOCOL,
					 "unexpected server response: unknown "
					 "encoding");
		f->enc = line[0];
		f->bits = 0;
		f->n_bits = 0;
		f->state = BODY;
		return 1;
	}
	f->state = SEEK;
	f->done++;
	return sink->status(sink->arg, line, err) ? -1 : 1;
}

static int step(struct frame *f, const struct frame_sink *sink,
		struct error *err)
{
	int rc = 1;

	while (rc == 1) {
		if (f->state == SEEK || f->state == BODY)
			rc = upto_marker(f, sink, err);
		else
			rc = upto_newline(f, sink, err);
	}
	return rc;
}

int frame_feed(struct frame *f, struct str chunk, const struct frame_sink *sink,
	       struct error *err)
{
	while (chunk.len) {
		size_t len = chunk.len < SLICE ? chunk.len : SLICE;

		buf_add(&f->held, chunk.ptr, len);
		chunk = str_skip(chunk, len);
		if (step(f, sink, err))
			return -1;
	}
	return 0;
}
