/* select_secret_test.c - which names and contents are secrets. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/select.h"
#include "worktree/stat_cache.h"

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

static const char *find_secret(int dir, const char *name)
{
	struct stat st;
	char *head = xcalloc(1, SELECT_HEAD);
	struct stat_cache *cache = stat_cache_open("/nonexistent/cache");
	const struct select_look l = { cache, dir, name, &st, head };
	bool keyless;
	const char *why;

	assert_int_equal(fstatat(dir, name, &st, 0), 0);
	why = select_find_secret(&l, &keyless);
	assert_int_equal(keyless, !why);
	stat_cache_close(cache);
	free(head);
	return why;
}

static void test_a_file_that_the_user_may_not_read_is_told(void **state)
{
	char top[] = "/tmp/dcode-unread-XXXXXX";
	struct error err = { 0 };
	int dir;

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(chmod(top, 0755), 0);
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	close(openat(dir, "x", O_WRONLY | O_CREAT | O_CLOEXEC, 0000));
	close(openat(dir, "y", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	if (geteuid() == 0) /* root reads all */
		assert_int_equal(seteuid(65534), 0);
	assert_ptr_equal(find_secret(dir, "x"), select_unreadable);
	assert_null(find_secret(dir, "y"));
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	close(dir);
	assert_int_equal(path_remove_tree(top, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_secrets_are_known_in_any_case),
		cmocka_unit_test(
			test_private_keys_are_known_by_their_first_line),
		cmocka_unit_test(
			test_a_file_that_the_user_may_not_read_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
