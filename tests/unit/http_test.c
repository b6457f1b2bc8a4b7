/* http_test.c - http_do() and conn against a server of our own. */
/* SPDX-License-Identifier: MIT */
#include "tests/unit/http_box.h"

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
	size_t calls; /* of take() */
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
	c->calls++;
	return 0;
}

static size_t count_reads(int64_t gather_ms)
{
	struct counted c = { 0 };
	struct http_response res = { 0 };
	struct error err = { 0 };

	assert_int_equal(run("/drip",
			     (struct http_request){ .data = take,
						    .gather_ms = gather_ms,
						    .arg = &c },
			     &res, NULL, &err),
			 0);
	assert_int_equal(c.seen, 200);
	http_response_release(&res);
	return c.calls;
}

/* 200 pieces in 0.4 s: each is read, or all but the first in a few reads. */
static void test_a_fast_stream_is_gathered(void **state)
{
	(void)state;
	assert_true(count_reads(100) < 60);
	assert_true(count_reads(0) > 60);
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
	assert_int_equal(err.code, ERR_UNREACHABLE);
	buf_release(&got);
	free(url);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments_and_source),
		cmocka_unit_test(test_stream_both_ways),
		cmocka_unit_test(test_a_fast_stream_is_gathered),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_chunks_trailers_hints),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_conn),
	};

	return cmocka_run_group_tests(tests, box_start, box_end);
}
