/* deno_test.c - Deno: the contract, files, messages and who they are for. */
/* SPDX-License-Identifier: MIT */
#include "cloud_files.h"
#include "providers/deno/rpc.c"

static const char *const not_here[] = { "dialog", "source of input", "lifetime",
					NULL };

static const struct cloud_case at_emulator = {
	.not_here = not_here,
	.emulator = "deno.py",
	.provider = &deno_provider,
	.env = { "DENO_DEPLOY_TOKEN=ddo_0123456789abcdef",
		 "DENO_SANDBOX_ENDPOINT=%s", "DENO_DEPLOY_ENDPOINT=%s" },
};

static int setup(void **state)
{
	return cloud_setup(state, &at_emulator);
}

static void test_files(void **state)
{
	static const struct {
		const char *path;
		int64_t size;
	} cases[] = {
		{ "/home/sandbox/empty", 0 },
		{ "/tmp/new/dir/one", 1 },
		{ "/tmp/a b'c\"d?e&f%g\\h\303\251\n", 70000 },
		{ "/tmp/no text \377", 1000 },
		{ "/tmp/far/away/ten", 10 << 20 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cloud_round(*state, cases[i].path, cases[i].size,
			    i == 1 ? 0755 : 0);
	expect(*state, "stat -c %a /tmp/new/dir/one", 0, "755\n", "");
}

static void test_file_errors(void **state)
{
	static const struct cloud_refusal cases[] = {
		{ "/tmp", FILE_IS_DIRECTORY, FILE_IS_DIRECTORY },
		{ "/etc/passwd/x/y", FILE_INVALID_PATH, FILE_NOT_FOUND },
		{ "relative", FILE_INVALID_PATH, FILE_INVALID_PATH },
		{ "/usr/share/no", FILE_PERMISSION_DENIED, FILE_NOT_FOUND },
		{ "/tmp/missing", FILE_OK, FILE_NOT_FOUND },
	};

	cloud_refused(*state, cases, sizeof(cases) / sizeof(*cases));
}

/* Ends of a file that break after 400000 bytes. */

static int64_t give_some(void *arg, char *room, size_t len, struct error *err)
{
	const struct moved *m = arg;

	if (m->at >= 400000)
		return error_set(err, ERR_SYSTEM, "the disk is gone");
	return give(arg, room, len, err);
}

static int take_some(void *arg, struct str chunk, struct error *err)
{
	const struct moved *m = arg;

	if (m->at >= 400000)
		return error_set(err, ERR_SYSTEM, "the disk is full");
	return take(arg, chunk, err);
}

/* The other files go on, and so does the socket. */
static void test_broken_ends(void **state)
{
	struct moved up = { .size = 1 << 20 };
	struct moved down = { .size = 10 << 20 };
	struct transfer f = { .path = "/tmp/source",
			      .size = up.size,
			      .read = give_some,
			      .arg = &up };
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	assert_int_equal(sandbox_upload(*state, &f, 1, &stop, &err), 0);
	assert_int_equal(f.error, FILE_OTHER);
	assert_string_equal(f.detail, "the disk is gone");
	f = (struct transfer){ .path = "/tmp/far/away/ten",
			       .write = take_some,
			       .arg = &down };
	assert_int_equal(sandbox_download(*state, &f, 1, &stop, &err), 0);
	assert_int_equal(f.error, FILE_OTHER);
	assert_string_equal(f.detail, "the disk is full");
	cloud_round(*state, "/tmp/good", 3, 0);
}

#define REPLY "{\"jsonrpc\":\"2.0\",\"id\":7,"
#define STREAM "{\"jsonrpc\":\"2.0\",\"method\":\"$sandbox.stream."
static const struct {
	const char *text;
	enum err code;
	enum deno_kind kind;
	const char *said; /* the code, or the data */
} messages[] = {
	{ "pong", 0, DENO_OTHER, "" },
	{ REPLY "\"result\":{\"ok\":null}}", 0, DENO_REPLY, "" },
	{ REPLY "\"result\":{\"ok\":{\"pid\":1}}}", 0, DENO_REPLY, "" },
	{ REPLY "\"result\":{\"error\":{\"code\":\"ENOENT\","
		"\"constructorName\":\"NotFound\"}}}",
	  0, DENO_REPLY, "ENOENT" },
	{ REPLY "\"result\":{\"error\":{\"code\":null,"
		"\"constructorName\":\"NotFound\"}}}",
	  0, DENO_REPLY, "NotFound" },
	{ REPLY "\"error\":{\"code\":-32601,\"message\":\"x\"}}", 0, DENO_REPLY,
	  "" },
	{ STREAM "start\",\"params\":{\"streamId\":0}}", 0, DENO_OTHER, "" },
	{ STREAM "enqueue\",\"params\":{\"streamId\":3,"
		 "\"data\":\"aGkK\"}}",
	  0, DENO_DATA, "hi\n" },
	{ STREAM "end\",\"params\":{\"streamId\":3}}", 0, DENO_END, "" },
	{ STREAM "error\",\"params\":{\"streamId\":3,\"error\":null}}", 0,
	  DENO_END, "" },
	{ STREAM "cancel\",\"params\":{\"streamId\":3}}", 0, DENO_CANCEL, "" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"$sandbox.news\"}", 0, DENO_OTHER,
	  "" },
	{ STREAM "enqueue\",\"params\":{\"streamId\":3}}", ERR_PROTOCOL, 0,
	  "" },
	{ STREAM "enqueue\",\"params\":{\"streamId\":3,"
		 "\"data\":\"a?\"}}",
	  ERR_PROTOCOL, 0, "" },
	{ STREAM "end\",\"params\":{\"streamId\":-3}}", ERR_PROTOCOL, 0, "" },
	{ STREAM "end\",\"params\":{}}", ERR_PROTOCOL, 0, "" },
	{ REPLY "\"result\":{}}", ERR_PROTOCOL, 0, "" },
	{ REPLY "\"result\":null}", ERR_PROTOCOL, 0, "" },
	{ "{\"id\":null,\"error\":{\"message\":\"no JSON\"}}", ERR_PROTOCOL, 0,
	  "" },
	{ "{\"id\":\"7\",\"result\":{\"ok\":1}}", ERR_PROTOCOL, 0, "" },
	{ "[]", ERR_PROTOCOL, 0, "" },
	{ "{\"jsonrpc\":", ERR_PROTOCOL, 0, "" },
	{ "", ERR_PROTOCOL, 0, "" },
};

static void test_messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		struct deno_frame f;
		struct error err = { 0 };

		parse_frame(&f, str_of(messages[i].text), 1000, &err);
		assert_int_equal(err.code, messages[i].code);
		if (!err.code)
			assert_int_equal(f.kind, messages[i].kind);
		if (!err.code && f.kind == DENO_REPLY)
			assert_string_equal(f.code, messages[i].said);
		if (!err.code && f.kind == DENO_DATA)
			assert_true(str_is(buf_str(&f.data), messages[i].said));
		release_frame(&f);
	}
}

static void test_too_much(void **state)
{
	struct deno_frame f;
	struct error err = { 0 };
	struct str text = STR(STREAM "enqueue\",\"params\":{\"streamId\":3,"
				     "\"data\":\"aGVsbG8gd29ybGQ=\"}}");

	(void)state;
	assert_int_equal(parse_frame(&f, text, 5, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	release_frame(&f);
	assert_int_equal(parse_frame(&f, text, 11, &err), 0);
	assert_true(str_is(buf_str(&f.data), "hello world"));
	release_frame(&f);
}

/* One message to those who wait. */
static int tell(struct deno_calls *c, const char *text)
{
	struct deno_frame f;
	struct error err = { 0 };
	int rc;

	assert_int_equal(parse_frame(&f, str_of(text), 1 << 20, &err), 0);
	rc = apply_frame(c, &f, &err);
	release_frame(&f);
	return rc;
}

#define NAMED "{\"id\":1,\"result\":{\"ok\":{\"pid\":5,\"stdoutStreamId\":4}}}"
#define DATA(s)                                                                \
	STREAM "enqueue\",\"params\":{\"streamId\":4,\"data\":\"" s "\"}}"
#define END STREAM "end\",\"params\":{\"streamId\":4}}"

static struct deno_waiting *spawn(struct deno_calls *c, struct buf *out)
{
	struct error err = { 0 };
	struct deno_waiting *w = add_call(c, 1, &err);

	assert_non_null(w);
	w->spawn = true;
	w->out = out;
	return w;
}

/* The reply that names a stream may come anywhere among its parts. */
static void test_orders(void **state)
{
	static const char *const parts[] = { DATA("YQ=="), DATA("Yg=="), END };

	(void)state;
	for (size_t at = 0; at <= 3; at++) {
		struct deno_calls c = { 0 };
		struct buf out = BUF_INIT(100);
		struct deno_waiting *w = spawn(&c, &out);

		for (size_t i = 0; i <= 3; i++) {
			if (i == at)
				assert_int_equal(tell(&c, NAMED), 0);
			if (i < 3)
				assert_int_equal(tell(&c, parts[i]), 0);
		}
		assert_true(w->done);
		assert_true(cancel_triggered(&w->ready));
		assert_int_equal(w->why.code, 0);
		assert_true(str_is(buf_str(&out), "ab"));
		assert_int_equal(tell(&c, NAMED), 0); /* twice: no harm */
		assert_null(c.early);
		release_call(&c, w);
		assert_null(c.list);
		buf_release(&out);
	}
}

static void test_who_left(void **state)
{
	struct deno_calls c = { 0 };
	struct buf out = BUF_INIT(100);
	struct error gone = { .code = ERR_NETWORK };
	struct deno_waiting *w;

	(void)state;
	release_call(&c, spawn(&c, &out));
	assert_int_equal(tell(&c, DATA("YQ==")), 0);
	assert_non_null(c.early);
	assert_int_equal(tell(&c, NAMED), 0);
	assert_null(c.early);
	assert_null(c.list);
	w = spawn(&c, &out);
	release_call(&c, spawn(&c, &out));
	fail_calls(&c, &gone);
	assert_true(w->done && w->why.code == ERR_NETWORK);
	assert_ptr_equal(c.list, w);
	release_call(&c, w);
	assert_null(c.list);
	assert_int_equal(out.len, 0);
}

/* A server that begins streams without end is cut off. */
static void test_many_streams(void **state)
{
	struct deno_calls c = { 0 };
	struct buf out = BUF_INIT(100);
	struct error gone = { .code = ERR_NETWORK };
	struct deno_waiting *w = spawn(&c, &out);
	int n = 0;

	(void)state;
	for (int rc = 0; rc == 0 && n < 1000; n++) {
		char text[160];

		snprintf(text, sizeof(text),
			 STREAM "enqueue\",\"params\":{\"streamId\":%d,"
				"\"data\":\"YQ==\"}}",
			 100 + n);
		rc = tell(&c, text);
	}
	assert_in_range(n, 2, 100);
	fail_calls(&c, &gone);
	assert_null(c.early);
	release_call(&c, w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_who_left),
		cmocka_unit_test(test_many_streams),
		CONTRACT_ROWS,
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_errors),
		cmocka_unit_test(test_broken_ends),
	};

	return cmocka_run_group_tests(tests, setup, cloud_teardown);
}
