/* vercel_test.c - Vercel: the contract at the emulator, and its wire as bytes.
 */
/* SPDX-License-Identifier: MIT */
#include "cloud_files.h"
#include "providers/vercel/exec.c"

static const char *const not_here[] = { "dialog", "source of input", NULL };

static const struct cloud_case at_emulator = {
	.not_here = not_here,
	.emulator = "vercel.py",
	.provider = &vercel_provider,
	.env = { "VERCEL_TOKEN=vercel_token_0123456789",
		 "VERCEL_TEAM_ID=team_test", "VERCEL_PROJECT_ID=prj_test",
		 "VERCEL_API_URL=%s" },
};

static int setup(void **state)
{
	return cloud_setup(state, &at_emulator);
}

static void test_life(void **state)
{
	int64_t now = clock_unix_ms() / 1000;

	(void)state;
	cloud_ghost("ghost");
	assert_in_range(cloud_extended(1234), now + 1190, now + 1260);
}

static int64_t give_none(void *arg, char *room, size_t len, struct error *err)
{
	(void)arg;
	(void)room;
	(void)len;
	return error_set(err, ERR_SYSTEM, "no more");
}

/* The one whose source fails does not harm the rest. */
static void test_many_files(void **state)
{
	enum { MANY = 100 };
	static char paths[MANY][64];
	static struct moved moved[MANY];
	static struct transfer files[MANY];
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	for (size_t i = 0; i < MANY; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/tmp/many/%zu", i);
		moved[i] = (struct moved){ .size = 50000 };
		files[i] = (struct transfer){ .path = paths[i],
					      .size = 50000,
					      .read = i == 7 ? give_none : give,
					      .arg = &moved[i] };
	}
	files[8].path = "/etc/passwd/x";
	assert_int_equal(sandbox_upload(*state, files, MANY, &stop, &err), 0);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(files[i].error, i == 7   ? FILE_OTHER
						 : i == 8 ? FILE_INVALID_PATH
							  : FILE_OK);
	expect(*state, "ls /tmp/many | wc -l; cat /tmp/many/* | wc -c", 0,
	       "98\n4900000\n", "");
}

/* What was there keeps its mode. */
static void test_modes(void **state)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct moved m = { .size = 3 };
	struct transfer f = {
		.path = "/tmp/mode", .size = 3, .read = give, .arg = &m
	};

	expect(*state, "echo x >/tmp/mode; chmod 751 /tmp/mode", 0, "", "");
	assert_int_equal(sandbox_upload(*state, &f, 1, &stop, &err), 0);
	expect(*state, "stat -c %a /tmp/mode", 0, "751\n", "");
	m.at = 0;
	f.mode = 0600;
	assert_int_equal(sandbox_upload(*state, &f, 1, &stop, &err), 0);
	expect(*state, "stat -c %a /tmp/mode", 0, "751\n", "");
}

/* One stream, in pieces of n bytes. */
static void feed(struct str stream, size_t n, struct vercel_lines *l, bool logs,
		 struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < stream.len; i += n) {
		size_t len = stream.len - i < n ? stream.len - i : n;

		rc = feed_lines(l, (struct str){ stream.ptr + i, len }, err);
	}
	if (rc == 0)
		(void)end_lines(l, logs, err);
}

#define BEGIN "{\"command\":{\"id\":\"cmd_1\",\"exitCode\":null}}\n"
#define OUT "{\"stream\":\"stdout\",\"data\":\"h\\u00e9\\n\"}\n"
#define ERR "{\"stream\":\"stderr\",\"data\":\"no\"}\n"
#define STOPPED                                                                \
	"{\"stream\":\"error\",\"data\":{\"code\":\"sandbox_stopped\"}}\n"
#define END "{\"command\":{\"id\":\"cmd_1\",\"exitCode\":0}}\n"

static void test_lines(void **state)
{
	static const struct {
		const char *stream;
		bool logs;
		enum err code;
		const char *out;
	} cases[] = {
		{ BEGIN OUT ERR OUT END, false, ERR_NONE,
		  "h\303\251\nh\303\251\n" },
		{ BEGIN END, false, ERR_NONE, "" },
		{ BEGIN "\r\n\n" OUT END, false, ERR_NONE, "h\303\251\n" },
		{ BEGIN OUT, false, ERR_NETWORK, "h\303\251\n" },
		{ BEGIN, false, ERR_NETWORK, "" },
		{ "", false, ERR_NETWORK, "" },
		{ BEGIN OUT STOPPED, false, ERR_NETWORK, "h\303\251\n" },
		{ "", true, ERR_NONE, "" },
		{ OUT ERR, true, ERR_NONE, "h\303\251\n" },
		{ OUT "{\"stream\":", true, ERR_NETWORK, "h\303\251\n" },
		{ OUT "<html>\n" OUT, true, ERR_PROTOCOL, "h\303\251\n" },
		{ "{\"stream\":7,\"data\":[]}\n7\n", true, ERR_NONE, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t n = 1; n < 90; n++) {
			struct buf out = BUF_INIT(100);
			struct vercel_lines l = { .out = &out };
			struct error err = { 0 };

			feed(str_of(cases[i].stream), n, &l, cases[i].logs,
			     &err);
			if (err.code != cases[i].code)
				print_error("case %zu by %zu: %s\n", i, n,
					    err.message);
			assert_int_equal(err.code, cases[i].code);
			assert_string_equal(out.ptr ? out.ptr : "",
					    cases[i].out);
			release_lines(&l);
			buf_release(&out);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_life),
		CONTRACT_ROWS,
		cmocka_unit_test(test_no_parts_are_left),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
