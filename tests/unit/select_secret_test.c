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

static bool is_key(struct str head)
{
	return select_secret("x", (int64_t)head.len, head) != NULL;
}

/* The text in UTF-16, with or without its mark. */
static bool is_wide_key(const char *text, bool big_endian, bool mark)
{
	struct buf b = BUF_INIT(1 << 16);
	bool found;

	if (mark)
		buf_adds(&b, big_endian ? "\xfe\xff" : "\xff\xfe");
	for (; *text; text++) {
		if (big_endian)
			buf_addc(&b, '\0');
		buf_addc(&b, *text);
		if (!big_endian)
			buf_addc(&b, '\0');
	}
	found = is_key(buf_str(&b));
	buf_release(&b);
	return found;
}

static void test_private_keys_are_known_by_their_first_line(void **state)
{
	static const char *const keys[] = {
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3\n",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\r\n\r\nlQ\r\n",
		"cert\r\n-----BEGIN RSA PRIVATE KEY-----\r\nMII\r\n",
		"PuTTY-User-Key-File-3: ssh-ed25519\r\n",
	};
	static const char *const others[] = {
		"-----BEGIN CERTIFICATE-----\nMII\n",
		"-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
		"s = \"-----BEGIN RSA PRIVATE KEY-----\"",
		"s = \"PuTTY-User-Key-File-2: x\"",
		"PuTTY-User-Key-File- names the format",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		assert_true(is_key(str_of(keys[i])));
		for (int k = 0; k < 4; k++)
			assert_true(is_wide_key(keys[i], k & 1, k & 2));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_false(is_key(str_of(others[i])));
		for (int k = 0; k < 4; k++)
			assert_false(is_wide_key(others[i], k & 1, k & 2));
	}
	assert_true(is_key(STR("\xef\xbb\xbf-----BEGIN PRIVATE KEY-----\n")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_secrets_are_known_in_any_case),
		cmocka_unit_test(
			test_private_keys_are_known_by_their_first_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
