/* ws_torture_test.c - a WebSocket cut at every byte: no hang, right error. */
/* SPDX-License-Identifier: MIT */
#include "tests/unit/ws_box.h"

enum { MIB = 1 << 20 };

/* Everything that happens on path, as text: the messages and the end. */
static void story(const char *path, struct buf *out)
{
	struct stop stop = stop_cleanup(5000);
	struct buf message = BUF_INIT(100);
	struct error err = { 0 };
	struct ws *ws = NULL;
	enum ws_kind kind;
	int rc = box_open(&ws, path, (struct ws_request){ 0 }, &err);

	if (rc == 0)
		buf_adds(out, "open ");
	while (rc == 0 &&
	       (rc = ws_receive(ws, &message, &kind, &stop, &err)) == 1) {
		buf_addstr(out, buf_str(&message));
		buf_addc(out, ' ');
		rc = 0;
	}
	if (rc < 0)
		buf_adds(out, error_name(err.code));
	else
		buf_addf(out, "%d", ws_code(ws));
	ws_free(ws);
	buf_release(&message);
}

/* n = 1, 2, ... until a run passes untouched. */
static void each_byte(const char *kind)
{
	static const char whole[] = "open a \xe2\x82\xac"
				    "a 4000";
	bool passed = false;
	int opened = 0;

	for (int n = 0; n < 1000 && !passed; n++) {
		struct buf got = BUF_INIT(1000);
		char path[32];

		snprintf(path, sizeof(path), "/%s/%d", kind, n);
		story(path, &got);
		passed = strcmp(got.ptr, whole) == 0;
		opened += str_starts(buf_str(&got), "open");
		if (!passed && strcmp(got.ptr, "network") != 0 &&
		    strcmp(got.ptr, "open network") != 0 &&
		    strcmp(got.ptr, "open a network") != 0 &&
		    strcmp(got.ptr, "open a \xe2\x82\xac"
				    "a network") != 0)
			fail_msg("%s: %s", path, got.ptr);
		buf_release(&got);
	}
	assert_true(passed);
	assert_int_equal(opened, 1 + 17); /* bytes of frames */
}

static void test_truncated(void **state)
{
	(void)state;
	each_byte("trunc");
}

/* A reset may overtake what was sent before it: only hangs, wrong errors and
 * wrong messages count. */
static void test_reset(void **state)
{
	(void)state;
	for (int n = 0; n < 160; n += 3) {
		struct buf got = BUF_INIT(1000);
		char path[32];

		snprintf(path, sizeof(path), "/reset/%d", n);
		story(path, &got);
		assert_true(str_ends(buf_str(&got), "network") ||
			    str_ends(buf_str(&got), "4000"));
		buf_release(&got);
	}
}

/* The server leaves while we send: an error at once, for good. */
static void test_deaf(void **state)
{
	static const int sizes[] = { 0, 1, 5, 65550, MIB, 3 * MIB };
	char *data = calloc(1, 16 * MIB);

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct stop stop = stop_cleanup(5000);
		struct buf message = BUF_INIT(1);
		struct error err = { 0 };
		struct ws *ws = NULL;
		enum ws_kind kind;
		char path[32];

		snprintf(path, sizeof(path), "/deaf/%d", sizes[i]);
		assert_int_equal(
			box_open(&ws, path, (struct ws_request){ 0 }, &err), 0);
		assert_int_equal(ws_send(ws, WS_BINARY,
					 (struct str){ data, 16 * MIB }, &stop,
					 &err),
				 -1);
		assert_int_equal(err.code, ERR_NETWORK);
		assert_int_equal(ws_receive(ws, &message, &kind, &stop, &err),
				 -1);
		assert_int_equal(err.code, ERR_NETWORK);
		assert_int_equal(ws_close(ws, 1000, "", &stop, &err), -1);
		assert_int_equal(err.code, ERR_NETWORK);
		ws_free(ws);
		buf_release(&message);
	}
	free(data);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_deaf),
	};

	return cmocka_run_group_tests(tests, box_start, box_end);
}
