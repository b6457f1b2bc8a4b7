/* capacity_test.c - how large the threads may become. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "session/session.h"
#include "session/sql.h"
#include "session/thread.h"
#include "store_open.h"
#include "unit.h"

static char warned[512];
static int warnings;

static void on_warning(const char *line)
{
	snprintf(warned, sizeof(warned), "%s", line);
	warnings++;
}

/* Messages of this size until one is refused; how many were stored. */
static int fill_by(struct store *s, size_t size, int most, struct error *err)
{
	const struct session_info info = { .model = "m", .cwd = "/x" };
	struct message m = { .role = ROLE_USER };
	char *text = xcalloc(size + 1, 1);
	int n = 0;
	int rc = 0;

	memset(text, 'x', size);
	message_add(&m, PART_TEXT)->text = text;
	while (n < most && rc == 0) {
		struct session *one = session_new(s, &info);

		rc = session_append(one, &m, NULL, err);
		n += rc == 0;
		session_free(one);
	}
	message_release(&m);
	return n;
}

static int fill(struct store *s, int most, struct error *err)
{
	return fill_by(s, 64 << 10, most, err);
}

static void
test_room_is_made_for_a_message_larger_than_what_is_left(void **state)
{
	const struct store_place *p = *state;
	struct error err = { 0 };

	assert_int_equal(fill(p->store, 18, &err), 18);
	store_set_capacity(p->store, 2, false);
	assert_int_equal(fill_by(p->store, 1 << 20, 1, &err), 0);
	assert_int_equal(err.code, ERR_LIMIT);
	store_set_capacity(p->store, 2, true);
	assert_int_equal(fill_by(p->store, 1 << 20, 1, &err), 1);
	assert_int_equal(fill_by(p->store, 3 << 20, 1, &err), 0);
}

static bool count(void *arg, struct thread *t)
{
	(void)t;
	++*(int64_t *)arg;
	return true;
}

static void test_the_cap_is_warned_of_and_so_is_a_deletion(void **state)
{
	const struct store_place *p = *state;
	struct error err = { 0 };
	int64_t left = 0;
	int n;

	warnings = 0;
	p->store->warn = on_warning;
	assert_int_equal(fill(p->store, 20, &err), 20);
	assert_int_equal(warnings, 0);
	store_set_capacity(p->store, 2, false);
	n = fill(p->store, 20, &err);
	assert_in_range(n, 1, 12);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_non_null(strstr(err.message, "threads prune"));
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warned, "max_size_mb"));
	store_set_capacity(p->store, 2, true);
	assert_int_equal(fill(p->store, 20, &err), 20);
	assert_int_equal(warnings, 2);
	assert_non_null(strstr(warned, "were deleted"));
	assert_int_equal(thread_each(p->store, &(struct thread_filter){ 0 },
				     count, &left, &err),
			 0);
	assert_in_range(left, 10, 31);
	store_set_capacity(p->store, 0, false);
	assert_int_equal(fill(p->store, 40, &err), 40);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_cap_is_warned_of_and_so_is_a_deletion),
		TEST(test_room_is_made_for_a_message_larger_than_what_is_left),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
