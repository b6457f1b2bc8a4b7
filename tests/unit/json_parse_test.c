/* json_parse_test.c - the parser of JSON, beside that of cJSON. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "tests/fuzz/json_same.h"
#include "unit.h"

static const char *const documents[] = {
	"{\"type\":\"text\",\"i\":0,\"a\":[1,-2,3.5e2,\"\\u00e9\"]}",
	" \t\r\n[true,false,null,{},[],\"\",{\"a\":{\"a\":[[[]]]}}]\v\f ",
	"[0,-0,01,1.,.5,-,--1,+1,1e5,1E+2,1e,1e999,-1e999,1.5.5,0x10]",
	"[0,-0,01,1.,1e5,1E+2,1e999,-1e999,2147483647,2147483648,-2147483649]",
	"[999999999999999,9999999999999999,123456789012345678901234567890]",
	"[1234567890123456789012345678901234567890123456789012345678901234]",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\ud83d\\ude00\\u20ac\\u0041\\u0000x\"",
	"\"\\ud83d\"",
	"\"\\ud83dx\\ude00\"",
	"\"\\ude00\\ud83d\"",
	"\"\\x\"",
	"\"\\",
	"\"a\x01\xFF\n\"",
	"\xEF\xBB\xBF{\"a\":1}",
	"{\"a\":1,\"a\":2,}",
	"[1,]",
	"{\"a\" 1}",
	"{a:1}",
	"nullx",
	"nul",
	"tru",
	"1 2",
	"{} x",
	"",
	" ",
	"[\"a\",\"b\" \"c\"]",
};

static void fixed_documents_are_as_cjson_reads_them(void **state)
{
	struct json_pool pool = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++)
		json_same(&pool, str_of(documents[i]));
	json_same(&pool, STR("\"a\0b\""));
	json_same(&pool, STR("1\0"));
	json_parse_release(&pool);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* A byte of each is replaced by one of JSON's, or the rest is cut off. */
static void damaged_documents_are_as_cjson_reads_them(void **state)
{
	static const char marks[] = "\"\\{}[]:,0189.-+eEunt \n\x80";
	struct json_pool pool = { 0 };
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < 100000; i++) {
		size_t which = next_random(&seed) %
			       (sizeof(documents) / sizeof(*documents));
		char text[128];
		size_t len = strlen(documents[which]);

		if (!len)
			continue;
		memcpy(text, documents[which], len);
		for (uint32_t n = next_random(&seed) % 3; n < 3; n++)
			text[next_random(&seed) % len] =
				marks[next_random(&seed) % (sizeof(marks) - 1)];
		if (next_random(&seed) % 4 == 0)
			len = next_random(&seed) % len;
		json_same(&pool, (struct str){ text, len });
	}
	json_parse_release(&pool);
}

static void nesting_ends_where_cjson_ends_it(void **state)
{
	char text[2002];
	struct json_pool pool = { 0 };

	(void)state;
	for (size_t n = 999; n <= 1001; n++) {
		cJSON *tree;

		memset(text, '[', n);
		memset(text + n, ']', n);
		json_same(&pool, (struct str){ text, 2 * n });
		tree = json_parse((struct str){ text, 2 * n });
		assert_int_equal(tree != NULL, n <= 1000);
		cJSON_Delete(tree);
	}
	json_parse_release(&pool);
}

static void half_a_pair_and_nul_are_replaced(void **state)
{
	struct json_pool pool = { 0 };
	const cJSON *tree = json_parse_pooled(
		&pool, STR("{\"a\":\"1\\u0000\\ud83d\\ude00\\ud83d!\"}"));

	(void)state;
	assert_string_equal(json_string(tree, "a", ""),
			    "1\xEF\xBF\xBD\xF0\x9F\x98\x80\xEF\xBF\xBD!");
	assert_null(json_parse_pooled(&pool, STR("\"\\uZZZZ\"")));
	assert_null(json_parse(STR("\"\\uZZZZ\"")));
	json_parse_release(&pool);
}

/* A large document after a small one, and the other way round. */
static void a_pool_takes_documents_of_any_size(void **state)
{
	struct json_pool pool = { 0 };
	struct buf large = BUF_INIT(1 << 24);

	(void)state;
	buf_addc(&large, '[');
	for (int i = 0; i < 50000; i++)
		buf_addf(&large, "{\"n\":%d},", i);
	buf_adds(&large, "0]");
	for (int i = 0; i < 3; i++) {
		const cJSON *tree =
			json_parse_pooled(&pool, STR("{\"a\":\"small\"}"));

		assert_string_equal(json_string(tree, "a", ""), "small");
		tree = json_parse_pooled(&pool, buf_str(&large));
		assert_int_equal(cJSON_GetArraySize(tree), 50001);
		assert_int_equal(json_int(tree->child->prev->prev, "n", -1),
				 49999);
	}
	json_parse_release(&pool);
	buf_release(&large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_documents_are_as_cjson_reads_them),
		cmocka_unit_test(damaged_documents_are_as_cjson_reads_them),
		cmocka_unit_test(nesting_ends_where_cjson_ends_it),
		cmocka_unit_test(half_a_pair_and_nul_are_replaced),
		cmocka_unit_test(a_pool_takes_documents_of_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
