/* http_do.c - one HTTP exchange, cancellable, on the caller's thread. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/dial.h"
#include "net/handles.h"
#include "net/head.h"
#include "net/http.h"
#include "net/notice.h"

enum {
	CONNECT_MS = 30000,
	HEADERS_MAX = 64, /* header lines of one request */
	STALL_MS = 200,   /* without a byte: see resume() */
};

/* What the callbacks of one transfer share. */
struct http_exchange {
	const struct curl_api *api;
	const struct http_request *req;
	struct http_response *res;
	struct curl_slist connect_to;
	size_t segment; /* next byte to send: which segment, */
	size_t offset;  /* and where in it */
	bool connected;
	bool told_sent;
	bool head_ended;       /* the final answer's headers are whole */
	bool moved;            /* bytes went either way since last looked at */
	int64_t suffices_at;   /* when the rest is not waited for any more */
	struct notice *notice; /* NULL: nothing is said */
	int64_t quiet_since;   /* ms: the last byte, either way */
	bool resumed;          /* since the last byte */
	bool enough;           /* the body of a refusal was cut at our cap */
	bool failed;           /* err holds what a callback said */
	struct error err;
};

static size_t fail(struct http_exchange *x)
{
	x->failed = true;
	return 0;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct http_exchange *x = arg;
	struct str chunk = { data, size * n };

	x->moved = true;
	if (x->res->status < 300 && x->req->data) {
		if (x->req->data(x->req->arg, chunk, &x->err) < 0)
			return fail(x);
		return chunk.len;
	}
	buf_addstr(&x->res->body, chunk);
	if (!x->res->body.over)
		return chunk.len;
	x->enough = x->res->status >= 300;
	if (!x->enough) {
		(void)buf_check(&x->res->body, "the answer", &x->err);
		fail(x);
	}
	return 0;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	struct http_exchange *x = arg;
	struct str line = { data, size * n };

	x->moved = true;
	x->res->began = true;
	while (line.len && (line.ptr[line.len - 1] == '\n' ||
			    line.ptr[line.len - 1] == '\r'))
		line.len--;
	if (str_starts(line, "HTTP/")) {
		head_status(x->res, line);
	} else if (!line.len) {
		x->head_ended = x->res->status >= 200;
	} else if (x->res->status >= 200) {
		head_field(x->res, line, x->api);
		if (x->req->header)
			x->req->header(x->req->arg, line);
	}
	return size * n;
}

static size_t read_source(struct http_exchange *x, char *room, size_t len)
{
	int64_t got = x->req->source(x->req->arg, room, len, &x->err);

	if (got >= 0 && (size_t)got <= len)
		return (size_t)got;
	fail(x);
	return CURL_READFUNC_ABORT;
}

static size_t on_read(char *room, size_t size, size_t n, void *arg)
{
	struct http_exchange *x = arg;
	size_t len = size * n;
	size_t done = 0;

	x->moved = true;
	if (x->req->source)
		return read_source(x, room, len);
	while (done < len && x->segment < x->req->n_segments) {
		struct str s =
			str_skip(x->req->segments[x->segment], x->offset);
		size_t take = s.len < len - done ? s.len : len - done;

		if (take)
			memcpy(room + done, s.ptr, take);
		done += take;
		x->offset += take;
		if (take == s.len) {
			x->segment++;
			x->offset = 0;
		}
	}
	return done;
}

/* libcurl sends the body again when a kept connection turns out dead. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
	struct http_exchange *x = arg;

	if (origin != SEEK_SET || x->req->source)
		return CURL_SEEKFUNC_CANTSEEK;
	x->segment = 0;
	x->offset = 0;
	while (offset > 0 && x->segment < x->req->n_segments) {
		size_t len = x->req->segments[x->segment].len;

		if ((uint64_t)offset < len) {
			x->offset = (size_t)offset;
			return CURL_SEEKFUNC_OK;
		}
		offset -= (curl_off_t)len;
		x->segment++;
	}
	return offset ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

static int on_connected(void *arg, char *ip, char *local_ip, int port,
			int local_port)
{
	struct http_exchange *x = arg;

	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	x->connected = true;
	x->moved = true;
	return CURL_PREREQFUNC_OK;
}

static bool has_body(const struct http_request *req)
{
	return req->n_segments || req->source ||
	       strcmp(req->method, "POST") == 0 ||
	       strcmp(req->method, "PUT") == 0;
}

/* The method and the body. A single segment is handed over as it is: libcurl
 * then sends head and body in one piece. */
static void set_body(struct http_exchange *x, CURL *easy)
{
	const struct curl_api *api = x->api;
	const struct http_request *req = x->req;
	bool single = !req->source && req->n_segments <= 1;
	curl_off_t size = 0;

	api->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, NULL);
	if (!has_body(req)) {
		api->easy_setopt(easy, CURLOPT_HTTPGET, 1L);
		if (strcmp(req->method, "HEAD") == 0)
			api->easy_setopt(easy, CURLOPT_NOBODY, 1L);
		else if (strcmp(req->method, "GET") != 0)
			api->easy_setopt(easy, CURLOPT_CUSTOMREQUEST,
					 req->method);
		return;
	}
	for (size_t i = 0; i < req->n_segments; i++)
		size += (curl_off_t)req->segments[i].len;
	if (req->source)
		size = req->source_size;
	api->easy_setopt(easy, CURLOPT_POST, 1L);
	if (strcmp(req->method, "POST") != 0)
		api->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, req->method);
	api->easy_setopt(easy, CURLOPT_POSTFIELDS,
			 !single                   ? NULL
			 : size && req->n_segments ? req->segments[0].ptr
						   : "");
	api->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, size);
}

/* Links the caller's lines, and those that switch libcurl's own off, into the
 * list that libcurl wants, without copying. */
static int set_headers(struct http_exchange *x, CURL *easy,
		       struct curl_slist list[HEADERS_MAX], struct error *err)
{
	static char no_expect[] = "Expect:";
	static char no_type[] = "Content-Type:";
	static char no_coding[] = "Accept-Encoding:";
	bool typed = !has_body(x->req);
	size_t n = 0;

	for (const char *const *h = x->req->headers; h && *h; h++) {
		if (n > HEADERS_MAX - 4)
			return error_set(err, ERR_LIMIT, "too many headers");
		if (strpbrk(*h, "\r\n"))
			return error_set(err, ERR_CONFIG,
					 "a header holds a line break");
		typed = typed || strncasecmp(*h, no_type, 13) == 0;
		list[n++] = (struct curl_slist){ .data = (char *)*h };
	}
	if (!typed)
		list[n++] = (struct curl_slist){ .data = no_type };
	list[n++] = (struct curl_slist){ .data = no_expect };
	list[n++] = (struct curl_slist){ .data = no_coding };
	for (size_t i = 0; i + 1 < n; i++)
		list[i].next = &list[i + 1];
	x->api->easy_setopt(easy, CURLOPT_HTTPHEADER, list);
	return 0;
}

static void set_transfer(struct http_exchange *x, const struct handle *hd)
{
	const struct curl_api *api = x->api;
	CURL *easy = hd->easy;
	const struct http_request *req = x->req;
	bool h2 = req->flags & HTTP_2;
	bool clear = strncasecmp(req->url, "http://", 7) == 0;
	/* libcurl before 8.0 breaks a reused cleartext HTTP/2 connection
	 * (curl issue 10634). */
	long once = (req->flags & HTTP_ONCE) || (h2 && clear) ? 1 : 0;
	long version = !h2     ? CURL_HTTP_VERSION_1_1
		       : clear ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
			       : CURL_HTTP_VERSION_2TLS;

	api->easy_setopt(easy, CURLOPT_URL, req->url);
	api->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, req->unix_socket);
	api->easy_setopt(easy, CURLOPT_PROXY,
			 http_is_direct(req) ? "" : hd->proxy);
	x->connect_to.data = (char *)req->connect_to;
	api->easy_setopt(easy, CURLOPT_CONNECT_TO,
			 req->connect_to ? &x->connect_to : NULL);
	api->easy_setopt(easy, CURLOPT_HTTP_VERSION, version);
	api->easy_setopt(easy, CURLOPT_FRESH_CONNECT,
			 req->flags & HTTP_FRESH ? 1L : once);
	api->easy_setopt(easy, CURLOPT_FORBID_REUSE, once);
	api->easy_setopt(
		easy, CURLOPT_CONNECTTIMEOUT_MS,
		(long)(req->connect_ms ? req->connect_ms : CONNECT_MS));
	api->easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	api->easy_setopt(easy, CURLOPT_WRITEDATA, x);
	api->easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	api->easy_setopt(easy, CURLOPT_HEADERDATA, x);
	api->easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
	api->easy_setopt(easy, CURLOPT_READDATA, x);
	api->easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
	api->easy_setopt(easy, CURLOPT_SEEKDATA, x);
	api->easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
	api->easy_setopt(easy, CURLOPT_PREREQDATA, x);
}

/* For how many ms a server that says nothing needs no mention. */
static int64_t until_notice(struct http_exchange *x, const struct stop *stop)
{
	int64_t from =
		x->quiet_since > stop->held ? x->quiet_since : stop->held;
	int64_t left = from + NOTICE_MS - clock_ms();

	if (!x->notice || x->res->began)
		return INT64_MAX;
	if (left > 0)
		return left;
	notice_silence(x->notice, x->req);
	x->notice = NULL;
	return INT64_MAX;
}

/* For how many ms a call may be quiet before resume(). */
static int64_t until_stalled(const struct http_exchange *x)
{
	int64_t left = x->quiet_since + STALL_MS - clock_ms();

	if (!(x->req->flags & HTTP_2) || !x->res->began || x->resumed)
		return INT64_MAX;
	return left > 0 ? left : 0;
}

/* libcurl before 8.0 waits for nothing any more, over HTTP/2, when an answer
 * begins before the request is sent (curl issue 10433). After a pause it tries
 * to read and to write whatever it waits for. */
static void resume(struct http_exchange *x, struct handle *hd)
{
	x->resumed = true;
	x->api->easy_pause(hd->easy, CURLPAUSE_ALL);
	x->api->easy_pause(hd->easy, CURLPAUSE_CONT);
}

/* ms until the caller has something to do of its own. */
static int64_t until_again(const struct http_exchange *x)
{
	int64_t ms = x->req->again ? x->req->again(x->req->arg) : -1;

	return ms < 0 ? INT64_MAX : ms;
}

/* Sleeps until something can move, the cancel fires or a time is up. */
static int wait_turn(struct http_exchange *x, struct handle *hd, int64_t *last,
		     const struct stop *stop, struct error *err)
{
	struct curl_waitfd extra = { .fd = stop_fd(stop),
				     .events = CURL_WAIT_POLLIN };
	int64_t idle = x->req->idle_ms;
	int64_t left = x->suffices_at == INT64_MAX
			       ? 60000
			       : x->suffices_at - clock_ms();
	int64_t again = until_again(x);
	int64_t quiet;
	int64_t stalled;
	CURLMcode code;

	if (idle && x->moved)
		*last = clock_ms();
	if (x->moved)
		x->quiet_since = clock_ms();
	/* With HTTP/2, libcurl 7.88.1 may read the end of an answer together
	 * with the rest of it and see it only when it is called again, which
	 * no event of the socket would cause (tests/e2e/test_modal.py under
	 * load). */
	if (x->moved && x->req->flags & HTTP_2)
		left = 0;
	x->resumed = x->resumed && !x->moved;
	x->moved = false;
	if (idle && x->connected && x->suffices_at == INT64_MAX && left) {
		left = *last + idle - clock_ms();
		if (left <= 0)
			return error_set(err, ERR_NETWORK,
					 "stalled: no byte for %lld s",
					 (long long)(idle / 1000));
	}
	quiet = until_notice(x, stop);
	left = quiet < left ? quiet : left;
	stalled = until_stalled(x);
	left = stalled < left ? stalled : left;
	left = again < left ? again : left;
	code = x->api->multi_poll(
		hd->multi, &extra, extra.fd >= 0,
		stop_poll_ms(stop, left > 60000 ? 60000 : (int)left), NULL);
	if (code != CURLM_OK)
		return error_set(err, ERR_SYSTEM, "waiting for the network: %s",
				 x->api->multi_strerror(code));
	if (until_stalled(x) == 0)
		resume(x, hd);
	if (extra.revents || stop->deadline != INT64_MAX)
		return stop_check(stop, err);
	return 0;
}

static int finish(struct http_exchange *x, struct handle *hd, struct error *err)
{
	const struct curl_api *api = x->api;
	CURLcode code = CURLE_RECV_ERROR;
	CURLMsg *msg;
	int left;

	while ((msg = api->multi_info_read(hd->multi, &left)))
		if (msg->msg == CURLMSG_DONE)
			code = msg->data.result;
	if (x->failed) {
		*err = x->err;
		return -1;
	}
	/* libcurl takes the end of the stream inside the headers as the end of
	 * the answer. */
	if (code == CURLE_OK && !x->head_ended)
		code = CURLE_GOT_NOTHING;
	if (code == CURLE_OK || x->enough)
		return 0;
	handle_error(api, hd, code, err);
	if (x->res->began && err->code == ERR_NETWORK)
		error_wrap(
			err,
			"the connection broke before the answer was complete");
	return -1;
}

static void tell_sent(struct http_exchange *x)
{
	if (x->told_sent || !x->connected || !x->req->sent ||
	    (x->req->n_segments > 1 && x->segment < x->req->n_segments))
		return;
	x->told_sent = true;
	x->req->sent(x->req->arg);
}

/* Asks the caller whether what has arrived will do without the rest. */
static void sufficient(struct http_exchange *x)
{
	int64_t ms = x->req->idle ? x->req->idle(x->req->arg) : -1;

	if (ms >= 0 && x->suffices_at == INT64_MAX)
		x->suffices_at = clock_ms() + ms;
}

static int drive(struct http_exchange *x, struct handle *hd,
		 const struct stop *stop, struct error *err)
{
	const struct curl_api *api = x->api;
	int64_t last = x->req->idle_ms ? clock_ms() : 0;
	CURLMcode code = api->multi_add_handle(hd->multi, hd->easy);
	int running = 1;
	int rc = -1;

	if (code != CURLM_OK)
		return error_set(err, ERR_SYSTEM, "libcurl: %s",
				 api->multi_strerror(code));
	for (;;) {
		code = api->multi_perform(hd->multi, &running);
		if (code != CURLM_OK) {
			error_set(err, ERR_SYSTEM, "libcurl: %s",
				  api->multi_strerror(code));
			break;
		}
		tell_sent(x);
		sufficient(x);
		if (!running) {
			rc = finish(x, hd, err);
			break;
		}
		if (clock_ms() >= x->suffices_at) {
			rc = 0;
			break;
		}
		if (wait_turn(x, hd, &last, stop, err) < 0)
			break;
	}
	api->multi_remove_handle(hd->multi, hd->easy);
	return rc;
}

int http_do(struct http *h, const struct http_request *req,
	    struct http_response *res, const struct stop *stop,
	    struct error *err)
{
	struct http_exchange x = { .req = req,
				   .res = res,
				   .quiet_since = clock_ms(),
				   .suffices_at = INT64_MAX };
	struct curl_slist headers[HEADERS_MAX];
	struct handle *hd = NULL;
	struct dial dial;
	int rc;

	head_reset(res);
	if (stop_check(stop, err) < 0)
		return -1;
	dial_begin(&dial, h, req, stop);
	x.api = http_api(h, stop, err);
	x.notice = http_notice(h);
	if (x.api)
		hd = handle_take(h, req->url, req->unix_socket, stop, err);
	if (!hd) {
		dial_end(&dial, NULL, NULL);
		return -1;
	}
	rc = dial_give(&dial, x.api, hd->easy, stop, err);
	if (rc == 0)
		rc = set_headers(&x, hd->easy, headers, err);
	if (rc == 0) {
		set_body(&x, hd->easy);
		set_transfer(&x, hd);
		rc = drive(&x, hd, stop, err);
		if (x.connected)
			handle_reached(hd);
		if (rc == 0 && res->status >= 300 && res->status < 400)
			rc = http_status_error(res, NULL, err);
	}
	/* Nothing of this call may stay in the handle. */
	x.api->easy_setopt(hd->easy, CURLOPT_HTTPHEADER, NULL);
	x.api->easy_setopt(hd->easy, CURLOPT_CONNECT_TO, NULL);
	x.api->easy_setopt(hd->easy, CURLOPT_NOBODY, 0L);
	dial_end(&dial, x.api, hd->easy);
	handle_give(h, hd, true);
	if (!(req->flags & HTTP_PROBE))
		notice_result(http_notice(h), req, rc, res, err);
	return rc;
}

void http_response_release(struct http_response *res)
{
	buf_release(&res->body);
}
