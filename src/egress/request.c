/* request.c - checks each HTTP/1 request of a connection. */
/* SPDX-License-Identifier: MIT */
/*
 * RFC 9112. Attack: a connection to a listed host carries a request for another
 * host that the same server serves (fronting), as a later request, or hidden so
 * that this reader and the server see its end at different places (smuggling).
 * So each request must name the host, and everything that servers read in
 * different ways is refused: bare line feeds, folded lines, two lengths, a
 * length beside chunks, chunks in HTTP/1.0, chunk extensions, trailers, a body
 * of GET, which many servers take for the next request.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "egress/internal.h"

enum {
	HEAD_MAX = 65536, /* bytes */
};

enum { /* request_reader.state */
       AT_HEAD,
       IN_BODY,
       AT_CHUNK,   /* at the line with a chunk's size */
       IN_CHUNK,   /* left: its bytes and the CRLF */
       AT_TRAILER, /* at the empty line after the last chunk */
};

struct request_fields { /* of one request */
	struct str host;
	bool has_host, has_length, chunked, upgrades, is_bad;
	uint64_t length;
};

static bool is_token(struct str s)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || (c && strchr(others, c))))
			return false;
	}
	return s.len > 0;
}

static struct str trim_blanks(struct str s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = str_skip(s, 1);
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* True if the authority "host" or "host:port" is the reader's. */
static bool names_host(const struct request_reader *r, struct str authority)
{
	size_t colon = str_find(authority, ':');
	struct str port = str_skip(authority, colon + 1);
	/* on port 443 the request is inside of TLS */
	int64_t number = r->port == 443 ? 443 : 80;

	authority.len = colon;
	if (port.len && (port.len > 5 || port.ptr[0] < '0' ||
			 port.ptr[0] > '9' || !str_to_int(port, &number)))
		return false;
	return str_is_nocase(authority, r->host) && number == r->port;
}

/* Checks "GET /path HTTP/1.1". */
static int check_first_line(const struct request_reader *r, struct str line,
			    bool *no_body)
{
	struct str method = { line.ptr, str_find(line, ' ') };
	struct str target = str_skip(line, method.len + 1);
	struct str version;

	target.len = str_find(target, ' ');
	version = str_skip(line, method.len + 1 + target.len + 1);
	if (!is_token(method) || str_is(method, "CONNECT") ||
	    str_is(method, "PRI") ||
	    (!str_is(version, "HTTP/1.1") && !str_is(version, "HTTP/1.0")))
		return REQUEST_BAD;
	*no_body = str_is(method, "GET") || str_is(method, "HEAD");
	if (target.len && target.ptr[0] == '/')
		return 0;
	if (str_is(target, "*"))
		return 0;
	if (target.len > 7 && !strncasecmp(target.ptr, "http://", 7)) {
		struct str authority = str_skip(target, 7);

		authority.len = strcspn(authority.ptr, "/?# ");
		if (authority.len > target.len - 7)
			return REQUEST_BAD;
		return names_host(r, authority) ? 0 : REQUEST_OTHER_HOST;
	}
	return REQUEST_BAD;
}

static void read_length(struct request_fields *h, struct str value)
{
	int64_t n;

	if (h->has_length || !value.len || value.len > 18 ||
	    value.ptr[0] < '0' || value.ptr[0] > '9' || !str_to_int(value, &n))
		h->is_bad = true;
	else
		h->length = (uint64_t)n;
	h->has_length = true;
}

static void read_field(struct request_fields *h, struct str name,
		       struct str value)
{
	if (str_is_nocase(name, "host")) {
		h->is_bad |= h->has_host;
		h->has_host = true;
		h->host = value;
	} else if (str_is_nocase(name, "content-length")) {
		read_length(h, value);
	} else if (str_is_nocase(name, "transfer-encoding")) {
		h->is_bad |= h->chunked || !str_is_nocase(value, "chunked");
		h->chunked = true;
	} else if (str_is_nocase(name, "upgrade")) {
		h->is_bad |= h->upgrades || !str_is_nocase(value, "websocket");
		h->upgrades = true;
	}
}

/* Reads the lines between the first one and the empty one. */
static void read_fields(struct request_fields *h, struct str text)
{
	size_t n = 0;

	while (text.len) {
		size_t end = str_search(text, STR("\r\n"));
		struct str line = { text.ptr, end };
		size_t colon = str_find(line, ':');
		struct str name = { line.ptr, colon };

		text = str_skip(text, end + 2);
		if (colon == line.len || !is_token(name) ||
		    ++n > REQUEST_LINES) {
			h->is_bad = true;
			return;
		}
		read_field(h, name, trim_blanks(str_skip(line, colon + 1)));
	}
}

/* Each line ends with CRLF, and no line holds another control character. */
static bool has_clean_lines(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c == '\r' && i + 1 < text.len && text.ptr[i + 1] == '\n')
			i++;
		else if ((c < ' ' && c != '\t') || c == 127)
			return false;
	}
	return true;
}

/* Reads a whole head, with the empty line. */
static long read_head(struct request_reader *r, struct str text, size_t *n)
{
	size_t end = str_search(text, STR("\r\n"));
	struct str fields = str_skip(text, end + 2);
	struct request_fields h = { 0 };
	bool no_body = false;
	int rc;

	if (!has_clean_lines(text))
		return REQUEST_BAD;
	rc = check_first_line(r, (struct str){ text.ptr, end }, &no_body);
	if (rc < 0)
		return rc;
	fields.len -= 2;
	read_fields(&h, fields);
	if (h.is_bad || !h.has_host || (h.has_length && h.chunked) ||
	    (h.chunked && !str_ends((struct str){ text.ptr, end }, "1.1")) ||
	    (no_body && (h.length || h.chunked)) ||
	    (h.upgrades && (r->served || h.length || h.chunked)))
		return REQUEST_BAD;
	if (!names_host(r, h.host))
		return REQUEST_OTHER_HOST;
	r->served++;
	r->left = h.length;
	r->state = h.chunked ? AT_CHUNK : h.length ? IN_BODY : AT_HEAD;
	*n = text.len;
	return h.upgrades ? REQUEST_UPGRADE : (long)text.len;
}

static long read_at_head(struct request_reader *r, struct str text, size_t *n)
{
	size_t end = str_search(text, STR("\r\n\r\n"));

	if (end < text.len) {
		text.len = end + 4;
		return read_head(r, text, n);
	}
	/* refuse other data at once, not only when a head is complete */
	if (text.len > HEAD_MAX || !is_token((struct str){ text.ptr, 1 }))
		return REQUEST_BAD;
	return 0;
}

/* Reads "1f\r\n". */
static long read_chunk_size(struct request_reader *r, struct str text)
{
	size_t end = str_search(text, STR("\r\n"));
	uint64_t size = 0;

	if (end > 15)
		return REQUEST_BAD;
	for (size_t i = 0; i < end && i < text.len; i++) {
		static const char digits[] = "0123456789abcdef";
		char c = text.ptr[i];
		const char *d;

		if (c == '\r' && i + 1 == text.len)
			return 0;
		c = (char)(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
		d = c ? strchr(digits, c) : NULL;
		if (!d)
			return REQUEST_BAD;
		size = size << 4 | (uint64_t)(d - digits);
	}
	if (end == text.len)
		return 0;
	if (!end)
		return REQUEST_BAD;
	r->left = size + 2;
	r->state = size ? IN_CHUNK : AT_TRAILER;
	return (long)end + 2;
}

/* Passes bytes of a body or a chunk. */
static long pass_bytes(struct request_reader *r, struct str text, int next)
{
	size_t n = text.len < r->left ? text.len : (size_t)r->left;

	r->left -= n;
	if (!r->left)
		r->state = next;
	return (long)n;
}

/* A chunk must end with CRLF: else this reader and the server disagree. */
static long pass_chunk(struct request_reader *r, struct str text)
{
	if (r->left > 2) {
		struct str data = text;
		uint64_t left = r->left - 2;

		if (data.len > left)
			data.len = (size_t)left;
		r->left -= data.len;
		return (long)data.len;
	}
	if (text.len < 2)
		return 0;
	if (text.ptr[0] != '\r' || text.ptr[1] != '\n')
		return REQUEST_BAD;
	r->state = AT_CHUNK;
	return 2;
}

bool request_is_at_head(const struct request_reader *r)
{
	return r->state == AT_HEAD;
}

long request_read(struct request_reader *r, const char *p, size_t len,
		  size_t *n)
{
	struct str text = { p, len };

	if (!len)
		return 0;
	switch (r->state) {
	case IN_BODY:
		return pass_bytes(r, text, AT_HEAD);
	case AT_CHUNK:
		return read_chunk_size(r, text);
	case IN_CHUNK:
		return pass_chunk(r, text);
	case AT_TRAILER:
		if (len < 2)
			return 0;
		if (p[0] != '\r' || p[1] != '\n')
			return REQUEST_BAD;
		r->state = AT_HEAD;
		return 2;
	default:
		return read_at_head(r, text, n);
	}
}
