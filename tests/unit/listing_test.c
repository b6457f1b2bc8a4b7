/* listing_test.c - the text that both sides hash, and who may write it. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "unit.h"
#include "worktree/listing.h"

#define A "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
#define B "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"

static void test_lines_are_sorted_as_bytes_and_read_back(void **state)
{
	static const char text[] = "100644 " B " \303\244\n"
				   "100644 " A " a b\1c\n"
				   "120000 " A " B\n"
				   "100755 " A " a-\n";
	static const char sorted[] = "100644 " B " \303\244\n"
				     "100644 " A " a b\1c\n"
				     "100755 " A " a-\n"
				     "120000 " A " B\n";
	struct listing l = { 0 };
	struct error err = { 0 };
	struct buf out = BUF_INIT(4096);

	(void)state;
	assert_int_equal(listing_parse(&l, str_of(text), &err), 0);
	assert_int_equal(l.n, 4);
	assert_non_null(listing_find(&l, "a b\nc"));
	assert_int_equal(listing_find(&l, "B")->mode, LISTING_LINK);
	assert_null(listing_find(&l, "b"));
	listing_write(&l, &out);
	assert_string_equal(out.ptr, sorted);
	buf_release(&out);
	listing_release(&l);
}

static void test_the_root_hash_is_what_sha256sum_prints(void **state)
{
	char command[512];
	char theirs[LISTING_HASH] = "";
	char ours[LISTING_HASH];
	struct listing l = { 0 };
	FILE *f;

	(void)state;
	snprintf(command, sizeof(command),
		 "printf '100644 %s x\\n100755 %s a\\n' | LC_ALL=C sort |"
		 " sha256sum",
		 A, B);
	f = popen(command, "r"); /* NOLINT(cert-env33-c): a fixed command */
	assert_non_null(f);
	assert_non_null(fgets(theirs, sizeof(theirs), f));
	assert_int_equal(pclose(f), 0);
	listing_add(&l, LISTING_PROGRAM, B, STR("a"));
	listing_add(&l, LISTING_FILE, A, STR("x"));
	listing_root(&l, ours);
	assert_string_equal(ours, theirs);
	listing_release(&l);
}

static void test_what_is_no_listing_is_refused(void **state)
{
	static const char *const bad[] = {
		"100644 " A " a",                     /* cut */
		"100644 " A " \n",                    /* no path */
		"100664 " A " a\n",                   /* no such mode */
		"104755 " A " a\n",                   /* setuid */
		"100644 " A " /a\n",                  /* absolute */
		"100644 " A " a/../b\n",              /* leads out */
		"100644 " A " ./a\n",                 /* two names of a */
		"100644 " A " a//b\n",                /* the same */
		"100644 " A " a/\n",                  /* a directory */
		"100644 " A "  a\n100644 " A "  a\n", /* twice */
		"\n",
		"garbage\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct listing l = { 0 };
		struct error err = { 0 };

		if (listing_parse(&l, str_of(bad[i]), &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.code, ERR_PROTOCOL);
		listing_release(&l);
	}
}

static void test_the_last_entry_of_a_path_stays(void **state)
{
	struct listing l = { 0 };

	(void)state;
	listing_add(&l, LISTING_FILE, A, STR("b"));
	listing_add(&l, LISTING_FILE, A, STR("a"));
	listing_add(&l, LISTING_PROGRAM, B, STR("b"));
	listing_sort(&l);
	assert_int_equal(l.n, 2);
	assert_int_equal(listing_find(&l, "b")->mode, LISTING_PROGRAM);
	listing_release(&l);
}

static int note(void *arg, const struct listing_entry *before,
		const struct listing_entry *after, struct error *err)
{
	(void)err;
	buf_addf(arg, "%c%s ",
		 !before  ? '+'
		 : !after ? '-'
			  : '*',
		 before ? before->path : after->path);
	return 0;
}

static void test_a_comparison_names_what_differs(void **state)
{
	struct listing x = { 0 };
	struct listing y = { 0 };
	struct buf out = BUF_INIT(4096);
	struct error err = { 0 };

	(void)state;
	listing_add(&x, LISTING_FILE, A, STR("gone"));
	listing_add(&x, LISTING_FILE, A, STR("same"));
	listing_add(&x, LISTING_FILE, A, STR("mode"));
	listing_add(&x, LISTING_FILE, A, STR("bytes"));
	listing_add(&y, LISTING_FILE, A, STR("same"));
	listing_add(&y, LISTING_PROGRAM, A, STR("mode"));
	listing_add(&y, LISTING_FILE, B, STR("bytes"));
	listing_add(&y, LISTING_FILE, B, STR("new"));
	assert_int_equal(listing_compare(&x, &y, note, &out, &err), 0);
	assert_string_equal(out.ptr, "*bytes -gone *mode +new ");
	buf_release(&out);
	listing_release(&x);
	listing_release(&y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_sorted_as_bytes_and_read_back),
		cmocka_unit_test(test_the_root_hash_is_what_sha256sum_prints),
		cmocka_unit_test(test_what_is_no_listing_is_refused),
		cmocka_unit_test(test_the_last_entry_of_a_path_stays),
		cmocka_unit_test(test_a_comparison_names_what_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
