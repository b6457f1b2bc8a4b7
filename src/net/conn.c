/* conn.c - a raw connection through libcurl: TLS and proxies, no HTTP. */
/* SPDX-License-Identifier: MIT */
/*
 * libcurl makes the connection, with its TLS and proxies
 * (CURLOPT_CONNECT_ONLY); afterwards this file waits for the socket itself and
 * moves bytes through libcurl. Begin reading at conn_open(), then conn_send()
 * and conn_recv().
 */
#include "net/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/handles.h"
#include "net/resolve.h"

enum { CONNECT_MS = 30000 };

struct conn {
	struct http *http; /* borrowed */
	const struct curl_api *api;
	/* owned; its easy handle stays in its multi handle while connected */
	struct handle *handle;
	bool added;
	curl_socket_t fd;
};

/* Sets c->fd once libcurl has connected, or err. */
static int connect_result(struct conn *c, struct error *err)
{
	CURLcode code = CURLE_COULDNT_CONNECT;
	CURLMsg *msg;
	int left;

	while ((msg = c->api->multi_info_read(c->handle->multi, &left)))
		if (msg->msg == CURLMSG_DONE)
			code = msg->data.result;
	if (code != CURLE_OK)
		return handle_error(c->api, c->handle, code, err);
	handle_reached(c->handle);
	code = c->api->easy_getinfo(c->handle->easy, CURLINFO_ACTIVESOCKET,
				    &c->fd);
	if (code != CURLE_OK || c->fd == CURL_SOCKET_BAD)
		return error_set(err, ERR_NETWORK, "the connection is closed");
	return 0;
}

/* Runs libcurl until the connection is made. */
static int run_connect(struct conn *c, const struct stop *stop,
		       struct error *err)
{
	struct curl_waitfd extra = { .fd = stop_fd(stop),
				     .events = CURL_WAIT_POLLIN };
	int running = 1;

	for (;;) {
		CURLMcode code =
			c->api->multi_perform(c->handle->multi, &running);

		if (code == CURLM_OK && !running)
			return connect_result(c, err);
		if (code == CURLM_OK)
			code = c->api->multi_poll(
				c->handle->multi, &extra, extra.fd >= 0,
				stop_poll_ms(stop, 60000), NULL);
		if (code != CURLM_OK)
			return error_set(err, ERR_SYSTEM, "libcurl: %s",
					 c->api->multi_strerror(code));
		if (stop_check(stop, err) < 0)
			return -1;
	}
}

/* Sets the address, the proxy and the flags of the connection. */
static void set_target(struct conn *c, const struct conn_target *to)
{
	const struct curl_api *api = c->api;
	CURL *easy = c->handle->easy;
	bool direct = to->unix_socket || to->flags & HTTP_NO_PROXY ||
		      loopback_url(str_of(to->url));

	api->easy_setopt(easy, CURLOPT_URL, to->url);
	api->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, to->unix_socket);
	api->easy_setopt(easy, CURLOPT_PROXY, direct ? "" : NULL);
	/* For http:// URLs libcurl sends requests to the proxy instead of
	 * opening a tunnel. An HTTP proxy does not understand the protocols
	 * used here, so always ask for a tunnel. */
	api->easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
	/* So that ALPN offers only http/1.1. */
	api->easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	api->easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	api->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
}

int conn_open(struct conn **out, struct http *h, const struct conn_target *to,
	      const struct stop *stop, struct error *err)
{
	const struct curl_api *api = http_api(h, stop, err);
	struct handle *hd;
	struct conn *c;

	if (!api)
		return -1;
	hd = handle_new(h, to->url, to->unix_socket, stop, err);
	if (!hd)
		return -1;
	c = xcalloc(1, sizeof(*c));
	*c = (struct conn){
		.http = h, .api = api, .handle = hd, .fd = CURL_SOCKET_BAD
	};
	set_target(c, to);
	c->added = api->multi_add_handle(hd->multi, hd->easy) == CURLM_OK;
	if (!c->added) {
		error_set(err, ERR_SYSTEM, "libcurl returned no connection");
		goto fail;
	}
	if (run_connect(c, stop, err) < 0)
		goto fail;
	*out = c;
	return 0;
fail:
	conn_close(c);
	return -1;
}

void conn_close(struct conn *c)
{
	if (!c)
		return;
	if (c->added)
		c->api->multi_remove_handle(c->handle->multi, c->handle->easy);
	handle_give(c->http, c->handle, false);
	free(c);
}

static int io_error(struct conn *c, CURLcode code, const char *what,
		    struct error *err)
{
	return error_set(err, ERR_NETWORK, "%s: %s", what,
			 c->api->easy_strerror(code));
}

int64_t conn_try_send(struct conn *c, struct str data, struct error *err)
{
	size_t n = 0;
	CURLcode code;

	if (!data.len)
		return 0;
	code = c->api->easy_send(c->handle->easy, data.ptr, data.len, &n);
	if (code == CURLE_OK)
		return (int64_t)n;
	if (code == CURLE_AGAIN)
		return 0;
	return io_error(c, code, "sending", err);
}

int64_t conn_try_recv(struct conn *c, char *room, size_t len, bool *closed,
		      struct error *err)
{
	size_t n = 0;
	CURLcode code = c->api->easy_recv(c->handle->easy, room, len, &n);

	if (code == CURLE_AGAIN)
		return 0;
	if (code != CURLE_OK)
		return io_error(c, code, "receiving", err);
	if (n == 0)
		*closed = true;
	return (int64_t)n;
}

/* Waits for events on the socket, or until other is readable (-1: nothing), for
 * at most ms (-1: no limit). */
static int wait_for(struct conn *c, short events, int other, int64_t ms,
		    const struct stop *stop, struct error *err)
{
	struct pollfd fds[3] = {
		{ .fd = c->fd, .events = events },
		{ .fd = stop_fd(stop), .events = POLLIN },
		{ .fd = other, .events = POLLIN },
	};
	int limit = ms < 0 || ms > 60000 ? 60000 : (int)ms;
	int64_t until = ms < 0 ? INT64_MAX : clock_ms() + ms;

	for (;;) {
		int ready = poll(fds, 3, stop_poll_ms(stop, limit));

		if (ready < 0 && errno != EINTR)
			return error_errno(err, "poll");
		if (stop_check(stop, err) < 0)
			return -1;
		if (ready > 0 || clock_ms() >= until)
			return 0;
	}
}

int conn_wait(struct conn *c, bool to_write, int64_t ms,
	      const struct stop *stop, struct error *err)
{
	return conn_wait_or(c, to_write, -1, ms, stop, err);
}

int conn_wait_or(struct conn *c, bool to_write, int other, int64_t ms,
		 const struct stop *stop, struct error *err)
{
	short events = (short)(POLLIN | (to_write ? POLLOUT : 0));

	return wait_for(c, events, other, ms, stop, err);
}

int conn_wait_writable(struct conn *c, int64_t ms, const struct stop *stop,
		       struct error *err)
{
	return wait_for(c, POLLOUT, -1, ms, stop, err);
}

int conn_send(struct conn *c, struct str data, const struct stop *stop,
	      struct error *err)
{
	while (data.len) {
		int64_t sent = conn_try_send(c, data, err);

		if (sent < 0)
			return -1;
		data = str_skip(data, (size_t)sent);
		if (data.len && sent == 0 &&
		    conn_wait_writable(c, -1, stop, err) < 0)
			return -1;
	}
	return 0;
}

int64_t conn_recv(struct conn *c, char *room, size_t len,
		  const struct stop *stop, struct error *err)
{
	bool closed = false;

	for (;;) {
		int64_t got = conn_try_recv(c, room, len, &closed, err);

		if (got != 0 || closed)
			return got;
		if (conn_wait(c, false, -1, stop, err) < 0)
			return -1;
	}
}

void conn_finish(struct conn *c)
{
	(void)shutdown(c->fd, SHUT_WR);
}
