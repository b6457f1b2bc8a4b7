/* ws_handshake_test.c - SHA-1, the request, and answers good and bad. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/ws.h"
#include "tests/unit/unit.h"

/* RFC 6455 §1.3 */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

static void expect_sha1(struct str data, const char *hex)
{
	unsigned char out[SHA1_LEN];
	char text[2 * SHA1_LEN + 1];

	sha1(data, out);
	for (size_t i = 0; i < SHA1_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", out[i]);
	assert_string_equal(text, hex);
}

/* RFC 3174 §7.3, and lengths around the end of a block (sha1sum). */
static void test_sha1(void **state)
{
	char *many = malloc(1000000);
	struct buf ten = BUF_INIT(1000);

	(void)state;
	memset(many, 'a', 1000000);
	for (int i = 0; i < 10; i++)
		buf_adds(&ten, "0123456701234567012345670123456701234567012345"
			       "670123456701234567");
	expect_sha1(STR("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
	expect_sha1(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopn"
			"opq"),
		    "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	expect_sha1((struct str){ many, 1000000 },
		    "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
	expect_sha1(buf_str(&ten), "dea356a2cddd90c7a7ecedc5ebb563934f460452");
	expect_sha1(STR(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	expect_sha1((struct str){ many, 55 },
		    "c1c8bbdc22796e28c0e15163d20899b65621d65a");
	expect_sha1((struct str){ many, 56 },
		    "c2db330f6083854c99d4b5bfb6e8f29f201be699");
	expect_sha1((struct str){ many, 63 },
		    "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
	expect_sha1((struct str){ many, 64 },
		    "0098ba824b5c16427bd7a1122a5a442a25ec644d");
	expect_sha1((struct str){ many, 65 },
		    "11655326c708d70319be2610e8a57d9a5b959d3b");
	buf_release(&ten);
	free(many);
}

static void test_accept(void **state)
{
	char accept[WS_ACCEPT_SIZE];

	(void)state;
	ws_accept(KEY, accept);
	assert_string_equal(accept, ACCEPT);
}

static void test_url(void **state)
{
	static const struct {
		const char *url, *connect, *request;
	} rows[] = {
		{ "ws://h", "http://h/", "GET / HTTP/1.1\r\nHost: h\r\n" },
		{ "wss://h:8/a?b=1#c", "https://h:8/",
		  "GET /a?b=1 HTTP/1.1\r\nHost: h:8\r\n" },
		{ "HTTPS://[::1]:9?q", "https://[::1]:9/",
		  "GET /?q HTTP/1.1\r\nHost: [::1]:9\r\n" },
		{ "http://h#f", "http://h/", "GET / HTTP/1.1\r\nHost: h\r\n" },
		{ "ftp://h/", NULL, NULL },
		{ "h/", NULL, NULL },
		{ "ws://", NULL, NULL },
		{ "ws:///x", NULL, NULL },
		{ "ws://me:pw@h/", NULL, NULL },
		{ "ws://h/a b", NULL, NULL },
		{ "ws://h/a\r\nX: y", NULL, NULL },
		{ "ws://h/\xc3\xa9", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = { 0 };
		struct ws_request req = { .url = rows[i].url };
		struct buf out = BUF_INIT(4096);
		char *url = ws_connect_url(rows[i].url, &err);

		if (!rows[i].connect) {
			assert_null(url);
			assert_int_equal(err.code, ERR_CONFIG);
			continue;
		}
		assert_string_equal(url, rows[i].connect);
		assert_int_equal(ws_request_write(&req, KEY, &out, &err), 0);
		assert_true(str_starts(buf_str(&out), rows[i].request));
		buf_release(&out);
		free(url);
	}
}

static void test_request(void **state)
{
	const char *headers[] = { "Authorization: Bearer t\xc3\xa9",
				  "X-A:", NULL };
	struct ws_request req = { .url = "ws://h/p",
				  .headers = headers,
				  .protocols = "a, b" };
	struct buf out = BUF_INIT(4096);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(ws_request_write(&req, KEY, &out, &err), 0);
	assert_string_equal(out.ptr,
			    "GET /p HTTP/1.1\r\nHost: h\r\n"
			    "User-Agent: dcode\r\nUpgrade: websocket\r\n"
			    "Connection: Upgrade\r\n"
			    "Sec-WebSocket-Version: 13\r\n"
			    "Sec-WebSocket-Key: " KEY "\r\n"
			    "Sec-WebSocket-Protocol: a, b\r\n"
			    "Authorization: Bearer t\xc3\xa9\r\nX-A:\r\n\r\n");
	buf_release(&out);
}

static void test_bad_headers(void **state)
{
	static const char *const bad[] = {
		"X-A: secret\r\nX-B: c",
		"X-A: secret\n",
		"X-A: secret\x7f",
		"X A: secret",
		"no colon",
		": secret",
		"",
		"host: secret",
		"UPGRADE: h2c",
		"sec-websocket-key: x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *headers[] = { "X-Fine: 1", bad[i], NULL };
		struct ws_request req = { .url = "ws://h/",
					  .headers = headers };
		struct buf out = BUF_INIT(4096);
		struct error err = { 0 };

		assert_int_equal(ws_request_write(&req, KEY, &out, &err), -1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_null(strstr(err.message, "secret"));
		headers[1] = NULL;
		assert_int_equal(ws_request_write(&req, KEY, &out, &err), 0);
		buf_release(&out);
	}
}

#define OK "HTTP/1.1 101 Switching Protocols\r\n"
#define UP "Upgrade: websocket\r\n"
#define CO "Connection: Upgrade\r\n"
#define AC "Sec-WebSocket-Accept: " ACCEPT "\r\n"

static const struct {
	const char *head;   /* without the empty line */
	const char *chosen; /* NULL: refused */
} heads[] = {
	{ OK UP CO AC, "" },
	{ OK "uPGRADE:WebSocket \r\nconnection: keep-alive, upgrade\r\n" AC,
	  "" },
	{ OK UP "Connection: keep-alive\r\n" CO AC, "" },
	{ OK UP CO AC "Sec-WebSocket-Extensions:\r\n", "" },
	{ OK UP CO AC "Sec-WebSocket-Protocol: b\r\n", "b" },
	{ OK UP CO AC "Sec-WebSocket-Protocol: c\r\n", NULL },
	{ OK UP CO AC "Sec-WebSocket-Protocol: B\r\n", NULL },
	{ OK UP CO AC "Sec-WebSocket-Protocol:\r\n", NULL },
	{ OK UP CO AC "Sec-WebSocket-Protocol: a, b\r\n", NULL },
	{ OK UP CO AC "Sec-WebSocket-Protocol: a\r\n"
		      "Sec-WebSocket-Protocol: b\r\n",
	  NULL },
	{ OK UP CO AC "Sec-WebSocket-Extensions: permessage-deflate\r\n",
	  NULL },
	{ "HTTP/1.0 101 Switching Protocols\r\n" UP CO AC, NULL },
	{ OK CO AC, NULL },
	{ OK UP AC, NULL },
	{ OK UP CO, NULL },
	{ OK "Upgrade: h2c\r\n" CO AC, NULL },
	{ OK UP UP CO AC, NULL },
	{ OK UP "Connection: Upgraded\r\n" AC, NULL },
	{ OK UP CO AC AC, NULL },
	{ OK UP CO "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
	  NULL },
	{ OK UP CO "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo\r\n",
	  NULL },
	{ OK UP CO "Sec-WebSocket-Accept: " KEY "\r\n", NULL },
};

static void test_heads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		char chosen[WS_PROTOCOL_SIZE];
		struct buf in = BUF_INIT(4096);
		struct error err = { 0 };
		int rc;

		buf_adds(&in, heads[i].head);
		assert_int_equal(ws_head_size(buf_str(&in)), 0);
		buf_adds(&in, "\r\n");
		assert_int_equal(ws_head_size(buf_str(&in)), in.len);
		assert_int_equal(ws_head_status(buf_str(&in)), 101);
		rc = ws_head_check(buf_str(&in), KEY, "a, b", chosen, &err);
		assert_int_equal(rc, heads[i].chosen ? 0 : -1);
		assert_string_equal(chosen,
				    heads[i].chosen ? heads[i].chosen : "");
		assert_int_equal(err.code, rc ? ERR_PROTOCOL : 0);
		buf_release(&in);
	}
}

static void test_status(void **state)
{
	static const struct {
		const char *head;
		int status;
	} rows[] = {
		{ "HTTP/1.1 404 Not Found\r\n", 404 },
		{ "HTTP/1.1 200\r\n", 200 },
		{ "HTTP/1.0 503 \r\n", 503 },
		{ "HTTP/2 200 OK\r\n", 0 },
		{ "HTTP/1.1 99 x\r\n", 0 },
		{ "HTTP/1.1 -99 x\r\n", 0 },
		{ "HTTP/1.1 1010 x\r\n", 0 },
		{ "SSH-2.0-x 101 hi\r\n", 0 },
		{ "HTTP/1.1", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(ws_head_status(str_of(rows[i].head)),
				 rows[i].status);
}

static void test_bodies(void **state)
{
	static const struct {
		const char *head, *raw, *body;
		bool whole;
	} rows[] = {
		{ "Content-Length: 3\r\n", "abcd", "abc", true },
		{ "Content-Length: 3\r\n", "ab", "ab", false },
		{ "Content-Length: 0\r\n", "", "", true },
		{ "Content-Length: -1\r\n", "ab", "ab", false },
		{ "", "ab", "ab", false },
		{ "Transfer-Encoding: chunked\r\n",
		  "3;x\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", "abc0123456789",
		  true },
		{ "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n", "abc",
		  false },
		{ "Transfer-Encoding: chunked\r\n", "3\r\nab", "ab", false },
		{ "Transfer-Encoding: chunked\r\n", "3\r\nabc", "abc", false },
		{ "Transfer-Encoding: chunked\r\n", "3\r", "", false },
		{ "Transfer-Encoding: chunked\r\n", "zz\r\nabc", "", true },
		{ "Transfer-Encoding: chunked\r\n", "ffffffffff\r\nabc", "",
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf head = BUF_INIT(4096);
		struct buf body = BUF_INIT(4096);

		buf_addf(&head, "HTTP/1.1 403 No\r\n%s\r\n", rows[i].head);
		assert_int_equal(ws_head_body(buf_str(&head),
					      str_of(rows[i].raw), &body),
				 rows[i].whole);
		assert_true(str_is(buf_str(&body), rows[i].body));
		buf_release(&head);
		buf_release(&body);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha1),
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_url),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
