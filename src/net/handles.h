/* handles.h - libcurl and its handles, for the files of this folder. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_HANDLES_H
#define NET_HANDLES_H

#include <sys/socket.h>

#include <curl/curl.h>

#include "net/http.h"

/* This header is for http_do.c, conn.c and ws.c only. Other files use
 * http_do(), conn_open() or ws_open(). */

/* The functions of libcurl; each member has curl's name without the "curl_"
 * prefix. Loading libcurl with its thirty libraries takes longer than the rest
 * of start-up. So it is loaded on a thread, and not at all in runs without
 * network. */
struct curl_api {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *easy);
	CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
	CURLcode (*easy_pause)(CURL *easy, int bitmask);
	CURLcode (*easy_recv)(CURL *easy, void *room, size_t len, size_t *n);
	CURLcode (*easy_send)(CURL *easy, const void *data, size_t len,
			      size_t *n);
	const char *(*easy_strerror)(CURLcode code);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_cleanup)(CURLM *multi);
	CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
	CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
	CURLMcode (*multi_perform)(CURLM *multi, int *running);
	CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *extra,
				unsigned n_extra, int timeout_ms, int *ready);
	CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
	const char *(*multi_strerror)(CURLMcode code);
	CURLSH *(*share_init)(void);
	CURLSHcode (*share_setopt)(CURLSH *share, CURLSHoption option, ...);
	CURLSHcode (*share_cleanup)(CURLSH *share);
	time_t (*getdate)(const char *text, const time_t *unused);
};

/* Used for one transfer at a time. Each easy handle has a multi handle of its
 * own, so that the caller's thread can run the transfer and wait for a cancel
 * too. */
struct handle {
	struct http *http; /* borrowed */
	CURLM *multi;
	CURL *easy;
	char *origin; /* owned: the server that its open connections lead to */
	const char *proxy; /* borrowed; NULL: libcurl reads the proxy
			    * variables */
	char error[CURL_ERROR_SIZE];
	struct handle *next;
};

/* Waits until libcurl is loaded. NULL with err: ERR_SYSTEM, or the reason of
 * stop. Any thread. */
const struct curl_api *http_api(struct http *h, const struct stop *stop,
				struct error *err);
/* True if no proxy is used for the request, whatever the environment says. */
bool http_is_direct(const struct http_request *req);
/* Returns a handle for scheme://host:port of url (or the Unix socket), with an
 * open connection if one is free. NULL with err. */
struct handle *handle_take(struct http *h, const char *url,
			   const char *unix_socket, const struct stop *stop,
			   struct error *err);
/* Like handle_take(), but without an open connection. */
struct handle *handle_new(struct http *h, const char *url,
			  const char *unix_socket, const struct stop *stop,
			  struct error *err);
/* Puts a handle back on the free list with its open connections. keep false:
 * frees it instead. */
void handle_give(struct http *h, struct handle *hd, bool keep);
/* Call once connected: the server counts as reachable from then on. */
void handle_reached(struct handle *hd);
/* Fills err for a failed transfer. Always returns -1. */
int handle_error(const struct curl_api *api, const struct handle *hd,
		 CURLcode code, struct error *err);

/* A connection that dcode starts itself while libcurl loads, which takes 4 ms:
 * it resolves the name and begins to connect. libcurl then gets the addresses
 * and the connected socket. If anything fails, nothing is reported: libcurl
 * connects from the start, tries every address and reports the errors. Only the
 * connection is made: no data is sent. A struct dial is used by one thread. */
enum { DIAL_HOST = 256 }; /* bytes */

struct dial {
	char host[DIAL_HOST];
	uint16_t port;
	int64_t begun; /* ms */
	int fd;        /* -1: none, or passed to libcurl */
	int taken;
	struct sockaddr_storage to;
	socklen_t to_len;
	struct curl_slist known; /* entry for CURLOPT_RESOLVE; data owned */
};

/* Starts a connection for the request, or takes over the one that http_dial()
 * started for that server. Does nothing if libcurl is loaded or a proxy may
 * apply. */
void dial_begin(struct dial *d, struct http *h, const struct http_request *req,
		const struct stop *stop);
/* Waits for the connection and passes it to easy. -1: stop ended the wait. */
int dial_give(struct dial *d, const struct curl_api *api, CURL *easy,
	      const struct stop *stop, struct error *err);
/* Releases d's members and closes the socket unless libcurl has taken it.
 * Removes d from the options of easy; api and easy are NULL if dial_give() was
 * not called. */
void dial_end(struct dial *d, const struct curl_api *api, CURL *easy);

/* Notices to the user about a server that does not answer; http_on_wait() sets
 * who shows them. Any thread. */
enum { NOTICE_MS = 4000 }; /* silence before a notice is shown */
/* Call after each exchange. The user sees a notice after the second consecutive
 * failure (5xx or no answer), or after the first if the server asks for a long
 * pause. No further notices follow until an exchange succeeds. */
void notice_result(struct http *h, const struct http_request *req, int rc,
		   const struct http_response *res, const struct error *err);
/* Call when nothing was received for NOTICE_MS. Shows one notice, and no
 * further one until data arrives. */
void notice_silence(struct http *h, const struct http_request *req);

#endif
