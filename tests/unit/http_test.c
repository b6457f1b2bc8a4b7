/* http_test.c - http_do() and conn against a server of our own. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/conn.h"
#include "net/http.h"
#include "net/retry.h"
#include "tests/unit/tiny_server.h"

static struct tiny_server server;
static struct http *http;

static bool answer_faults(struct tiny_server *s, struct tiny_request *r)
{
	int fd = r->fd;

	if (strcmp(r->path, "/hang") == 0) {
		tiny_hang(s, fd);
	} else if (strcmp(r->path, "/stall") == 0) {
		tiny_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
		tiny_hang(s, fd);
	} else if (strcmp(r->path, "/cut") == 0) {
		tiny_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
	} else if (strcmp(r->path, "/cut-chunked") == 0) {
		tiny_say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
			     "chunked\r\n\r\n3\r\nabc\r\n");
	} else if (strcmp(r->path, "/cut-head") == 0) {
		tiny_say(fd, "HTTP/1.1 200 OK\r\nContent-");
	} else if (strcmp(r->path, "/leave") == 0) {
		tiny_reply(fd, "200 OK", "bye", 3); /* and closes, unsaid */
	} else if (strcmp(r->path, "/flood") == 0) {
		tiny_say(fd, "HTTP/1.1 500 No\r\nTransfer-Encoding: "
			     "chunked\r\n\r\n");
		for (int i = 0; i < 4096 && !s->ending; i++)
			tiny_say(fd, "a\r\n0123456789\r\n");
	}
	return false;
}

static bool answer(struct tiny_server *s, struct tiny_request *r)
{
	int fd = r->fd;

	if (strcmp(r->path, "/echo") == 0) {
		tiny_reply(fd,
			   "200 OK\r\nContent-Type: a/b\r\nX-Request-Id: r7",
			   r->body.ptr, r->body.len);
	} else if (strcmp(r->path, "/head") == 0) {
		tiny_reply(fd, "200 OK", r->head, strlen(r->head));
	} else if (strcmp(r->path, "/chunked") == 0) {
		tiny_say(fd,
			 "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
			 "chunked\r\nTrailer: X-End\r\n\r\n3\r\nabc\r\n2\r\n"
			 "de\r\n0\r\nX-End: yes\r\n\r\n");
	} else if (strcmp(r->path, "/early") == 0) {
		tiny_say(fd, "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n");
		tiny_reply(fd, "204 Fine", "", 0);
	} else if (strcmp(r->path, "/429") == 0) {
		static const char body[] =
			"{\"error\":{\"message\":\"slow \\u001b[31mdown\"}}";

		tiny_reply(fd, "429 Too Many\r\nRetry-After: 7", body,
			   sizeof(body) - 1);
	} else if (strcmp(r->path, "/529") == 0) {
		tiny_reply(fd,
			   "529 Overloaded\r\nretry-after-ms: 250\r\n"
			   "Retry-After: 9",
			   "overloaded", 10);
	} else if (strcmp(r->path, "/dated") == 0) {
		tiny_reply(fd,
			   "503 No\r\n"
			   "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT",
			   "", 0);
	} else {
		return answer_faults(s, r);
	}
	return true;
}

static char *url_of(const char *path)
{
	return xasprintf("http://127.0.0.1:%d%s", server.port, path);
}

/* One exchange; the rest of *req is the caller's. */
static int run(const char *path, struct http_request req,
	       struct http_response *res, const struct stop *stop,
	       struct error *err)
{
	char *url = url_of(path);
	struct stop within = stop_cleanup(20000);
	int rc;

	req.url = url;
	if (!req.method)
		req.method = "GET";
	rc = http_do(http, &req, res, stop ? stop : &within, err);
	free(url);
	return rc;
}

static void test_segments_and_source(void **state)
{
	struct str parts[] = {
		STR("one,"), { NULL, 0 }, STR("two,"), STR("three")
	};
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run("/echo",
			     (struct http_request){ .method = "POST",
						    .segments = parts,
						    .n_segments = 4 },
			     &res, NULL, &err),
			 0);
	assert_int_equal(res.status, 200);
	assert_string_equal(res.body.ptr, "one,two,three");
	assert_string_equal(res.content_type, "a/b");
	assert_string_equal(res.request_id, "r7");
	assert_true(res.began);
	assert_int_equal(run("/echo",
			     (struct http_request){ .method = "PUT",
						    .segments = parts,
						    .n_segments = 1 },
			     &res, NULL, &err),
			 0);
	assert_string_equal(res.body.ptr, "one,");
	http_response_release(&res);
}

struct counted {
	size_t left;
	size_t seen;
};

static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct counted *c = arg;
	size_t n = c->left < len ? c->left : len;

	(void)err;
	memset(room, 'x', n);
	c->left -= n;
	return (int64_t)n;
}

static int take(void *arg, struct str chunk, struct error *err)
{
	struct counted *c = arg;

	(void)err;
	c->seen += chunk.len;
	return 0;
}

static void test_stream_both_ways(void **state)
{
	struct counted c = { .left = 3 << 20 };
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	for (int chunked = 0; chunked < 2; chunked++) {
		c = (struct counted){ .left = 3 << 20 };
		assert_int_equal(
			run("/echo",
			    (struct http_request){
				    .method = "PUT",
				    .source = give,
				    .source_size = chunked ? -1 : 3 << 20,
				    .data = take,
				    .arg = &c },
			    &res, NULL, &err),
			0);
		assert_int_equal(c.seen, 3 << 20);
	}
	c = (struct counted){ .left = 3 << 20 };
	assert_int_equal(run("/echo",
			     (struct http_request){ .method = "POST",
						    .source = give,
						    .source_size = 3 << 20,
						    .arg = &c },
			     &res, NULL, &err),
			 -1);
	assert_int_equal(err.code, ERR_LIMIT);
	http_response_release(&res);
}

static void test_headers(void **state)
{
	const char *const headers[] = { "X-One: 1", "Content-Type: t/u", NULL };
	const char *const bad[] = { "X-One: 1\r\nX-Two: 2", NULL };
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run("/head",
			     (struct http_request){ .method = "POST",
						    .headers = headers },
			     &res, NULL, &err),
			 0);
	assert_non_null(strstr(res.body.ptr, "\r\nX-One: 1\r\n"));
	assert_non_null(strstr(res.body.ptr, "\r\nContent-Type: t/u\r\n"));
	assert_null(strstr(res.body.ptr, "Expect"));
	assert_int_equal(run("/head", (struct http_request){ .method = "POST" },
			     &res, NULL, &err),
			 0);
	assert_null(strstr(res.body.ptr, "Content-Type"));
	assert_null(strstr(res.body.ptr, "X-One"));
	assert_int_equal(run("/head",
			     (struct http_request){ .method = "DELETE" }, &res,
			     NULL, &err),
			 0);
	assert_true(str_starts(buf_str(&res.body), "DELETE "));
	assert_int_equal(run("/head", (struct http_request){ .headers = bad },
			     &res, NULL, &err),
			 -1);
	assert_int_equal(err.code, ERR_CONFIG);
	http_response_release(&res);
}

static void note(void *arg, struct str line)
{
	struct buf *all = arg;

	buf_addstr(all, line);
	buf_addc(all, '|');
}

static void test_chunks_trailers_hints(void **state)
{
	struct buf lines = BUF_INIT(4096);
	struct http_response res = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		run("/chunked",
		    (struct http_request){ .header = note, .arg = &lines },
		    &res, NULL, &err),
		0);
	assert_string_equal(res.body.ptr, "abcde");
	assert_non_null(strstr(lines.ptr, "X-End: yes|"));
	buf_clear(&lines);
	assert_int_equal(
		run("/early",
		    (struct http_request){ .header = note, .arg = &lines },
		    &res, NULL, &err),
		0);
	assert_int_equal(res.status, 204);
	assert_null(strstr(lines.ptr, "X-Early"));
	buf_release(&lines);
	http_response_release(&res);
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
	assert_int_equal(run("/429", (struct http_request){ .data = take },
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
	assert_int_equal(err.code, ERR_NETWORK);
	assert_false(res.began);
	req.url = "file:///etc/passwd";
	assert_int_equal(http_do(http, &req, &res, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
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

static int refuse(void *arg, struct str chunk, struct error *err)
{
	(void)arg;
	(void)chunk;
	return error_set(err, ERR_PROTOCOL, "not this");
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

static void test_reuse(void **state)
{
	struct http_response res = { 0 };
	struct error err = { 0 };
	int before;

	(void)state;
	assert_int_equal(
		run("/head", (struct http_request){ 0 }, &res, NULL, &err), 0);
	before = server.connections;
	for (int i = 0; i < 20; i++)
		assert_int_equal(run("/head", (struct http_request){ 0 }, &res,
				     NULL, &err),
				 0);
	assert_int_equal(server.connections, before);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			run("/head",
			    (struct http_request){ .flags = HTTP_ONCE }, &res,
			    NULL, &err),
			0);
	assert_int_equal(server.connections, before + 3);
	http_response_release(&res);
}

static void *many(void *arg)
{
	struct http_response res = { 0 };
	struct str body = STR("hello");
	int *bad = arg;

	for (int i = 0; i < 25; i++) {
		struct error err = { 0 };

		if (run("/echo",
			(struct http_request){ .method = "POST",
					       .segments = &body,
					       .n_segments = 1 },
			&res, NULL, &err) < 0 ||
		    res.body.len != 5)
			++*bad;
	}
	http_response_release(&res);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[8];
	int bad[8] = { 0 };
	int before = server.connections;

	(void)state;
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, many, &bad[i]);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(bad[i], 0);
	}
	assert_in_range(server.connections - before, 0, 8);
}

static void test_conn(void **state)
{
	static const char ask[] = "POST /echo HTTP/1.1\r\nHost: x\r\n"
				  "Content-Length: 5\r\n\r\nhello";
	struct stop stop = stop_cleanup(5000);
	struct buf got = BUF_INIT(4096);
	struct error err = { 0 };
	struct conn *c = NULL;
	char *url = url_of("/");
	struct conn_target to = { .url = url };
	struct conn_target nobody = { .url = "http://127.0.0.1:1/" };
	char room[64];
	int64_t n;

	(void)state;
	assert_int_equal(conn_open(&c, http, &to, &stop, &err), 0);
	assert_int_equal(conn_send(c, str_of(ask), &stop, &err), 0);
	while (!strstr(got.ptr ? got.ptr : "", "hello")) {
		n = conn_recv(c, room, sizeof(room), &stop, &err);
		assert_true(n > 0);
		buf_add(&got, room, (size_t)n);
	}
	stop = stop_cleanup(100);
	assert_int_equal(conn_recv(c, room, sizeof(room), &stop, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	conn_finish(c);
	stop = stop_cleanup(5000);
	assert_int_equal(conn_recv(c, room, sizeof(room), &stop, &err), 0);
	conn_close(c);
	c = NULL;
	err = (struct error){ 0 };
	assert_int_equal(conn_open(&c, http, &nobody, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NETWORK);
	buf_release(&got);
	free(url);
}

static int start(void **state)
{
	(void)state;
	ids_init();
	tiny_start(&server, answer);
	http = http_new(NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	http_free(http);
	tiny_stop(&server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments_and_source),
		cmocka_unit_test(test_stream_both_ways),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_chunks_trailers_hints),
		cmocka_unit_test(test_cut_answers),
		cmocka_unit_test(test_dead_connection_is_replaced),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_no_server),
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_cancel_and_deadline),
		cmocka_unit_test(test_callback_aborts),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_conn),
	};

	return cmocka_run_group_tests(tests, start, end);
}
