/* sse_test.c - event streams, cut at every byte. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "net/events.h"

static int note(void *arg, struct str event, struct str data, struct error *err)
{
	struct buf *out = arg;

	if (str_is(data, "stop"))
		return error_set(err, ERR_PROTOCOL, "told to stop");
	buf_addstr(out, event);
	buf_addc(out, '=');
	buf_addstr(out, data);
	buf_addc(out, ';');
	return 0;
}

static int feed(struct str text, size_t piece, struct buf *out,
		struct error *err)
{
	struct sse s;
	int rc = 0;

	sse_init(&s);
	while (rc == 0 && text.len) {
		size_t n = piece < text.len ? piece : text.len;

		rc = sse_feed(&s, (struct str){ text.ptr, n }, note, out, err);
		text = str_skip(text, n);
	}
	sse_release(&s);
	return rc;
}

static const struct {
	const char *in;
	const char *out;
} cases[] = {
	{ "data: a\n\n", "=a;" },
	{ "data:a\r\n\r\ndata:  b\r\rdata\n\n", "=a;= b;=;" },
	{ "\xEF\xBB\xBF"
	  "data: a\n\n",
	  "=a;" },
	{ "\n\n: note\nevent: x\ndata: 1\ndata: 2\nid: 7\n\n", "x=1\n2;" },
	{ "event: x\n\ndata: y\n\n", "=y;" },
	{ "data: a\n\ndata: unfinished\n", "=a;" },
	{ "data\n\ndata\ndata\n\ndata:", "=;=\n;" },
	{ "datax: no\nretry: 5\n\n", "" },
	{ "data: {\"a\":\"b: c\"}\r\n\n", "={\"a\":\"b: c\"};" },
};

static void test_every_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct str in = str_of(cases[i].in);

		for (size_t piece = 1; piece <= in.len; piece++) {
			struct buf out = BUF_INIT(4096);
			struct error err = { 0 };

			assert_int_equal(feed(in, piece, &out, &err), 0);
			assert_string_equal(out.ptr ? out.ptr : "",
					    cases[i].out);
			buf_release(&out);
		}
	}
}

static void test_stops_at_a_refusal(void **state)
{
	struct buf out = BUF_INIT(4096);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(feed(STR("data: a\n\ndata: stop\n\ndata: b\n\n"), 100,
			      &out, &err),
			 -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	assert_string_equal(out.ptr, "=a;");
	buf_release(&out);
}

static void test_cap(void **state)
{
	static char block[1 << 16];
	struct buf out = BUF_INIT(64 << 20);
	struct error err = { 0 };
	struct sse s;
	int rc = 0;
	int n = 0;

	(void)state;
	memset(block, 'x', sizeof(block));
	sse_init(&s);
	sse_feed(&s, STR("data: "), note, &out, &err);
	for (n = 0; rc == 0 && n < 400; n++)
		rc = sse_feed(&s, (struct str){ block, sizeof(block) }, note,
			      &out, &err);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_in_range(n, 256, 258);
	sse_release(&s);
	/* The same as many lines of one event. */
	sse_init(&s);
	memcpy(block, "data:", 5);
	block[sizeof(block) - 1] = '\n';
	for (rc = 0, n = 0; rc == 0 && n < 400; n++)
		rc = sse_feed(&s, (struct str){ block, sizeof(block) }, note,
			      &out, &err);
	assert_int_equal(rc, -1);
	assert_in_range(n, 256, 258);
	sse_release(&s);
	buf_release(&out);
}

/* What a client asks for the rest of a cut stream with. */
static void test_an_id_counts_once_its_event_is_whole(void **state)
{
	static const struct {
		const char *in;
		const char *id;
		int64_t retry_ms;
	} rows[] = {
		{ "data: a\n\n", "", -1 },
		{ "id: 7\ndata: a\n\n", "7", -1 },
		{ "id: 7\n\nid: 8\ndata: cut", "7", -1 },
		{ "id: 7\n\nid\n\n", "", -1 },
		{ "id: 7\n\ndata: b\n\n", "7", -1 },
		{ "retry: 50\n\n", "", 50 },
		{ "retry: -1\nretry: 5x\nretry:\n\n", "", -1 },
		{ "retry: 99999999999999999999\n\n", "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf out = BUF_INIT(4096);
		struct error err = { 0 };
		struct sse s;

		sse_init(&s);
		assert_int_equal(
			sse_feed(&s, str_of(rows[i].in), note, &out, &err), 0);
		assert_string_equal(s.id, rows[i].id);
		assert_int_equal(s.retry_ms, rows[i].retry_ms);
		buf_clear(&out);
		sse_cut(&s); /* the next stream of it */
		assert_int_equal(
			sse_feed(&s, STR("data: n\n\n"), note, &out, &err), 0);
		assert_string_equal(out.ptr, "=n;");
		assert_string_equal(s.id, rows[i].id);
		sse_release(&s);
		buf_release(&out);
	}
}

static void test_an_id_that_is_too_long_is_none(void **state)
{
	struct buf text = BUF_INIT(1 << 12);
	struct buf out = BUF_INIT(1 << 12);
	struct error err = { 0 };
	struct sse s;

	(void)state;
	buf_addf(&text, "id: 7\n\nid: %0300d\n\nid: a", 1);
	buf_addc(&text, '\0');
	buf_adds(&text, "\n\n");
	sse_init(&s);
	assert_int_equal(sse_feed(&s, buf_str(&text), note, &out, &err), 0);
	assert_string_equal(s.id, "7");
	sse_release(&s);
	buf_release(&text);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_stops_at_a_refusal),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_an_id_counts_once_its_event_is_whole),
		cmocka_unit_test(test_an_id_that_is_too_long_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
