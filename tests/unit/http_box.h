/* http_box.h - a server with every kind of answer, for tests of http. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_HTTP_BOX_H
#define TESTS_UNIT_HTTP_BOX_H

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

static inline bool answer_faults(struct tiny_server *s, struct tiny_request *r)
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

static inline bool answer(struct tiny_server *s, struct tiny_request *r)
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
	} else if (strcmp(r->path, "/drip") == 0) {
		tiny_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n");
		for (int i = 0; i < 200; i++) {
			usleep(2000);
			tiny_say(fd, "x");
		}
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

static inline char *url_of(const char *path)
{
	return xasprintf("http://127.0.0.1:%d%s", server.port, path);
}

/* One exchange; the rest of *req is the caller's. */
static inline int run(const char *path, struct http_request req,
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

static inline int box_start(void **state)
{
	(void)state;
	ids_init();
	tiny_start(&server, answer);
	http = http_new(NULL);
	return 0;
}

static inline int box_end(void **state)
{
	(void)state;
	http_free(http);
	tiny_stop(&server);
	return 0;
}

#endif
