/* callback.c - receives the answer of a login that the browser delivers. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at oauth_callback_wait(). Each round handles one event: a
 * browser connects or sends its request, or the user pastes a line.
 * read_query() checks the state and the issuer of a redirect, from either
 * source. This is a small HTTP server with one path, because a program that is
 * not a web site redirects to http://127.0.0.1:PORT (RFC 8252, 7.3).
 */
#include "oauth/callback.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#include "base/sanitize.h"
#include "base/str.h"

enum {
	/* concurrent connections; a browser may open several and use only
	 * one */
	VISITORS = 8,
	VISIT_MS = 5000,     /* limit until a request is complete */
	HEAD_MAX = 16 << 10, /* bytes of a request, and of a line of input */
	CODE_MAX = 8192,
	WORDS_MAX = 200,
};

enum answer { ANSWER_NONE, ANSWER_CODE, ANSWER_REFUSED };

struct visitor {
	int fd; /* -1: unused */
	int64_t until;
	struct buf head;
};

struct reception { /* state of one oauth_callback_wait() */
	const struct oauth_callback *callback;
	const struct oauth_expected *expected;
	int input;
	struct buf line; /* current line of input */
	struct visitor visitors[VISITORS];
	struct buf *code;
	struct error *err;
};

int oauth_callback_open(struct oauth_callback *c, unsigned port,
			struct error *err)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int on = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return error_errno(err, "creating a socket");
	(void)setsockopt(c->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(c->fd, (struct sockaddr *)&a, len) < 0 ||
	    listen(c->fd, VISITORS) < 0 ||
	    getsockname(c->fd, (struct sockaddr *)&a, &len) < 0) {
		error_errno(err, "listening on 127.0.0.1:%u", port);
		close(c->fd);
		return -1;
	}
	c->port = ntohs(a.sin_port);
	return 0;
}

void oauth_callback_close(struct oauth_callback *c)
{
	close(c->fd);
}

/* ---- content of the answer ---- */

/* Appends the decoded value of a query parameter. False if it is missing. */
static bool query_value(struct str query, const char *name, struct buf *out)
{
	struct str field;

	while (str_split(&query, '&', &field)) {
		size_t at = str_find(field, '=');

		if (!str_is((struct str){ field.ptr, at }, name))
			continue;
		percent_decode(out, str_skip(field, at + 1));
		return true;
	}
	return false;
}

/* Compares in constant time. */
static bool same_secret(struct str a, const char *b)
{
	return a.len == strlen(b) && sodium_memcmp(a.ptr, b, a.len) == 0;
}

/* Makes an error of a refusal that the answer reports. */
static int read_refusal(struct reception *r, struct str query)
{
	struct buf text = BUF_INIT(CODE_MAX);
	struct buf words = BUF_INIT(WORDS_MAX);

	(void)query_value(query, "error", &text);
	if (query_value(query, "error_description", &words) && words.len)
		buf_adds(&text, ": ");
	buf_addstr(&text, buf_str(&words));
	buf_clear(&words);
	sanitize_line(buf_str(&text), &words);
	words.len = str_utf8_prefix(buf_str(&words));
	error_set(r->err, ERR_AUTH, "the login was refused: %.*s",
		  (int)words.len, words.len ? words.ptr : "");
	buf_release(&text);
	buf_release(&words);
	return ANSWER_REFUSED;
}

/* Checks the answer's issuer (RFC 9207): it must be the server that this login
 * was sent to. The answer may lack an issuer, unless the server's metadata says
 * that it is in every answer. */
static enum answer check_issuer(struct reception *r, struct str query)
{
	const struct oauth_expected *e = r->expected;
	struct buf issuer = BUF_INIT(HEAD_MAX);
	bool named = query_value(query, "iss", &issuer);
	bool right =
		named ? str_is(buf_str(&issuer), e->issuer) : !e->names_itself;

	buf_release(&issuer);
	if (right)
		return ANSWER_CODE;
	error_set(r->err, ERR_PROTOCOL,
		  "the login response does not name %.200s as its issuer",
		  e->issuer);
	return ANSWER_REFUSED;
}

/* Checks an answer's query. An answer without this login's state is ignored. */
static enum answer read_query(struct reception *r, struct str query)
{
	struct buf state = BUF_INIT(HEAD_MAX);
	bool ours = query_value(query, "state", &state) &&
		    same_secret(buf_str(&state), r->expected->state);
	struct buf code = BUF_INIT(CODE_MAX);
	enum answer answer = ANSWER_NONE;

	buf_wipe(&state);
	if (ours && query_value(query, "error", &code)) {
		answer = read_refusal(r, query);
	} else if (ours && query_value(query, "code", &code) && code.len &&
		   !code.over) {
		answer = check_issuer(r, query);
		if (answer == ANSWER_CODE)
			buf_addstr(r->code, buf_str(&code));
	}
	buf_wipe(&code);
	return answer;
}

/* ---- browsers ---- */

static void send_reply(const struct visitor *v, const char *status,
		       const char *words)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %s\r\nContent-Type: text/html; "
			 "charset=utf-8\r\nContent-Length: %zu\r\n"
			 "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
			 "<title>dcode</title><p>%s\n",
			 status, strlen(words) + 24, words);

	(void)send(v->fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(v->fd, SHUT_WR);
}

static void close_visitor(struct visitor *v)
{
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
	buf_wipe(&v->head);
}

/* True if the Host header is this listener's. Attack (DNS rebinding): a page
 * whose name was made to resolve to 127.0.0.1 could read the answers. */
static bool is_for_us(const struct reception *r, struct str head)
{
	char host[64];
	struct str line;
	size_t n = (size_t)snprintf(host, sizeof(host), "host: 127.0.0.1:%u",
				    r->callback->port);

	while (str_split(&head, '\n', &line)) {
		line = str_trim(line);
		if (line.len == n && str_is_nocase(line, host))
			return true;
	}
	return false;
}

/* Answers a complete request. Only GET /callback? with this login's state
 * counts as the login's answer. */
static enum answer read_request(struct reception *r, struct visitor *v)
{
	static const char path[] = "GET /callback?";
	struct str head = buf_str(&v->head);
	struct str query = str_skip(head, sizeof(path) - 1);
	enum answer answer = ANSWER_NONE;

	query.len = str_find(query, ' ');
	if (!str_starts(head, path) || !is_for_us(r, head)) {
		send_reply(v, "404 Not Found", "There is nothing here.");
		return ANSWER_NONE;
	}
	answer = read_query(r, query);
	if (answer == ANSWER_CODE)
		send_reply(v, "200 OK",
			   "dcode has the answer. You can close this page.");
	else if (answer == ANSWER_REFUSED)
		send_reply(v, "200 OK", "The login failed. dcode shows why.");
	else
		send_reply(v, "400 Bad Request",
			   "This is not the answer to the login that dcode is "
			   "waiting for.");
	return answer;
}

/* Reads from a browser's connection and answers a complete request. */
static enum answer serve_visitor(struct reception *r, struct visitor *v)
{
	char *room = buf_room(&v->head, 4096);
	ssize_t n = room ? recv(v->fd, room, 4096, MSG_DONTWAIT) : 0;
	enum answer answer = ANSWER_NONE;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return ANSWER_NONE;
	if (n > 0) {
		buf_added(&v->head, (size_t)n);
		if (str_search(buf_str(&v->head), STR("\r\n\r\n")) ==
		    v->head.len)
			return ANSWER_NONE;
		answer = read_request(r, v);
	}
	close_visitor(v);
	return answer;
}

/* Accepts a connection. If all slots are used, closes the oldest one. */
static void accept_visitor(struct reception *r)
{
	int fd = accept4(r->callback->fd, NULL, NULL,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct visitor *v = &r->visitors[0];

	if (fd < 0)
		return;
	for (int i = 1; i < VISITORS && v->fd >= 0; i++)
		if (r->visitors[i].fd < 0 || r->visitors[i].until < v->until)
			v = &r->visitors[i];
	close_visitor(v);
	*v = (struct visitor){ fd, clock_ms() + VISIT_MS, BUF_INIT(HEAD_MAX) };
}

/* ---- input ---- */

/* Reads a pasted line: either the address to which the browser was redirected,
 * or the bare code. */
static enum answer read_pasted(struct reception *r, struct str line)
{
	size_t at;

	line = str_trim(line);
	at = str_find(line, '?');
	if (!line.len)
		return ANSWER_NONE;
	if (at < line.len || str_find(line, '=') < line.len) {
		enum answer answer = read_query(
			r, at < line.len ? str_skip(line, at + 1) : line);

		if (answer == ANSWER_NONE)
			fprintf(stderr,
				"This is not the answer to this login.\n");
		return answer;
	}
	if (r->expected->names_itself || line.len > CODE_MAX) {
		fprintf(stderr, "Paste the whole address from the browser's "
				"address bar.\n");
		return ANSWER_NONE;
	}
	buf_addstr(r->code, line);
	return ANSWER_CODE;
}

/* Reads pasted lines from the input. At the end of the input, stops watching
 * it. */
static enum answer read_input(struct reception *r)
{
	char room[4096];
	ssize_t n = read(r->input, room, sizeof(room));
	struct str chunk = { room, n > 0 ? (size_t)n : 0 };
	enum answer answer = ANSWER_NONE;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return ANSWER_NONE;
	if (n <= 0) {
		r->input = -1;
		chunk = STR("\n");
	}
	while (answer == ANSWER_NONE && buf_add_line(&r->line, &chunk)) {
		answer = read_pasted(r, buf_str(&r->line));
		buf_clear(&r->line);
	}
	sodium_memzero(room, sizeof(room));
	return answer;
}

/* ---- the wait ---- */

static int wait_ms(const struct reception *r, const struct stop *stop)
{
	int64_t now = clock_ms();
	int64_t ms = stop_poll_ms(stop, VISIT_MS);

	for (int i = 0; i < VISITORS; i++)
		if (r->visitors[i].fd >= 0 && r->visitors[i].until - now < ms)
			ms = r->visitors[i].until - now;
	return ms > 0 ? (int)ms : 0;
}

/* Waits for one event and handles it. */
static enum answer handle_event(struct reception *r, const struct stop *stop)
{
	struct pollfd set[VISITORS + 3];
	enum answer answer = ANSWER_NONE;

	for (int i = 0; i < VISITORS; i++)
		set[i] = (struct pollfd){ r->visitors[i].fd, POLLIN, 0 };
	set[VISITORS] = (struct pollfd){ r->callback->fd, POLLIN, 0 };
	set[VISITORS + 1] = (struct pollfd){ r->input, POLLIN, 0 };
	set[VISITORS + 2] = (struct pollfd){ stop_fd(stop), POLLIN, 0 };
	if (poll(set, VISITORS + 3, wait_ms(r, stop)) < 0)
		return ANSWER_NONE;
	for (int i = 0; i < VISITORS && answer == ANSWER_NONE; i++) {
		struct visitor *v = &r->visitors[i];

		if (set[i].revents)
			answer = serve_visitor(r, v);
		else if (v->fd >= 0 && v->until <= clock_ms())
			close_visitor(v);
	}
	if (answer == ANSWER_NONE && set[VISITORS + 1].revents)
		answer = read_input(r);
	if (answer == ANSWER_NONE && set[VISITORS].revents)
		accept_visitor(r);
	return answer;
}

int oauth_callback_wait(const struct oauth_callback *c, int input,
			const struct oauth_expected *e, struct buf *code,
			const struct stop *stop, struct error *err)
{
	struct reception r = { .callback = c,
			       .expected = e,
			       .input = input,
			       .line = BUF_INIT(HEAD_MAX),
			       .code = code,
			       .err = err };
	enum answer answer = ANSWER_NONE;
	int rc = 0;

	for (int i = 0; i < VISITORS; i++)
		r.visitors[i].fd = -1;
	while (rc == 0 && answer == ANSWER_NONE) {
		rc = stop_check(stop, err);
		if (rc == 0)
			answer = handle_event(&r, stop);
	}
	for (int i = 0; i < VISITORS; i++)
		close_visitor(&r.visitors[i]);
	buf_wipe(&r.line);
	return rc == 0 && answer == ANSWER_CODE ? 0 : -1;
}
