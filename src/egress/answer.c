/* answer.c - reads the answers of HTTP/1, in parts. */
/* SPDX-License-Identifier: MIT */
/*
 * RFC 9112, section 6. The server is trusted more than the client, but an
 * answer whose end is not certain is refused: what follows it would be taken
 * for the answer to the next request.
 */
#include <string.h>

#include "base/str.h"
#include "egress/internal.h"

enum { HEAD_MAX = 256 << 10, LINE_MAX_BYTES = 4096, SWITCHING = 101 };

enum { /* answer_reader.state */
       AT_HEAD,
       IN_BODY,  /* left: its bytes */
       TO_CLOSE, /* the body ends with the connection */
       AT_CHUNK,
       IN_CHUNK,
       AFTER_CHUNK,
       AT_TRAILER,
};

struct answer_fields {
	bool has_length, chunked, encoded, is_bad;
	uint64_t length;
};

void answer_begin(struct answer_reader *r, bool head_only, bool upgrades)
{
	*r = (struct answer_reader){ .head_only = head_only,
				     .upgrades = upgrades };
}

static void read_field(struct answer_fields *f, struct str name,
		       struct str value)
{
	int64_t n;

	if (str_is_nocase(name, "content-length")) {
		bool good = value.len && value.len <= 18 &&
			    value.ptr[0] >= '0' && value.ptr[0] <= '9' &&
			    str_to_int(value, &n);

		f->is_bad |=
			!good || (f->has_length && f->length != (uint64_t)n);
		f->length = good ? (uint64_t)n : 0;
		f->has_length = true;
	} else if (str_is_nocase(name, "transfer-encoding")) {
		f->is_bad |= f->chunked || !str_is_nocase(value, "chunked");
		f->chunked = true;
	} else if (str_is_nocase(name, "content-encoding")) {
		f->encoded |= value.len && !str_is_nocase(value, "identity");
	}
}

/* Reads "HTTP/1.1 200". Returns the status, or 0. */
static int read_status(struct str line)
{
	int64_t n = 0;
	struct str digits = str_skip(line, 9);

	digits.len = digits.len < 3 ? digits.len : 3;
	if (line.len < 12 ||
	    (!str_starts(line, "HTTP/1.1 ") && !str_starts(line, "HTTP/1.0 ")))
		return 0;
	return str_to_int(digits, &n) && n >= 100 && n <= 999 ? (int)n : 0;
}

static void read_fields(struct answer_fields *f, struct str head)
{
	struct str line;

	while (str_split(&head, '\n', &line)) {
		size_t colon = str_find(line, ':');

		if (str_trim(line).len && colon < line.len)
			read_field(f, (struct str){ line.ptr, colon },
				   str_trim(str_skip(line, colon + 1)));
		/* a folded line, or a blank before the colon */
		f->is_bad |= line.len &&
			     (line.ptr[0] == ' ' || line.ptr[0] == '\t' ||
			      memchr(line.ptr, '\0', line.len));
	}
}

/* Decides how the body ends. */
static enum answer_part begin_body(struct answer_reader *r, int status,
				   const struct answer_fields *f)
{
	if (status < 200 && status != SWITCHING)
		return ANSWER_HEAD; /* the answer itself follows */
	if (status == SWITCHING && !r->upgrades)
		return ANSWER_BAD;
	r->began = true;
	r->encoded = f->encoded;
	if (status == SWITCHING) {
		r->switched = true;
		r->state = TO_CLOSE;
	} else if (r->head_only || status == 204 || status == 304) {
		r->done = true;
		r->encoded = false;
	} else if (f->chunked) {
		r->chunked = true;
		r->state = AT_CHUNK;
	} else if (f->has_length) {
		r->state = IN_BODY;
		r->left = f->length;
		r->done = !r->left;
	} else {
		r->state = TO_CLOSE;
	}
	return ANSWER_HEAD;
}

static enum answer_part read_head(struct answer_reader *r, struct str bytes,
				  bool ended, struct str *part, size_t *used)
{
	size_t end = str_search(bytes, STR("\r\n\r\n"));
	struct answer_fields f = { 0 };
	struct str first;
	struct str rest;
	int status;

	if (end == bytes.len)
		return ended || bytes.len > HEAD_MAX ? ANSWER_BAD : ANSWER_MORE;
	*part = (struct str){ bytes.ptr, end + 4 };
	*used = part->len;
	rest = (struct str){ bytes.ptr, end + 2 };
	(void)str_split(&rest, '\n', &first);
	status = read_status(first);
	read_fields(&f, rest);
	if (!status || f.is_bad || (f.chunked && f.has_length))
		return ANSWER_BAD;
	return begin_body(r, status, &f);
}

/* Returns the length of a line with its line end, or 0. */
static size_t line_length(struct str bytes)
{
	size_t end = str_find(bytes, '\n');

	return end < bytes.len ? end + 1 : 0;
}

/* Reads "1f\r\n", or with an extension "1f;x\r\n". */
static bool read_size(struct str line, uint64_t *size)
{
	size_t n = 0;

	*size = 0;
	for (; n < line.len; n++) {
		static const char digits[] = "0123456789abcdef";
		char c = line.ptr[n];
		const char *d;

		c = (char)(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
		d = c ? strchr(digits, c) : NULL;
		if (!d)
			break;
		*size = *size << 4 | (uint64_t)(d - digits);
	}
	line = str_trim(str_skip(line, n));
	return n && n <= 15 && (!line.len || line.ptr[0] == ';');
}

/* Reads a line between chunks. */
static enum answer_part read_frame(struct answer_reader *r, struct str bytes,
				   bool ended, size_t *used)
{
	size_t len = line_length(bytes);
	struct str line = { bytes.ptr, len };
	bool empty;

	if (!len)
		return ended || bytes.len > LINE_MAX_BYTES ? ANSWER_BAD
							   : ANSWER_MORE;
	*used = len;
	empty = !str_trim(line).len;
	if (r->state == AFTER_CHUNK) {
		r->state = AT_CHUNK;
		return empty ? ANSWER_BODY : ANSWER_BAD;
	}
	if (r->state == AT_TRAILER) {
		r->done = empty;
		return ANSWER_BODY;
	}
	if (!read_size(line, &r->left))
		return ANSWER_BAD;
	r->state = r->left ? IN_CHUNK : AT_TRAILER;
	return ANSWER_BODY;
}

static enum answer_part read_bytes(struct answer_reader *r, struct str bytes,
				   bool ended, struct str *part, size_t *used)
{
	if (!bytes.len) {
		if (ended && r->state == TO_CLOSE)
			r->done = true;
		return !ended    ? ANSWER_MORE
		       : r->done ? ANSWER_BODY
				 : ANSWER_BAD;
	}
	*part = bytes;
	if (r->state != TO_CLOSE) {
		if (part->len > r->left)
			part->len = (size_t)r->left;
		r->left -= part->len;
	}
	*used = part->len;
	if (r->state == IN_CHUNK && !r->left)
		r->state = AFTER_CHUNK;
	r->done = r->state == IN_BODY && !r->left;
	return ANSWER_BODY;
}

enum answer_part answer_read(struct answer_reader *r, struct str bytes,
			     bool ended, struct str *part, size_t *used)
{
	*part = (struct str){ 0 };
	*used = 0;
	switch (r->state) {
	case AT_HEAD:
		return read_head(r, bytes, ended, part, used);
	case IN_BODY:
	case TO_CLOSE:
	case IN_CHUNK:
		return read_bytes(r, bytes, ended, part, used);
	default:
		return read_frame(r, bytes, ended, used);
	}
}
