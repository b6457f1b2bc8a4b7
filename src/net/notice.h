/* notice.h - tells the user when a server keeps dcode waiting. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_NOTICE_H
#define NET_NOTICE_H

#include "net/http.h"

enum { NOTICE_MS = 4000 }; /* of silence, before it is said */

/* For http.c only. One for each struct http; safe from any thread. */
struct notice;
struct notice *notice_new(void);
void notice_free(struct notice *n);
void notice_on(struct notice *n, void (*say)(void *arg, const char *line),
	       void *arg);
/* An exchange ended. A second failure in a row (5xx, or no answer) is said,
 * the first one too when the server asks for a long pause; once, until an
 * answer comes that is none. */
void notice_result(struct notice *n, const struct http_request *req, int rc,
		   const struct http_response *res, const struct error *err);
/* Nothing has come for NOTICE_MS. Once, until something comes. */
void notice_silence(struct notice *n, const struct http_request *req);

#endif
