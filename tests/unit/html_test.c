/* html_test.c - a page shows what was said, and obeys none of it. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/diff.h"
#include "base/mem.h"
#include "ui/html.h"
#include "unit.h"

enum { LARGE = 3 << 20 };

static struct buf page;
static size_t largest; /* piece */
static struct mask *secrets;

static int keep(void *arg, struct str piece, struct error *err)
{
	(void)arg, (void)err;
	if (piece.len > largest)
		largest = piece.len;
	buf_addstr(&page, piece);
	return 0;
}

static struct html begin(void)
{
	struct html h = HTML_INIT(secrets, keep, NULL);
	struct error err = { 0 };

	buf_release(&page);
	page = BUF_INIT(64 << 20);
	largest = 0;
	assert_int_equal(html_markdown_load(&h, &err), 0);
	return h;
}

static const char *end(struct html *h)
{
	struct error err = { 0 };

	buf_adds(&h->out, "");
	assert_int_equal(html_end(h, &err), 0);
	assert_false(page.over);
	return page.ptr ? page.ptr : "";
}

static const char *escaped(struct str text)
{
	struct html h = begin();

	html_text(&h, text);
	return end(&h);
}

static const char *markdown(const char *text)
{
	struct html h = begin();

	html_markdown(&h, str_of(text));
	return end(&h);
}

static const char *shown(const struct message *m)
{
	struct html h = begin();
	struct message masked; /* as thread_export() gives it */

	message_mask(secrets, m, &masked);
	html_page_message(&h, &masked);
	message_release(&masked);
	return end(&h);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("%s in %s", part, text);
}

static void markup_in_text_is_text(void **state)
{
	(void)state;
	assert_string_equal(escaped(STR("<b a=\"1\" c='2'>&amp;</b>\n\tx")),
			    "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;"
			    "&lt;/b&gt;\n\tx");
}

static void controls_and_what_reorders_text_are_shown(void **state)
{
	(void)state;
	assert_string_equal(escaped(STR("a\x1b[31m\0\x7f")),
			    "a<span class=\"c\">&#x241b;</span>[31m"
			    "<span class=\"c\">&#x2400;</span>"
			    "<span class=\"c\">&#x2421;</span>");
	assert_string_equal(escaped(STR("a\xE2\x80\xAE"
					"b\xC2\x9Bz")),
			    "a<span class=\"c\">U+202E</span>b"
			    "<span class=\"c\">U+009B</span>z");
	/* and what does not stays: an accent, a joined emoji, a line's end */
	assert_string_equal(escaped(STR("\xC3\xA9\xE2\x80\x8D\r\nx")),
			    "\xC3\xA9\xE2\x80\x8D\nx");
}

static void broken_utf8_becomes_replacement_characters(void **state)
{
	(void)state;
	assert_string_equal(escaped(STR("\xFFx\xC3<\xED\xA0\x80")),
			    "\xEF\xBF\xBDx\xEF\xBF\xBD&lt;"
			    "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void markdown_has_its_elements(void **state)
{
	(void)state;
	assert_string_equal(markdown("# A\n\n*b* **c** `d<e`\n\n- x\n- y\n"),
			    "<h3>A</h3>\n<p><em>b</em> <strong>c</strong> "
			    "<code>d&lt;e</code></p>\n<ul><li>x</li>\n"
			    "<li>y</li>\n</ul>\n");
	has(markdown("|a|b|\n|---|--:|\n|1|2|\n"), "<td class=\"r\">2</td>");
	has(markdown("|a|b|\n|-|-:|\n|1|2|\n"), "<td class=\"r\">2</td>");
	has(markdown("```\n|a|b|\n|-|-:|\n```\n"), "\n|-|-:|\n");
	has(markdown("|a|b|\n|---|---|\n|`c\\|d`|2|\n\n`e\\|f`"),
	    "<code>c|d</code>");
	has(markdown("|a|\n|---|\n|1|\n\n`e\\|f`"), "<code>e\\|f</code>");
	has(markdown("- [x] done"), "&#x2611; done");
	has(markdown("```c\nint <x>;\n```"),
	    "<pre><code>int &lt;x&gt;;\n</code></pre>");
}

static void raw_html_of_markdown_is_text(void **state)
{
	(void)state;
	has_not(markdown("<script>alert(1)</script>\n\na <img src=x "
			 "onerror=y> b\n\n<!-- c -->\n\n<![CDATA[x]]>"),
		"<s");
	has_not(page.ptr, "<i");
	has_not(page.ptr, "<!");
	has(page.ptr, "&lt;script&gt;alert(1)&lt;/script&gt;");
}

static void only_web_and_mail_addresses_are_links(void **state)
{
	static const char *const refused[] = {
		"[a](javascript:alert(1))",
		"[a](JaVaScRiPt:alert(1))",
		"[a](&#106;avascript:alert(1))",
		"[a](java&#9;script:x)",
		"[a](<java\tscript:x>)",
		"[a](&#1;javascript:x)",
		"[a](data:text/html,x)",
		"[a](vbscript:x)",
		"[a](file:///etc/passwd)",
		"[a](//evil.example/x)",
		"[a](/path)",
		"[a](#fragment)",
		"[a][r]\n\n[r]: javascript:x",
		"<javascript:alert(1)>",
		"![a](https://evil.example/i.png)",
		"![a](data:image/svg+xml,x)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		has_not(markdown(refused[i]), "<a");
		has_not(page.ptr, "<img");
		has(page.ptr, "<span class=\"url\">(");
	}
	has(markdown("[a](https://x.example/?q=\"'<b>&c \"t\")"),
	    "href=\"https://x.example/?q=%22%27%3Cb%3E&amp;c\">a</a>");
	has(markdown("<HTTP://x.example>"), "href=\"HTTP://x.example\"");
	has(markdown("[m](mailto:a@b.example)"), "href=\"mailto:a@b.example\"");
}

static void an_image_is_its_text_and_address(void **state)
{
	(void)state;
	assert_string_equal(markdown("![pic](https://x.example/i.png)"),
			    "<p><span class=\"url\">image:</span> pic "
			    "<span class=\"url\">(https://x.example/i.png)"
			    "</span></p>\n");
}

static void entities_are_read_before_they_are_judged(void **state)
{
	(void)state;
	assert_string_equal(markdown("&lt;b&gt; &#60;i&#x3e; &rlm; &#x202E; "
				     "&#0; &#x110000;"),
			    "<p>&lt;b&gt; &lt;i&gt; &amp;rlm; <span class=\"c\""
			    ">U+202E</span> \xEF\xBF\xBD \xEF\xBF\xBD</p>\n");
}

static void what_would_grow_too_much_is_shown_as_written(void **state)
{
	char *deep = xcalloc(3000, 1);
	struct buf bomb = BUF_INIT(1 << 20);

	(void)state;
	memset(deep, '>', 2000);
	has(markdown(deep), "<div class=\"plain\">&gt;&gt;");
	has(markdown("> > > x"), "<blockquote><blockquote>");
	buf_adds(&bomb, "[a]: https://x.example/");
	for (int i = 0; i < 8000; i++)
		buf_addc(&bomb, 'y');
	buf_adds(&bomb, "\n\n");
	for (int i = 0; i < 8000; i++)
		buf_adds(&bomb, "[a] ");
	has(markdown(bomb.ptr), "<div class=\"plain\">[a]: ");
	buf_release(&bomb);
	free(deep);
}

static void secrets_are_masked_however_they_are_written(void **state)
{
	static const char *const written[] = {
		"my-s_cret*value",
		"my-s\\_cret\\*value",
		"`my-s_cret*value`",
		"my&#45;s&#95;cret&#x2a;value",
		"[x](https://x.example/?k=my-s_cret*value)",
		"[x](https://x.example/?k=my-s\\_cret\\*value)",
		"![x](https://x.example/?k=my-s_cret*value)",
		"```\nmy-s_cret*value\n```",
		"```diff\n+my-s_cret*value\n```",
	};

	(void)state;
	secrets = mask_new();
	mask_add(secrets, "API_KEY", STR("my-s_cret*value"));
	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++) {
		has(markdown(written[i]), "[masked:API_KEY]");
		has_not(page.ptr, "cret");
	}
	mask_free(secrets);
	secrets = NULL;
	has(markdown(written[0]), "my-s_cret*value");
}

static void a_diff_is_known_and_coloured(void **state)
{
	struct html h = begin();
	const char *diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n"
			   "@@ -1,3 +1,2 @@\n c<\n--- x\n+y\n";

	(void)state;
	assert_true(diff_lines_are_unified(str_of(diff)));
	assert_true(diff_lines_are_unified(
		STR("text\n--- a\n+++ b\n@@ -1 +1 @@\n")));
	assert_false(
		diff_lines_are_unified(STR("--- a\nx\n+++ b\n@@ -1 +1 @@\n")));
	assert_false(diff_lines_are_unified(STR("")));
	html_diff(&h, str_of(diff));
	assert_string_equal(end(&h),
			    "<pre class=\"diff\"><span class=\"head\">diff "
			    "--git a/x b/x</span>\n<span class=\"head\">--- a/x"
			    "</span>\n<span class=\"head\">+++ b/x</span>\n"
			    "<span class=\"at\">@@ -1,3 +1,2 @@</span>\n c&lt;"
			    "\n<span class=\"del\">--- x</span>\n"
			    "<span class=\"add\">+y</span>\n</pre>\n");
}

static void a_diff_without_a_head_is_coloured_too(void **state)
{
	(void)state;
	has(markdown("```diff\n-a\n+b\n```"),
	    "<span class=\"del\">-a</span>\n<span class=\"add\">+b</span>");
}

static void an_edit_shows_what_changes_and_a_little_around(void **state)
{
	struct html h = begin();

	(void)state;
	html_diff_edit(&h, STR("1\n2\n3\n4\nold\nz\n"),
		       STR("1\n2\n3\n4\nnew\nz\n"));
	assert_string_equal(end(&h), "<pre class=\"diff\"> 2\n 3\n 4\n"
				     "<span class=\"del\">-old</span>\n"
				     "<span class=\"add\">+new</span>\n z\n"
				     "</pre>\n");
	h = begin();
	html_diff_edit(&h, STR("a\nz"), STR("a\nb\nz"));
	assert_string_equal(end(&h), "<pre class=\"diff\"> a\n"
				     "<span class=\"add\">+b</span>\n z\n"
				     "</pre>\n");
	h = begin();
	html_diff_edit(&h, STR("same\n"), STR("same\n"));
	assert_string_equal(end(&h), "<pre class=\"diff\"> same\n</pre>\n");
	h = begin();
	html_diff_edit(&h, (struct str){ 0 }, STR("a\nb"));
	assert_string_equal(end(&h), "<pre class=\"diff\"><span class=\"add\">"
				     "+a</span>\n<span class=\"add\">+b</span>"
				     "\n</pre>\n");
}

static void the_policy_names_the_style_by_its_hash(void **state)
{
	struct html h = begin();
	unsigned char hash[crypto_hash_sha256_BYTES];
	char text[64];
	const char *from;
	const char *to;

	(void)state;
	html_page_begin(&h, &(struct html_page){ .title = "</title><script>" });
	html_page_end(&h);
	end(&h);
	from = strstr(page.ptr, "<style>");
	to = strstr(page.ptr, "</style>");
	assert_non_null(from);
	assert_non_null(to);
	from += strlen("<style>");
	crypto_hash_sha256(hash, (const unsigned char *)from,
			   (unsigned long long)(to - from));
	sodium_bin2base64(text, sizeof(text), hash, sizeof(hash),
			  sodium_base64_VARIANT_ORIGINAL);
	has(strstr(page.ptr, "style-src 'sha256-"), text);
	has(page.ptr, "default-src 'none'");
	has(page.ptr, "<title>&lt;/title&gt;&lt;script&gt;</title>");
	has_not(page.ptr, "<script");
}

static void calls_and_results_are_folded(void **state)
{
	struct message m = { .role = ROLE_ASSISTANT };
	struct part *p = message_add(&m, PART_TOOL_CALL);

	(void)state;
	p->name = xstrdup("edit_file");
	p->args = xstrdup("{\"file_path\":\"</summary>\",\"old_string\":\"a\","
			  "\"new_string\":\"</pre>\",\"n\":12}");
	p = message_add(&m, PART_TOOL_CALL);
	p->name = xstrdup("x");
	p->args = xstrdup("no <json>");
	p->bad_args = true;
	has(shown(&m), "<details class=\"call\"><summary>edit_file: "
		       "&lt;/summary&gt;</summary>");
	has(page.ptr, "<span class=\"del\">-a</span>\n"
		      "<span class=\"add\">+&lt;/pre&gt;</span>");
	has(page.ptr, "<pre>\n12</pre>");
	has(page.ptr, "no &lt;json&gt;");
	message_release(&m);
	m.role = ROLE_TOOL;
	p = message_add(&m, PART_TOOL_RESULT);
	p->name = xstrdup("execute");
	p->text = xstrdup("</details>\x1b[1m");
	p->failed = true;
	has(shown(&m), "<details class=\"failed\"><summary>failed: execute");
	has(page.ptr, "&lt;/details&gt;<span class=\"c\">");
	message_release(&m);
}

static void a_summary_shows_no_half_of_a_secret(void **state)
{
	struct message m = { .role = ROLE_ASSISTANT };
	struct part *p = message_add(&m, PART_TOOL_CALL);
	struct buf args = BUF_INIT(1000);

	(void)state;
	secrets = mask_new();
	mask_add(secrets, "TOKEN", STR("tok-123456789-abcdefghi"));
	buf_adds(&args, "{\"command\":\"");
	for (int i = 0; i < 190; i++)
		buf_addc(&args, 'x');
	buf_adds(&args, "tok-123456789-\\u0061bcdefghi\"}");
	p->name = xstrdup("execute");
	p->args = buf_detach(&args);
	has(shown(&m), "[masked:");
	has_not(page.ptr, "tok-");
	mask_free(secrets);
	secrets = NULL;
	has(shown(&m), "tok-123456789-");
	message_release(&m);
}

static void a_long_page_goes_out_in_small_pieces(void **state)
{
	struct message m = { .role = ROLE_TOOL };
	struct part *p = message_add(&m, PART_TOOL_RESULT);

	(void)state;
	p->text = xcalloc(LARGE + 1, 1);
	memset(p->text, '<', LARGE);
	shown(&m);
	assert_true(page.len > 4 * (size_t)LARGE);
	assert_true(largest < 2 * (size_t)HTML_PIECE);
	message_release(&m);
}

static int refuse(void *arg, struct str piece, struct error *err)
{
	int *calls = arg;

	(void)piece;
	++*calls;
	return error_set(err, ERR_SYSTEM, "disk full");
}

static void the_first_failure_ends_the_page(void **state)
{
	int calls = 0;
	struct html h = HTML_INIT(NULL, refuse, &calls);
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < 3 * HTML_PIECE; i++)
		html_text(&h, STR("xx"));
	assert_int_equal(html_end(&h, &err), -1);
	assert_string_equal(err.message, "disk full");
	assert_int_equal(calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markup_in_text_is_text),
		cmocka_unit_test(controls_and_what_reorders_text_are_shown),
		cmocka_unit_test(broken_utf8_becomes_replacement_characters),
		cmocka_unit_test(markdown_has_its_elements),
		cmocka_unit_test(raw_html_of_markdown_is_text),
		cmocka_unit_test(only_web_and_mail_addresses_are_links),
		cmocka_unit_test(an_image_is_its_text_and_address),
		cmocka_unit_test(entities_are_read_before_they_are_judged),
		cmocka_unit_test(what_would_grow_too_much_is_shown_as_written),
		cmocka_unit_test(secrets_are_masked_however_they_are_written),
		cmocka_unit_test(a_diff_is_known_and_coloured),
		cmocka_unit_test(a_diff_without_a_head_is_coloured_too),
		cmocka_unit_test(
			an_edit_shows_what_changes_and_a_little_around),
		cmocka_unit_test(the_policy_names_the_style_by_its_hash),
		cmocka_unit_test(calls_and_results_are_folded),
		cmocka_unit_test(a_summary_shows_no_half_of_a_secret),
		cmocka_unit_test(a_long_page_goes_out_in_small_pieces),
		cmocka_unit_test(the_first_failure_ends_the_page),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	buf_release(&page);
	return failed;
}
