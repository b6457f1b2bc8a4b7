/* http_fault_test.c - servers that cut, stall, refuse or never answer. */
/* SPDX-License-Identifier: MIT */
#include "tests/unit/http_box.h"

static int refuse(void *arg, struct str chunk, struct error *err)
{
	(void)arg;
	(void)chunk;
	return error_set(err, ERR_PROTOCOL, "not this");
}

static void test_cut_answers(void **state)
{
	static const char *const paths[] = { "/cut", "/cut-chunked",
					     "/cut-head", "/close" };
	struct http_response res = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct error err = { 0 };

		assert_int_equal(run(paths[i], (struct http_request){ 0 }, &res,
				     NULL, &err),
				 -1);
		assert_int_equal(err.code, ERR_NETWORK);
		assert_true(retry_worthy(-1, &res, &err));
		assert_int_equal(res.began, i < 3);
	}
	http_response_release(&res);
}

static void test_dead_connection_is_replaced(void **state)
{
	struct str body = STR("again");
	struct str parts[] = { STR("ag"), STR("ain") };
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	for (size_t n = 1; n <= 2; n++) {
		assert_int_equal(run("/leave", (struct http_request){ 0 }, &res,
				     NULL, &err),
				 0);
		assert_int_equal(run("/echo",
				     (struct http_request){
					     .method = "POST",
					     .segments = n == 1 ? &body : parts,
					     .n_segments = n },
				     &res, NULL, &err),
				 0);
		assert_string_equal(res.body.ptr, "again");
	}
	http_response_release(&res);
}

static void test_refusals(void **state)
{
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run("/429", (struct http_request){ .data = refuse },
			     &res, NULL, &err),
			 0);
	assert_int_equal(res.status, 429);
	assert_int_equal(retry_wish(&res), 7000);
	assert_int_equal(http_status_error(&res, "asking", &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_string_equal(err.message, "asking: HTTP 429: slow down");
	assert_int_equal(
		run("/529", (struct http_request){ 0 }, &res, NULL, &err), 0);
	assert_int_equal(res.retry_after_ms, 250);
	http_status_error(&res, "asking", &err);
	assert_string_equal(err.message, "asking: HTTP 529: overloaded");
	assert_int_equal(
		run("/dated", (struct http_request){ 0 }, &res, NULL, &err), 0);
	assert_int_equal(res.retry_after_ms, 0);
	res.body.max = 100;
	assert_int_equal(
		run("/flood", (struct http_request){ 0 }, &res, NULL, &err), 0);
	assert_int_equal(res.status, 500);
	assert_int_equal(res.body.len, 100);
	http_response_release(&res);
}

static void test_no_server(void **state)
{
	struct http_request req = { .method = "GET",
				    .url = "http://127.0.0.1:1/" };
	struct stop stop = stop_cleanup(5000);
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(http_do(http, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_UNREACHABLE);
	assert_false(res.began);
	req.url = "http://no-such-host.invalid/";
	assert_int_equal(http_do(http, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_UNREACHABLE);
	req.url = "file:///etc/passwd";
	assert_int_equal(http_do(http, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	http_response_release(&res);
}

/* One that was there before may come back. */
static void test_a_server_that_goes(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char url[64];
	struct http_request req = { .method = "GET",
				    .url = url,
				    .idle_ms = 100 };
	struct stop stop = stop_cleanup(30000);
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(at.sin_port));
	assert_int_equal(http_do(http, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_UNREACHABLE); /* it does not listen */
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(http_do(http, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NETWORK); /* nor answer */
	close(fd);
	assert_int_equal(http_do(http, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NETWORK);
	http_response_release(&res);
}

static void test_stall(void **state)
{
	struct http_response res = { 0 };
	struct error err = { 0 };
	int64_t begun = clock_ms();

	(void)state;
	assert_int_equal(run("/stall", (struct http_request){ .idle_ms = 300 },
			     &res, NULL, &err),
			 -1);
	assert_int_equal(err.code, ERR_NETWORK);
	assert_non_null(strstr(err.message, "stalled"));
	assert_in_range(clock_ms() - begun, 290, 2000);
	err = (struct error){ 0 };
	assert_int_equal(run("/hang", (struct http_request){ .idle_ms = 300 },
			     &res, NULL, &err),
			 -1);
	assert_int_equal(err.code, ERR_NETWORK);
	http_response_release(&res);
}

static void *trigger_later(void *arg)
{
	usleep(150000);
	cancel_trigger(arg);
	return NULL;
}

static void test_cancel_and_deadline(void **state)
{
	struct http_response res = { 0 };
	struct error err = { 0 };
	struct cancel cancel;
	struct stop stop;
	pthread_t thread;
	int64_t begun = clock_ms();

	(void)state;
	assert_int_equal(cancel_init(&cancel, &err), 0);
	stop = stop_on(&cancel);
	pthread_create(&thread, NULL, trigger_later, &cancel);
	assert_int_equal(
		run("/hang", (struct http_request){ 0 }, &res, &stop, &err),
		-1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_in_range(clock_ms() - begun, 140, 350);
	pthread_join(thread, NULL);
	cancel_release(&cancel);
	stop = stop_cleanup(150);
	err = (struct error){ 0 };
	assert_int_equal(
		run("/hang", (struct http_request){ 0 }, &res, &stop, &err),
		-1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	http_response_release(&res);
}

static void test_callback_aborts(void **state)
{
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run("/chunked",
			     (struct http_request){ .data = refuse }, &res,
			     NULL, &err),
			 -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	assert_string_equal(err.message, "not this");
	http_response_release(&res);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_answers),
		cmocka_unit_test(test_dead_connection_is_replaced),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_no_server),
		cmocka_unit_test(test_a_server_that_goes),
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_cancel_and_deadline),
		cmocka_unit_test(test_callback_aborts),
	};

	return cmocka_run_group_tests(tests, box_start, box_end);
}
