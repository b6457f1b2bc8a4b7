/* e2b_test.c - E2B: the contract at the emulator, and its wire as bytes. */
/* SPDX-License-Identifier: MIT */
#include "cloud_box.h"
#include "providers/e2b/e2b.c"
#include "providers/e2b/exec.c"

#define KEY "e2b_0123456789abcdef0123456789abcdef01234567"

static const char *const not_here[] = { "dialog", "source of input",
					"network none and full", NULL };

static const struct cloud_case at_emulator = {
	.not_here = not_here,
	.emulator = "e2b.py",
	.provider = &e2b_provider,
	.env = { "E2B_API_KEY=" KEY, "E2B_API_URL=%s", "E2B_SANDBOX_URL=%s" },
};

static int setup(void **state)
{
	return cloud_setup(state, &at_emulator);
}

static void test_life(void **state)
{
	int64_t now = clock_unix_ms() / 1000;

	(void)state;
	cloud_ghost("ighost");
	assert_in_range(cloud_extended(1234), now + 1220, now + 1260);
}

static void test_unknown_snapshot(void **state)
{
	struct sandbox *sb = *state;
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct sandbox copy;
	struct sandbox_spec spec = { .label = "dcode-cccccccc",
				     .owner = "tester",
				     .snapshot = "no-such-one",
				     .lifetime_s = 600 };

	assert_int_equal(sandbox_create(&copy, sb->client, &spec, &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	sandbox_release(&copy);
}

/* One stream, in pieces of n bytes. */
static int feed(struct str stream, size_t n, struct e2b_events *e,
		struct error *err)
{
	for (size_t i = 0; i < stream.len; i += n) {
		size_t len = stream.len - i < n ? stream.len - i : n;

		if (feed_events(e, (struct str){ stream.ptr + i, len }, err) <
		    0)
			return -1;
	}
	return end_events(e, err);
}

#define START "\0\0\0\0\x20{\"event\":{\"start\":{\"pid\":1234}}}"
#define DATA "\0\0\0\0\x24{\"event\":{\"data\":{\"stdout\":\"aGkK\"}}}"
#define END "\0\0\0\0\x1f{\"event\":{\"end\":{\"exited\":1}}}\n"
#define LAST "\2\0\0\0\2{}"

#define BYTES(literal)                                                         \
	{                                                                      \
		"" literal, sizeof(literal) - 1                                \
	}

static void test_events(void **state)
{
	static const struct {
		struct str stream;
		enum err code;
		const char *out;
	} cases[] = {
		{ BYTES(START DATA END LAST), ERR_NONE, "hi\n" },
		{ BYTES(START DATA DATA END LAST), ERR_NONE, "hi\nhi\n" },
		{ BYTES(START DATA END), ERR_NETWORK, "hi\n" },
		{ BYTES(START DATA), ERR_NETWORK, "hi\n" },
		{ BYTES(""), ERR_NETWORK, "" },
		{ BYTES(START LAST), ERR_PROTOCOL, "" },
		{ BYTES(LAST START), ERR_PROTOCOL, "" },
		{ BYTES("\1\0\0\0\2{}"), ERR_PROTOCOL, "" },
		{ BYTES("\0\1\0\0\1"), ERR_PROTOCOL, "" },
		{ BYTES("\0\0\0\0\1{"), ERR_PROTOCOL, "" },
		{ BYTES("\0\0\0\0\x21{\"event\":{\"data\":{\"stdout\":\"?\"}}"
			"}"),
		  ERR_PROTOCOL, "" },
		{ BYTES(START
			"\2\0\0\0\x20{\"error\":{\"code\":\"unavailable\"}}"),
		  ERR_REMOTE, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t n = 1; n < 90; n++) {
			struct buf out = BUF_INIT(100);
			struct e2b_events e = { .out = &out };
			struct error err = { 0 };

			feed(cases[i].stream, n, &e, &err);
			if (err.code != cases[i].code)
				print_error("case %zu by %zu: %s\n", i, n,
					    err.message);
			assert_int_equal(err.code, cases[i].code);
			assert_string_equal(out.ptr ? out.ptr : "",
					    cases[i].out);
			release_events(&e);
			buf_release(&out);
		}
}

static void test_envelope(void **state)
{
	struct buf out = BUF_INIT(1000);
	struct buf text = BUF_INIT(1000);

	(void)state;
	for (int i = 0; i < 300; i++)
		buf_addc(&text, 'x');
	envelope_add(&out, buf_str(&text));
	assert_int_equal(out.len, 305);
	assert_memory_equal(out.ptr, "\0\0\0\1\x2cxxx", 8);
	buf_release(&out);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_envelope),
		cmocka_unit_test(test_life),
		CONTRACT_ROWS,
		cmocka_unit_test(test_no_parts_are_left),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_unknown_snapshot),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
