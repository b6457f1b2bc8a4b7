/* percent_test.c - text of URLs, encoded and decoded. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "unit.h"

static void what_is_encoded_is_decoded(void **state)
{
	struct buf all = BUF_INIT(1 << 10);
	struct buf text = BUF_INIT(1 << 12);
	struct buf back = BUF_INIT(1 << 12);

	(void)state;
	for (int c = 0; c < 256; c++)
		buf_addc(&all, (char)c);
	percent_encode(&text, buf_str(&all), "");
	assert_true(str_is_visible(buf_str(&text)));
	assert_int_equal(text.len, 66 + 3 * (256 - 66));
	percent_decode(&back, buf_str(&text));
	assert_true(str_eq(buf_str(&back), buf_str(&all)));
	buf_release(&all);
	buf_release(&text);
	buf_release(&back);
}

static void what_is_no_escape_stays(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "a+b", "a b" },   { "%41%6a", "Aj" }, { "%", "%" },
		{ "%4", "%4" },     { "%zz", "%zz" },   { "%%41", "%A" },
		{ "%2B%25", "+%" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf out = BUF_INIT(64);

		percent_decode(&out, str_of(rows[i].in));
		assert_string_equal(out.ptr, rows[i].out);
		buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(what_is_no_escape_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
