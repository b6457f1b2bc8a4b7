/* select_secret_test.c - which names and contents are secrets. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "unit.h"
#include "workspace/select.h"

static void test_names_of_secrets_are_known_in_any_case(void **state)
{
	static const char *const secret[] = {
		".env",     ".ENV",   ".Env.Prod", "a/ID_RSA",
		".NPMRC",   ".NetRC", ".AWS/x",    "d/.Aws/a/b",
		".env.d/x", ".env/x", ".PyPIrc",   "a/.ENV/x/y",
	};
	static const char *const plain[] = {
		".env.example", ".ENV.Example", ".env.Sample/x", "ID_RSA.PUB",
		".aws",         "env",          "aws/x",         "x.env",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(secret) / sizeof(*secret); i++)
		if (!select_secret(secret[i], 1, STR("x")))
			fail_msg("%s is sent", secret[i]);
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (select_secret(plain[i], 1, STR("x")))
			fail_msg("%s is not sent", plain[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_secrets_are_known_in_any_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
