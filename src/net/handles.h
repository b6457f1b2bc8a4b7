/* handles.h - warm libcurl handles, each with its connections. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_HANDLES_H
#define NET_HANDLES_H

#include "net/curl_api.h"
#include "net/http.h"

/* For http.c and conn.c only: everyone else calls http_do() or conn_open(). */

/* One transfer at a time: an easy handle in a multi of its own, so that the
 * caller's thread can drive it and wait for its cancel as well. */
struct handle {
	struct http *http; /* borrowed */
	CURLM *multi;
	CURL *easy;
	char *origin;      /* owned: what its kept connections lead to */
	const char *proxy; /* borrowed; NULL: libcurl reads its variables */
	char error[CURL_ERROR_SIZE];
	struct handle *next;
};

const struct curl_api *http_api(struct http *h, const struct stop *stop,
				struct error *err);
struct notice *http_notice(struct http *h);
/* Whether a connection can be begun without libcurl: it is not there yet, and
 * no proxy may stand between. */
/* Keeps a connection that was begun ahead (dial.c), NULL: none, and gives what
 * was kept, whose end is the caller's. end frees what is left with h. */
void *http_swap_ahead(struct http *h, void *ahead, void (*end)(void *ahead));
bool http_may_dial(struct http *h, const struct http_request *req);
/* Whether no proxy does, whatever the environment says. */
bool http_is_direct(const struct http_request *req);
/* A handle for scheme://host:port of url (or the unix socket), warm when one
 * is free. NULL with err. */
struct handle *handle_take(struct http *h, const char *url,
			   const char *unix_socket, const struct stop *stop,
			   struct error *err);
/* The same, always cold. */
struct handle *handle_new(struct http *h, const char *url,
			  const char *unix_socket, const struct stop *stop,
			  struct error *err);
/* Back to the free list, its connections kept; or thrown away. */
void handle_give(struct http *h, struct handle *hd, bool keep);
/* It was connected: from now on its server is one that can be reached. */
void handle_reached(struct handle *hd);
/* Which of our errors a failed transfer is; always -1. */
int handle_error(const struct curl_api *api, const struct handle *hd,
		 CURLcode code, struct error *err);

#endif
