/* sigv4_fuzz.c - canonical requests: the same whatever the order, and clean. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aws/sigv4.h"
#include "base/mem.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 8, TEXT_MAX = 1 << 20 };

static void must(bool good)
{
	if (!good)
		abort();
}

static struct str line_of(struct str text, size_t n)
{
	for (; n; n--)
		text = str_skip(text, str_find(text, '\n') + 1);
	text.len = str_find(text, '\n');
	return text;
}

static void canonical(const struct sigv4_request *r, struct buf *out,
		      struct buf *names)
{
	*out = BUF_INIT(TEXT_MAX);
	*names = BUF_INIT(TEXT_MAX);
	sigv4_canonical(r, out, names);
	must(!out->over && !names->over);
}

static void is_encoded(struct str s, const char *allowed)
{
	for (size_t i = 0; i < s.len; i++)
		must(isalnum((unsigned char)s.ptr[i]) ||
		     (s.ptr[i] && strchr(allowed, s.ptr[i])));
}

/* A query that is canonical is left as it is. */
static void query_again(struct sigv4_request r, struct str query)
{
	char *target = xasprintf("/?%.*s", (int)query.len, query.ptr);
	struct buf out;
	struct buf names;

	r.target = str_of(target);
	canonical(&r, &out, &names);
	must(str_eq(line_of(buf_str(&out), 2), query));
	buf_release(&out);
	buf_release(&names);
	free(target);
}

/* The order in which headers of different names come says nothing. */
static void headers_again(const struct sigv4_request *r, size_t n,
			  const struct buf *first)
{
	const char *turned[LINES + 1] = { NULL };
	struct sigv4_request other = *r;
	struct buf out;
	struct buf names;

	for (size_t i = 0; i < n; i++) {
		size_t colon = strcspn(r->headers[i], ":");

		turned[n - 1 - i] = r->headers[i];
		for (size_t k = 0; k < i; k++)
			if (strcspn(r->headers[k], ":") == colon &&
			    !strncasecmp(r->headers[i], r->headers[k], colon))
				return;
	}
	other.headers = turned;
	canonical(&other, &out, &names);
	must(str_eq(buf_str(&out), buf_str(first)));
	buf_release(&out);
	buf_release(&names);
}

/* The first line is the target, then come headers up to an empty line, then
 * the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	const char *headers[LINES + 1] = { NULL };
	char *lines[LINES] = { NULL };
	struct sigv4_request r = { .method = "GET",
				   .headers = headers,
				   .region = "us-west-2",
				   .service = "service" };
	struct buf out;
	struct buf names;
	struct str line;
	size_t n = 0;

	if (size < 1 || size > 4096)
		return 0;
	r.path = (enum sigv4_path)(data[0] % 3);
	if (!str_split(&rest, '\n', &r.target))
		return 0;
	while (n < LINES && str_split(&rest, '\n', &line) && line.len) {
		lines[n] = xstrndup(line.ptr, line.len);
		headers[n] = lines[n];
		n++;
	}
	r.body = rest;
	canonical(&r, &out, &names);
	is_encoded(line_of(buf_str(&out), 1), "-._~%/");
	is_encoded(line_of(buf_str(&out), 2), "-._~%&=");
	must(line_of(buf_str(&out), 1).len > 0);
	query_again(r, line_of(buf_str(&out), 2));
	headers_again(&r, n, &out);
	for (size_t i = 0; i < n; i++)
		free(lines[i]);
	buf_release(&out);
	buf_release(&names);
	return 0;
}
