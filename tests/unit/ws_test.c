/* ws_test.c - the WebSocket client against a strict and hostile server. */
/* SPDX-License-Identifier: MIT */
#include "tests/unit/ws_box.h"

enum { MIB = 1 << 20 };

static struct ws *opened(const char *path, struct ws_request req)
{
	struct error err = { 0 };
	struct ws *ws = NULL;
	int rc = box_open(&ws, path, req, &err);

	if (rc < 0)
		print_message("%s: %s\n", path, err.message);
	assert_int_equal(rc, 0);
	return ws;
}

static int receive(struct ws *ws, struct buf *message, struct error *err)
{
	struct stop stop = stop_cleanup(20000);
	enum ws_kind kind = 0;
	int rc = ws_receive(ws, message, &kind, &stop, err);

	return rc == 1 ? (int)kind : rc;
}

static void expect_message(struct ws *ws, int kind, const char *text)
{
	struct buf message = BUF_INIT(100);
	struct error err = { 0 };

	assert_int_equal(receive(ws, &message, &err), kind);
	assert_true(str_is(buf_str(&message), text));
	buf_release(&message);
}

static int failing(struct ws *ws, enum err code)
{
	struct buf message = BUF_INIT(100);
	struct error err = { 0 };
	int rc = receive(ws, &message, &err);

	if (rc != -1 || err.code != code)
		print_message("%d %s: %s\n", rc, error_name(err.code),
			      err.message);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, code);
	buf_release(&message);
	return ws_code(ws);
}

static void closed(struct ws *ws, int code, const char *reason)
{
	struct buf message = BUF_INIT(100);
	struct error err = { 0 };

	assert_int_equal(receive(ws, &message, &err), 0);
	assert_int_equal(ws_code(ws), code);
	assert_string_equal(ws_reason(ws), reason);
	buf_release(&message);
}

static void test_echo(void **state)
{
	static const size_t sizes[] = { 0,           1,          125,   126,
					65535,       65536,      65537, MIB / 4,
					MIB / 4 + 1, 3 * MIB + 5 };
	struct stop stop = stop_cleanup(20000);
	struct ws *ws = opened("/echo", (struct ws_request){ 0 });
	struct buf message = BUF_INIT(1);
	struct error err = { 0 };
	char *data = malloc(4 * MIB);

	(void)state;
	atomic_store(&fragments, 0);
	for (size_t i = 0; i < 4 * MIB; i++)
		data[i] = (char)(i * 31 >> 3);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct str s = { data, sizes[i] };

		assert_int_equal(ws_send(ws, WS_BINARY, s, &stop, &err), 0);
		assert_int_equal(receive(ws, &message, &err), WS_BINARY);
		assert_true(str_eq(buf_str(&message), s));
		assert_int_equal(message.max, 1);
	}
	assert_int_equal(fragments, 8 + 2 + 13);
	assert_int_equal(ws_send(ws, WS_TEXT, STR("h\xc3\xa9"), &stop, &err),
			 0);
	expect_message(ws, WS_TEXT, "h\xc3\xa9");
	assert_int_equal(ws_send(ws, WS_TEXT, STR("\xc3"), &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(ws_code(ws), 0);
	assert_int_equal(ws_close(ws, 4321, "bye", &stop, &err), 0);
	assert_int_equal(ws_code(ws), 4321);
	assert_string_equal(ws_reason(ws), "bye");
	assert_int_equal(close_code, 4321);
	assert_int_equal(ws_send(ws, WS_TEXT, STR("x"), &stop, &err), -1);
	assert_int_equal(err.code, ERR_GONE);
	ws_free(ws);
	assert_int_equal(bad_frames, 0);
	assert_int_equal(same_keys, 0);
	buf_release(&message);
	free(data);
}

static void note_id(void *arg, struct str line)
{
	if (str_is(line, "X-Id: sbx_1"))
		++*(int *)arg;
}

/* One byte at a time: 103, the handshake, fragments, a ping, the end. */
static void test_drip(void **state)
{
	int seen = 0;
	struct ws *ws = opened("/drip", (struct ws_request){
						.header = note_id,
						.arg = &seen,
					});

	(void)state;
	expect_message(ws, WS_TEXT,
		       "\xe2\x82\xac"
		       "a");
	closed(ws, 4000, "");
	ws_free(ws);
	usleep(50000);
	assert_int_equal(seen, 1);
	assert_int_equal(close_code, 4000);
}

static void test_request(void **state)
{
	const char *headers[] = { "Authorization: Bearer t", NULL };
	struct http_response answer = { 0 };
	struct ws *ws = opened("/head?x=1", (struct ws_request){
						    .headers = headers,
						    .protocols = "a, b",
						    .answer = &answer,
					    });
	struct buf message = BUF_INIT(1);
	struct error err = { 0 };

	(void)state;
	assert_string_equal(ws_protocol(ws), "b");
	assert_int_equal(answer.status, 101);
	assert_int_equal(receive(ws, &message, &err), WS_TEXT);
	assert_non_null(strstr(message.ptr, "GET /head?x=1 HTTP/1.1\r\n"));
	assert_non_null(strstr(message.ptr, "\r\nAuthorization: Bearer t\r\n"));
	assert_non_null(strstr(message.ptr, "\r\nHost: 127.0.0.1:"));
	assert_null(strstr(message.ptr, "Extensions"));
	ws_free(ws);
	buf_release(&message);
	http_response_release(&answer);
}

static void test_refused(void **state)
{
	static const struct {
		const char *path;
		enum err code;
		int status;
		const char *message;
	} rows[] = {
		{ "/refuse/401", ERR_AUTH, 401, "HTTP 401: not for you" },
		{ "/refuse/403", ERR_AUTH, 403, "HTTP 403: not for you" },
		{ "/refuse/404", ERR_NOT_FOUND, 404, "HTTP 404: not for you" },
		{ "/refuse/429", ERR_LIMIT, 429, "HTTP 429: not for you" },
		{ "/refuse/502", ERR_REMOTE, 502, "HTTP 502: not for you" },
		{ "/refuse/200", ERR_PROTOCOL, 200, "HTTP 200: not for you" },
		{ "/refuse/302", ERR_REMOTE, 302,
		  "redirects are not followed" },
		{ "/refuse/chunked", ERR_AUTH, 403, "HTTP 403: not for you" },
		{ "/refuse/close", ERR_REMOTE, 503, "HTTP 503: not for you" },
		{ "/bad/accept", ERR_PROTOCOL, 101, "Accept does not match" },
		{ "/bad/extension", ERR_PROTOCOL, 101, "not offered" },
		{ "/bad/garbage", ERR_PROTOCOL, 0, "does not speak HTTP" },
		{ "/bad/cut", ERR_NETWORK, 0, "before it answered" },
		{ "/bad/endless", ERR_PROTOCOL, 0, "too long" },
		{ "/bad/silent", ERR_NETWORK, 0, "did not open" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct http_response answer = { 0 };
		struct ws_request req = { .answer = &answer, .open_ms = 2000 };
		struct error err = { 0 };
		struct ws *ws = NULL;
		int64_t began = clock_ms();

		assert_int_equal(box_open(&ws, rows[i].path, req, &err), -1);
		if (err.code != rows[i].code ||
		    !strstr(err.message, rows[i].message))
			print_message("%s: %s %s\n", rows[i].path,
				      error_name(err.code), err.message);
		assert_null(ws);
		assert_int_equal(err.code, rows[i].code);
		assert_non_null(strstr(err.message, rows[i].message));
		assert_int_equal(answer.status, rows[i].status);
		if (strncmp(rows[i].path, "/refuse/4", 9) == 0)
			assert_int_equal(answer.retry_after_ms, 3000);
		assert_true(clock_ms() - began < 4000);
		http_response_release(&answer);
	}
}

/* What breaks the protocol is answered with the right code. */
static void test_malformed(void **state)
{
	static const struct {
		const char *path;
		enum err code;
		int sent;
	} rows[] = {
		{ "/raw/c10161", ERR_PROTOCOL, 1002 },
		{ "/raw/8300", ERR_PROTOCOL, 1002 },
		{ "/raw/81810000000061", ERR_PROTOCOL, 1002 },
		{ "/raw/0900", ERR_PROTOCOL, 1002 },
		{ "/raw/8000", ERR_PROTOCOL, 1002 },
		{ "/raw/8101ff", ERR_PROTOCOL, 1007 },
		{ "/raw/880203ed", ERR_PROTOCOL, 1002 },
		{ "/raw/827f0000000000010001", ERR_LIMIT, 1009 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ws_request req = { .message_max = 65536 };
		struct stop stop = stop_cleanup(1000);
		struct error err = { 0 };
		struct ws *ws = opened(rows[i].path, req);

		assert_int_equal(failing(ws, rows[i].code), WS_CODE_ABNORMAL);
		assert_int_equal(failing(ws, rows[i].code), WS_CODE_ABNORMAL);
		assert_int_equal(ws_send(ws, WS_TEXT, STR("x"), &stop, &err),
				 -1);
		assert_int_equal(err.code, rows[i].code);
		for (int k = 0; k < 500 && close_code < 0; k++)
			usleep(2000);
		assert_int_equal(close_code, rows[i].sent);
		ws_free(ws);
	}
}

/* What came before a failure is delivered before it. */
static void test_order(void **state)
{
	struct ws *ws = opened("/raw/8101618300", (struct ws_request){ 0 });

	(void)state;
	expect_message(ws, WS_TEXT, "a");
	failing(ws, ERR_PROTOCOL);
	ws_free(ws);
	ws = opened("/raw/8101618102626388020fa0", (struct ws_request){ 0 });
	expect_message(ws, WS_TEXT, "a");
	expect_message(ws, WS_TEXT, "bc");
	closed(ws, 4000, "");
	ws_free(ws);
	for (int i = 0; i < 3; i++) { /* cut within a head, a payload, after */
		static const char *const paths[] = { "/cut/81", "/cut/810261",
						     "/cut/810161" };

		ws = opened(paths[i], (struct ws_request){ 0 });
		if (i == 2)
			expect_message(ws, WS_TEXT, "a");
		assert_int_equal(failing(ws, ERR_NETWORK), WS_CODE_ABNORMAL);
		ws_free(ws);
	}
}

static void test_total(void **state)
{
	struct ws_request req = { .total_max = 6 };
	struct ws *ws = opened("/raw/810161810162", req);

	(void)state;
	expect_message(ws, WS_TEXT, "a");
	expect_message(ws, WS_TEXT, "b");
	ws_free(ws);
	ws = opened("/raw/8101618102626388020fa0", req);
	expect_message(ws, WS_TEXT, "a");
	assert_int_equal(failing(ws, ERR_LIMIT), WS_CODE_ABNORMAL);
	ws_free(ws);
}

static void test_pings(void **state)
{
	struct stop stop = stop_cleanup(20000);
	struct stop brief = stop_cleanup(400);
	struct ws_request req = { .ping_ms = 50, .pong_ms = 100 };
	struct ws *ws = opened("/echo", req);
	struct buf message = BUF_INIT(1);
	struct error err = { 0 };
	enum ws_kind kind;
	int64_t began;

	(void)state;
	/* Its pongs keep a silent connection alive ... */
	assert_int_equal(ws_receive(ws, &message, &kind, &brief, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_int_equal(ws_send(ws, WS_TEXT, STR("x"), &stop, &err), 0);
	expect_message(ws, WS_TEXT, "x");
	ws_free(ws);
	/* ... and nothing keeps one that is mute. */
	ws = opened("/mute", req);
	began = clock_ms();
	assert_int_equal(failing(ws, ERR_NETWORK), WS_CODE_ABNORMAL);
	assert_in_range(clock_ms() - began, 100, 1500);
	ws_free(ws);
	/* The server's own pings are answered, with what they carry. */
	ws = opened("/ping", (struct ws_request){ 0 });
	expect_message(ws, WS_TEXT, "hey");
	ws_free(ws);
	/* At once, not with the next call. */
	atomic_store(&pongs, 0);
	ws = opened("/raw/8901618901628900810161", (struct ws_request){ 0 });
	expect_message(ws, WS_TEXT, "a");
	for (int i = 0; i < 500 && !pongs; i++)
		usleep(2000);
	assert_in_range(pongs, 1, 3);
	ws_free(ws);
	buf_release(&message);
}

static void test_idle(void **state)
{
	struct ws_request req = { .idle_ms = 150 };
	struct stop stop = stop_cleanup(20000);
	struct error err = { 0 };
	struct buf message = BUF_INIT(1);
	enum ws_kind kind;
	char *data = calloc(1, 16 * MIB);
	struct ws *ws = opened("/mute", req);
	int64_t began = clock_ms();

	(void)state;
	failing(ws, ERR_NETWORK);
	assert_in_range(clock_ms() - began, 140, 1500);
	ws_free(ws);
	/* In slices it is the same silence. */
	ws = opened("/mute", req);
	began = clock_ms();
	do {
		struct stop slice = stop_cleanup(40);

		err = (struct error){ 0 };
		assert_int_equal(ws_receive(ws, &message, &kind, &slice, &err),
				 -1);
		usleep(20000); /* not counted */
	} while (err.code == ERR_TIMEOUT);
	assert_int_equal(err.code, ERR_NETWORK);
	assert_in_range(clock_ms() - began, 190, 1500);
	ws_free(ws);
	/* One that takes nothing stalls a large message. */
	ws = opened("/mute", req);
	began = clock_ms();
	assert_int_equal(ws_send(ws, WS_BINARY, (struct str){ data, 16 * MIB },
				 &stop, &err),
			 -1);
	assert_int_equal(err.code, ERR_NETWORK);
	assert_in_range(clock_ms() - began, 140, 3000);
	ws_free(ws);
	free(data);
}

static void *trigger(void *arg)
{
	usleep(100000);
	cancel_trigger(arg);
	return NULL;
}

/* A cancel from elsewhere ends a call at once; receiving loses nothing. */
static void test_cancel(void **state)
{
	struct stop clean = stop_cleanup(20000);
	struct ws *ws = opened("/echo", (struct ws_request){ 0 });
	struct buf message = BUF_INIT(1);
	struct error err = { 0 };
	struct cancel cancel;
	struct stop stop;
	enum ws_kind kind;
	pthread_t thread;
	int64_t began = clock_ms();

	(void)state;
	assert_int_equal(cancel_init(&cancel, &err), 0);
	stop = stop_on(&cancel);
	pthread_create(&thread, NULL, trigger, &cancel);
	assert_int_equal(ws_receive(ws, &message, &kind, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_in_range(clock_ms() - began, 90, 1000);
	pthread_join(thread, NULL);
	assert_int_equal(ws_send(ws, WS_TEXT, STR("no"), &stop, &err), -1);
	assert_int_equal(ws_send(ws, WS_TEXT, STR("yes"), &clean, &err), 0);
	expect_message(ws, WS_TEXT, "yes");
	assert_int_equal(ws_close(ws, 1000, "", &clean, &err), 0);
	ws_free(ws);
	cancel_release(&cancel);
	buf_release(&message);
}

/* A message given up halfway: no other follows, the rest works. */
static void test_given_up(void **state)
{
	struct stop brief = stop_cleanup(150);
	struct stop stop = stop_cleanup(20000);
	struct ws *ws = opened("/mute", (struct ws_request){ 0 });
	struct error err = { 0 };
	char *data = calloc(1, 16 * MIB);

	(void)state;
	assert_int_equal(ws_send(ws, WS_BINARY, (struct str){ data, 16 * MIB },
				 &brief, &err),
			 -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_int_equal(ws_send(ws, WS_TEXT, STR("x"), &stop, &err), -1);
	assert_int_equal(err.code, ERR_NETWORK);
	brief = stop_cleanup(150);
	assert_int_equal(ws_close(ws, 1000, "", &brief, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	ws_free(ws);
	free(data);
}

/* Both sides send more than the system holds: nobody blocks. */
static void test_flood(void **state)
{
	struct stop stop = stop_cleanup(20000);
	struct ws *ws = opened("/flood", (struct ws_request){ 0 });
	struct buf message = BUF_INIT(1);
	struct error err = { 0 };
	char *data = calloc(1, 8 * MIB);

	(void)state;
	usleep(100000);
	assert_int_equal(ws_send(ws, WS_BINARY, (struct str){ data, 8 * MIB },
				 &stop, &err),
			 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(receive(ws, &message, &err), WS_BINARY);
		assert_int_equal(message.len, MIB);
	}
	assert_int_equal(receive(ws, &message, &err), WS_BINARY);
	assert_int_equal(message.len, 8 * MIB);
	assert_int_equal(ws_close(ws, 1000, "", &stop, &err), 0);
	ws_free(ws);
	buf_release(&message);
	free(data);
}

static void test_no_answer_to_close(void **state)
{
	struct ws *ws = opened("/mute/stay", (struct ws_request){ 0 });
	struct error err = { 0 };
	int64_t began = clock_ms();
	struct stop stop = stop_cleanup(200);

	(void)state;
	assert_int_equal(ws_close(ws, 1000, "", &stop, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_in_range(clock_ms() - began, 190, 2000);
	ws_free(ws);
	ws_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_drip),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_total),
		cmocka_unit_test(test_pings),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_no_answer_to_close),
	};

	return cmocka_run_group_tests(tests, box_start, box_end);
}
