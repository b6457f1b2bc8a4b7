/* base_test.c - slices, buffers, errors, JSON text. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"

static void buf_keeps_its_ceiling(void **state)
{
	struct buf b = BUF_INIT(5);
	struct error err = { 0 };

	(void)state;
	buf_adds(&b, "abc");
	assert_int_equal(buf_check(&b, "it", &err), 0);
	buf_adds(&b, "defg");
	assert_string_equal(b.ptr, "abcde");
	assert_true(b.over);
	assert_int_equal(buf_check(&b, "it", &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_null(buf_room(&b, 1));
	buf_consume(&b, 2);
	assert_string_equal(b.ptr, "cde");
	buf_clear(&b);
	assert_non_null(buf_room(&b, 5));
	buf_release(&b);
	assert_int_equal(b.max, 5);
}

static void add_lines(struct buf *line, struct str chunk, struct buf *seen)
{
	while (buf_add_line(line, &chunk)) {
		buf_addf(seen, "<%s>", line->len ? line->ptr : "");
		buf_clear(line);
	}
	assert_int_equal(chunk.len, 0);
}

/* Whatever the pieces are that a stream comes in. */
static void lines_of_a_stream_are_whole_and_in_order(void **state)
{
	static const char text[] = "one\n\nthree\nrest";
	size_t len = strlen(text);

	(void)state;
	for (size_t step = 1; step <= len; step++) {
		struct buf line = BUF_INIT(100);
		struct buf seen = BUF_INIT(100);

		for (size_t i = 0; i < len; i += step)
			add_lines(&line,
				  (struct str){ text + i, len - i < step
								  ? len - i
								  : step },
				  &seen);
		assert_string_equal(seen.ptr, "<one><><three>");
		assert_string_equal(line.ptr, "rest");
		buf_release(&line);
		buf_release(&seen);
	}
}

static void bytes_are_taken_from_the_front_of_a_buffer(void **state)
{
	struct buf b = BUF_INIT(10);
	char room[4];

	(void)state;
	assert_int_equal(buf_take(&b, room, sizeof(room)), 0);
	buf_adds(&b, "abcdef");
	assert_int_equal(buf_take(&b, room, sizeof(room)), 4);
	assert_memory_equal(room, "abcd", 4);
	assert_string_equal(b.ptr, "ef");
	assert_int_equal(buf_take(&b, room, sizeof(room)), 2);
	assert_int_equal(b.len, 0);
	buf_release(&b);
}

static void buf_formats_long_text(void **state)
{
	struct buf b = BUF_INIT(100000);
	char *text;

	(void)state;
	buf_addf(&b, "%0500d|%s", 7, "x");
	assert_int_equal(b.len, 502);
	text = buf_detach(&b);
	assert_int_equal(strlen(text), 502);
	assert_int_equal(b.len, 0);
	free(text);
	text = buf_detach(&b);
	assert_string_equal(text, "");
	free(text);
}

static void str_splits_and_trims(void **state)
{
	struct str rest = STR("a,,b");
	struct str item;
	int n = 0;

	(void)state;
	while (str_split(&rest, ',', &item))
		n++;
	assert_int_equal(n, 3);
	assert_true(str_is(item, "b"));
	rest = STR("");
	assert_false(str_split(&rest, ',', &item));
	assert_true(str_is(str_trim(STR(" \t a b\r\n")), "a b"));
	assert_int_equal(str_trim(STR(" \n ")).len, 0);
	assert_int_equal(str_search(STR("abcabc"), STR("ca")), 2);
	assert_int_equal(str_search(STR("abc"), STR("d")), 3);
	assert_int_equal(str_search(STR(""), STR("d")), 0);
	assert_true(str_ends(STR("abc"), "bc"));
	assert_false(str_ends(STR("c"), "bc"));
}

static void str_reads_integers(void **state)
{
	int64_t v = 1;

	(void)state;
	assert_true(str_to_int(STR("-9223372036854775808"), &v));
	assert_true(v == INT64_MIN);
	assert_true(str_to_int(STR("+9223372036854775807"), &v));
	assert_true(v == INT64_MAX);
	assert_false(str_to_int(STR("9223372036854775808"), &v));
	assert_false(str_to_int(STR("-9223372036854775809"), &v));
	assert_false(str_to_int(STR(""), &v));
	assert_false(str_to_int(STR("-"), &v));
	assert_false(str_to_int(STR("1 "), &v));
	assert_false(str_to_int(STR("0x10"), &v));
}

static void str_reads_sizes(void **state)
{
	int64_t n = 0;

	(void)state;
	assert_true(str_to_size(STR("1048576"), &n) && n == 1 << 20);
	assert_true(str_to_size(STR("512m"), &n) && n == 512 << 20);
	assert_true(str_to_size(STR("2G"), &n) && n == (int64_t)2 << 30);
	assert_true(str_to_size(STR("2gb"), &n) && n == (int64_t)2 << 30);
	assert_true(str_to_size(STR("7b"), &n) && n == 7);
	assert_false(str_to_size(STR(""), &n));
	assert_false(str_to_size(STR("b"), &n));
	assert_false(str_to_size(STR("-1m"), &n));
	assert_false(str_to_size(STR("2 g"), &n));
	assert_false(str_to_size(STR("8388608t"), &n));
}

static void str_knows_utf8(void **state)
{
	(void)state;
	assert_true(str_is_utf8(STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")));
	assert_false(str_is_utf8(STR("\xC0\x80")));         /* overlong */
	assert_false(str_is_utf8(STR("\xED\xA0\x80")));     /* surrogate */
	assert_false(str_is_utf8(STR("\xF4\x90\x80\x80"))); /* > 10FFFF */
	assert_false(str_is_utf8(STR("a\xE2\x82")));
	assert_int_equal(str_utf8_prefix(STR("a\xE2\x82")), 1);
	assert_int_equal(str_chars(STR("a\xC3\xA9\xFFz")), 4);
	assert_int_equal(str_char_offset(STR("a\xC3\xA9z"), 2), 3);
	/* more than eight of ASCII at once, on either side */
	assert_int_equal(str_chars(STR("123456789\xC3\xA9"
				       "12345678\xFF")),
			 19);
	assert_int_equal(str_char_offset(STR("123456789\xC3\xA9z"), 8), 8);
	assert_int_equal(str_char_offset(STR("123456789\xC3\xA9z"), 10), 11);
	assert_int_equal(str_char_offset(STR("123456789\xC3\xA9z"), 99), 12);
}

static void json_keeps_to_one_line(void **state)
{
	static const char text[] = "\xC2\x85\xE2\x80\xA8\xE2\x80\xA9\xE2\x80";
	struct buf b = BUF_INIT(200);
	cJSON *tree = cJSON_Parse("{\"a\xE2\x80\xA8\":[\"\xC2\x85\xC3\xA9\"]}");

	(void)state;
	json_quote(&b, str_of(text));
	assert_string_equal(
		b.ptr, "\"\\u0085\\u2028\\u2029\xEF\xBF\xBD\xEF\xBF\xBD\"");
	buf_clear(&b);
	json_print(&b, tree);
	assert_string_equal(b.ptr, "{\"a\\u2028\":[\"\\u0085\xC3\xA9\"]}");
	cJSON_Delete(tree);
	buf_release(&b);
}

/* A byte that ends a run of plain ones is found wherever it is: several are
 * looked at together. */
static void each_byte_is_quoted_alike_at_every_place(void **state)
{
	char text[2100];
	struct buf one = BUF_INIT(100);
	struct buf all = BUF_INIT(16 << 10);

	(void)state;
	for (int c = 0; c < 256; c++) {
		struct str byte = { (char *)&c, 1 };

		buf_clear(&one);
		json_quote(&one, byte);
		for (size_t at = 0; at < sizeof(text); at += at < 20 ? 1 : 97) {
			memset(text, 'x', sizeof(text));
			text[at] = (char)c;
			buf_clear(&all);
			json_quote(&all, (struct str){ text, sizeof(text) });
			assert_int_equal(all.len, sizeof(text) - 1 + one.len);
			assert_memory_equal(all.ptr + 1 + at, one.ptr + 1,
					    one.len - 2);
			assert_int_equal(all.ptr[at], at ? 'x' : '"');
			assert_int_equal(str_utf8_prefix((struct str){
						 text, sizeof(text) }),
					 c < 0x80 ? sizeof(text) : at);
		}
	}
	buf_release(&one);
	buf_release(&all);
}

static void json_quotes_anything(void **state)
{
	struct buf b = BUF_INIT(1000);
	cJSON *back;

	(void)state;
	json_quote(&b, STR("a\"\\\b\f\n\r\t\x01\x7F\xC3\xA9\xFF\0z"));
	assert_string_equal(b.ptr,
			    "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f\xC3\xA9"
			    "\xEF\xBF\xBD\\u0000z\"");
	back = json_parse(buf_str(&b));
	assert_non_null(back);
	cJSON_Delete(back);
	buf_release(&b);
}

static void json_parses_one_document(void **state)
{
	cJSON *t = json_parse(STR(" {\"a\":1,\"b\":\"x\",\"c\":true} \n"));

	(void)state;
	assert_non_null(t);
	assert_int_equal(json_int(t, "a", 0), 1);
	assert_int_equal(json_int(t, "b", 7), 7);
	assert_string_equal(json_string(t, "b", ""), "x");
	assert_string_equal(json_string(t, "zz", "none"), "none");
	assert_true(json_bool(t, "c", false));
	assert_true(json_bool(t, "a", true));
	cJSON_Delete(t);
	assert_null(json_parse(STR("{} x")));
	assert_null(json_parse(STR("{")));
	assert_null(json_parse(STR("")));
}

static void json_of_texts_that_were_cut_is_repaired(void **state)
{
	static const char text[] =
		"{\"a\":\"x\\ud83d\",\"b\":\"\\ud83d\\ude00\","
		"\"c\":\"1\\u00002\",\"d\":\"\\\\ud83d\\ude00\"}";
	cJSON *t = json_parse_repaired(str_of(text));

	(void)state;
	assert_string_equal(json_string(t, "a", ""), "x\xEF\xBF\xBD");
	assert_string_equal(json_string(t, "b", ""), "\xF0\x9F\x98\x80");
	assert_string_equal(json_string(t, "c", ""), "1\xEF\xBF\xBD\x32");
	assert_string_equal(json_string(t, "d", ""), "\\ud83d\xEF\xBF\xBD");
	cJSON_Delete(t);
	assert_null(json_parse_repaired(STR("{\"a\":\"\\ud83d\"")));
	assert_null(json_parse_repaired(STR("")));
}

static void the_line_of_a_fault_in_json_is_told(void **state)
{
	(void)state;
	assert_int_equal(json_parse_error_line(STR("// x\n{}")), 1);
	assert_int_equal(json_parse_error_line(STR("{\n\"a\": 1,\n}\n")), 3);
	assert_int_equal(json_parse_error_line(STR("{}\n\nx")), 1);
	assert_int_equal(json_parse_error_line(STR("")), 1);
}

static void errors_keep_their_parts(void **state)
{
	struct error err = { 0 };
	char huge[2000];

	(void)state;
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_int_equal(error_set(&err, ERR_AUTH, "no %s", "key"), -1);
	error_hint(&err, "set it");
	error_wrap(&err, "asking %s", "x");
	assert_string_equal(err.message, "asking x: no key");
	assert_string_equal(err.hint, "set it");
	assert_string_equal(error_name(err.code), "auth");
	error_wrap(&err, "%s", huge);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	errno = ENOENT;
	error_errno(&err, "opening %s", "f");
	assert_string_equal(err.message,
			    "opening f: No such file or directory");
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.hint, "");
}

static void ids_look_right(void **state)
{
	char a[37];
	char b[37];
	char r[9];

	(void)state;
	ids_init();
	ids_uuid7(a);
	ids_uuid7(b);
	assert_int_equal(strlen(a), 36);
	assert_int_equal(a[14], '7');
	assert_non_null(strchr("89ab", a[19]));
	assert_string_not_equal(a, b);
	assert_memory_equal(a, b, 8); /* the same minute */
	ids_random(r, 8);
	assert_int_equal(strspn(r, "abcdefghijklmnopqrstuvwxyz234567"), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_keeps_its_ceiling),
		cmocka_unit_test(lines_of_a_stream_are_whole_and_in_order),
		cmocka_unit_test(bytes_are_taken_from_the_front_of_a_buffer),
		cmocka_unit_test(buf_formats_long_text),
		cmocka_unit_test(str_splits_and_trims),
		cmocka_unit_test(str_reads_integers),
		cmocka_unit_test(str_reads_sizes),
		cmocka_unit_test(str_knows_utf8),
		cmocka_unit_test(json_keeps_to_one_line),
		cmocka_unit_test(json_quotes_anything),
		cmocka_unit_test(each_byte_is_quoted_alike_at_every_place),
		cmocka_unit_test(json_parses_one_document),
		cmocka_unit_test(json_of_texts_that_were_cut_is_repaired),
		cmocka_unit_test(the_line_of_a_fault_in_json_is_told),
		cmocka_unit_test(errors_keep_their_parts),
		cmocka_unit_test(ids_look_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
