/* dial.c - a connection that is begun while libcurl is being loaded. */
/* SPDX-License-Identifier: MIT */
#include "net/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/resolve.h"

enum {
	LOOK_UP_MS = 2000, /* then libcurl looks it up again */
	CONNECT_MS = 5000, /* then libcurl connects again */
	AHEAD_MS = 2000,   /* then its server may have closed it */
	HOST = DIAL_HOST,
	KNOWN = HOST + RESOLVE_MAX * (INET6_ADDRSTRLEN + 3),
};

/* Host and port of "https://host:port/path"; false for what only libcurl
 * understands. */
static bool parse_url(struct str url, char host[HOST], uint16_t *port)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	bool tls = str_starts(url, "https://");
	int64_t number = tls ? 443 : 80;
	size_t n;

	if (!tls && !str_starts(url, "http://"))
		return false;
	url = str_skip(url, tls ? 8 : 7);
	url.len = strcspn(url.ptr, "/?#");
	n = strspn(url.ptr, letters);
	if (!n || n >= HOST)
		return false;
	snprintf(host, HOST, "%.*s", (int)n, url.ptr);
	url = str_skip(url, n);
	if (url.len &&
	    (url.ptr[0] != ':' || !str_to_int(str_skip(url, 1), &number) ||
	     number < 1 || number > 65535))
		return false;
	*port = (uint16_t)number;
	return true;
}

/* What libcurl is told of a host that was looked up: "+HOST:PORT:A,B". */
static char *list_known(const char *host, uint16_t port,
			const struct resolved *found)
{
	struct buf out = BUF_INIT(KNOWN);

	buf_addf(&out, "+%s:%u:", host, port);
	for (size_t i = 0; i < found->n; i++) {
		const struct sockaddr_storage *a = &found->list[i];
		bool six = a->ss_family == AF_INET6;
		const void *bytes =
			six ? (const void *)&((const struct sockaddr_in6 *)a)
					->sin6_addr
			    : (const void *)&((const struct sockaddr_in *)a)
					->sin_addr;
		char text[INET6_ADDRSTRLEN];

		if (!inet_ntop(a->ss_family, bytes, text, sizeof(text)))
			continue;
		buf_addf(&out, six ? "%s[%s]" : "%s%s", i ? "," : "", text);
	}
	return buf_detach(&out);
}

/* Where IPv6 comes first and IPv4 after it, libcurl tries both. */
static bool is_plain(const struct resolved *found)
{
	for (size_t i = 1; i < found->n; i++)
		if (found->list[0].ss_family == AF_INET6 &&
		    found->list[i].ss_family != AF_INET6)
			return false;
	return found->list[0].ss_family == AF_INET ||
	       found->list[0].ss_family == AF_INET6;
}

static void begin_connect(struct dial *d, uint16_t port)
{
	if (d->to.ss_family == AF_INET6) {
		((struct sockaddr_in6 *)&d->to)->sin6_port = htons(port);
		d->to_len = sizeof(struct sockaddr_in6);
	} else {
		((struct sockaddr_in *)&d->to)->sin_port = htons(port);
		d->to_len = sizeof(struct sockaddr_in);
	}
	d->fd = socket(d->to.ss_family,
		       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0 ||
	    connect(d->fd, (const struct sockaddr *)&d->to, d->to_len) == 0 ||
	    errno == EINPROGRESS || errno == EINTR)
		return;
	close(d->fd);
	d->fd = -1;
}

static void end_ahead(void *ahead)
{
	dial_end(ahead, NULL, NULL);
	free(ahead);
}

/* Even if libcurl has come meanwhile. False: there is none for that server. */
static bool take_ahead(struct dial *d, struct http *h, const char *host,
		       uint16_t port)
{
	struct dial *ahead = http_swap_ahead(h, NULL, end_ahead);
	bool fits = ahead && ahead->port == port &&
		    !strcmp(ahead->host, host) &&
		    clock_ms() - ahead->begun < AHEAD_MS;

	if (fits) {
		*d = *ahead;
		free(ahead);
	} else if (ahead) {
		end_ahead(ahead);
	}
	return fits;
}

void dial_begin(struct dial *d, struct http *h, const struct http_request *req,
		const struct stop *stop)
{
	struct stop limit = stop_within(stop, LOOK_UP_MS);
	struct sockaddr_in *literal = (struct sockaddr_in *)&d->to;
	struct error ignored = { 0 };
	struct resolved found;
	char host[HOST];
	uint16_t port;

	*d = (struct dial){ .fd = -1, .taken = -1 };
	if (req->unix_socket || req->connect_to ||
	    !parse_url(str_of(req->url), host, &port))
		return;
	if (take_ahead(d, h, host, port))
		return;
	if (!http_may_dial(h, req))
		return;
	snprintf(d->host, sizeof(d->host), "%s", host);
	d->port = port;
	d->begun = clock_ms();
	if (inet_pton(AF_INET, host, &literal->sin_addr) == 1) {
		literal->sin_family = AF_INET;
		begin_connect(d, port);
		return;
	}
	if (resolve_host(host, &found, &limit, &ignored) < 0)
		return;
	d->known.data = list_known(host, port, &found);
	d->to = found.list[0];
	if (is_plain(&found))
		begin_connect(d, port);
}

static bool is_same(const struct dial *d, const struct curl_sockaddr *a)
{
	const struct sockaddr_in *ours = (const void *)&d->to;
	const struct sockaddr_in *theirs = (const void *)&a->addr;

	if (a->family != d->to.ss_family || a->addrlen < d->to_len)
		return false;
	if (a->family == AF_INET)
		return ours->sin_port == theirs->sin_port &&
		       ours->sin_addr.s_addr == theirs->sin_addr.s_addr;
	return memcmp(&d->to, &a->addr, d->to_len) == 0;
}

static curl_socket_t on_socket(void *arg, curlsocktype purpose,
			       struct curl_sockaddr *a)
{
	struct dial *d = arg;

	(void)purpose;
	if (d->fd < 0 || !is_same(d, a))
		return socket(a->family, a->socktype | SOCK_CLOEXEC,
			      a->protocol);
	d->taken = d->fd;
	d->fd = -1;
	return d->taken;
}

static int on_options(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	const struct dial *d = arg;

	(void)purpose;
	return fd == d->taken ? CURL_SOCKOPT_ALREADY_CONNECTED
			      : CURL_SOCKOPT_OK;
}

/* 1: not connected. */
static int await(const struct dial *d, const struct stop *stop,
		 struct error *err)
{
	struct stop limit = stop_within(stop, CONNECT_MS);
	struct pollfd fds[] = {
		{ .fd = d->fd, .events = POLLOUT },
		{ .fd = stop_fd(stop), .events = POLLIN },
	};
	socklen_t size = sizeof(int);
	int failed = 0;

	while (!fds[0].revents) {
		struct error late = { 0 };

		if (stop_check(stop, err) < 0)
			return -1;
		if (stop_check(&limit, &late) < 0)
			return 1;
		(void)poll(fds, 2, stop_poll_ms(&limit, -1));
	}
	return getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0 ||
	       failed;
}

int dial_give(struct dial *d, const struct curl_api *api, CURL *easy,
	      const struct stop *stop, struct error *err)
{
	int rc = d->fd >= 0 ? await(d, stop, err) : 1;

	if (d->known.data)
		api->easy_setopt(easy, CURLOPT_RESOLVE, &d->known);
	if (rc)
		return rc < 0 ? -1 : 0;
	api->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	api->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, d);
	api->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_options);
	api->easy_setopt(easy, CURLOPT_SOCKOPTDATA, d);
	return 0;
}

void dial_end(struct dial *d, const struct curl_api *api, CURL *easy)
{
	if (easy) {
		api->easy_setopt(easy, CURLOPT_RESOLVE, NULL);
		api->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, NULL);
		api->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, NULL);
	}
	if (d->fd >= 0)
		close(d->fd);
	free(d->known.data);
}

void http_dial(struct http *h, const char *url, const struct stop *stop)
{
	const struct http_request req = { .url = url };
	struct dial *ahead;
	struct dial d;

	dial_begin(&d, h, &req, stop);
	if (d.fd < 0 && !d.known.data)
		return;
	ahead = xcalloc(1, sizeof(*ahead));
	*ahead = d;
	ahead = http_swap_ahead(h, ahead, end_ahead);
	if (ahead)
		end_ahead(ahead);
}
