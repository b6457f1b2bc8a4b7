/* ws_connect.c - connects and shakes hands for a WebSocket. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <sodium.h>

#include "net/handles.h"
#include "net/head.h"
#include "net/ws_impl.h"

enum {
	OPEN_MS = 60000,
	REFUSED_MS = 5000,   /* for the body of an answer that refuses */
	REQUEST_MAX = 65536, /* bytes */
	HEAD_MAX = 65536,    /* of all heads of the answer */
	BODY_MAX = 65536,    /* of what is read of an answer that refuses */
	PIECE = 4096,
};

struct opening {
	struct ws_link *link;
	struct http *http;
	const struct ws_request *req;
	struct http_response *answer; /* the caller's or our own */
	char key[WS_KEY_SIZE];
};

static int send_request(struct opening *o, const struct stop *stop,
			struct error *err)
{
	struct buf text = BUF_INIT(REQUEST_MAX);
	struct conn_target to = { .flags = o->req->flags };
	unsigned char raw[16];
	char *url = ws_connect_url(o->req->url, err);
	int rc = -1;

	randombytes_buf(raw, sizeof(raw));
	sodium_bin2base64(o->key, sizeof(o->key), raw, sizeof(raw),
			  sodium_base64_VARIANT_ORIGINAL);
	to.url = url;
	if (url && ws_request_write(o->req, o->key, &text, err) == 0 &&
	    conn_open(&o->link->conn, o->http, &to, stop, err) == 0)
		rc = conn_send(o->link->conn, buf_str(&text), stop, err);
	buf_wipe(&text); /* tokens */
	free(url);
	return rc;
}

/* Appends what comes: 1, 0 at the end of the stream, or -1. */
static int more(struct opening *o, size_t max, const struct stop *stop,
		struct error *err)
{
	struct buf *in = &o->link->rest;
	char *room = in->len < max ? buf_room(in, PIECE) : NULL;
	int64_t n;

	if (!room)
		return error_set(err, ERR_PROTOCOL,
				 "the server's answer is too long");
	n = conn_recv(o->link->conn, room, PIECE, stop, err);
	if (n > 0)
		buf_added(in, (size_t)n);
	return n > 0 ? 1 : (int)n;
}

static int read_head(struct opening *o, size_t *size, const struct stop *stop,
		     struct error *err)
{
	for (;;) {
		int got;

		*size = ws_head_size(buf_str(&o->link->rest));
		if (*size)
			return 0;
		got = more(o, HEAD_MAX, stop, err);
		if (got < 0)
			return -1;
		if (!got)
			return error_set(err, ERR_NETWORK,
					 "the server ended the connection "
					 "before it answered");
	}
}

static void note_head(struct opening *o, struct str head,
		      const struct curl_api *api)
{
	struct str line;

	(void)ws_head_line(&head, &line);
	head_status(o->answer, line);
	while (ws_head_line(&head, &line)) {
		head_field(o->answer, line, api);
		if (o->req->header)
			o->req->header(o->req->arg, line);
	}
}

/* The server's words are worth a moment, not more. */
static int refused(struct opening *o, size_t head, const struct stop *stop,
		   struct error *err)
{
	struct http_response *answer = o->answer;
	struct stop brief = stop_within(stop, REFUSED_MS);
	struct error ignored = { 0 };
	bool whole;

	if (!answer->body.max)
		answer->body.max = BODY_MAX;
	do {
		struct str all = buf_str(&o->link->rest);

		buf_clear(&answer->body);
		whole = ws_head_body((struct str){ all.ptr, head },
				     str_skip(all, head), &answer->body);
	} while (!whole && more(o, head + BODY_MAX, &brief, &ignored) > 0);
	if (stop_check(stop, err) < 0)
		return -1;
	http_status_error(answer, "opening the WebSocket", err);
	if (answer->status < 300)
		err->code = ERR_PROTOCOL;
	return -1;
}

static int shake_hands(struct opening *o, const struct stop *stop,
		       struct error *err)
{
	const struct curl_api *api = http_api(o->http, stop, err);
	struct buf *in = &o->link->rest;
	struct str text;
	size_t head;
	int status;

	if (!api || send_request(o, stop, err) < 0)
		return -1;
	for (;;) {
		if (read_head(o, &head, stop, err) < 0)
			return -1;
		text = (struct str){ in->ptr, head };
		status = ws_head_status(text);
		if (status < 100 || status >= 200 || status == 101)
			break;
		buf_consume(in, head); /* 103 Early Hints and the like */
	}
	if (!status)
		return error_set(err, ERR_PROTOCOL,
				 "the server does not speak HTTP/1.1");
	o->answer->began = true;
	note_head(o, text, api);
	if (status != 101)
		return refused(o, head, stop, err);
	if (ws_head_check(text, o->key, o->req->protocols, o->link->protocol,
			  err) < 0)
		return -1;
	buf_consume(in, head);
	return 0;
}

int ws_connect(struct ws_link *link, struct http *h,
	       const struct ws_request *req, const struct stop *stop,
	       struct error *err)
{
	int64_t ms = req->open_ms ? req->open_ms : OPEN_MS;
	struct stop within = stop_within(stop, ms);
	struct http_response own = { .retry_after_ms = -1 };
	struct opening o = { .link = link,
			     .http = h,
			     .req = req,
			     .answer = req->answer ? req->answer : &own };
	int rc;

	*link = (struct ws_link){ .rest = BUF_INIT(HEAD_MAX + BODY_MAX +
						   2 * PIECE) };
	o.answer->status = 0;
	o.answer->retry_after_ms = -1;
	rc = shake_hands(&o, &within, err);
	http_response_release(&own);
	if (rc == 0)
		return 0;
	if (!err->http_status)
		err->http_status = o.answer->status;
	conn_close(link->conn);
	buf_release(&link->rest);
	*link = (struct ws_link){ 0 };
	/* Our own limit: the caller still has time and may try again. */
	if (err->code == ERR_TIMEOUT && clock_ms() < stop->deadline)
		return error_set(
			err, ERR_NETWORK,
			"the server did not open the WebSocket within %d s",
			(int)(ms / 1000));
	return -1;
}
