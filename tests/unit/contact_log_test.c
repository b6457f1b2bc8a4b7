/* contact_log_test.c - what commands connected to: bounded, and counted. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/stop.h"
#include "sandbox/network/network.h"
#include "session/contact_log.h"
#include "store_open.h"
#include "unit.h"

enum { MORE = 500 };

/* Adds n rows with the same times, each of another host. */
static void add_rows(struct store *s, const char *thread, size_t n,
		     int64_t when)
{
	struct error err = { 0 };

	for (size_t i = 0; i < n; i++) {
		char host[32];
		struct contact_row row = { .thread = thread,
					   .provider = "local",
					   .sandbox = "dcode-abcd2345",
					   .call = "",
					   .command = "",
					   .host = host,
					   .port = 80,
					   .verdict = NETWORK_REACHED,
					   .times = 1,
					   .first = when,
					   .last = when };

		snprintf(host, sizeof(host), "h%zu.example", i);
		if (contact_log_add(s, &row, 1, &err) < 0)
			fail_msg("%s", err.message);
	}
}

static void count_row(void *arg, const struct contact_row *row)
{
	int64_t *seen = arg; /* rows, the newest time, contacts */

	seen[0]++;
	seen[1] = row->last > seen[1] ? row->last : seen[1];
	seen[2] += row->times;
}

static void test_rows_of_one_time_do_not_grow(void **state)
{
	struct store_place *p = *state;
	int64_t now = clock_unix_ms();
	struct error err = { 0 };
	int64_t seen[3] = { 0 };
	int64_t other[3] = { 0 };

	add_rows(p->store, "other", 3, now - 5);
	add_rows(p->store, "thread", CONTACT_ROWS + MORE, now);
	add_rows(p->store, "thread", 1, now); /* one of them again */
	assert_int_equal(
		contact_log_each(p->store, "thread", "", count_row, seen, &err),
		0);
	assert_int_equal(seen[0], CONTACT_ROWS);
	/* newer ones push older ones out, and none of another thread */
	add_rows(p->store, "thread", 2, now + 1);
	memset(seen, 0, sizeof(seen));
	assert_int_equal(
		contact_log_each(p->store, "thread", "", count_row, seen, &err),
		0);
	assert_int_equal(seen[0], CONTACT_ROWS);
	assert_int_equal(seen[1], now + 1);
	assert_int_equal(
		contact_log_each(p->store, "other", "", count_row, other, &err),
		0);
	assert_int_equal(other[0], 3);
}

static void test_no_contact_goes_uncounted(void **state)
{
	struct network_contacts c = { 0 };
	uint64_t reached = 0;
	uint64_t refused = 0;
	bool others = false;

	(void)state;
	for (int i = 0; i < 2 * NETWORK_CONTACTS_MAX; i++) {
		struct network_contact one = { .port = 80,
					       .verdict = i % 2 ? "unlisted"
								: "allowed",
					       .count = 3 };

		snprintf(one.host, sizeof(one.host), "h%d.example", i);
		network_contacts_add(&c, &one);
		network_contacts_add(&c, &one);
	}
	assert_true(c.n <= NETWORK_CONTACTS_MAX);
	for (size_t i = 0; i < c.n; i++) {
		others |= !strcmp(c.list[i].host, NETWORK_OTHERS);
		if (network_contact_refused(&c.list[i]))
			refused += c.list[i].count;
		else
			reached += c.list[i].count;
	}
	assert_true(others);
	assert_int_equal(reached, 6 * NETWORK_CONTACTS_MAX);
	assert_int_equal(refused, 6 * NETWORK_CONTACTS_MAX);
	network_contacts_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_rows_of_one_time_do_not_grow, store_set_up,
			store_tear_down),
		cmocka_unit_test(test_no_contact_goes_uncounted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
