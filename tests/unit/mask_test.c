/* mask_test.c - values are hidden whole, however the bytes arrive. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "unit.h"

static struct mask *with(const char *const *pairs)
{
	struct mask *m = mask_new();

	for (; *pairs; pairs += 2)
		assert_true(mask_add(m, pairs[0], str_of(pairs[1])));
	return m;
}

/* At once, byte by byte, and cut in two at every place. */
static void check(const struct mask *m, const char *text, const char *want)
{
	struct buf out = BUF_INIT(1 << 20);
	size_t len = strlen(text);

	mask_text(m, str_of(text), &out);
	assert_string_equal(out.ptr ? out.ptr : "", want);
	buf_clear(&out);
	for (size_t cut = 0; cut <= len; cut++) {
		struct mask_stream s = { 0 };

		mask_feed(m, &s, (struct str){ text, cut }, &out);
		mask_feed(m, &s, (struct str){ text + cut, len - cut }, &out);
		mask_end(m, &s, &out);
		assert_string_equal(out.ptr ? out.ptr : "", want);
		buf_clear(&out);
	}
	for (size_t step = 1; step < 5; step++) {
		struct mask_stream s = { 0 };

		for (size_t i = 0; i < len; i += step)
			mask_feed(m, &s,
				  (struct str){ text + i, len - i < step
								  ? len - i
								  : step },
				  &out);
		mask_end(m, &s, &out);
		assert_string_equal(out.ptr ? out.ptr : "", want);
		buf_clear(&out);
	}
	buf_release(&out);
}

static void nothing_to_hide(void **state)
{
	struct mask *m = mask_new();

	(void)state;
	check(NULL, "plain text", "plain text");
	check(m, "plain text", "plain text");
	check(m, "", "");
	mask_free(m);
	mask_free(NULL);
}

static void raw_values(void **state)
{
	struct mask *m = with((const char *const[]){ "A", "secret-one-1", "B",
						     "secret-two-22", NULL });

	(void)state;
	check(m, "secret-one-1", "[masked:A]");
	check(m, "x secret-two-22secret-one-1 y", "x [masked:B][masked:A] y");
	check(m, "secret-one-", "secret-one-");
	check(m, "secret-secret-one-1", "secret-[masked:A]");
	check(m, "ssecret-one-1\n", "s[masked:A]\n");
	mask_free(m);
}

static void longest_wins(void **state)
{
	struct mask *m = with((const char *const[]){ "SHORT", "abcdefgh",
						     "LONG", "abcdefghij", "IN",
						     "cdefghij", NULL });

	(void)state;
	check(m, "abcdefghij", "[masked:LONG]");
	check(m, "abcdefghix", "[masked:SHORT]ix");
	check(m, "abcdefghi", "[masked:SHORT]i");
	check(m, "abcdefgh", "[masked:SHORT]");
	check(m, "xxcdefghij", "xx[masked:IN]");
	mask_free(m);
}

/* The end of the second one is no text that may be shown. */
static void overlapping_values(void **state)
{
	struct mask *m = mask_new();

	(void)state;
	assert_true(mask_add(m, "A_KEY", STR("one-two-three")));
	assert_true(mask_add(m, "B_KEY", STR("three-four-five")));
	check(m, "<one-two-three-four-five>", "<[masked:A_KEY]>");
	check(m, "<one-two-three-four>", "<[masked:A_KEY]-four>");
	check(m, "<three-four-five>", "<[masked:B_KEY]>");
	mask_free(m);
}

static void repeats(void **state)
{
	struct mask *m = with((const char *const[]){ "R", "aaaaaaab", NULL });

	(void)state;
	check(m, "aaaaaaaaaaaab", "aaaaa[masked:R]");
	check(m, "aaaaaaaaaaaaa", "aaaaaaaaaaaaa");
	mask_free(m);
}

static void short_values(void **state)
{
	struct mask *m = mask_new();

	(void)state;
	assert_false(mask_add(m, "NAME", str_of("1234567")));
	assert_true(mask_add(m, "NAME", str_of("12345678")));
	assert_false(mask_add(m, "API_KEY", str_of("abc")));
	assert_true(mask_add(m, "api_key", str_of("abcd")));
	assert_true(mask_add(m, "MyToken", str_of("tttt")));
	assert_true(mask_add(m, "A_SECRET", str_of("ssss")));
	assert_true(mask_add(m, "DBPassword", str_of("pppp")));
	assert_false(mask_add(m, "EMPTY_KEY", (struct str){ 0 }));
	check(m, "abcdttttsssspppp 1234567 abc",
	      "[masked:api_key][masked:MyToken][masked:A_SECRET]"
	      "[masked:DBPassword] 1234567 abc");
	mask_free(m);
}

static void twice_is_fine(void **state)
{
	struct mask *m = with((const char *const[]){ "A", "the-value-1", "B",
						     "the-value-1", NULL });

	(void)state;
	check(m, "the-value-1", "[masked:A]");
	mask_free(m);
}

static void encoded_forms(void **state)
{
	struct mask *m = with((const char *const[]){
		"T", "ghp_0123456789abcdef", "Q", "pa\"ss w/rd?+&", NULL });

	(void)state;
	/* printf %s ghp_0123456789abcdef | base64 */
	check(m, "Z2hwXzAxMjM0NTY3ODlhYmNkZWY=", "[masked:T]=");
	/* printf 'user:ghp_0123456789abcdef' | base64 */
	check(m, "Basic dXNlcjpnaHBfMDEyMzQ1Njc4OWFiY2RlZg==",
	      "Basic dXNlcjp[masked:T]==");
	/* printf 'x:ghp_0123456789abcdef\n' | base64 */
	check(m, "eDpnaHBfMDEyMzQ1Njc4OWFiY2RlZgo=", "eDp[masked:T]o=");
	check(m, "https://x/?k=pa%22ss%20w%2Frd%3F%2B%26.",
	      "https://x/?k=[masked:Q].");
	check(m, "k=pa%22ss%20w%2frd%3f%2b%26", "k=[masked:Q]");
	check(m, "{\"k\":\"pa\\\"ss w/rd?+&\"}", "{\"k\":\"[masked:Q]\"}");
	mask_free(m);
}

static void several_lines(void **state)
{
	static const char key[] = "-----BEGIN KEY-----\n"
				  "MIIEowIBAAKCAQEA\n"
				  "abcdefghijklmnop\n"
				  "-----END KEY-----\n";
	struct mask *m = with((const char *const[]){ "PEM", key, NULL });

	(void)state;
	check(m, key, "[masked:PEM]");
	check(m, "  2\tMIIEowIBAAKCAQEA\r\n", "  2\t[masked:PEM]\r\n");
	check(m, "-----BEGIN KEY-----", "-----BEGIN KEY-----");
	mask_free(m);
}

static void binary_values(void **state)
{
	static const char value[] = "\0\1\2\3\377\376\0\0";
	struct mask *m = mask_new();
	struct buf out = BUF_INIT(100);

	(void)state;
	assert_true(mask_add(m, "BIN", (struct str){ value, 8 }));
	mask_text(m, (struct str){ value, 8 }, &out);
	assert_string_equal(out.ptr, "[masked:BIN]");
	buf_release(&out);
	mask_free(m);
}

static void holds_no_more_than_needed(void **state)
{
	struct mask *m = with((const char *const[]){ "A", "0123456789", NULL });
	struct mask_stream s = { 0 };
	struct buf out = BUF_INIT(1000);

	(void)state;
	mask_feed(m, &s, str_of("live output\n"), &out);
	assert_string_equal(out.ptr, "live output\n");
	mask_feed(m, &s, str_of("0"), &out);
	assert_int_equal(s.held.len - s.done, 1);
	mask_feed(m, &s, str_of("12345678"), &out);
	assert_int_equal(s.held.len - s.done, 9);
	mask_feed(m, &s, str_of("x"), &out);
	assert_int_equal(s.held.len - s.done, 0);
	mask_end(m, &s, &out);
	assert_string_equal(out.ptr, "live output\n012345678x");
	buf_release(&out);
	mask_free(m);
}

static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* The processor time, in us, that n values cost with this text. */
static int64_t time_masking(unsigned n, struct str text)
{
	struct mask *m = mask_new();
	struct buf out = BUF_INIT(16 << 20);
	int64_t start;
	int64_t took;

	for (unsigned i = 0; i < n; i++) {
		char value[33];

		/* The same in every run, and unlike each other. */
		snprintf(value, sizeof(value), "%08x%08x%08x%08x",
			 (i + 1) * 2654435761U, (i + 1) * 2246822519U,
			 (i + 1) * 3266489917U, (i + 1) * 668265263U);
		assert_true(mask_add(m, "K", (struct str){ value, 32 }));
	}
	start = cpu_us();
	mask_text(m, text, &out);
	took = cpu_us() - start;
	assert_int_equal(out.len, text.len);
	buf_release(&out);
	mask_free(m);
	return took;
}

/* Looking for each in turn would take 100 times as long as for one. */
static void a_hundred_values_cost_hardly_more_than_one(void **state)
{
	size_t len = 1 << 20;
	char *text = xcalloc(len, 1);
	int64_t one = INT64_MAX;
	int64_t hundred = INT64_MAX;

	(void)state;
	for (size_t i = 0; i < len; i++)
		text[i] = "the quick brown fox\n"[i % 20];
	for (int i = 0; i < 5; i++) { /* the least: of what is not disturbed */
		int64_t took = time_masking(1, (struct str){ text, len });

		one = took < one ? took : one;
		took = time_masking(100, (struct str){ text, len });
		hundred = took < hundred ? took : hundred;
	}
	print_message("1 MB: %d us for one value, %d us for 100\n", (int)one,
		      (int)hundred);
	assert_true(one > 0);
	assert_true(hundred < 3 * one);
	free(text);
}

struct reading {
	const struct mask *mask;
	atomic_bool over;
	size_t wrong; /* texts that were not hidden */
};

static void *read_on(void *arg)
{
	struct reading *r = arg;

	while (!atomic_load(&r->over)) {
		struct buf out = BUF_INIT(1 << 12);
		struct mask_stream s = { 0 };

		mask_feed(r->mask, &s, STR("a first-secret-1 b"), &out);
		mask_end(r->mask, &s, &out);
		r->wrong += strcmp(out.ptr, "a [masked:FIRST_KEY] b") != 0;
		buf_release(&out);
	}
	return NULL;
}

/* A command in the background prints while the user's next model brings its
 * key: the table of values is made larger meanwhile. */
static void values_are_added_while_others_read(void **state)
{
	struct mask *m = with(
		(const char *const[]){ "FIRST_KEY", "first-secret-1", NULL });
	struct reading r = { .mask = m };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
	for (int i = 0; i < 300; i++) {
		char value[33];

		ids_random(value, 32);
		value[0] = 'f'; /* into the list that is read */
		assert_true(mask_add(m, "K", (struct str){ value, 32 }));
	}
	atomic_store(&r.over, true);
	pthread_join(thread, NULL);
	assert_int_equal(r.wrong, 0);
	mask_free(m);
}

static void a_value_with_line_breaks_in_it(void **state)
{
	struct mask *m = with((const char *const[]){
		"A_KEY", "sk-0123456789abcdefghij", "B", "tiny-one", NULL });

	(void)state;
	check(m, "x sk-0123456789\nabcdefghij y", "x [masked:A_KEY] y");
	check(m, "sk-0\n1234\n5678\n9abc\ndefg\nhij\n", "[masked:A_KEY]\n");
	check(m, "sk-012345678\r\n9abcdefghij", "[masked:A_KEY]");
	check(m, "k: sk-0123456\n    789abcdefghij\n", "k: [masked:A_KEY]\n");
	/* base64 -w 20 of the key */
	check(m, "c2stMDEyMzQ1Njc4OWFi\nY2RlZmdoaWo=", "[masked:A_KEY]=");
	/* the controls */
	check(m, "sk-0123456789\nabcdefghiX", "sk-0123456789\nabcdefghiX");
	check(m, "sk-0123456789 abcdefghij", "sk-0123456789 abcdefghij");
	check(m, "sk-\n0123456789abcdefghij", "sk-\n0123456789abcdefghij");
	check(m, "tiny\n-one", "tiny\n-one");
	check(m,
	      "sk-0123\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
	      "\n\n\n\n\n\n456789abcdefghij",
	      "sk-0123\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
	      "\n\n\n\n\n\n456789abcdefghij");
	mask_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_hide),
		cmocka_unit_test(raw_values),
		cmocka_unit_test(longest_wins),
		cmocka_unit_test(overlapping_values),
		cmocka_unit_test(repeats),
		cmocka_unit_test(short_values),
		cmocka_unit_test(twice_is_fine),
		cmocka_unit_test(encoded_forms),
		cmocka_unit_test(several_lines),
		cmocka_unit_test(a_value_with_line_breaks_in_it),
		cmocka_unit_test(binary_values),
		cmocka_unit_test(holds_no_more_than_needed),
		cmocka_unit_test(a_hundred_values_cost_hardly_more_than_one),
		cmocka_unit_test(values_are_added_while_others_read),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
