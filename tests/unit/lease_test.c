/* lease_test.c - when a provider asks for more of a sandbox's life. */
/* SPDX-License-Identifier: MIT */
#include "base/stop.h"
#include "providers/kit/lease.h"
#include "unit.h"

enum { LIFE_S = 1800, PAUSE_MS = 15000 };

static void test_half_of_a_life(void **state)
{
	int64_t now = clock_ms();
	int64_t asked = 0;

	(void)state;
	assert_false(lease_due(now + LIFE_S * 900, LIFE_S, PAUSE_MS, &asked));
	assert_int_equal(asked, 0);
	assert_true(lease_due(now + LIFE_S * 400, LIFE_S, PAUSE_MS, &asked));
	assert_true(asked >= now);
	/* no lifetime, nothing to prolong */
	asked = 0;
	assert_false(lease_due(now - 1, 0, PAUSE_MS, &asked));
	assert_int_equal(asked, 0);
}

/* A request that failed is not sent again with every command. */
static void test_pause(void **state)
{
	int64_t now = clock_ms();
	int64_t ends = now - 1;
	int64_t asked = now;

	(void)state;
	assert_false(lease_due(ends, LIFE_S, LIFE_S * 1000, &asked));
	asked = now - LIFE_S * 1000 - 1;
	assert_true(lease_due(ends, LIFE_S, LIFE_S * 1000, &asked));
	/* a fifth of the life is long enough in any case */
	asked = now - LIFE_S * 201;
	assert_true(lease_due(ends, LIFE_S, LIFE_S * 1000, &asked));
	asked = now - PAUSE_MS - 1;
	assert_true(lease_due(ends, LIFE_S, PAUSE_MS, &asked));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_of_a_life),
		cmocka_unit_test(test_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
