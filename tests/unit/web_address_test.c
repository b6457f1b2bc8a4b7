/* web_address_test.c - which addresses and URLs are fetched, in odd forms. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/http.h"
#include "net/resolve.h"
#include "unit.h"
#include "web/fetch.h"
#include "web/page.h"
#include "web/url.h"

static enum address_reach reach(const char *text)
{
	struct sockaddr_storage a;

	assert_true(address_parse(str_of(text), &a));
	return address_reach((const struct sockaddr *)&a);
}

static void only_addresses_of_the_internet_are_public(void **arg)
{
	static const struct {
		const char *text;
		enum address_reach reach;
	} cases[] = {
		{ "1.1.1.1", ADDRESS_PUBLIC },
		{ "9.255.255.255", ADDRESS_PUBLIC },
		{ "11.0.0.0", ADDRESS_PUBLIC },
		{ "100.63.255.255", ADDRESS_PUBLIC },
		{ "100.128.0.0", ADDRESS_PUBLIC },
		{ "172.15.255.255", ADDRESS_PUBLIC },
		{ "172.32.0.0", ADDRESS_PUBLIC },
		{ "223.255.255.255", ADDRESS_PUBLIC },
		{ "2606:4700::1111", ADDRESS_PUBLIC },
		{ "::ffff:1.1.1.1", ADDRESS_PUBLIC },
		{ "64:ff9b::1.1.1.1", ADDRESS_PUBLIC },
		{ "2002:101:101::1", ADDRESS_PUBLIC },
		{ "10.0.0.1", ADDRESS_PRIVATE },
		{ "100.64.0.1", ADDRESS_PRIVATE },
		{ "127.0.0.1", ADDRESS_PRIVATE },
		{ "127.255.255.254", ADDRESS_PRIVATE },
		{ "172.16.0.1", ADDRESS_PRIVATE },
		{ "172.31.255.255", ADDRESS_PRIVATE },
		{ "192.168.255.1", ADDRESS_PRIVATE },
		{ "198.19.0.1", ADDRESS_PRIVATE },
		{ "::1", ADDRESS_PRIVATE },
		{ "fd12:3456::1", ADDRESS_PRIVATE },
		{ "::ffff:127.0.0.1", ADDRESS_PRIVATE },
		{ "::ffff:a00:1", ADDRESS_PRIVATE },
		{ "64:ff9b::7f00:1", ADDRESS_PRIVATE },
		{ "2002:7f00:1::", ADDRESS_PRIVATE },
		{ "0.0.0.0", ADDRESS_NEVER },
		{ "100.100.100.200", ADDRESS_NEVER },
		{ "168.63.129.16", ADDRESS_NEVER },
		{ "169.254.169.254", ADDRESS_NEVER },
		{ "192.0.0.192", ADDRESS_NEVER },
		{ "192.0.2.1", ADDRESS_NEVER },
		{ "224.0.0.1", ADDRESS_NEVER },
		{ "240.0.0.1", ADDRESS_NEVER },
		{ "255.255.255.255", ADDRESS_NEVER },
		{ "::", ADDRESS_NEVER },
		{ "::127.0.0.1", ADDRESS_NEVER },
		{ "::ffff:169.254.169.254", ADDRESS_NEVER },
		{ "64:ff9b::a9fe:a9fe", ADDRESS_NEVER },
		{ "64:ff9b:1::1", ADDRESS_NEVER },
		{ "2002:a9fe:a9fe::", ADDRESS_NEVER },
		{ "2001:0:4136:e378:8000:63bf:3fff:fdd2", ADDRESS_NEVER },
		{ "2001:db8::1", ADDRESS_NEVER },
		{ "3fff::1", ADDRESS_NEVER },
		{ "fe80::1", ADDRESS_NEVER },
		{ "fec0::1", ADDRESS_NEVER },
		{ "fd00:ec2::254", ADDRESS_NEVER },
		{ "ff02::1", ADDRESS_NEVER },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (reach(cases[i].text) != cases[i].reach)
			fail_msg("%s is %d", cases[i].text,
				 (int)reach(cases[i].text));
}

static void urls_that_can_be_read_in_two_ways_are_refused(void **arg)
{
	static const char *const wrong[] = {
		"ftp://example.com/",
		"file:///etc/passwd",
		"example.com",
		"http://",
		"http:///path",
		"http://user@example.com/",
		"http://user:password@example.com/",
		"http://example.com@127.0.0.1/",
		"http://example.com\\@127.0.0.1/",
		"http://127.1/",
		"http://2130706433/",
		"http://0x7f000001/",
		"http://0x7f.0.0.1/",
		"http://0177.0.0.1/",
		"http://127.0.0.01/",
		"http://127.0.0.0x1/",
		"http://1.2.3.4.5/",
		"http://256.1.1.1/",
		"http://[fe80::1%25eth0]/",
		"http://[::1/",
		"http://a..example/",
		"http://a.example../",
		"http://.example/",
		"http://::1/",
		"http://[1.1.1.1]/",
		"http://\xE2\x91\xA0\xE2\x91\xA1.example/",
		"http://exa%6Dple.com/",
		"http://exam ple.com/",
		"http://example.com:0/",
		"http://example.com:65536/",
		"http://example.com:+80/",
		"http://example.com:8x/",
		"http://example.com/\x01",
		"http://example.com/a\nHost: b",
	};
	static const char *const right[][2] = {
		{ "http://example.com", "http://example.com/" },
		{ "HTTPS://Example.COM:443/A?b#c", "https://example.com/A?b" },
		{ "http://example.com.:8080?x", "http://example.com:8080/?x" },
		{ "http://1.1.1.1/", "http://1.1.1.1/" },
		{ "http://[::1]:81/", "http://[::1]:81/" },
		{ "http://e.com/a b\xC3\xA9", "http://e.com/a%20b%C3%A9" },
		{ "http://1password.com/", "http://1password.com/" },
	};
	struct web_url url;
	struct error err = { 0 };

	(void)arg;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (web_url_parse(&url, str_of(wrong[i]), &err) == 0)
			fail_msg("%s is taken for %s", wrong[i], url.text);
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		if (web_url_parse(&url, str_of(right[i][0]), &err) < 0)
			fail_msg("%s: %s", right[i][0], err.message);
		assert_string_equal(url.text, right[i][1]);
	}
}

static void references_are_resolved(void **arg)
{
	static const char *const cases[][2] = {
		{ "http://b.com/", "http://b.com/" },
		{ "//b.com/x", "https://b.com/x" },
		{ "/x", "https://a.com/x" },
		{ "x", "https://a.com/d/x" },
		{ "?y", "https://a.com/d/e?y" },
		{ "", "https://a.com/d/e?q" },
	};
	struct web_url base;
	struct error err = { 0 };

	(void)arg;
	assert_int_equal(web_url_parse(&base, STR("https://a.com/d/e?q"), &err),
			 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = BUF_INIT(200);

		assert_true(web_url_join(&base, str_of(cases[i][0]), &out));
		assert_string_equal(out.ptr, cases[i][1]);
		buf_release(&out);
	}
}

/* A name that is public when it is checked, and this machine's right after. */
static int looked_up;

static int rebind(const char *host, struct resolved *found,
		  const struct stop *stop, struct error *err)
{
	(void)host;
	(void)stop;
	(void)err;
	found->n = 2;
	assert_true(address_parse(STR("1.1.1.1"), &found->list[0]));
	assert_true(address_parse(STR("127.0.0.1"), &found->list[1]));
	looked_up++;
	return 0;
}

static bool allow(void *arg, const char *host)
{
	(void)arg;
	(void)host;
	return true;
}

static bool refuse(void *arg)
{
	(void)arg;
	return false;
}

static void a_name_with_one_private_address_is_not_connected_to(void **arg)
{
	struct web w = { .allows_host = allow,
			 .allows_private = refuse,
			 .resolve = rebind };
	struct buf out = BUF_INIT(1000);
	struct stop stop = stop_on(NULL);
	struct error err = { 0 };

	(void)arg;
	/* There is no http: a request would end the test. */
	assert_int_equal(
		fetch_page(&w, "http://a.example/", 1000, &out, &stop, &err),
		-1);
	assert_non_null(strstr(err.message, "127.0.0.1"));
	assert_int_equal(looked_up, 1);
	buf_release(&out);
}

static char *read_page(const char *type, struct str body)
{
	struct web_url url;
	struct buf out = BUF_INIT(1 << 20);
	struct error err = { 0 };

	assert_int_equal(web_url_parse(&url, STR("http://a.com/d/e"), &err), 0);
	if (page_read(&url, type, body, &out, &err) < 0)
		buf_adds(&out, err.message);
	return buf_detach(&out);
}

static void html_becomes_markdown(void **arg)
{
	static const char *const cases[][2] = {
		{ "<p>a <b>b</b> c<p>d", "a **b** c\n\nd\n" },
		{ "<script>x</script><style>y</style><h2>T</h2>z",
		  "## T\n\nz\n" },
		{ "<ul><li>a<li>b<ol><li>c</ol></ul>", "- a\n- b\n  1. c\n" },
		{ "see <a href='../x?y'>this <i>one</i></a>.",
		  "see [this *one*](http://a.com/d/../x?y).\n" },
		{ "<pre>a\n  b\n\nc</pre>d", "```\na\n  b\n\nc\n```\n\nd\n" },
		{ "<table><tr><td>a<td>b<tr><td>c<td>d</table>",
		  "a | b\nc | d\n" },
		{ "a<span hidden>b</span><i style='display: none'>c</i>d",
		  "ad\n" },
		{ "a&amp;b &lt;x&gt; \xC3\xA9", "a&b <x> \xC3\xA9\n" },
		{ "<title>T</title><p>x", "Title: T\n\nx\n" },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = read_page("text/html", str_of(cases[i][0]));

		assert_string_equal(text, cases[i][1]);
		free(text);
	}
}

static void deep_html_is_read_without_a_deep_stack(void **arg)
{
	struct buf page = BUF_INIT(4 << 20);
	char *text;

	(void)arg;
	for (int i = 0; i < 200000; i++)
		buf_adds(&page, i % 2 ? "<div>" : "<blockquote>");
	text = read_page("text/html", buf_str(&page));
	assert_non_null(text);
	free(text);
	buf_release(&page);
}

static void charsets_are_converted(void **arg)
{
	static const struct {
		const char *type;
		const char *body;
		size_t len; /* 0: up to the NUL */
		const char *text;
	} cases[] = {
		{ "text/plain", "\xC3\xA9", 0, "\xC3\xA9" },
		{ "text/plain", "\xE9", 0, "\xC3\xA9" },
		{ "text/plain; charset=koi8-r", "\xC1", 0, "\xD0\xB0" },
		{ "text/plain; charset=\"Shift_JIS\"", "\x82\xA0", 0,
		  "\xE3\x81\x82" },
		{ "text/plain",
		  "\xFF\xFE"
		  "a\0",
		  4, "a" },
		{ "text/html", "<meta charset=koi8-r><p>\xC1", 0,
		  "\xD0\xB0\n" },
		{ "text/plain; charset=ISO-2022-CN-EXT", "ok", 0, "ok" },
		{ "text/plain; charset=../../x", "ok", 0, "ok" },
		{ "text/plain; charset=utf-16le", "a\0b", 3, "a\xEF\xBF\xBD" },
		{ "text/plain; charset=utf-8", "\xC3\xA4\xFF!", 0,
		  "\xC3\xA4\xEF\xBF\xBD!" },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str body = str_of(cases[i].body);
		char *text;

		body.len = cases[i].len ? cases[i].len : body.len;
		text = read_page(cases[i].type, body);

		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

static void what_is_no_text_is_refused(void **arg)
{
	char *text = read_page("text/plain", STR("ab\0cd"));

	(void)arg;
	assert_non_null(strstr(text, "is not text"));
	free(text);
	assert_false(page_is_text("image/png"));
	assert_false(page_is_text("application/octet-stream"));
	assert_true(page_is_text("application/ld+json; charset=utf-8"));
	assert_true(page_is_text(""));
}

static void hosts_match_whole_names(void **arg)
{
	static const char *const list[] = { "example.com", "*.Docs.example" };

	(void)arg;
	assert_true(web_url_matches("example.com", list, 2));
	assert_true(web_url_matches("a.b.docs.example", list, 2));
	assert_false(web_url_matches("example.com.evil", list, 2));
	assert_false(web_url_matches("notexample.com", list, 2));
	assert_false(web_url_matches("docs.example", list, 2));
	assert_false(web_url_matches("evildocs.example", list, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_addresses_of_the_internet_are_public),
		cmocka_unit_test(urls_that_can_be_read_in_two_ways_are_refused),
		cmocka_unit_test(references_are_resolved),
		cmocka_unit_test(
			a_name_with_one_private_address_is_not_connected_to),
		cmocka_unit_test(html_becomes_markdown),
		cmocka_unit_test(deep_html_is_read_without_a_deep_stack),
		cmocka_unit_test(charsets_are_converted),
		cmocka_unit_test(what_is_no_text_is_refused),
		cmocka_unit_test(hosts_match_whole_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
