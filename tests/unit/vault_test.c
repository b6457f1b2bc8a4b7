/* vault_test.c - stored keys: sealed, changed, damaged, of the old program. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/path.h"
#include "base/str.h"
#include "config/vault.h"
#include "tests/unit/settings_world.h"

#define KEY "sk-stored-0123456789"

static int change(const struct world *w, const char *name, const char *key,
		  struct error *err)
{
	struct vault_change c = { .name = name, .key = str_of(key) };
	struct stop stop = stop_cleanup(60000);
	bool changed = false;

	return vault_change(w->home, NULL, &c, &changed, &stop, err) < 0
		       ? -1
		       : changed;
}

static char *look(const struct world *w, const char *name)
{
	struct vault *v = NULL;
	const struct vault_entry *e;
	struct error err = { 0 };
	char *key;

	if (vault_open(&v, w->home, NULL, &err) < 0)
		return xasprintf("error: %s", err.message);
	e = vault_find(v, name);
	key = e ? xasprintf("%s%s%s", e->key, e->url[0] ? " " : "", e->url)
		: xstrdup("none");
	vault_close(v);
	return key;
}

static void expect(const struct world *w, const char *name, const char *wanted)
{
	char *key = look(w, name);

	if (!strstr(key, wanted) ||
	    (strncmp(key, "error", 5) != 0 && strcmp(key, wanted) != 0))
		fail_msg("%s: %s, not %s", name, key, wanted);
	free(key);
}

static void read_whole(const struct world *w, const char *name, struct buf *out)
{
	char *path = path_join(w->home, name);
	struct error err = { 0 };

	assert_int_equal(path_read(path, out, &err), 0);
	free(path);
}

static void test_kept_and_removed(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };
	struct buf file = BUF_INIT(1 << 16);
	struct stat st;
	char *path = path_join(w->home, "credentials.key");

	expect(w, "openai", "none");
	assert_int_equal(change(w, "openai", KEY, &err), 0);
	assert_int_equal(change(w, "groq", "gsk-1", &err), 0);
	expect(w, "openai", KEY);
	expect(w, "groq", "gsk-1");
	assert_int_equal(change(w, "openai", "sk-second", &err), 1);
	expect(w, "openai", "sk-second");
	read_whole(w, "credentials", &file);
	assert_null(memmem(file.ptr, file.len, "sk-second", 9));
	assert_null(memmem(file.ptr, file.len, "openai", 6));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(change(w, "openai", "", &err), 1);
	assert_int_equal(change(w, "openai", "", &err), 0);
	expect(w, "openai", "none");
	expect(w, "groq", "gsk-1");
	buf_release(&file);
	free(path);
}

/* Each byte of the file counts; so does its end. */
static void test_damaged(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };
	struct buf file = BUF_INIT(1 << 16);

	assert_int_equal(change(w, "openai", KEY, &err), 0);
	read_whole(w, "credentials", &file);
	for (size_t i = 0; i < file.len; i++) {
		file.ptr[i] ^= 1;
		put(w, "credentials", "");
		char *path = path_join(w->home, "credentials");

		assert_int_equal(path_write(path, buf_str(&file), 0600, &err),
				 0);
		expect(w, "openai", "damaged");
		file.ptr[i] ^= 1;
		assert_int_equal(path_write(path, (struct str){ file.ptr, i },
					    0600, &err),
				 0);
		expect(w, "openai", "damaged");
		assert_int_equal(path_write(path, buf_str(&file), 0600, &err),
				 0);
		free(path);
	}
	expect(w, "openai", KEY);
	put(w, "credentials", "nonsense");
	/* What cannot be opened is not overwritten. */
	assert_int_equal(change(w, "openai", KEY, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	buf_release(&file);
}

static void test_key_file(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };
	char *path = path_join(w->home, "credentials.key");

	assert_int_equal(change(w, "openai", KEY, &err), 0);
	assert_int_equal(chmod(path, 0640), 0);
	expect(w, "openai", "others can read");
	assert_int_equal(chmod(path, 0600), 0);
	expect(w, "openai", KEY);
	put(w, "credentials.key", "short");
	expect(w, "openai", "is damaged");
	assert_int_equal(unlink(path), 0);
	expect(w, "openai", "No such file");
	assert_int_equal(change(w, "groq", KEY, &err), -1);
	free(path);
}

struct phrases {
	const char *const *list;
	int asked;
};

static int answer(void *arg, int attempt, char *room, size_t size,
		  struct error *err)
{
	struct phrases *p = arg;
	const char *phrase = p->list[attempt];

	p->asked++;
	if (!phrase)
		return error_set(err, ERR_CONFIG, "nobody is there");
	assert_true(strlen(phrase) < size);
	memcpy(room, phrase, strlen(phrase));
	return (int)strlen(phrase);
}

static int open_with(const struct world *w, const char *const *list, int *asked,
		     struct error *err)
{
	struct phrases p = { list, 0 };
	struct vault_ask ask = { answer, &p };
	struct vault *v = NULL;
	int rc = vault_open(&v, w->home, &ask, err);

	if (rc == 0)
		assert_string_equal(vault_find(v, "openai")->key, KEY);
	vault_close(v);
	*asked = p.asked;
	return rc;
}

static void test_passphrase(void **state)
{
	static const char *const right[] = { "open sesame" };
	static const char *const late[] = { "a", "b", "open sesame" };
	static const char *const wrong[] = { "a", "b", "c", "open sesame" };
	static const char *const nobody[] = { NULL };
	struct world *w = *state;
	struct error err = { 0 };
	struct stop stop = stop_cleanup(60000);
	struct vault_change c = { .name = "openai",
				  .key = STR(KEY),
				  .phrase = STR("open sesame") };
	char *path = path_join(w->home, "credentials.key");
	int asked;

	assert_int_equal(change(w, "groq", "gsk-1", &err), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(vault_change(w->home, NULL, &c, NULL, &stop, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(open_with(w, right, &asked, &err), 0);
	assert_int_equal(asked, 1);
	assert_int_equal(open_with(w, late, &asked, &err), 0);
	assert_int_equal(asked, 3);
	assert_int_equal(open_with(w, wrong, &asked, &err), -1);
	assert_int_equal(asked, 3);
	assert_non_null(strstr(err.message, "wrong passphrase"));
	assert_int_equal(open_with(w, nobody, &asked, &err), -1);
	assert_non_null(strstr(err.message, "nobody is there"));
	expect(w, "openai", "a passphrase is needed");
	free(path);
}

static void test_costs_are_bounded(void **state)
{
	static const char *const heads[] = {
		"dcode-credentials 1 argon2id 2 67108864 "
		"00112233445566778899aabbccddee\n",
		"dcode-credentials 1 argon2id 9999 67108864 "
		"00112233445566778899aabbccddeeff\n",
		"dcode-credentials 1 argon2id 2 999999999999 "
		"00112233445566778899aabbccddeeff\n",
		"dcode-credentials 1 argon2id -2 67108864 "
		"00112233445566778899aabbccddeeff\n",
		"dcode-credentials 2 key-file\n",
		"dcode-credentials 1 argon2id\n",
		"dcode-credentials 1 key-file",
		"",
	};
	static const char *const any[] = { "a", "b", "c" };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		struct error err = { 0 };
		int asked = 0;

		put(w, "credentials", heads[i]);
		assert_int_equal(open_with(w, any, &asked, &err), -1);
		assert_non_null(strstr(err.message, "damaged"));
		assert_int_equal(asked, 0);
	}
}

static void test_of_the_old_program(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };
	struct buf file = BUF_INIT(1 << 16);

	put(w, "auth.json",
	    "{\"version\":1,\"credentials\":{\"anthropic\":{\"type\":"
	    "\"api_key\",\"key\":\" sk-ant-\\u0031 \",\"added_at\":\"x\","
	    "\"base_url\":\"https://a.example\"},"
	    "\"codex\":{\"type\":\"oauth\",\"key\":\"no\"},"
	    "\"spaced\":{\"type\":\"api_key\",\"key\":\"a b\"},"
	    "\"nokey\":{\"type\":\"api_key\"},\"odd\":7}}");
	expect(w, "anthropic", "sk-ant-1 https://a.example");
	expect(w, "codex", "none");
	expect(w, "spaced", "none");
	expect(w, "nokey", "none");
	assert_int_equal(change(w, "anthropic", KEY, &err), 0);
	expect(w, "anthropic", KEY);
	assert_int_equal(change(w, "anthropic", "", &err), 1);
	expect(w, "anthropic", "sk-ant-1 https://a.example");
	read_whole(w, "auth.json", &file);
	assert_non_null(strstr(file.ptr, "\\u0031"));
	put(w, "auth.json", "{\"credentials\":[");
	expect(w, "anthropic", "none");
	buf_release(&file);
}

static void test_what_is_no_key(void **state)
{
	static const struct {
		const char *key;
		bool ok;
	} rows[] = {
		{ "sk-1", true },        { "", false },
		{ "a b", false },        { "a\nb", false },
		{ "\x1b[31m", false },   { "schl\xc3\xbc", false },
		{ "a.b-c_d=/+~", true },
	};
	char *large = xcalloc(VAULT_KEY_MAX + 2, 1);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(vault_key_ok(str_of(rows[i].key)), rows[i].ok);
	memset(large, 'k', VAULT_KEY_MAX);
	assert_true(vault_key_ok(str_of(large)));
	large[VAULT_KEY_MAX] = 'k';
	assert_false(vault_key_ok(str_of(large)));
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(test_kept_and_removed),
		IN_A_WORLD(test_damaged),
		IN_A_WORLD(test_key_file),
		IN_A_WORLD(test_passphrase),
		IN_A_WORLD(test_costs_are_bounded),
		IN_A_WORLD(test_of_the_old_program),
		IN_A_WORLD(test_what_is_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
