/* head.h - what an answer's head tells us, line by line. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_HEAD_H
#define NET_HEAD_H

#include "net/curl_api.h"
#include "net/http.h"

/* For http.c and ws.c only. */

/* Before an exchange: nothing has come. */
void head_reset(struct http_response *res);
/* "HTTP/1.1 200 OK" or "HTTP/2 200": a new answer begins, maybe after 1xx;
 * forgets the fields of the one before. */
void head_status(struct http_response *res, struct str line);
/* "Name: value": keeps those that struct http_response has room for. */
void head_field(struct http_response *res, struct str line,
		const struct curl_api *api);

#endif
