/* ws_handshake.c - the opening of a WebSocket (RFC 6455 §4): pure text. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "base/mem.h"
#include "net/sha1.h"
#include "net/ws_impl.h"

/* RFC 6455 §1.3 */
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

void ws_accept(const char *key, char accept[WS_ACCEPT_SIZE])
{
	struct buf text = BUF_INIT(256);
	unsigned char digest[SHA1_LEN];

	buf_adds(&text, key);
	buf_adds(&text, GUID);
	sha1(buf_str(&text), digest);
	sodium_bin2base64(accept, WS_ACCEPT_SIZE, digest, sizeof(digest),
			  sodium_base64_VARIANT_ORIGINAL);
	buf_release(&text);
}

/* What follows the scheme; *secure by the scheme. Empty for another one. */
static struct str after_scheme(const char *url, bool *secure)
{
	static const struct {
		const char *scheme;
		bool secure;
	} schemes[] = {
		{ "ws://", false },
		{ "wss://", true },
		{ "http://", false },
		{ "https://", true },
	};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		size_t len = strlen(schemes[i].scheme);

		if (strncasecmp(url, schemes[i].scheme, len) == 0) {
			*secure = schemes[i].secure;
			return str_of(url + len);
		}
	}
	return (struct str){ 0 };
}

static struct str authority_of(struct str rest)
{
	size_t n = 0;

	while (n < rest.len && !strchr("/?#", rest.ptr[n]))
		n++;
	return (struct str){ rest.ptr, n };
}

char *ws_connect_url(const char *url, struct error *err)
{
	bool secure = false;
	struct str rest = after_scheme(url, &secure);
	struct str host = authority_of(rest);

	if (!host.len || !str_is_visible(rest) ||
	    str_find(host, '@') < host.len) {
		error_set(err, ERR_CONFIG,
			  "not a WebSocket address (wss://host/path)");
		return NULL;
	}
	return xasprintf("%s://%.*s/", secure ? "https" : "http", (int)host.len,
			 host.ptr);
}

static bool is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_ours(struct str name)
{
	static const char *const ours[] = { "Host",       "Upgrade",
					    "Connection", "Content-Length",
					    "User-Agent", "Transfer-Encoding" };
	static const char prefix[] = "Sec-WebSocket-";

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (str_is_nocase(name, ours[i]))
			return true;
	return name.len >= sizeof(prefix) - 1 &&
	       strncasecmp(name.ptr, prefix, sizeof(prefix) - 1) == 0;
}

/* No line end may come in with a token that somebody pasted. */
static bool is_value(struct str value)
{
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static int add_header(struct buf *out, const char *header, struct error *err)
{
	struct str line = str_of(header);
	struct str name = { line.ptr, str_find(line, ':') };
	size_t good = 0;

	while (good < name.len && is_token(name.ptr[good]))
		good++;
	if (!good || good < name.len || name.len == line.len)
		return error_set(err, ERR_CONFIG,
				 "a header has an invalid name");
	if (is_ours(name) || !is_value(str_skip(line, name.len)))
		return error_set(err, ERR_CONFIG, "header %.*s: %s",
				 (int)(name.len < 64 ? name.len : 64), name.ptr,
				 is_ours(name)
					 ? "it belongs to the handshake"
					 : "its value has control characters");
	buf_addstr(out, line);
	buf_adds(out, "\r\n");
	return 0;
}

int ws_request_write(const struct ws_request *req, const char *key,
		     struct buf *out, struct error *err)
{
	bool secure;
	struct str rest = after_scheme(req->url, &secure);
	struct str host = authority_of(rest);
	struct str path = str_skip(rest, host.len);

	path.len = str_find(path, '#');
	buf_addf(out,
		 "GET %s%.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: dcode\r\n"
		 "Upgrade: websocket\r\nConnection: Upgrade\r\n"
		 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
		 path.len && path.ptr[0] == '/' ? "" : "/", (int)path.len,
		 path.len ? path.ptr : "", (int)host.len, host.ptr, key);
	if (req->protocols && !is_value(str_of(req->protocols)))
		return error_set(err, ERR_CONFIG, "a bad subprotocol");
	if (req->protocols)
		buf_addf(out, "Sec-WebSocket-Protocol: %s\r\n", req->protocols);
	for (size_t i = 0; req->headers && req->headers[i]; i++)
		if (add_header(out, req->headers[i], err) < 0)
			return -1;
	buf_adds(out, "\r\n");
	return buf_check(out, "the WebSocket's request", err);
}

size_t ws_head_size(struct str in)
{
	size_t at = str_search(in, STR("\r\n\r\n"));

	return at < in.len ? at + 4 : 0;
}

int ws_head_status(struct str head)
{
	struct str rest = str_skip(head, 9);
	int64_t status;

	if (!str_starts(head, "HTTP/1.") || head.len < 13 ||
	    head.ptr[8] != ' ' || (head.ptr[12] != ' ' && head.ptr[12] != '\r'))
		return 0;
	rest.len = 3;
	return str_to_int(rest, &status) && status >= 100 ? (int)status : 0;
}

bool ws_head_line(struct str *rest, struct str *line)
{
	size_t end = str_search(*rest, STR("\r\n"));

	*line = (struct str){ rest->ptr, end };
	*rest = str_skip(*rest, end + 2);
	return line->len > 0;
}

/* Values of the headers of that name: how many, and the last one. */
static int field(struct str head, const char *name, struct str *value)
{
	struct str line;
	int n = 0;

	*value = (struct str){ 0 };
	(void)ws_head_line(&head, &line); /* the status */
	while (ws_head_line(&head, &line)) {
		struct str before = { line.ptr, str_find(line, ':') };

		if (!str_is_nocase(before, name))
			continue;
		*value = str_trim(str_skip(line, before.len + 1));
		n++;
	}
	return n;
}

/* True when item is among the values, separated by commas. */
static bool listed(struct str values, struct str item, bool any_case)
{
	struct str one;

	while (str_split(&values, ',', &one)) {
		one = str_trim(one);
		if (one.len != item.len || !item.len)
			continue;
		if (any_case ? strncasecmp(one.ptr, item.ptr, item.len) == 0
			     : str_eq(one, item))
			return true;
	}
	return false;
}

/* The header may come in several lines. */
static bool field_lists(struct str head, const char *name, struct str item)
{
	struct str line;

	(void)ws_head_line(&head, &line);
	while (ws_head_line(&head, &line)) {
		struct str before = { line.ptr, str_find(line, ':') };

		if (str_is_nocase(before, name) &&
		    listed(str_skip(line, before.len + 1), item, true))
			return true;
	}
	return false;
}

static int wrong(struct error *err, const char *why)
{
	return error_set(err, ERR_PROTOCOL,
			 "the server did not open the WebSocket: %s", why);
}

int ws_head_check(struct str head, const char *key, const char *offered,
		  char protocol[WS_PROTOCOL_SIZE], struct error *err)
{
	char accept[WS_ACCEPT_SIZE];
	struct str value;
	int n;

	protocol[0] = '\0';
	ws_accept(key, accept);
	if (!str_starts(head, "HTTP/1.1"))
		return wrong(err, "it speaks an older HTTP");
	if (field(head, "Upgrade", &value) != 1 ||
	    !str_is_nocase(value, "websocket"))
		return wrong(err, "it upgrades to something else");
	if (!field_lists(head, "Connection", STR("Upgrade")))
		return wrong(err, "Connection is not Upgrade");
	if (field(head, "Sec-WebSocket-Accept", &value) != 1 ||
	    !str_is(value, accept))
		return wrong(err, "Sec-WebSocket-Accept does not match");
	if (field(head, "Sec-WebSocket-Extensions", &value) && value.len)
		return wrong(err, "it uses an extension that was not offered");
	n = field(head, "Sec-WebSocket-Protocol", &value);
	if (!n)
		return 0;
	if (n > 1 || value.len >= WS_PROTOCOL_SIZE ||
	    !listed(str_of(offered), value, false))
		return wrong(err, "it chose a subprotocol not offered");
	memcpy(protocol, value.ptr, value.len);
	protocol[value.len] = '\0';
	return 0;
}

/* A chunk's size in hexadecimal; false on garbage. */
static bool chunk_size(struct str line, size_t *size)
{
	static const char digits[] = "0123456789abcdef";

	line.len = str_find(line, ';');
	line = str_trim(line);
	*size = 0;
	if (!line.len || line.len > 7)
		return false;
	for (size_t i = 0; i < line.len; i++) {
		char low = line.ptr[i] >= 'A' && line.ptr[i] <= 'F'
				   ? (char)(line.ptr[i] + ('a' - 'A'))
				   : line.ptr[i];
		const char *at = memchr(digits, low, sizeof(digits) - 1);

		if (!at)
			return false;
		*size = *size * 16 + (size_t)(at - digits);
	}
	return true;
}

/* RFC 9112 §7.1, as far as it goes. True: nothing more will come. */
static bool unchunk(struct str raw, struct buf *body)
{
	for (;;) {
		size_t end = str_search(raw, STR("\r\n"));
		size_t size;

		if (end >= raw.len)
			return false;
		if (!chunk_size((struct str){ raw.ptr, end }, &size) || !size)
			return true;
		raw = str_skip(raw, end + 2);
		if (raw.len < size + 2) {
			raw.len = raw.len < size ? raw.len : size;
			buf_addstr(body, raw);
			return false;
		}
		buf_add(body, raw.ptr, size);
		raw = str_skip(raw, size + 2);
	}
}

bool ws_head_body(struct str head, struct str raw, struct buf *body)
{
	struct str value;
	int64_t len;

	if (field_lists(head, "Transfer-Encoding", STR("chunked")))
		return unchunk(raw, body);
	if (field(head, "Content-Length", &value) != 1 ||
	    !str_to_int(value, &len) || len < 0) {
		buf_addstr(body, raw);
		return false;
	}
	if (raw.len > (uint64_t)len)
		raw.len = (size_t)len;
	buf_addstr(body, raw);
	return raw.len == (uint64_t)len;
}
