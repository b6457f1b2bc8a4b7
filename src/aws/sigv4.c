/* sigv4.c - signs requests to AWS: Signature Version 4. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at sigv4_authorize(): the canonical request
 * (sigv4_canonical()), its hash, the string to sign, the signature. Signer and
 * server must build the same canonical request byte by byte, hence the rules
 * for encoding and sorting.
 */
#include "aws/sigv4.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	HASH = crypto_hash_sha256_BYTES,
	HEX = 2 * HASH + 1,
	TEXT_MAX = 1 << 20, /* bytes of a canonical request */
};

void sigv4_time(int64_t unix_s, char out[SIGV4_TIME])
{
	time_t t = (time_t)unix_s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) ||
	    !strftime(out, SIGV4_TIME, "%Y%m%dT%H%M%SZ", &tm))
		out[0] = '\0';
}

static void encode_byte(struct buf *out, unsigned char c)
{
	if (isalnum(c) || (c && strchr("-._~", c)))
		buf_addc(out, (char)c);
	else
		buf_addf(out, "%%%02X", c);
}

static void encode_all(struct buf *out, struct str s, const char *but)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] && strchr(but, s.ptr[i]))
			buf_addc(out, s.ptr[i]);
		else
			encode_byte(out, (unsigned char)s.ptr[i]);
	}
}

/* Removes the last segment of the path in out. */
static void remove_segment(struct buf *out, size_t start)
{
	while (out->len > start && out->ptr[out->len - 1] != '/')
		out->len--;
	if (out->len > start)
		out->len--;
}

/* Appends the path without ".", ".." and empty segments, encoded. */
static void add_normal_path(struct buf *out, struct str path)
{
	size_t start = out->len;
	bool slash = str_ends(path, "/");
	struct str part;
	bool dots = false;

	while (str_split(&path, '/', &part)) {
		dots = str_is(part, ".") || str_is(part, "..");
		if (str_is(part, ".."))
			remove_segment(out, start);
		if (dots || !part.len)
			continue;
		buf_addc(out, '/');
		encode_all(out, part, "");
	}
	if (slash || dots || out->len == start)
		buf_addc(out, '/');
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-encodes s, except the characters of but. A %XX in s counts as the
 * byte that it stands for, so it is not encoded twice. */
static void encode_again(struct buf *out, struct str s, const char *but)
{
	for (size_t i = 0; i < s.len; i++) {
		int high = i + 2 < s.len ? hex_value(s.ptr[i + 1]) : -1;
		int low = i + 2 < s.len ? hex_value(s.ptr[i + 2]) : -1;

		if (s.ptr[i] == '%' && high >= 0 && low >= 0) {
			encode_byte(out, (unsigned char)(high << 4 | low));
			i += 2;
		} else if (s.ptr[i] && strchr(but, s.ptr[i])) {
			buf_addc(out, s.ptr[i]);
		} else {
			encode_byte(out, (unsigned char)s.ptr[i]);
		}
	}
}

static void add_path(struct buf *out, const struct sigv4_request *r,
		     struct str path)
{
	if (r->path == SIGV4_NORMAL)
		add_normal_path(out, path);
	else if (!path.len)
		buf_addc(out, '/');
	else if (r->path == SIGV4_TWICE)
		encode_all(out, path, "/");
	else if (r->path == SIGV4_ONCE)
		encode_again(out, path, "/");
	else
		buf_addstr(out, path);
}

/* A query parameter or header, as offsets into a buffer that may be moved. */
struct field {
	size_t name;
	size_t value;
	size_t end;
	size_t n; /* original position */
	const struct buf *text;
};

static struct str slice_field(const struct field *f, size_t from, size_t to)
{
	return str_skip((struct str){ f->text->ptr, to }, from);
}

static int compare_texts(struct str a, struct str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_name_and_value(const void *a, const void *b)
{
	const struct field *x = a;
	const struct field *y = b;
	int order = compare_texts(slice_field(x, x->name, x->value),
				  slice_field(y, y->name, y->value));

	return order ? order
		     : compare_texts(slice_field(x, x->value, x->end),
				     slice_field(y, y->value, y->end));
}

static int by_name(const void *a, const void *b)
{
	const struct field *x = a;
	const struct field *y = b;
	int order = compare_texts(slice_field(x, x->name, x->value),
				  slice_field(y, y->name, y->value));

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* Appends the query's parameters, encoded and sorted by name and value. The
 * signature itself is left out, however its name is written. */
static void add_query(struct buf *out, struct str query)
{
	struct buf text = BUF_INIT(3 * query.len + 1);
	struct field *fields = xcalloc(query.len + 1, sizeof(*fields));
	struct str item;
	size_t n = 0;

	while (str_split(&query, '&', &item)) {
		struct field *f = &fields[n];
		size_t eq = str_find(item, '=');

		if (!item.len)
			continue;
		*f = (struct field){ .name = text.len, .text = &text };
		encode_again(&text, (struct str){ item.ptr, eq }, "");
		f->value = text.len;
		if (str_is(slice_field(f, f->name, f->value),
			   "X-Amz-Signature"))
			continue;
		encode_again(&text, str_skip(item, eq + 1), "");
		f->end = text.len;
		n++;
	}
	if (n > 1)
		qsort(fields, n, sizeof(*fields), by_name_and_value);
	for (size_t i = 0; i < n; i++) {
		const struct field *f = &fields[i];

		if (i)
			buf_addc(out, '&');
		buf_addstr(out, slice_field(f, f->name, f->value));
		buf_addc(out, '=');
		buf_addstr(out, slice_field(f, f->value, f->end));
	}
	free(fields);
	buf_release(&text);
}

static void add_trimmed(struct buf *out, struct str value)
{
	value = str_trim(value);
	for (size_t i = 0; i < value.len; i++) {
		bool space = isspace((unsigned char)value.ptr[i]);

		if (space && isspace((unsigned char)value.ptr[i - 1]))
			continue;
		buf_addc(out, (char)(space ? ' ' : value.ptr[i]));
	}
}

static void add_lower(struct buf *out, struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		buf_addc(out, (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c));
	}
}

/* Splits the headers into lower-case names and trimmed values. */
static size_t read_headers(const struct sigv4_request *r, struct buf *text,
			   struct field *fields)
{
	size_t n = 0;

	for (; r->headers[n]; n++) {
		struct str line = str_of(r->headers[n]);
		size_t colon = str_find(line, ':');
		struct field *f = &fields[n];

		*f = (struct field){ .name = text->len, .n = n, .text = text };
		add_lower(text, (struct str){ line.ptr, colon });
		f->value = text->len;
		add_trimmed(text, str_skip(line, colon + 1));
		f->end = text->len;
	}
	return n;
}

/* Appends a header. Headers of the same name are joined into one line: only the
 * first one appends the name. */
static void add_header(const struct field *f, bool first, struct buf *out,
		       struct buf *names)
{
	struct str name = slice_field(f, f->name, f->value);

	if (!first && compare_texts(name, slice_field(f - 1, f[-1].name,
						      f[-1].value)) == 0) {
		buf_addc(out, ',');
	} else {
		buf_adds(out, first ? "" : "\n");
		buf_adds(names, first ? "" : ";");
		buf_addstr(out, name);
		buf_addstr(names, name);
		buf_addc(out, ':');
	}
	buf_addstr(out, slice_field(f, f->value, f->end));
}

/* Appends the headers to out, sorted by name, and their names to the buffer
 * names. */
static void add_headers(const struct sigv4_request *r, struct buf *out,
			struct buf *names)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	struct field *fields;
	size_t n = 0;

	while (r->headers[n])
		n++;
	fields = xcalloc(n + 1, sizeof(*fields));
	n = read_headers(r, &text, fields);
	if (n > 1)
		qsort(fields, n, sizeof(*fields), by_name);
	for (size_t i = 0; i < n; i++)
		add_header(&fields[i], i == 0, out, names);
	buf_adds(out, n ? "\n\n" : "\n");
	free(fields);
	buf_wipe(&text); /* contains the session token */
}

static void hash_text(struct str text, char out[HEX])
{
	unsigned char bytes[HASH];

	crypto_hash_sha256(bytes, (const unsigned char *)text.ptr, text.len);
	sodium_bin2hex(out, HEX, bytes, HASH);
}

void sigv4_canonical(const struct sigv4_request *r, struct buf *out,
		     struct buf *names)
{
	size_t mark = str_find(r->target, '?');
	char body[HEX];

	buf_addf(out, "%s\n", r->method);
	add_path(out, r, (struct str){ r->target.ptr, mark });
	buf_addc(out, '\n');
	add_query(out, str_skip(r->target, mark + 1));
	buf_addc(out, '\n');
	add_headers(r, out, names);
	buf_addstr(out, buf_str(names));
	if (!r->payload)
		hash_text(r->body, body);
	buf_addf(out, "\n%s", r->payload ? r->payload : body);
}

static void compute_mac(unsigned char out[HASH], const void *key, size_t len,
			struct str text)
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, len);
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)text.ptr,
				      text.len);
	crypto_auth_hmacsha256_final(&state, out);
	sodium_memzero(&state, sizeof(state));
}

/* Computes the signature of text. date: the first 8 characters of the time,
 * "20261120". */
static void compute_signature(const struct sigv4_request *r, const char *secret,
			      struct str date, struct str text, char out[HEX])
{
	char *first = xasprintf("AWS4%s", secret);
	unsigned char a[HASH];
	unsigned char b[HASH];

	compute_mac(a, first, strlen(first), date);
	compute_mac(b, a, HASH, str_of(r->region));
	compute_mac(a, b, HASH, str_of(r->service));
	compute_mac(b, a, HASH, STR("aws4_request"));
	compute_mac(a, b, HASH, text);
	sodium_bin2hex(out, HEX, a, HASH);
	sodium_memzero(a, HASH);
	sodium_memzero(b, HASH);
	sodium_memzero(first, strlen(first));
	free(first);
}

/* Appends "20261120/us-east-1/s3/aws4_request". */
static void add_scope(const struct sigv4_request *r, struct buf *out)
{
	char when[SIGV4_TIME];

	sigv4_time(r->time, when);
	buf_addf(out, "%.8s/%s/%s/aws4_request", when, r->region, r->service);
}

void sigv4_sign(const struct sigv4_request *r, const char *secret,
		struct buf *out, struct buf *names)
{
	struct buf canonical = BUF_INIT(TEXT_MAX);
	struct buf text = BUF_INIT(TEXT_MAX);
	char when[SIGV4_TIME];
	char digest[HEX];

	sigv4_time(r->time, when);
	sigv4_canonical(r, &canonical, names);
	hash_text(buf_str(&canonical), digest);
	buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n", when);
	add_scope(r, &text);
	buf_addf(&text, "\n%s", digest);
	compute_signature(r, secret, (struct str){ when, 8 }, buf_str(&text),
			  digest);
	buf_adds(out, digest);
	buf_release(&text);
	buf_wipe(&canonical); /* contains the session token */
}

void sigv4_authorize(const struct sigv4_request *r, const struct sigv4_key *key,
		     struct buf *out)
{
	struct buf names = BUF_INIT(TEXT_MAX);
	struct buf signature = BUF_INIT(HEX);

	sigv4_sign(r, key->secret, &signature, &names);
	buf_addf(out, "AWS4-HMAC-SHA256 Credential=%s/", key->id);
	add_scope(r, out);
	buf_adds(out, ", SignedHeaders=");
	buf_addstr(out, buf_str(&names));
	buf_adds(out, ", Signature=");
	buf_addstr(out, buf_str(&signature));
	buf_release(&signature);
	buf_release(&names);
}
