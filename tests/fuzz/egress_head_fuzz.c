/* egress_head_fuzz.c - a value goes into headers for credentials only. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "egress/credential/credential.h"
#include "egress/internal.h"

#define VALUE "the-value-of-the-secret"
#define PLACEHOLDER "PPPP"
#define KEY "the-key-that-signs"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct network_rule rule = { .host = (char *)"a.b" };
static struct network_rule other = { .host = (char *)"c.d" };
static struct secret list[] = {
	{ .hosts = { .mode = NETWORK_LIST, .rules = &rule, .n = 1 },
	  .value = (char *)VALUE,
	  .placeholder = (char *)PLACEHOLDER },
	{ .hosts = { .mode = NETWORK_LIST, .rules = &other, .n = 1 },
	  .value = (char *)"another-secret",
	  .placeholder = (char *)"QQQQ" },
	{ .hosts = { .mode = NETWORK_LIST, .rules = &rule, .n = 1 },
	  .signs = true,
	  .value = (char *)"the-real-id",
	  .placeholder = (char *)"RRRR",
	  .key = (char *)KEY,
	  .key_placeholder = (char *)"SSSS",
	  .token = (char *)"the-real-token",
	  .token_placeholder = (char *)"TTTT" },
};
static const struct secrets all = { list, 3 };

/* Lines that may not have the value: all that are not a header whose name ends
 * with one of the words. */
static void check_line(struct str line)
{
	struct str name = { line.ptr, str_find(line, ':') };

	if (str_search(line, STR("another-secret")) < line.len)
		abort();
	if (str_search(line, STR(VALUE)) == line.len)
		return;
	if (name.len == line.len || str_is_nocase(name, "user-agent") ||
	    str_is_nocase(name, "cookie") || str_is_nocase(name, "host"))
		abort();
}

/* The rewritten head has one line more, which the reader may not take. */
static bool has_most_lines(const uint8_t *data, long n)
{
	int lines = 0;

	for (long i = 0; i < n; i++)
		lines += data[i] == '\n';
	return lines >= REQUEST_LINES + 2;
}

/* The key is in no head. One that is not signed stays as it is. */
static void check_signing(struct str head, struct buf *out)
{
	struct buf before = BUF_INIT(1 << 20);
	struct head_client client = { .head = head };
	struct head_fault fault;
	enum head_result r;

	buf_addstr(&before, buf_str(out));
	r = head_sign(&all, "a.b", &client, out, &fault);
	if (r == HEAD_NEEDS_BODY) {
		client.body = STR("body");
		r = head_sign(&all, "a.b", &client, out, &fault);
		if (r == HEAD_NEEDS_BODY)
			abort();
	}
	if (str_search(buf_str(out), STR(KEY)) < out->len ||
	    (r == HEAD_NOT_SIGNED && (!fault.why || !fault.secret)) ||
	    (r != HEAD_SIGNED && !str_eq(buf_str(out), buf_str(&before))))
		abort();
	buf_release(&before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request_reader r = { .host = "a.b", .port = 443 };
	struct buf out = BUF_INIT(1 << 20);
	const struct secret *s = NULL;
	size_t whole = 0;
	long n = request_read(&r, (const char *)data, size, &whole);
	struct str head;
	struct str rest;
	struct str line;
	enum head_result result;

	if (n == REQUEST_UPGRADE)
		n = (long)whole;
	if (n <= 0 || memmem(data, size, VALUE, strlen(VALUE)) ||
	    memmem(data, size, "another-secret", strlen("another-secret")) ||
	    memmem(data, size, KEY, strlen(KEY)) || has_most_lines(data, n))
		return 0;
	head = (struct str){ (const char *)data, (size_t)n };
	result = head_rewrite(&all, "a.b", head, &out, &s);
	rest = buf_str(&out);
	if (result == HEAD_PLAIN || result == HEAD_CARRIES) {
		/* the server must read one request in it, to the same host */
		r = (struct request_reader){ .host = "a.b", .port = 443 };
		n = request_read(&r, out.ptr, out.len, &whole);
		if (n != (long)out.len &&
		    !(n == REQUEST_UPGRADE && whole == out.len))
			abort();
	}
	while (str_split(&rest, '\n', &line))
		check_line(line);
	if (result == HEAD_PLAIN || result == HEAD_CARRIES)
		check_signing(head, &out);
	(void)head_find_placeholder(&all, buf_str(&out));
	buf_release(&out);
	return 0;
}
