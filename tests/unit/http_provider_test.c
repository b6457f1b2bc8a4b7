/* http_provider_test.c - values in templates: each stays what it is. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "providers/external/http_provider.h"
#include "tests/unit/settings_world.h"

/* What somebody may try to have us write. */
static const char *const attacks[] = {
	"plain",
	"a b",
	"../../etc",
	"..",
	".",
	"a/b",
	"a?b=c&d=e#f",
	"%2e%2e%2f",
	"\r\nX-Evil: 1",
	"\nHost: evil",
	"\",\"admin\":true,\"x\":\"",
	"\\\"}",
	"\\",
	"'; rm -rf / #",
	"$(reboot)",
	"`reboot`",
	"${HOME}",
	"{id}",
	"{{",
	"}}",
	"&& true",
	"|| true",
	"-rf",
	"*",
	"~",
	"a\tb",
	"\x01\x1b[31m",
	"\xc3\xbc",
	"\xff\xfe",
	"",
};
enum { ATTACKS = sizeof(attacks) / sizeof(*attacks) };

static struct http_values with(const char *value)
{
	struct http_values v = { 0 };

	for (int i = 0; i < VALUES; i++)
		v.is[i] = (struct str){ value, strlen(value) };
	return v;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One segment or query value: only what RFC 3986 leaves alone, and it decodes
 * to what went in. */
static void expect_encoded(struct str text, const char *value)
{
	struct buf back = BUF_INIT(1 << 12);

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '%' && i + 2 < text.len) {
			buf_addc(&back, (char)(hex(text.ptr[i + 1]) * 16 +
					       hex(text.ptr[i + 2])));
			i += 2;
			continue;
		}
		assert_null(strchr("/?#&= \"'<>\\{}", text.ptr[i]));
		assert_true(text.ptr[i] > ' ' && text.ptr[i] < 0x7F);
		buf_addc(&back, text.ptr[i]);
	}
	assert_true(str_is(buf_str(&back), value));
	buf_release(&back);
}

static void test_a_value_in_a_path_stays_in_its_segment(void **state)
{
	(void)state;
	for (int i = 0; i < ATTACKS; i++) {
		struct http_values v = with(attacks[i]);
		struct buf out = BUF_INIT(1 << 12);
		struct error err = { 0 };
		bool dots =
			!strcmp(attacks[i], ".") || !strcmp(attacks[i], "..");
		int rc = http_text_path(&out, "/boxes/{id}/file?at={path}&x=1",
					&v, &err);
		struct str s = buf_str(&out);
		struct str id;

		assert_int_equal(rc, dots ? -1 : 0);
		if (rc == 0) {
			s = str_skip(s, 7);
			id = (struct str){ s.ptr, str_find(s, '/') };
			expect_encoded(id, attacks[i]);
			s = str_skip(s, id.len);
			assert_true(str_starts(s, "/file?at="));
			assert_true(str_ends(s, "&x=1"));
			s = str_skip(s, 9);
			s.len -= 4;
			expect_encoded(s, attacks[i]);
		}
		buf_release(&out);
	}
}

static void test_two_values_make_no_dot_dot(void **state)
{
	struct http_values v = with(".");
	struct buf out = BUF_INIT(1 << 12);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(http_text_path(&out, "/a/{id}{path}/b", &v, &err), -1);
	buf_clear(&out);
	assert_int_equal(http_text_path(&out, "/a/x{id}{path}/b", &v, &err), 0);
	assert_string_equal(out.ptr, "/a/x../b");
	buf_release(&out);
}

static void test_a_value_that_would_end_a_header_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < ATTACKS; i++) {
		struct http_values v = with(attacks[i]);
		struct buf out = BUF_INIT(1 << 12);
		struct error err = { 0 };
		bool good = true;
		int rc;

		for (const char *c = attacks[i]; *c; c++)
			good = good && (unsigned char)*c >= ' ' &&
			       (unsigned char)*c < 0x7F;
		rc = http_text_expand(&out, "Bearer {label}", CONTEXT_HEADER,
				      &v, &err);
		assert_int_equal(rc, good ? 0 : -1);
		if (good)
			assert_string_equal(out.ptr + 7, attacks[i]);
		buf_release(&out);
	}
}

static void parse(struct toml_value *root, const char *text)
{
	struct error err = { 0 };

	if (toml_parse(root, str_of(text), "t", &err) < 0)
		fail_msg("%s", err.message);
}

static void test_a_value_in_a_body_stays_one_string(void **state)
{
	struct toml_value root = { 0 };

	(void)state;
	parse(&root, "a = \"x{id}y\"\nb = { \"k\\\"\" = [\"{command}\", 1, "
		     "true, 1.5] }\n");
	for (int i = 0; i < ATTACKS; i++) {
		struct http_values v = with(attacks[i]);
		struct buf out = BUF_INIT(1 << 16);
		struct error err = { 0 };
		const cJSON *item;
		cJSON *tree;

		assert_int_equal(http_text_body(&out, &root, &v, &err), 0);
		tree = json_parse(buf_str(&out));
		assert_non_null(tree);
		assert_int_equal(cJSON_GetArraySize(tree), 2);
		item = json_pointer_get(tree, "/b/k\"/0");
		assert_true(cJSON_IsString(item));
		if (str_is_utf8(str_of(attacks[i])))
			assert_string_equal(item->valuestring, attacks[i]);
		assert_int_equal(
			cJSON_GetArraySize(json_pointer_get(tree, "/b/k\"")),
			4);
		assert_int_equal(
			cJSON_GetArraySize(json_pointer_get(tree, "/b")), 1);
		cJSON_Delete(tree);
		buf_release(&out);
	}
	toml_release(&root);
}

/* What a real shell makes of it. */
static void test_a_shell_reads_a_value_as_one_word(void **state)
{
	(void)state;
	for (int i = 0; i < ATTACKS; i++) {
		struct http_values v = with(attacks[i]);
		struct buf out = BUF_INIT(1 << 12);
		struct error err = { 0 };
		char read[256] = "";
		size_t len;
		FILE *p;

		assert_int_equal(http_text_expand(&out, "printf %s {command}",
						  CONTEXT_SHELL, &v, &err),
				 0);
		p = popen(out.ptr, "r");
		assert_non_null(p);
		len = fread(read, 1, sizeof(read) - 1, p);
		assert_int_equal(pclose(p), 0);
		assert_int_equal(len, strlen(attacks[i]));
		assert_memory_equal(read, attacks[i], len);
		buf_release(&out);
	}
}

static void test_absent_values_are_left_out_and_numbers_stay(void **state)
{
	static const char wanted[] =
		"{\"name\":\"dcode-x\",\"ttl\":60,\"list\":[],\"note\":\"s-\"}";
	struct toml_value root = { 0 };
	struct http_values v = { 0 };
	struct buf out = BUF_INIT(1 << 12);
	struct error err = { 0 };

	(void)state;
	v.is[VALUE_LABEL] = STR("dcode-x");
	v.is[VALUE_LIFETIME] = STR("60");
	parse(&root, "name = \"{label}\"\nsnapshot = \"{snapshot}\"\n"
		     "ttl = \"{lifetime}\"\nlist = [\"{param.no}\"]\n"
		     "note = \"s-{snapshot}\"\n");
	assert_int_equal(http_text_body(&out, &root, &v, &err), 0);
	assert_string_equal(out.ptr, wanted);
	toml_release(&root);
	buf_release(&out);
}

static void test_params_and_variables_are_written_as_text(void **state)
{
	struct world *w = *state;
	struct toml_value params = { 0 };
	struct http_values v = { 0 };
	struct buf out = BUF_INIT(1 << 12);
	struct error err = { 0 };

	export(w, "ACME_TOKEN=tok-0123456789");
	export(w, "DEEPAGENTS_CODE_ACME_OTHER=own");
	parse(&params, "image = \"deb/ian\"\ncpu = 4\nbig = true\nl = [1]\n");
	v.settings = load(w);
	v.params = &params;
	assert_int_equal(
		http_text_expand(&out,
				 "{param.image} {param.cpu} "
				 "{param.big} {param.none}"
				 "${ACME_TOKEN} ${ACME_OTHER} $5 {{x}}",
				 CONTEXT_RAW, &v, &err),
		0);
	assert_string_equal(out.ptr,
			    "deb/ian 4 true tok-0123456789 own $5 {x}");
	assert_int_equal(
		http_text_expand(&out, "{param.l}", CONTEXT_RAW, &v, &err), -1);
	assert_int_equal(
		http_text_expand(&out, "${ACME_NONE}", CONTEXT_RAW, &v, &err),
		-1);
	assert_int_equal(err.code, ERR_AUTH);
	assert_non_null(strstr(err.message, "ACME_NONE is not set"));
	buf_release(&out);
	toml_release(&params);
}

static void test_braces_that_are_not_well_formed_are_refused(void **state)
{
	static const struct {
		const char *text;
		bool ok;
	} rows[] = {
		{ "", true },           { "{id}", true },
		{ "{{}}", true },       { "${A_1}", true },
		{ "$x", true },         { "{param.a}", true },
		{ "{", false },         { "}", false },
		{ "{}", false },        { "${}", false },
		{ "{id", false },       { "{nope}", false },
		{ "{command}", false }, { "${a b}", false },
		{ "{param.}", false },  { "{ id }", false },
		{ "${1A}", false },     { "{id}}", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = { 0 };

		if ((http_text_check(rows[i].text, 1U << VALUE_ID, &err) ==
		     0) != rows[i].ok)
			fail_msg("%s: %s", rows[i].text, err.message);
	}
}

static void test_a_shell_string_has_values_outside_of_quotes(void **state)
{
	static const struct {
		const char *text;
		bool ok;
	} rows[] = {
		{ "sh -c {command}", true },
		{ "cd {workdir} && sh -c {command}", true },
		{ "echo 'a b' \"c\" {command}", true },
		{ "a=\"it's\" sh -c {command}", true },
		{ "sh -c '{command}'", false },
		{ "sh -c \"{command}\"", false },
		{ "sh -c \\{command}", false },
		{ "sh -c `{command}`", false },
		{ "sh # {command}", false },
		{ "sh -c x#y {command}", true },
		{ "cat <<E\n{command}\nE", false },
		{ "echo \"\\\"{command}\"", false },
		{ "echo \"\\\"\"{command}", true },
		{ "echo '\\'{command}", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = { 0 };

		if ((http_text_check_shell(rows[i].text,
					   1U << VALUE_COMMAND |
						   1U << VALUE_WORKDIR,
					   &err) == 0) != rows[i].ok)
			fail_msg("%s: %s", rows[i].text, err.message);
	}
}

static void test_a_pointer_finds_what_rfc_6901_says(void **state)
{
	static const char text[] = "{\"a\":{\"b\":[1,{\"c/d\":2,\"~\":3}]},"
				   "\"\":4}";
	static const struct {
		const char *pointer;
		int number; /* 0: not there */
	} rows[] = {
		{ "/a/b/0", 1 },     { "/a/b/1/c~1d", 2 }, { "/a/b/1/~0", 3 },
		{ "/", 4 },          { "/a/b/2", 0 },      { "/a/b/x", 0 },
		{ "/a/b/-1", 0 },    { "/A", 0 },          { "/a/b/0/0", 0 },
		{ "/a/b/1/c/d", 0 },
	};
	cJSON *tree = json_parse(str_of(text));

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const cJSON *v = json_pointer_get(tree, rows[i].pointer);

		assert_true(json_pointer_ok(rows[i].pointer));
		assert_int_equal(cJSON_IsNumber(v) ? v->valueint : 0,
				 rows[i].number);
	}
	assert_ptr_equal(json_pointer_get(tree, ""), tree);
	assert_null(json_pointer_get(NULL, "/a"));
	assert_false(json_pointer_ok("a"));
	assert_false(json_pointer_ok("/~2"));
	assert_false(json_pointer_ok("/a~"));
	cJSON_Delete(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_value_in_a_path_stays_in_its_segment),
		cmocka_unit_test(test_two_values_make_no_dot_dot),
		cmocka_unit_test(
			test_a_value_that_would_end_a_header_is_refused),
		cmocka_unit_test(test_a_value_in_a_body_stays_one_string),
		cmocka_unit_test(test_a_shell_reads_a_value_as_one_word),
		cmocka_unit_test(
			test_absent_values_are_left_out_and_numbers_stay),
		IN_A_WORLD(test_params_and_variables_are_written_as_text),
		cmocka_unit_test(
			test_braces_that_are_not_well_formed_are_refused),
		cmocka_unit_test(
			test_a_shell_string_has_values_outside_of_quotes),
		cmocka_unit_test(test_a_pointer_finds_what_rfc_6901_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
