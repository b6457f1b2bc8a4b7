/* frame.c - parsers for the output of dcode's scripts in a sandbox. */
/* SPDX-License-Identifier: MIT */

/*
 * The input is untrusted and arrives in pieces. A frame is the whole answer of
 * a helper script. An aside is a marked text that a script adds to a command's
 * own output. A record is a line of glob.sh or grep.sh. The nonce in frames and
 * asides prevents a command from printing one itself.
 */
#include "sandbox/frame.h"

#include <stdio.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"

enum state { SEEK, ENCODING, BODY, STATUS };

enum {
	SLICE = 65536,   /* maximum bytes parsed at once */
	LINE_MAX = 1024, /* maximum bytes of a status line */
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

static size_t write_marker(const struct frame *f, char end, char out[40])
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

/* Decodes base64 or hexadecimal in place; the result is never longer. */
static size_t decode_bytes(struct frame *f, char *bytes, size_t len)
{
	int width = f->enc == 'b' ? 6 : 4;
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];
		int v = width == 6 ? base64_value(c) : hex_value(c);

		if (c == '=')
			/* padding: the remaining bits are unused */
			f->n_bits = 0;
		if (v < 0)
			continue; /* skip line ends */
		f->bits = (f->bits << width | (unsigned)v) & 0xffff;
		f->n_bits += width;
		if (f->n_bits < 8)
			continue;
		f->n_bits -= 8;
		bytes[out++] = (char)(f->bits >> f->n_bits & 0xff);
	}
	return out;
}

static int emit_body(struct frame *f, size_t len, const struct frame_sink *sink,
		     struct error *err)
{
	struct str bytes = { f->held.ptr, len };

	if (f->enc != 'r' && len)
		bytes.len = decode_bytes(f, f->held.ptr, len);
	if (bytes.len && sink->body(sink->arg, bytes, err))
		return -1;
	buf_consume(&f->held, len);
	return 0;
}

/* Adds held bytes to the noise (bytes outside of frames). Only the first of
 * them are stored. */
static void append_noise(struct frame *f, size_t len)
{
	size_t room = sizeof(f->noise) - 1 - f->noise_len;
	size_t take = len < room ? len : room;

	if (take)
		memcpy(f->noise + f->noise_len, f->held.ptr, take);
	f->noise_len += take;
	f->noise[f->noise_len] = '\0';
	buf_consume(&f->held, len);
}

/* Looks for the marker. Bytes that cannot be part of it go to the noise or to
 * the sink. 1: found and consumed; 0: more bytes are needed. */
static int feed_to_marker(struct frame *f, const struct frame_sink *sink,
			  struct error *err)
{
	char mark[40];
	size_t n = write_marker(f, f->state == SEEK ? ':' : '=', mark);
	size_t at = str_search(buf_str(&f->held), (struct str){ mark, n });
	bool found = at < f->held.len;
	size_t sure = found ? at : 0;

	if (!found && f->held.len >= n)
		sure = f->held.len - n + 1;
	if (f->state == SEEK)
		append_noise(f, sure);
	else if (emit_body(f, sure, sink, err))
		return -1;
	if (!found)
		return 0;
	buf_consume(&f->held, n);
	f->state = f->state == SEEK ? ENCODING : STATUS;
	return 1;
}

/* Parses the line that follows a marker: the encoding of a frame or its status.
 * 1: parsed; 0: more bytes are needed; -1: error. */
static int parse_marker_line(struct frame *f, const struct frame_sink *sink,
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

static int parse_input(struct frame *f, const struct frame_sink *sink,
		       struct error *err)
{
	int rc = 1;

	while (rc == 1) {
		if (f->state == SEEK || f->state == BODY)
			rc = feed_to_marker(f, sink, err);
		else
			rc = parse_marker_line(f, sink, err);
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
		if (parse_input(f, sink, err))
			return -1;
	}
	return 0;
}

enum { MARK = 0x1E };

static const char aside_name[] = "dcode-";

void aside_init(struct aside *a)
{
	*a = (struct aside){ .held = BUF_INIT(2 * ASIDE_MAX),
			     .text = BUF_INIT(ASIDE_MAX) };
	ids_random(a->nonce, ASIDE_NONCE);
}

/* True if the bytes held are the beginning of an aside with our nonce, or a
 * whole one. */
static bool may_be_ours(const struct aside *a)
{
	char head[sizeof(aside_name) + ASIDE_NONCE + 1];
	size_t all = sizeof(aside_name) + ASIDE_NONCE;
	size_t len = a->held.len - 1;

	memcpy(head, aside_name, sizeof(aside_name) - 1);
	memcpy(head + sizeof(aside_name) - 1, a->nonce, ASIDE_NONCE);
	head[all - 1] = ' ';
	return memcmp(a->held.ptr + 1, head, len < all ? len : all) == 0 &&
	       len <= all + ASIDE_MAX;
}

static void flush_held(struct aside *a, struct buf *out)
{
	buf_addstr(out, buf_str(&a->held));
	buf_clear(&a->held);
}

void aside_feed(struct aside *a, struct str chunk, struct buf *out)
{
	/* bytes before the text of an aside: the mark, the name, the nonce, a
	 * space */
	size_t head = sizeof(aside_name) + ASIDE_NONCE + 1;

	while (chunk.len) {
		if (!a->held.len) {
			size_t n = str_find(chunk, MARK);

			buf_add(out, chunk.ptr, n);
			chunk = str_skip(chunk, n);
			if (!chunk.len)
				return;
			buf_addc(&a->held, MARK);
		} else if (*chunk.ptr == MARK && a->held.len >= head) {
			a->found = true;
			buf_clear(&a->text);
			buf_addstr(&a->text, str_skip(buf_str(&a->held), head));
			buf_clear(&a->held);
		} else if (*chunk.ptr == MARK) {
			flush_held(a, out);
			continue;
		} else {
			buf_addc(&a->held, *chunk.ptr);
			if (!may_be_ours(a))
				flush_held(a, out);
		}
		chunk = str_skip(chunk, 1);
	}
}

void aside_end(struct aside *a, struct buf *out)
{
	flush_held(a, out);
}

void aside_release(struct aside *a)
{
	buf_release(&a->held);
	buf_release(&a->text);
}

static const struct str root = { ".//./", 5 };

static const struct str next_root = { "\n.//./", 6 };

enum { PATH_BYTES = 64 << 10 };

/* Calls each with the path in one record (without its newline). */
static bool deliver_path(struct path_records *p, struct str record,
			 bool (*each)(void *arg, struct str path), void *arg)
{
	if (str_is(record, "//") || str_ends(record, "\n//")) {
		p->incomplete = true;
		record.len -= record.len > 2 ? 3 : 2;
	}
	if (!str_starts(record, root.ptr) || record.len == root.len)
		return true;
	return each(arg, str_skip(record, root.len));
}

bool path_records_feed(struct path_records *p, struct str chunk,
		       bool (*each)(void *arg, struct str path), void *arg)
{
	bool more = true;
	size_t from = 0;

	p->held.max = SIZE_MAX / 2;
	buf_addstr(&p->held, chunk);
	while (more) {
		struct str rest = str_skip(buf_str(&p->held), from);
		size_t at = str_search(rest, next_root);

		if (at == rest.len)
			break;
		more = deliver_path(p, (struct str){ rest.ptr, at }, each, arg);
		from += at + 1;
	}
	buf_consume(&p->held, from);
	if (p->held.len > PATH_BYTES) {
		buf_clear(&p->held);
		p->incomplete = true;
	}
	return more;
}

void path_records_end(struct path_records *p, bool whole,
		      bool (*each)(void *arg, struct str path), void *arg)
{
	struct str last = buf_str(&p->held);

	/* A find that was killed may leave its last line incomplete. */
	if (whole && str_ends(last, "\n"))
		(void)deliver_path(p, (struct str){ last.ptr, last.len - 1 },
				   /* the return value does not matter: this is
				    * the last path */
				   each, arg);
	else if (last.len)
		p->incomplete = true;
	buf_release(&p->held);
}

/* Parses "12:text" or "12+:text" up to the end of the line. */
static bool parse_line(struct str *rest, struct match_record *m)
{
	size_t end = str_find(*rest, '\n');
	struct str line = { rest->ptr, end };
	size_t colon = str_find(line, ':');
	struct str number = { line.ptr, colon };

	*rest = str_skip(*rest, end + 1);
	m->later = str_ends(number, "+");
	number.len -= m->later;
	if (colon == line.len || !str_to_int(number, &m->line) || m->line < 1)
		return false;
	m->text = str_skip(line, colon + 1);
	return true;
}

/* Returns where the path ends: before the first ":12:" or ":12+:". */
static size_t path_end(struct str record)
{
	for (size_t i = 0; i < record.len; i++) {
		size_t digits = 0;

		if (record.ptr[i] != ':')
			continue;
		while (i + 1 + digits < record.len &&
		       record.ptr[i + 1 + digits] >= '0' &&
		       record.ptr[i + 1 + digits] <= '9')
			digits++;
		if (digits && i + 1 + digits < record.len &&
		    record.ptr[i + 1 + digits] == '+')
			digits++;
		if (digits && i + 1 + digits < record.len &&
		    record.ptr[i + 1 + digits] == ':')
			return i;
	}
	return record.len;
}

/* Removes the root's prefix from a path. busybox's cut ends lines at NUL too,
 * so other lines with a NUL may precede the record; the path begins after the
 * last prefix. */
static bool cut_root(struct str *path)
{
	for (;;) {
		size_t at = str_search(*path, next_root);

		if (at == path->len)
			break;
		*path = str_skip(*path, at + 1);
	}
	if (!str_starts(*path, root.ptr) || path->len == root.len)
		return false;
	*path = str_skip(*path, root.len);
	return true;
}

static bool parse_null_record(struct str *rest, struct match_record *m)
{
	struct str path = { rest->ptr, str_find(*rest, '\0') };

	if (path.len == rest->len) { /* cut off at the end, or not a record */
		*rest = (struct str){ 0 };
		return false;
	}
	*rest = str_skip(*rest, path.len + 1);
	m->path = path;
	return parse_line(rest, m) && cut_root(&m->path);
}

static bool parse_colon_record(struct str *rest, struct match_record *m)
{
	struct str record = *rest;
	size_t at;

	if (record.ptr[0] == '\0') {
		*rest = str_skip(*rest, 1);
		return parse_null_record(rest, m);
	}
	at = path_end(record);
	m->path = (struct str){ record.ptr, at };
	if (at == record.len) {
		*rest = (struct str){ 0 };
		return false;
	}
	*rest = str_skip(record, at + 1);
	return parse_line(rest, m) && cut_root(&m->path);
}

bool match_record_next(struct str *rest, enum match_form form,
		       struct match_record *m)
{
	bool found = false;

	while (!found && rest->len) {
		*m = (struct match_record){ 0 };
		if (form == MATCH_FILE)
			found = parse_line(rest, m);
		else if (form == MATCH_NULL)
			found = parse_null_record(rest, m);
		else
			found = parse_colon_record(rest, m);
	}
	return found;
}
