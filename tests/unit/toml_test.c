/* toml_test.c - the TOML reader: values, places, messages, cost. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "config/toml.h"

static struct toml_value parse_bytes(struct str text)
{
	struct toml_value root;
	struct error err = { 0 };

	if (toml_parse(&root, text, "t", &err) < 0)
		fail_msg("%s", err.message);
	return root;
}

static struct toml_value parse(const char *text)
{
	return parse_bytes((struct str){ text, strlen(text) });
}

static void refuse_bytes(struct str text, const char *message)
{
	struct toml_value root;
	struct error err = { 0 };

	assert_int_equal(toml_parse(&root, text, "t", &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_string_equal(err.message, message);
	assert_null(root.items);
	toml_release(&root);
}

static void refused(const char *text, const char *message)
{
	refuse_bytes((struct str){ text, strlen(text) }, message);
}

static void same_text(const struct toml_value *root, const char *key,
		      enum toml_kind kind, const char *text)
{
	const struct toml_value *v = toml_get(root, key);

	assert_non_null(v);
	assert_int_equal(v->kind, kind);
	assert_string_equal(v->text, text);
	assert_int_equal(v->text_len, strlen(text));
}

static void nothing(void **state)
{
	struct toml_value root = parse("");

	(void)state;
	assert_int_equal(root.kind, TOML_TABLE);
	assert_int_equal(root.n_items, 0);
	toml_release(&root);
	root = parse("\xEF\xBB\xBF# a comment, no line end");
	assert_int_equal(root.n_items, 0);
	toml_release(&root);
}

static void integers(void **state)
{
	struct toml_value root = parse("i = -1_000\nh = 0xDEAD_beef\n"
				       "o = 0o755\nb = 0b101\nz = +0\n"
				       "min = -9223372036854775808\n"
				       "max = 9223372036854775807\n");

	(void)state;
	assert_int_equal(toml_get(&root, "i")->integer, -1000);
	assert_int_equal(toml_get(&root, "h")->integer, 0xDEADBEEF);
	assert_int_equal(toml_get(&root, "o")->integer, 0755);
	assert_int_equal(toml_get(&root, "b")->integer, 5);
	assert_int_equal(toml_get(&root, "z")->integer, 0);
	assert_true(toml_get(&root, "min")->integer == INT64_MIN);
	assert_true(toml_get(&root, "max")->integer == INT64_MAX);
	toml_release(&root);
	refused("a = 9223372036854775808",
		"t:1:5: this integer does not fit in 64 bits");
	refused("a = -9223372036854775809",
		"t:1:5: this integer does not fit in 64 bits");
	refused("a = 0xFFFFFFFFFFFFFFFF",
		"t:1:5: this integer does not fit in 64 bits");
	refused("a = 010", "t:1:5: '010': a number cannot start with 0 "
			   "(0o755 is octal)");
	refused("a = 1__0", "t:1:5: '1__0': '_' must be between two digits");
}

static void floats(void **state)
{
	struct toml_value root = parse("a = -2.5e-1\nb = 1E3\nc = 9_0.0_1\n"
				       "i = -inf\nn = +nan\n");

	(void)state;
	assert_true(toml_get(&root, "a")->real == -0.25);
	assert_true(toml_get(&root, "b")->real == 1000.0);
	assert_true(toml_get(&root, "c")->real == 90.01);
	assert_true(isinf(toml_get(&root, "i")->real));
	assert_true(isnan(toml_get(&root, "n")->real));
	assert_int_equal(toml_get(&root, "n")->kind, TOML_FLOAT);
	toml_release(&root);
	refused("a = 1.",
		"t:1:5: '1.': a float has digits on both sides of the point");
	refused("a = NaN", "t:1:5: 'NaN': write inf and nan in lower case");
}

static void words(void **state)
{
	struct toml_value root = parse("t = true\nf = false");

	(void)state;
	assert_int_equal(toml_get(&root, "t")->kind, TOML_BOOL);
	assert_int_equal(toml_get(&root, "t")->integer, 1);
	assert_int_equal(toml_get(&root, "f")->integer, 0);
	toml_release(&root);
	refused("a = True",
		"t:1:5: 'True': write true and false in lower case");
	refused("a = python:3", "t:1:5: 'python:3': a string needs quotes");
}

static void dates(void **state)
{
	struct toml_value root = parse("d = 2024-02-29\nt = 07:32:00.500\n"
				       "l = 2026-11-20 07:32:00\n"
				       "z = 2026-11-20t07:32:00z\n"
				       "o = 2026-11-20 07:32:60.25-08:00 #\n");

	(void)state;
	same_text(&root, "d", TOML_LOCAL_DATE, "2024-02-29");
	same_text(&root, "t", TOML_LOCAL_TIME, "07:32:00.500");
	same_text(&root, "l", TOML_LOCAL_DATETIME, "2026-11-20T07:32:00");
	same_text(&root, "z", TOML_DATETIME, "2026-11-20T07:32:00Z");
	same_text(&root, "o", TOML_DATETIME, "2026-11-20T07:32:60.25-08:00");
	toml_release(&root);
	refused("a = 2023-02-29",
		"t:1:5: '2023-02-29': that month has no such day");
	refused("a = 24:00:00", "t:1:5: '24:00:00': the hour is not between "
				"00 and 23");
	refused("a = 2026-11-20 07:32",
		"t:1:5: '2026-11-20 07:32': expected a time like 07:32:00");
}

static void strings(void **state)
{
	struct toml_value root = parse(
		"a = \"\\t\\\"\\\\ \\u00E9 \\U0001F600\"\n"
		"b = 'C:\\raw'\n"
		"c = \"\"\"\nfirst\n  \"\"second\"\"\\\n\n   joined\"\"\"\"\"\n"
		"d = '''\r\nit''s'''\n");

	(void)state;
	same_text(&root, "a", TOML_STRING, "\t\"\\ \xC3\xA9 \xF0\x9F\x98\x80");
	same_text(&root, "b", TOML_STRING, "C:\\raw");
	same_text(&root, "c", TOML_STRING, "first\n  \"\"second\"\"joined\"\"");
	same_text(&root, "d", TOML_STRING, "it''s");
	toml_release(&root);
	root = parse("n = \"a\\u0000b\"");
	assert_int_equal(toml_get(&root, "n")->text_len, 3);
	assert_memory_equal(toml_get(&root, "n")->text, "a\0b", 4);
	toml_release(&root);
}

static void bad_strings(void **state)
{
	(void)state;
	refused("a = \"b", "t:1:5: this string is not closed");
	refused("a = \"b\nc\"", "t:1:5: this string is not closed");
	refused("x = 1\na = '''b\nc''", "t:2:5: this string is not closed");
	refused("a = \"C:\\new \\home\"",
		"t:1:13: bad escape: a backslash before 'h' (write \\\\ for a "
		"backslash, or use '...')");
	refused("a = \"\\u12\"", "t:1:6: \\u needs 4 hexadecimal digits");
	refused("a = \"\\uD800\"",
		"t:1:6: \\uD800 is not a Unicode scalar value");
	refused("a = 'x\x01'", "t:1:7: the character U+0001 in a string: "
			       "write \\u0001 between double quotes");
	refused("a = \"b\" c", "t:1:9: expected the end of the line after the "
			       "value, found 'c'");
}

/* Columns count characters, not bytes. */
static void places(void **state)
{
	struct toml_value root = parse("'\xC3\xA9\xC3\xA9' = 1\n\n"
				       "[ t ]\r\n\tk = [ 'x',\n 2 ]\n");
	const struct toml_value *k = toml_path(&root, "t.k");

	(void)state;
	assert_int_equal(root.items[0].line, 1);
	assert_int_equal(root.items[0].column, 8);
	assert_int_equal(toml_get(&root, "t")->line, 3);
	assert_int_equal(k->line, 4);
	assert_int_equal(k->column, 6);
	assert_int_equal(k->items[0].column, 8);
	assert_int_equal(k->items[1].line, 5);
	assert_int_equal(k->items[1].column, 2);
	toml_release(&root);
	refused("a = ['\xE2\x82\xAC\xE2\x82\xAC', 'b' 'c']",
		"t:1:16: expected ',' or ']' in an array, found '''");
	refused("# \xE2\x82\xAC\nb = '\xFF'",
		"t:2:6: the byte 0xFF is not valid UTF-8");
	refused("\xFF\xFE"
		"a",
		"t:1:1: this file is UTF-16; save it as UTF-8");
}

static void tables(void **state)
{
	struct toml_value root =
		parse("[a.b]\nx = 1\n[a]\ny.z = 2\n"
		      "[[list]]\nn = 1\n[list.sub]\nk = 2\n"
		      "[[list]]\nn = 3\n"
		      "['dot.ted']\nin = { p.q = 4, r = [] }\n");
	const struct toml_value *list = toml_get(&root, "list");

	(void)state;
	assert_int_equal(toml_path(&root, "a.b.x")->integer, 1);
	assert_int_equal(toml_path(&root, "a.y.z")->integer, 2);
	assert_int_equal(list->n_items, 2);
	assert_int_equal(toml_path(&list->items[0], "sub.k")->integer, 2);
	assert_int_equal(toml_get(&list->items[1], "n")->integer, 3);
	assert_int_equal(toml_path(&root, "\"dot.ted\".in.p.q")->integer, 4);
	assert_null(toml_path(&root, "dot.ted"));
	assert_null(toml_path(&root, "a.b.x.y"));
	assert_null(toml_path(&root, "a."));
	assert_null(toml_path(&root, "\"a"));
	assert_null(toml_path(&root, ""));
	toml_release(&root);
}

static void bad_tables(void **state)
{
	(void)state;
	refused("a = 1\nb = 2\na = 3",
		"t:3:1: duplicate key 'a', first set on line 1");
	refused("[x]\n[y]\n[x]", "t:3:2: table 'x' is already defined on line "
				 "1");
	refused("a = 1\n[a.b]", "t:2:2: 'a' is already a value, set on line "
				"1, and cannot be extended");
	refused("a = {}\n[a.b]", "t:2:2: 'a' is already an inline table, set "
				 "on line 1, and cannot be extended");
	refused("a = []\n[[a]]", "t:2:3: 'a' is already an array, set on line "
				 "1, and cannot be an array of tables too");
	refused("[a.b]\n[a]\nb.c = 1",
		"t:3:1: 'b' is already a table, set on line 1: add to it "
		"under its own [header]");
	refused("[a", "t:1:3: expected ']' at the end of the table's name, "
		      "found the end of the file");
	refused("\"\\u001b[31m\" = 1\n\"\\u001b[31m\" = 1",
		"t:2:1: duplicate key '\"\"', first set on line 1");
}

static void bad_lines(void **state)
{
	(void)state;
	refused("model sonnet",
		"t:1:7: missing '=' after the key 'model', found 's'");
	refused("a =", "t:1:4: missing value after '='");
	refused("a = # none", "t:1:5: missing value after '='");
	refused("= 1", "t:1:1: expected a key, found '='");
	refused("a = [1 2]", "t:1:8: expected ',' or ']' in an array, found "
			     "'2'");
	refused("a = [\n1,\n", "t:1:5: this array is not closed");
	refused("a = { b = 1,\n}", "t:1:13: an inline table must end on its "
				   "line: missing '}'");
	refused("a = { b = 1, }", "t:1:14: a comma before '}' is not allowed "
				  "in an inline table");
	refused("a = 1 # \x7F", "t:1:9: the character U+007F in a comment");
	refused("a = 1\rb = 2", "t:1:6: expected the end of the line after "
				"the value, found a carriage return without "
				"a line feed");
	refuse_bytes(STR("a\0 = 1"), "t:1:2: missing '=' after the key 'a', "
				     "found the character U+0000");
}

static void nest(struct buf *out, const char *open, const char *close, int n)
{
	buf_clear(out);
	buf_adds(out, "a = ");
	for (int i = 0; i < n; i++)
		buf_adds(out, open);
	for (int i = 0; i < n; i++)
		buf_adds(out, close);
}

static void depth(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	struct toml_value root;

	(void)state;
	nest(&text, "[", "]", 199);
	root = parse_bytes(buf_str(&text));
	toml_release(&root);
	nest(&text, "[", "]", 1000);
	refuse_bytes(buf_str(&text), "t:1:205: more than 200 levels");
	nest(&text, "{a=", "}", 1000);
	refuse_bytes(buf_str(&text), "t:1:605: more than 200 levels");
	buf_clear(&text);
	for (int i = 0; i < 1000; i++)
		buf_adds(&text, "a.");
	refuse_bytes(buf_str(&text), "t:1:401: more than 200 levels");
	buf_release(&text);
}

static void single_values(void **state)
{
	struct toml_value v;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(toml_parse_value(&v, STR("\"python:3\""), "d", &err),
			 0);
	assert_string_equal(v.text, "python:3");
	toml_release(&v);
	assert_int_equal(toml_parse_value(&v, STR("3600"), "d", &err), 0);
	assert_int_equal(v.integer, 3600);
	toml_release(&v);
	assert_int_equal(toml_parse_value(&v, STR("3600 1"), "d", &err), -1);
	assert_int_equal(toml_parse_value(&v, STR(""), "d", &err), -1);
	assert_int_equal(toml_parse_value(&v, STR("1\n2"), "d", &err), -1);
}

static double seconds(struct str text)
{
	clock_t start = clock();
	struct toml_value root = parse_bytes(text);

	toml_release(&root);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Each would take minutes if any step looked at everything before it. */
static void large_files(void **state)
{
	struct buf text = BUF_INIT(4 << 20);

	(void)state;
	for (int i = 0; i < 50000; i++)
		buf_addf(&text, "key_%d = 'value'\n", i);
	assert_true(seconds(buf_str(&text)) < 1.0);
	buf_clear(&text);
	for (int i = 0; i < 50000; i++)
		buf_addf(&text, "[table.sub_%d]\na=1\n", i);
	assert_true(seconds(buf_str(&text)) < 1.0);
	buf_clear(&text);
	buf_adds(&text, "a = [");
	for (int i = 0; i < 250000; i++)
		buf_adds(&text, "{},");
	buf_adds(&text, "]");
	assert_true(seconds(buf_str(&text)) < 2.0);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),       cmocka_unit_test(integers),
		cmocka_unit_test(floats),        cmocka_unit_test(words),
		cmocka_unit_test(dates),         cmocka_unit_test(strings),
		cmocka_unit_test(bad_strings),   cmocka_unit_test(places),
		cmocka_unit_test(tables),        cmocka_unit_test(bad_tables),
		cmocka_unit_test(bad_lines),     cmocka_unit_test(depth),
		cmocka_unit_test(single_values), cmocka_unit_test(large_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
