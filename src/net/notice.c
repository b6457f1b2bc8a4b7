/* notice.c - tells the user when a server keeps dcode waiting. */
/* SPDX-License-Identifier: MIT */
#include "net/notice.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

struct notice {
	pthread_mutex_t lock;
	void (*say)(void *arg, const char *line);
	void *arg;
	int failures; /* in a row */
	bool told_failure;
	bool told_silence;
};

struct notice *notice_new(void)
{
	struct notice *n = xcalloc(1, sizeof(*n));

	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void notice_free(struct notice *n)
{
	pthread_mutex_destroy(&n->lock);
	free(n);
}

void notice_on(struct notice *n, void (*say)(void *arg, const char *line),
	       void *arg)
{
	pthread_mutex_lock(&n->lock);
	n->say = say;
	n->arg = arg;
	pthread_mutex_unlock(&n->lock);
}

/* "https://host" or "unix:///path", and "POST /v1/boxes": without the query,
 * where some services want their keys. */
static char *line_of(const struct http_request *req, const char *what)
{
	const char *sep = strstr(req->url, "://");
	const char *host = sep ? sep + 3 : req->url;
	size_t origin = (size_t)(host - req->url) + strcspn(host, "/?#");
	const char *at = memchr(host, '@', strcspn(host, "/?#"));
	const char *path = req->url + origin;
	int path_len = (int)strcspn(path, "?#");

	if (req->unix_socket)
		return xasprintf(
			"Waiting for unix://%s: %s %s %.*s (Ctrl-C stops)",
			req->unix_socket, what, req->method, path_len, path);
	if (at) /* a password may stand there */
		host = at + 1;
	return xasprintf("Waiting for %.*s%.*s: %s %s %.*s (Ctrl-C stops)",
			 sep ? (int)(sep + 3 - req->url) : 0, req->url,
			 (int)(req->url + origin - host), host, what,
			 req->method, path_len, path);
}

static void tell(struct notice *n, const struct http_request *req,
		 const char *what)
{
	char *line;

	if (!n->say)
		return;
	line = line_of(req, what);
	n->say(n->arg, line);
	free(line);
}

void notice_result(struct notice *n, const struct http_request *req, int rc,
		   const struct http_response *res, const struct error *err)
{
	bool failed = rc == 0 ? res->status >= 500
			      : err->code == ERR_NETWORK ||
					err->code == ERR_UNREACHABLE;
	char what[64] = "no answer to";

	if (rc == 0)
		snprintf(what, sizeof(what), "HTTP %d in answer to",
			 res->status);
	if (rc < 0 && !failed)
		return; /* cancelled, or our own limit */
	pthread_mutex_lock(&n->lock);
	n->failures = failed ? n->failures + 1 : 0;
	if (!failed)
		n->told_failure = n->told_silence = false;
	if (failed && !n->told_failure &&
	    (n->failures > 1 || res->retry_after_ms >= NOTICE_MS / 2)) {
		n->told_failure = true;
		tell(n, req, what);
	}
	pthread_mutex_unlock(&n->lock);
}

void notice_silence(struct notice *n, const struct http_request *req)
{
	pthread_mutex_lock(&n->lock);
	if (!n->told_silence)
		tell(n, req, "no answer yet to");
	n->told_silence = true;
	pthread_mutex_unlock(&n->lock);
}
