/* ws_box.h - a strict little WebSocket server that misbehaves by path. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_WS_BOX_H
#define TESTS_UNIT_WS_BOX_H

#include "base/ids.h"
#include "base/mem.h"
#include "net/ws.h"
#include "tests/unit/tiny_server.h"
#include "tests/unit/unit.h"

static struct tiny_server server;
static struct http *http;
static atomic_int close_code; /* of the client's close frame, -1: none */
static atomic_int fragments;  /* data frames of the client */
static atomic_int same_keys;  /* frames masked like the one before */
static atomic_int bad_frames; /* not as a client must send them */
static atomic_int pongs;

struct client_frame {
	unsigned first;
	struct buf data;
	unsigned char key[4];
};

static inline bool box_read(int fd, void *to, size_t len)
{
	for (char *at = to; len;) {
		ssize_t n = recv(fd, at, len, 0);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* One frame of the client into *f; false at the end of the stream. */
static inline bool box_frame(int fd, struct client_frame *f)
{
	unsigned char head[2];
	unsigned char wide[8];
	unsigned char key[4];
	size_t n;
	uint64_t len;

	if (!box_read(fd, head, 2))
		return false;
	len = head[1] & 0x7f;
	n = len == 127 ? 8 : len == 126 ? 2 : 0;
	if (!box_read(fd, wide, n) || !box_read(fd, key, 4))
		return false;
	for (size_t i = 0; i < n; i++)
		len = (i ? len : 0) << 8 | wide[i];
	if (!(head[1] & 0x80) || (head[0] & 0x70) || len > 1 << 20 ||
	    (n == 2 && len < 126) || (n == 8 && len < 65536))
		atomic_fetch_add(&bad_frames, 1);
	if (memcmp(key, f->key, 4) == 0)
		atomic_fetch_add(&same_keys, 1);
	memcpy(f->key, key, 4);
	f->first = head[0];
	buf_clear(&f->data);
	if (!box_read(fd, buf_room(&f->data, len), len))
		return false;
	buf_added(&f->data, len);
	for (size_t i = 0; i < len; i++)
		f->data.ptr[i] = (char)(f->data.ptr[i] ^ (char)key[i % 4]);
	if ((head[0] & 15) < 8)
		atomic_fetch_add(&fragments, 1);
	if ((head[0] & 15) == WS_PONG)
		atomic_fetch_add(&pongs, 1);
	if ((head[0] & 15) == WS_CLOSE)
		atomic_store(&close_code,
			     len < 2 ? 0
				     : (unsigned char)f->data.ptr[0] << 8 |
					       (unsigned char)f->data.ptr[1]);
	return true;
}

static inline void box_send(int fd, unsigned first, struct str data)
{
	unsigned char head[10] = { (unsigned char)first };
	size_t wide = data.len < 126 ? 0 : data.len < 65536 ? 2 : 8;

	head[1] = (unsigned char)(wide == 8 ? 127 : wide == 2 ? 126 : data.len);
	for (size_t i = 0; i < wide; i++)
		head[2 + i] = (unsigned char)(data.len >> 8 * (wide - 1 - i));
	tiny_send(fd, (const char *)head, 2 + wide);
	tiny_send(fd, data.ptr, data.len);
}

/* Answers every data frame with itself, pings with pongs, then closes. */
static inline void box_echo(int fd)
{
	struct client_frame f = { .data = BUF_INIT(1 << 21) };

	while (box_frame(fd, &f)) {
		unsigned op = f.first & 15;

		if (op == WS_PONG)
			continue;
		box_send(fd, op == WS_PING ? WS_FIN | WS_PONG : f.first,
			 buf_str(&f.data));
		if (op == WS_CLOSE)
			break;
	}
	buf_release(&f.data);
}

/* Waits for the client's close frame, or its end. */
static inline void box_until_close(int fd)
{
	struct client_frame f = { .data = BUF_INIT(1 << 21) };

	while (box_frame(fd, &f) && (f.first & 15) != WS_CLOSE)
		;
	buf_release(&f.data);
}

/* The answer that opens, with more header lines. */
static inline void box_accept(struct tiny_request *r, const char *more,
			      char *text, size_t size)
{
	char key[WS_KEY_SIZE] = "";
	char accept[WS_ACCEPT_SIZE];
	const char *at = strcasestr(r->head, "\r\nSec-WebSocket-Key: ");

	if (at)
		memcpy(key, at + 21, WS_KEY_SIZE - 1);
	ws_accept(key, accept);
	snprintf(text, size,
		 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
		 "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s\r\n",
		 accept, more);
}

static inline void box_upgrade(struct tiny_request *r, const char *more)
{
	char text[1024];

	box_accept(r, more, text, sizeof(text));
	tiny_say(r->fd, text);
}

static inline bool path_is(const struct tiny_request *r, const char *path)
{
	return strncmp(r->path, path, strlen(path)) == 0;
}

/* "/raw/8101ff" sends these bytes after the handshake. */
static inline void box_raw(struct tiny_request *r, const char *hex)
{
	for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		tiny_send(r->fd, &(char){ (char)byte }, 1);
}

static inline void box_refuse(struct tiny_request *r)
{
	static const char body[] = "{\"detail\":\"not for you\"}";
	char text[512];

	if (path_is(r, "/refuse/chunked")) {
		tiny_say(r->fd, "HTTP/1.1 403 No\r\nTransfer-Encoding: "
				"chunked\r\n\r\n4\r\nnot \r\n7\r\nfor you\r\n"
				"0\r\n\r\n");
	} else if (path_is(r, "/refuse/close")) {
		tiny_say(r->fd, "HTTP/1.1 503 No\r\n\r\nnot for you\n");
		return;
	} else {
		snprintf(text, sizeof(text),
			 "HTTP/1.1 %s Status\r\nContent-Length: %zu\r\n"
			 "Retry-After: 3\r\nX-Request-Id: r1\r\n\r\n%s",
			 r->path + 8, sizeof(body) - 1, body);
		tiny_say(r->fd, text);
	}
	tiny_hang(&server, r->fd); /* the client must not wait for the end */
}

static inline void box_shake_badly(struct tiny_request *r)
{
	if (path_is(r, "/bad/accept"))
		tiny_say(r->fd, "HTTP/1.1 101 Switching Protocols\r\n"
				"Upgrade: websocket\r\nConnection: Upgrade\r\n"
				"Sec-WebSocket-Accept: AAAA\r\n\r\n");
	else if (path_is(r, "/bad/extension"))
		box_upgrade(r, "Sec-WebSocket-Extensions: x\r\n");
	else if (path_is(r, "/bad/garbage"))
		tiny_say(r->fd, "SSH-2.0-OpenSSH\r\n\r\n");
	else if (path_is(r, "/bad/cut"))
		tiny_say(r->fd, "HTTP/1.1 101 Swit");
	else if (path_is(r, "/bad/silent"))
		tiny_hang(&server, r->fd);
	else if (path_is(r, "/bad/endless"))
		for (int i = 0; i < 100000 && !server.ending; i++)
			tiny_say(r->fd, "X-A: bbbbbbbbbbbbbbbbbb\r\n");
}

/* Sends a lot before it reads anything at all. */
static inline void box_flood(struct tiny_request *r)
{
	char *data = calloc(1, 1 << 20);

	for (int i = 0; i < 8; i++)
		box_send(r->fd, WS_FIN | WS_BINARY,
			 (struct str){ data, 1 << 20 });
	free(data);
	box_echo(r->fd);
}

static inline void box_ping(struct tiny_request *r)
{
	struct client_frame f = { .data = BUF_INIT(1000) };

	box_send(r->fd, WS_FIN | WS_PING, STR("hey"));
	if (box_frame(r->fd, &f) && f.first == (WS_FIN | WS_PONG))
		box_send(r->fd, WS_FIN | WS_TEXT, buf_str(&f.data));
	buf_release(&f.data);
	box_until_close(r->fd);
}

/* Each byte for itself, the handshake too. */
static inline void box_drip(struct tiny_request *r)
{
	tiny_say(r->fd, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
	box_upgrade(r, "X-Id: sbx_1\r\n");
	box_raw(r, "0103e282ac8900"
		   "80016188020fa0");
	box_until_close(r->fd);
}

static inline void box_reset(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* "/trunc/N" says no more than N bytes, "/reset/N" ends with a reset. */
static inline void box_trunc(struct tiny_request *r)
{
	static const char frames[] = "\x81\x01"
				     "a"
				     "\x01\x03\xe2\x82\xac\x89\x00\x80\x01"
				     "a"
				     "\x88\x02\x0f\xa0";
	size_t most = strtoul(strrchr(r->path, '/') + 1, NULL, 10);
	char text[1024];
	size_t len;

	box_accept(r, "", text, sizeof(text));
	len = strlen(text);
	memcpy(text + len, frames, sizeof(frames) - 1);
	len += sizeof(frames) - 1;
	tiny_send(r->fd, text, most < len ? most : len);
	if (path_is(r, "/reset/"))
		box_reset(r->fd);
}

/* "/deaf/N" reads N bytes of what the client sends, then resets. */
static inline void box_deaf(struct tiny_request *r)
{
	size_t left = strtoul(r->path + 6, NULL, 10);
	char room[65536];

	while (left) {
		ssize_t n = recv(r->fd, room,
				 left < sizeof(room) ? left : sizeof(room), 0);

		if (n <= 0)
			break;
		left -= (size_t)n;
	}
	box_reset(r->fd);
}

static inline bool box_answer(struct tiny_server *s, struct tiny_request *r)
{
	if (path_is(r, "/trunc/") || path_is(r, "/reset/")) {
		box_trunc(r);
		return false;
	}
	if (path_is(r, "/refuse/")) {
		box_refuse(r);
		return false;
	}
	if (path_is(r, "/bad/")) {
		box_shake_badly(r);
		return false;
	}
	if (path_is(r, "/drip")) {
		box_drip(r);
		return false;
	}
	box_upgrade(r, strcasestr(r->head, "Sec-WebSocket-Protocol: a, b\r\n")
			       ? "Sec-WebSocket-Protocol: b\r\n"
			       : "");
	if (path_is(r, "/echo")) {
		box_echo(r->fd);
	} else if (path_is(r, "/deaf/")) {
		box_deaf(r);
	} else if (path_is(r, "/ping")) {
		box_ping(r);
	} else if (path_is(r, "/raw/")) {
		box_raw(r, r->path + 5);
		box_until_close(r->fd);
	} else if (path_is(r, "/cut/")) {
		box_raw(r, r->path + 5);
	} else if (path_is(r, "/mute")) {
		tiny_hang(s, r->fd);
		while (!atomic_load(&s->ending) && path_is(r, "/mute/stay"))
			usleep(2000);
	} else if (path_is(r, "/flood")) {
		box_flood(r);
	} else if (path_is(r, "/head")) {
		box_send(r->fd, WS_FIN | WS_TEXT, str_of(r->head));
		box_until_close(r->fd);
	}
	return false;
}

static inline int box_start(void **state)
{
	(void)state;
	ids_init();
	signal(SIGPIPE, SIG_IGN);
	tiny_start(&server, box_answer);
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

/* Opens path; the rest of req is the caller's. */
static inline int box_open(struct ws **ws, const char *path,
			   struct ws_request req, struct error *err)
{
	struct stop stop = stop_cleanup(20000);
	char *url = xasprintf("ws://127.0.0.1:%d%s", server.port, path);
	int rc;

	atomic_store(&close_code, -1);
	req.url = url;
	rc = ws_open(ws, http, &req, &stop, err);
	free(url);
	return rc;
}

#endif
