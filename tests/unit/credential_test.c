/* credential_test.c - where a secret is put into requests, and taken out. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"
#include "egress/credential/credential.h"
#include "unit.h"

#define VALUE "value-0123456789-ABCDEFGHIJ/+xyz"
#define PLACEHOLDER "placeholder789012345678901234567"

static struct network_rule own = { .host = (char *)"api.x.y" };
static struct network_rule other = { .host = (char *)"c.d" };
static struct secret list[] = {
	{ .name = (char *)"OWN",
	  .hosts = { .mode = NETWORK_LIST, .rules = &own, .n = 1 },
	  .value = (char *)VALUE,
	  .placeholder = (char *)PLACEHOLDER },
	{ .name = (char *)"OTHER",
	  .hosts = { .mode = NETWORK_LIST, .rules = &other, .n = 1 },
	  .value = (char *)"other-value-0123456789",
	  .placeholder = (char *)"other-placeholder-6789" },
};
static const struct secrets all = { list, 2 };

/* Rewrites "GET / HTTP/1.1" with these fields. */
static enum head_result rewrite(const char *fields, struct buf *out)
{
	const struct secret *s = NULL;
	struct buf head = BUF_INIT(1 << 16);
	enum head_result r;

	*out = BUF_INIT(1 << 16);
	buf_adds(&head, "GET /a HTTP/1.1\r\nHost: api.x.y\r\n");
	buf_adds(&head, fields);
	buf_adds(&head, "\r\n");
	r = head_rewrite(&all, "api.x.y", buf_str(&head), out, &s);
	buf_release(&head);
	return r;
}

static bool has(const struct buf *b, const char *part)
{
	return str_search(buf_str(b), str_of(part)) < b->len;
}

static void test_headers_for_credentials_get_the_value(void **state)
{
	static const char *const names[] = {
		"Authorization", "authorization", "X-Api-Key", "PRIVATE-TOKEN",
		"X-Auth-Token",  "Api-Key",       "apikey",    "X-Client-Secret"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct buf field = BUF_INIT(512);
		struct buf out;

		buf_addf(&field, "%s: Bearer " PLACEHOLDER "\r\n", names[i]);
		assert_int_equal(rewrite(field.ptr, &out), HEAD_CARRIES);
		if (!has(&out, "Bearer " VALUE "\r\n"))
			fail_msg("%s", names[i]);
		buf_release(&field);
		buf_release(&out);
	}
}

static void test_no_other_header_gets_the_value(void **state)
{
	static const char *const names[] = {
		"User-Agent",    "Referer",        "Origin",
		"Cookie",        "X-Request-Id",   "Idempotency-Key",
		"Content-Type",  "If-None-Match",  "Sec-WebSocket-Key",
		"Accept",        "X-Token-Count",  "Via",
		"x-ms-meta-key", "X-G-Meta-Token", "X-Bz-Info-Secret",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct buf field = BUF_INIT(512);
		struct buf out;

		buf_addf(&field, "%s: " PLACEHOLDER "\r\n", names[i]);
		assert_int_equal(rewrite(field.ptr, &out), HEAD_PLAIN);
		if (has(&out, VALUE) || !has(&out, PLACEHOLDER))
			fail_msg("%s", names[i]);
		buf_release(&field);
		buf_release(&out);
	}
}

static void test_basic_is_encoded_again(void **state)
{
	struct buf plain = BUF_INIT(512);
	struct buf field = BUF_INIT(512);
	struct buf want = BUF_INIT(512);
	struct buf out;

	(void)state;
	buf_adds(&field, "Authorization: basic ");
	json_base64(&field, STR("me:" PLACEHOLDER));
	buf_adds(&field, "\r\n");
	json_base64(&want, STR("me:" VALUE));
	assert_int_equal(rewrite(field.ptr, &out), HEAD_CARRIES);
	assert_true(has(&out, want.ptr));
	buf_release(&plain);
	buf_release(&field);
	buf_release(&want);
	buf_release(&out);
}

static void test_a_foreign_placeholder_is_refused_everywhere(void **state)
{
	struct buf field = BUF_INIT(512);
	struct buf out;

	(void)state;
	assert_int_equal(rewrite("Cookie: other-placeholder-6789\r\n", &out),
			 HEAD_FOREIGN);
	buf_release(&out);
	buf_adds(&field, "Authorization: Basic ");
	json_base64(&field, STR("a:other-placeholder-6789"));
	buf_adds(&field, "\r\n");
	assert_int_equal(rewrite(field.ptr, &out), HEAD_FOREIGN);
	assert_false(has(&out, "other-value"));
	buf_release(&field);
	buf_release(&out);
}

static void test_ranges_are_dropped_only_with_a_value(void **state)
{
	struct buf out;

	(void)state;
	(void)rewrite("Range: bytes=0-1\r\nAccept-Encoding: gzip\r\n", &out);
	assert_true(has(&out, "Range: bytes=0-1\r\n"));
	assert_false(has(&out, "gzip"));
	assert_true(has(&out, "Accept-Encoding: identity\r\n\r\n"));
	buf_release(&out);
	(void)rewrite("Range: bytes=0-1\r\nX-Key: " PLACEHOLDER "\r\n", &out);
	assert_false(has(&out, "Range"));
	buf_release(&out);
}

/* Feeds the text in pieces of `step` bytes. */
static void feed(const struct echo *e, struct str text, size_t step,
		 struct buf *out)
{
	struct buf scan = BUF_INIT(1 << 16);

	*out = BUF_INIT(1 << 16);
	while (text.len) {
		size_t n = text.len < step ? text.len : step;
		size_t held;

		buf_add(&scan, text.ptr, n);
		text = str_skip(text, n);
		held = echo_replace(e, scan.ptr, scan.len);
		buf_add(out, scan.ptr, scan.len - held);
		buf_consume(&scan, scan.len - held);
	}
	buf_addstr(out, buf_str(&scan));
	buf_release(&scan);
}

static void test_an_echo_is_replaced_at_every_border(void **state)
{
	struct echo *e = echo_new(&all, "api.x.y");
	struct buf text = BUF_INIT(4096);
	struct buf url = BUF_INIT(512);

	(void)state;
	percent_encode(&url, STR(VALUE), "");
	buf_adds(&text, "a " VALUE " b " VALUE VALUE " ");
	json_base64(&text, STR("x" VALUE));
	json_base64(&text, STR("me:" VALUE));
	json_base64(&text, STR("user:" VALUE));
	buf_addstr(&text, buf_str(&url));
	buf_adds(&text, " value-0123456789-ABCDEF and the end");
	for (size_t step = 1; step < text.len + 1; step++) {
		struct buf out;

		feed(e, buf_str(&text), step, &out);
		assert_int_equal(out.len, text.len);
		assert_false(has(&out, VALUE));
		assert_false(has(&out, url.ptr));
		assert_true(has(&out, "a " PLACEHOLDER " b " PLACEHOLDER));
		assert_true(has(&out, " value-0123456789-ABCDEF and the end"));
		for (size_t i = 0; i < 3; i++) {
			struct buf form = BUF_INIT(512);

			json_base64(&form,
				    (struct str){ &"012" VALUE[i],
						  3 - i + strlen(VALUE) });
			form.ptr[form.len - 4] = '\0';
			assert_false(has(&out, form.ptr + 4));
			buf_release(&form);
		}
		buf_release(&out);
	}
	buf_release(&text);
	buf_release(&url);
	echo_free(e);
}

static void test_an_echo_is_replaced_at_every_place(void **state)
{
	enum { LONG = 900 };
	struct echo *e = echo_new(&all, "api.x.y");

	(void)state;
	for (size_t at = 0; at <= LONG; at++) {
		struct buf text = BUF_INIT(4096);

		while (text.len < LONG) {
			if (text.len == at)
				buf_adds(&text, VALUE);
			buf_addc(&text, ' ');
		}
		if (at == LONG)
			buf_adds(&text, VALUE);
		(void)echo_replace(e, text.ptr, text.len);
		assert_false(has(&text, VALUE));
		assert_true(has(&text, PLACEHOLDER));
		buf_release(&text);
	}
	echo_free(e);
}

/* As html.escape(), json.dumps(), urllib.parse.quote() and bytes.hex() of
 * Python and the escapes of other servers write it. */
static void test_escapes_of_a_value_are_replaced(void **state)
{
	static const char value[] = "Ab/9+c=\"d&e<f>g'_h.i-Jk\\Lm";
	static const char *const written[] = {
		"Ab/9+c=\"d&e<f>g'_h.i-Jk\\Lm",
		"Ab%2F9%2Bc%3D%22d%26e%3Cf%3Eg%27_h.i-Jk%5CLm",
		"Ab%2f9%2bc%3d%22d%26e%3cf%3eg%27_h.i-Jk%5cLm",
		"%41%62%2F%39%2B%63%3D%22%64%26%65%3C%66%3E%67%27%5F%68"
		"%2E%69%2D%4A%6B%5C%4C%6D",
		"Ab%2F9%2Bc%3D%22d%26e%3Cf%3Eg%27%5Fh%2Ei%2DJk%5CLm",
		"Ab/9+c=\\\"d&e<f>g'_h.i-Jk\\\\Lm",
		"\\u0041\\u0062\\u002f\\u0039\\u002b\\u0063\\u003d\\u00"
		"22\\u0064\\u0026\\u0065\\u003c\\u0066\\u003e\\u0067\\u"
		"0027\\u005f\\u0068\\u002e\\u0069\\u002d\\u004a\\u006b"
		"\\u005c\\u004c\\u006d",
		"\\u0041\\u0062\\u002F\\u0039\\u002B\\u0063\\u003D\\u00"
		"22\\u0064\\u0026\\u0065\\u003C\\u0066\\u003E\\u0067\\u"
		"0027\\u005F\\u0068\\u002E\\u0069\\u002D\\u004A\\u006B"
		"\\u005C\\u004C\\u006D",
		"Ab\\u002f9+c=\"d&e<f>g'_h.i-Jk\\Lm",
		"Ab\\u002F9+c=\"d&e<f>g'_h.i-Jk\\Lm",
		"Ab\\/9+c=\"d&e<f>g'_h.i-Jk\\Lm",
		"\\x41\\x62\\x2f\\x39\\x2b\\x63\\x3d\\x22\\x64\\x26\\x6"
		"5\\x3c\\x66\\x3e\\x67\\x27\\x5f\\x68\\x2e\\x69\\x2d\\x"
		"4a\\x6b\\x5c\\x4c\\x6d",
		"Ab/9+c=&quot;d&amp;e&lt;f&gt;g&apos;_h.i-Jk\\Lm",
		"&#65;&#98;&#47;&#57;&#43;&#99;&#61;&#34;&#100;&#38;&#1"
		"01;&#60;&#102;&#62;&#103;&#39;&#95;&#104;&#46;&#105;&#"
		"45;&#74;&#107;&#92;&#76;&#109;",
		"&#x41;&#x62;&#x2f;&#x39;&#x2b;&#x63;&#x3d;&#x22;&#x64;"
		"&#x26;&#x65;&#x3c;&#x66;&#x3e;&#x67;&#x27;&#x5f;&#x68;"
		"&#x2e;&#x69;&#x2d;&#x4a;&#x6b;&#x5c;&#x4c;&#x6d;",
		"&#x41;&#x62;&#x2F;&#x39;&#x2B;&#x63;&#x3D;&#x22;&#x64;"
		"&#x26;&#x65;&#x3C;&#x66;&#x3E;&#x67;&#x27;&#x5F;&#x68;"
		"&#x2E;&#x69;&#x2D;&#x4A;&#x6B;&#x5C;&#x4C;&#x6D;",
		"Ab&#x2F;9+c=\"d&e<f>g'_h.i-Jk\\Lm",
		"41622f392b633d226426653c663e67275f682e692d4a6b5c4c6d",
		"41622F392B633D226426653C663E67275F682E692D4A6B5C4C6D"
	};
	struct secret one = list[0];
	const struct secrets some = { &one, 1 };
	struct echo *e;

	(void)state;
	one.value = (char *)value;
	e = echo_new(&some, "api.x.y");
	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++) {
		for (size_t step = 1; step < 9; step += 7) {
			struct buf text = BUF_INIT(1024);
			struct buf out;

			buf_addf(&text, "{ %s }", written[i]);
			feed(e, buf_str(&text), step, &out);
			assert_int_equal(out.len, text.len);
			assert_false(has(&out, written[i]));
			assert_true(str_starts(buf_str(&out), "{ "));
			assert_true(str_ends(buf_str(&out), " }"));
			buf_release(&text);
			buf_release(&out);
		}
	}
	echo_free(e);
}

static void test_packed_secrets_are_read_whole_or_not_at_all(void **state)
{
	struct secret two[] = { list[0], list[1] };
	const struct secrets some = { two, 2 };
	struct buf bytes = BUF_INIT(1 << 16);
	struct secrets s = { 0 };
	struct error err = { 0 };

	(void)state;
	two[1].signs = true;
	two[1].key = (char *)"the key";
	two[1].key_placeholder = (char *)"its own";
	secrets_pack(&some, &bytes);
	assert_int_equal(secrets_unpack(&s, buf_str(&bytes), &err), 0);
	assert_true(!s.list[0].signs && !s.list[0].key && s.list[1].signs);
	assert_string_equal(s.list[1].key, "the key");
	assert_string_equal(s.list[1].key_placeholder, "its own");
	assert_null(s.list[1].token);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.list[0].value, VALUE);
	assert_string_equal(s.list[1].placeholder, list[1].placeholder);
	assert_null(s.list[0].header);
	assert_true(secret_has_host(&s.list[0], "api.x.y"));
	for (size_t n = 0; n < bytes.len; n++)
		assert_int_equal(
			secrets_unpack(&s, (struct str){ bytes.ptr, n }, &err),
			-1);
	secrets_release(&s);
	buf_release(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers_for_credentials_get_the_value),
		cmocka_unit_test(test_no_other_header_gets_the_value),
		cmocka_unit_test(test_basic_is_encoded_again),
		cmocka_unit_test(
			test_a_foreign_placeholder_is_refused_everywhere),
		cmocka_unit_test(test_ranges_are_dropped_only_with_a_value),
		cmocka_unit_test(test_an_echo_is_replaced_at_every_border),
		cmocka_unit_test(test_an_echo_is_replaced_at_every_place),
		cmocka_unit_test(test_escapes_of_a_value_are_replaced),
		cmocka_unit_test(
			test_packed_secrets_are_read_whole_or_not_at_all),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
