/* http_do.c - one HTTP exchange, can be cancelled, on the caller's thread. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at http_do(), at the end: it takes a handle, sets the request
 * up and runs the transfer in run_transfer(). libcurl calls the on_...()
 * functions during the transfer. Above them: parsing of header lines, and error
 * messages for refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "net/handles.h"
#include "net/http.h"

enum { VALUE_MAX = 4096 }; /* bytes */

char *auth_challenge_value(struct str challenge, const char *name)
{
	size_t n = strlen(name);
	bool quoted = false;

	for (size_t i = 0; i + n < challenge.len; i++) {
		struct str rest = str_skip(challenge, i);
		bool begins = !i || strchr(" ,\t", challenge.ptr[i - 1]);
		size_t end;

		if (rest.ptr[0] == '"')
			quoted = !quoted;
		if (quoted || !begins || strncasecmp(rest.ptr, name, n) != 0 ||
		    rest.ptr[n] != '=')
			continue;
		rest = str_skip(rest, n + 1);
		if (str_starts(rest, "\"")) {
			rest = str_skip(rest, 1);
			end = str_find(rest, '"');
		} else {
			for (end = 0; end < rest.len; end++)
				if (strchr(" ,\t", rest.ptr[end]))
					break;
		}
		return end <= VALUE_MAX ? xstrndup(rest.ptr, end) : NULL;
	}
	return NULL;
}

enum {
	MESSAGE_MAX = 320,  /* bytes quoted of a server's message */
	LOCATION_MAX = 200, /* bytes quoted of a redirect's address */
};

/* Maps an HTTP status to dcode's error codes. */
static enum err code_of(int status)
{
	switch (status) {
	case 401:
	case 403:
		return ERR_AUTH;
	case 404:
		return ERR_NOT_FOUND;
	case 429:
		return ERR_LIMIT;
	default:
		return ERR_REMOTE;
	}
}

/* Finds the error message in these forms: {"error":{"message":M}},
 * {"message":M}, {"error":M}, {"detail":M}, {"detail":{"message":M}},
 * {"detail":{"error":M}}, {"detail":[{"msg":M}]}, [{"error":{"message":M}}]. */
static const char *json_message(const cJSON *tree)
{
	const cJSON *error = json_get(tree, "error");
	const cJSON *detail = json_get(tree, "detail");
	const char *found = json_string(error, "message", NULL);

	if (!found)
		found = json_string(tree, "message", NULL);
	if (!found && cJSON_IsString(error))
		found = error->valuestring;
	if (!found)
		found = json_string(tree, "detail", NULL);
	if (!found)
		found = json_string(detail, "message", NULL);
	if (!found)
		found = json_string(detail, "error", NULL);
	if (!found && cJSON_IsArray(detail) && detail->child)
		found = json_string(detail->child, "msg", NULL);
	if (!found && cJSON_IsArray(tree) && tree->child)
		found = json_string(json_get(tree->child, "error"), "message",
				    NULL);
	return found;
}

/* Appends the first non-empty line of text, sanitized. Appends nothing if text
 * is HTML. */
static void first_line(struct str text, struct buf *out)
{
	struct buf whole = BUF_INIT((size_t)16 << 10);
	struct str rest;
	struct str line;

	sanitize_text(text, &whole);
	rest = buf_str(&whole);
	while (str_split(&rest, '\n', &line)) {
		line = str_trim(line);
		if (line.len && line.ptr[0] != '<') {
			buf_addstr(out, line);
			break;
		}
		if (line.len)
			break;
	}
	out->len = str_utf8_prefix(buf_str(out));
	buf_release(&whole);
}

/* Makes an error of a redirect. Attack: a proxy or a compromised server
 * redirects a request. Following it would send the key to the redirect's
 * target; treating it as success could make dcode forget a sandbox that still
 * runs. */
static void name_redirect(const struct http_response *res, struct error *err)
{
	struct buf address = BUF_INIT(LOCATION_MAX);

	sanitize_line(str_of(res->location), &address);
	address.len = str_utf8_prefix(buf_str(&address));
	if (address.len)
		error_set(err, ERR_REMOTE,
			  "HTTP %d: the server redirects to %.*s, and "
			  "redirects are not followed",
			  res->status, (int)address.len, address.ptr);
	else
		error_set(err, ERR_REMOTE,
			  "HTTP %d: the server redirects to another address, "
			  "and redirects are not followed",
			  res->status);
	buf_release(&address);
}

/* Sets the error to the status and the body's message. */
static void quote_body(const struct http_response *res, const cJSON *tree,
		       struct error *err)
{
	struct str body = buf_str(&res->body);
	const char *found = json_message(tree);
	struct buf line = BUF_INIT(MESSAGE_MAX);

	if (found)
		first_line(str_of(found), &line);
	else if (!tree)
		first_line(body, &line);
	error_set(err, code_of(res->status), "HTTP %d%s%.*s", res->status,
		  line.len ? ": " : "", (int)line.len,
		  line.len ? line.ptr : "");
	buf_release(&line);
}

int http_status_error(const struct http_response *res, const char *what,
		      struct error *err)
{
	bool redirect = res->status >= 300 && res->status < 400;
	cJSON *tree = redirect ? NULL : json_parse(buf_str(&res->body));

	if (redirect)
		name_redirect(res, err);
	else
		quote_body(res, tree, err);
	if (what)
		error_wrap(err, "%s", what);
	err->http_status = res->status;
	err->retry_after_ms = res->retry_after_ms > 0 ? res->retry_after_ms : 0;
	cJSON_Delete(tree);
	return -1;
}

enum {
	RETRY_AFTER_MAX = 86400000, /* ms: a day */
	BODY_MAX = 1 << 20,         /* bytes of a collected body, by default */
};

/* The next functions are shared with ws.c; no other file may call them. */

/* Clears the response before an exchange. */
static void head_reset(struct http_response *res)
{
	res->status = 0;
	res->retry_after_ms = -1;
	res->began = false;
	res->content_type[0] = '\0';
	res->request_id[0] = '\0';
	res->location[0] = '\0';
	buf_clear(&res->body);
	if (!res->body.max)
		res->body.max = BODY_MAX;
}

static void copy_field(char *to, size_t room, struct str from)
{
	size_t len = from.len < room ? from.len : room - 1;

	if (len)
		memcpy(to, from.ptr, len);
	to[len] = '\0';
}

/* Stores Retry-After: seconds or a date (RFC 9110 §10.2.3). in_ms: the header
 * is retry-after-ms, which OpenAI's and Anthropic's clients prefer
 * (_base_client.py, read 2026-11-20). */
static void on_retry_after(struct http_response *res, struct str value,
			   bool in_ms, const struct curl_api *api)
{
	char text[64];
	char *end;
	double amount;
	time_t when;

	copy_field(text, sizeof(text), value);
	amount = strtod(text, &end);
	if (end != text && !*end) {
		if (!in_ms)
			amount *= 1000;
	} else {
		when = api->getdate(text, NULL);
		if (when < 0)
			return;
		amount = (double)when * 1000 - (double)clock_unix_ms();
		if (amount < 0)
			amount = 0;
	}
	if (!(amount >= 0))
		return;
	if (amount > RETRY_AFTER_MAX)
		amount = RETRY_AFTER_MAX;
	res->retry_after_ms = (int64_t)amount;
}

/* True for Retry-After, and for Daytona's headers with the name of a limit,
 * such as Retry-After-Sandbox-Create (Daytona's documentation, 2026-11). */
static bool is_retry_after(struct str name)
{
	size_t len = strlen("retry-after");

	if (name.len > len && name.ptr[len] == '-')
		name.len = len;
	return str_is_nocase(name, "retry-after");
}

void head_field(struct http_response *res, struct str line,
		const struct curl_api *api)
{
	size_t colon = str_find(line, ':');
	struct str name = str_trim((struct str){ line.ptr, colon });
	struct str value = str_trim(str_skip(line, colon + 1));

	if (str_is_nocase(name, "content-type"))
		copy_field(res->content_type, sizeof(res->content_type), value);
	else if (str_is_nocase(name, "request-id") ||
		 str_is_nocase(name, "x-request-id"))
		copy_field(res->request_id, sizeof(res->request_id), value);
	else if (str_is_nocase(name, "location"))
		copy_field(res->location, sizeof(res->location), value);
	else if (str_is_nocase(name, "retry-after-ms"))
		on_retry_after(res, value, true, api);
	else if (is_retry_after(name) && res->retry_after_ms < 0)
		on_retry_after(res, value, false, api);
}

void head_status(struct http_response *res, struct str line)
{
	struct str rest = str_skip(line, str_find(line, ' ') + 1);
	int status = 0;

	for (size_t i = 0; i < 3 && i < rest.len; i++)
		if (rest.ptr[i] >= '0' && rest.ptr[i] <= '9')
			status = status * 10 + (rest.ptr[i] - '0');
	res->status = status;
	res->content_type[0] = '\0';
	res->request_id[0] = '\0';
	res->location[0] = '\0';
	res->retry_after_ms = -1;
}

enum {
	CONNECT_MS = 30000,
	HEADERS_MAX = 64, /* header lines per request */
	STALL_MS = 200,   /* silence before restart_transfer() */
};

/* State shared by the callbacks of one transfer. */
enum { GATHER_AFTER = 32 }; /* reads of a body: see http_request.gather_ms */

struct http_exchange {
	const struct curl_api *api;
	const struct http_request *req;
	struct http_response *res;
	struct curl_slist connect_to;
	/* the request's body, in one or more pieces */
	const struct str *segments;
	size_t n_segments;
	/* index of the segment that holds the next byte to send */
	size_t segment;
	size_t offset; /* offset of that byte in the segment */
	bool connected;
	bool told_sent;
	bool head_ended; /* all headers of the final answer were received */
	bool moved;      /* bytes were sent or received since the last
			  * check */
	bool came;       /* a part of the body arrived since the last check */
	unsigned reads;  /* that brought a part of it, up to GATHER_AFTER */
	int64_t read_at; /* clock_ms() of the last one */
	/* clock_ms() at which the answer counts as complete; INT64_MAX: not
	 * before its end */
	int64_t suffices_at;
	struct http *notice; /* for notice_silence(); NULL: no notice */
	int64_t quiet_since; /* clock_ms() of the last byte in either
			      * direction */
	bool resumed;        /* restart_transfer() was called since the last
			      * byte */
	bool enough;         /* an error body was cut at the limit */
	bool failed;         /* a callback failed; its error is in err */
	struct error err;
};

static size_t fail_exchange(struct http_exchange *x)
{
	x->failed = true;
	return 0;
}

/* libcurl callback: receives a piece of the answer's body. */
static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct http_exchange *x = arg;
	struct str chunk = { data, size * n };

	x->moved = true;
	x->came = true;
	if (x->res->status < 300 && x->req->data) {
		if (x->req->data(x->req->arg, chunk, &x->err) < 0)
			return fail_exchange(x);
		return chunk.len;
	}
	buf_addstr(&x->res->body, chunk);
	if (!x->res->body.over)
		return chunk.len;
	x->enough = x->res->status >= 300;
	if (!x->enough) {
		(void)buf_check(&x->res->body, "the answer", &x->err);
		fail_exchange(x);
	}
	return 0;
}

/* libcurl callback: receives a header line. */
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
	fail_exchange(x);
	return CURL_READFUNC_ABORT;
}

/* libcurl callback: fills room with the next bytes of the request's body. */
static size_t on_read(char *room, size_t size, size_t n, void *arg)
{
	struct http_exchange *x = arg;
	size_t len = size * n;
	size_t done = 0;

	x->moved = true;
	if (x->req->source)
		return read_source(x, room, len);
	while (done < len && x->segment < x->n_segments) {
		struct str s = str_skip(x->segments[x->segment], x->offset);
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

/* libcurl callback: rewinds the body. libcurl sends it again if the reused
 * connection was dead. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
	struct http_exchange *x = arg;

	if (origin != SEEK_SET || x->req->source)
		return CURL_SEEKFUNC_CANTSEEK;
	x->segment = 0;
	x->offset = 0;
	while (offset > 0 && x->segment < x->n_segments) {
		size_t len = x->segments[x->segment].len;

		if ((uint64_t)offset < len) {
			x->offset = (size_t)offset;
			return CURL_SEEKFUNC_OK;
		}
		offset -= (curl_off_t)len;
		x->segment++;
	}
	return offset ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

/* libcurl callback: the connection is made. */
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

static bool has_body(const struct http_exchange *x)
{
	const struct http_request *req = x->req;

	return x->n_segments || req->source ||
	       strcmp(req->method, "POST") == 0 ||
	       strcmp(req->method, "PUT") == 0;
}

/* Sets method and body. A body of one segment is given to libcurl as a whole,
 * so that libcurl sends it together with the headers. */
static void set_body(struct http_exchange *x, CURL *easy)
{
	const struct curl_api *api = x->api;
	const struct http_request *req = x->req;
	bool single = !req->source && x->n_segments <= 1;
	curl_off_t size = 0;

	api->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, NULL);
	if (!has_body(x)) {
		api->easy_setopt(easy, CURLOPT_HTTPGET, 1L);
		if (strcmp(req->method, "HEAD") == 0)
			api->easy_setopt(easy, CURLOPT_NOBODY, 1L);
		else if (strcmp(req->method, "GET") != 0)
			api->easy_setopt(easy, CURLOPT_CUSTOMREQUEST,
					 req->method);
		return;
	}
	for (size_t i = 0; i < x->n_segments; i++)
		size += (curl_off_t)x->segments[i].len;
	if (req->source)
		size = req->source_size;
	api->easy_setopt(easy, CURLOPT_POST, 1L);
	if (strcmp(req->method, "POST") != 0)
		api->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, req->method);
	api->easy_setopt(easy, CURLOPT_POSTFIELDS,
			 !single                 ? NULL
			 : size && x->n_segments ? x->segments[0].ptr
						 : "");
	api->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, size);
}

/* Links the caller's header lines into a list without copying them. Adds
 * entries that suppress libcurl's own headers. */
static int set_headers(struct http_exchange *x, CURL *easy,
		       struct curl_slist list[HEADERS_MAX], struct error *err)
{
	static char no_expect[] = "Expect:";
	static char no_type[] = "Content-Type:";
	static char no_coding[] = "Accept-Encoding:";
	bool typed = !has_body(x);
	size_t n = 0;

	for (const char *const *h = x->req->headers; h && *h; h++) {
		if (n > HEADERS_MAX - 4)
			return error_set(err, ERR_LIMIT, "too many headers");
		if (strpbrk(*h, "\r\n"))
			return error_set(err, ERR_CONFIG,
					 "a header contains a line break");
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

/* Sets the options of this transfer. */
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

/* Returns the ms until the user must be told that the server is silent. Shows
 * the notice if they have passed. */
static int64_t ms_until_notice(struct http_exchange *x, const struct stop *stop)
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

/* Returns the ms until restart_transfer() must be called. */
static int64_t ms_until_stalled(const struct http_exchange *x)
{
	int64_t left = x->quiet_since + STALL_MS - clock_ms();

	if (!(x->req->flags & HTTP_2) || !x->res->began || x->resumed)
		return INT64_MAX;
	return left > 0 ? left : 0;
}

/* Over HTTP/2, libcurl before 8.0 stops polling the socket if an answer begins
 * before the request is sent completely (curl issue 10433). Pausing and
 * resuming makes it read and write again. */
static void restart_transfer(struct http_exchange *x, struct handle *hd)
{
	x->resumed = true;
	x->api->easy_pause(hd->easy, CURLPAUSE_ALL);
	x->api->easy_pause(hd->easy, CURLPAUSE_CONT);
}

/* Returns the ms until req->idle() must be called even if nothing arrives. */
static int64_t ms_until_idle_call(const struct http_exchange *x)
{
	int64_t ms = x->req->again ? x->req->again(x->req->arg) : -1;

	return ms < 0 ? INT64_MAX : ms;
}

/* Returns how long to wait for the network at most, in ms. -1 with an error:
 * the server has sent nothing for too long. */
static int64_t wait_ms(struct http_exchange *x, int64_t *last,
		       const struct stop *stop, struct error *err)
{
	int64_t idle = x->req->idle_ms;
	int64_t left = x->suffices_at == INT64_MAX
			       ? 60000
			       : x->suffices_at - clock_ms();
	int64_t again = ms_until_idle_call(x);
	int64_t quiet;
	int64_t stalled;

	if (idle && x->moved)
		*last = clock_ms();
	if (x->moved)
		x->quiet_since = clock_ms();
	/* Over HTTP/2, libcurl 7.88.1 may have read the end of an answer
	 * already. It notices that only on the next call, without any socket
	 * event (tests/e2e/test_modal.py under load), so do not wait after a
	 * transfer of bytes. */
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
	quiet = ms_until_notice(x, stop);
	left = quiet < left ? quiet : left;
	stalled = ms_until_stalled(x);
	left = stalled < left ? stalled : left;
	left = again < left ? again : left;
	if (left < 0)
		return 0;
	return left > 60000 ? 60000 : left;
}

/* Returns the outcome of a finished transfer. */
static int read_result(struct http_exchange *x, struct handle *hd,
		       struct error *err)
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
	/* libcurl accepts a stream that ends within the headers as complete */
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

static void report_sent(struct http_exchange *x)
{
	if (x->told_sent || !x->connected || !x->req->sent ||
	    (x->n_segments > 1 && x->segment < x->n_segments))
		return;
	x->told_sent = true;
	x->req->sent(x->req->arg);
}

/* Asks the caller how long to wait for the rest of the answer. */
static void query_rest_ms(struct http_exchange *x)
{
	int64_t ms = x->req->idle ? x->req->idle(x->req->arg) : -1;

	if (ms >= 0 && x->suffices_at == INT64_MAX)
		x->suffices_at = clock_ms() + ms;
}

/* Lets more pieces of a fast stream arrive before they are read. A short answer
 * and a piece after a pause are read at once. */
static int gather_pieces(struct http_exchange *x, const struct stop *stop,
			 struct error *err)
{
	int64_t ms = x->req->gather_ms;
	int rc = 0;

	if (!ms || !x->came)
		return 0;
	x->came = false;
	if (x->reads < GATHER_AFTER)
		x->reads++;
	else if (clock_ms() - x->read_at < ms)
		rc = stop_sleep(stop, ms, err);
	x->read_at = clock_ms();
	return rc;
}

/* Runs the transfer until it is complete, fails or is stopped. */
static int run_transfer(struct http_exchange *x, struct handle *hd,
			const struct stop *stop, struct error *err)
{
	const struct curl_api *api = x->api;
	struct curl_waitfd extra = { .fd = stop_fd(stop),
				     .events = CURL_WAIT_POLLIN };
	int64_t last = x->req->idle_ms ? clock_ms() : 0;
	int64_t ms;
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
		report_sent(x);
		query_rest_ms(x);
		if (!running) {
			rc = read_result(x, hd, err);
			break;
		}
		/* the caller does not wait longer for the rest */
		if (clock_ms() >= x->suffices_at) {
			rc = 0;
			break;
		}
		ms = wait_ms(x, &last, stop, err);
		if (ms < 0)
			break;
		code = api->multi_poll(hd->multi, &extra, extra.fd >= 0,
				       stop_poll_ms(stop, (int)ms), NULL);
		if (code != CURLM_OK) {
			error_set(err, ERR_SYSTEM,
				  "waiting for the network: %s",
				  api->multi_strerror(code));
			break;
		}
		if (ms_until_stalled(x) == 0)
			restart_transfer(x, hd);
		if ((extra.revents || stop->deadline != INT64_MAX) &&
		    stop_check(stop, err) < 0)
			break;
		if (gather_pieces(x, stop, err) < 0)
			break;
	}
	api->multi_remove_handle(hd->multi, hd->easy);
	return rc;
}

int http_do(struct http *h, const struct http_request *req,
	    struct http_response *res, const struct stop *stop,
	    struct error *err)
{
	bool whole = !req->n_segments;
	struct http_exchange x = {
		.req = req,
		.res = res,
		.segments = whole ? &req->body : req->segments,
		.n_segments = whole ? req->body.len > 0 : req->n_segments,
		.quiet_since = clock_ms(),
		.suffices_at = INT64_MAX
	};
	struct curl_slist headers[HEADERS_MAX];
	struct handle *hd = NULL;
	struct dial dial;
	int rc;

	head_reset(res);
	if (stop_check(stop, err) < 0)
		return -1;
	dial_begin(&dial, h, req, stop);
	x.api = http_api(h, stop, err);
	x.notice = h;
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
		rc = run_transfer(&x, hd, stop, err);
		if (x.connected)
			handle_reached(hd);
		if (rc == 0 && res->status >= 300 && res->status < 400)
			rc = http_status_error(res, NULL, err);
	}
	/* the handle is reused: remove pointers to this call's memory */
	x.api->easy_setopt(hd->easy, CURLOPT_HTTPHEADER, NULL);
	x.api->easy_setopt(hd->easy, CURLOPT_CONNECT_TO, NULL);
	x.api->easy_setopt(hd->easy, CURLOPT_NOBODY, 0L);
	dial_end(&dial, x.api, hd->easy);
	handle_give(h, hd, true);
	if (!(req->flags & HTTP_PROBE))
		notice_result(h, req, rc, res, err);
	return rc;
}

void http_response_release(struct http_response *res)
{
	buf_release(&res->body);
}
