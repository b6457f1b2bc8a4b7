/* handles.h - libcurl and its handles, for the files of this folder. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_HANDLES_H
#define NET_HANDLES_H

#include <sys/socket.h>

#include <curl/curl.h>

#include "net/http.h"

/* For http_do.c, conn.c and ws.c only: all others call http_do(), conn_open()
 * or ws_open(). */

/*
 * Loading libcurl with its thirty libraries takes longer than everything else
 * at start-up, so that programs which need no network never load it and the
 * others load it on a thread. The members are curl's functions without their
 * "curl_" prefix.
 */
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
	CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
	const char *(*multi_strerror)(CURLMcode code);
	CURLSH *(*share_init)(void);
	CURLSHcode (*share_setopt)(CURLSH *share, CURLSHoption option, ...);
	CURLSHcode (*share_cleanup)(CURLSH *share);
	time_t (*getdate)(const char *text, const time_t *unused);
};

/* One transfer at a time: an easy handle in its own multi, so that the caller's
 * thread can drive it and wait for a cancel as well. */
struct handle {
	struct http *http; /* borrowed */
	CURLM *multi;
	CURL *easy;
	char *origin;      /* owned: what its kept connections lead to */
	const char *proxy; /* borrowed; NULL: libcurl reads its variables */
	char error[CURL_ERROR_SIZE];
	struct handle *next;
};

/* Waits until libcurl is loaded. NULL with the reason (ERR_SYSTEM, or what stop
 * says). Any thread. */
const struct curl_api *http_api(struct http *h, const struct stop *stop,
				struct error *err);
/* True if the request goes past any proxy, whatever the environment says. */
bool http_is_direct(const struct http_request *req);
/* A handle for scheme://host:port of url (or the unix socket), warm if one is
 * free. NULL with err. */
struct handle *handle_take(struct http *h, const char *url,
			   const char *unix_socket, const struct stop *stop,
			   struct error *err);
/* The same, always cold. */
struct handle *handle_new(struct http *h, const char *url,
			  const char *unix_socket, const struct stop *stop,
			  struct error *err);
/* Puts a handle back into the free list with its connections, or (keep false)
 * frees it. */
void handle_give(struct http *h, struct handle *hd, bool keep);
/* Call once it was connected: its server counts as reachable from then on. */
void handle_reached(struct handle *hd);
/* Fills err for a failed transfer; always -1. */
int handle_error(const struct curl_api *api, const struct handle *hd,
		 CURLcode code, struct error *err);

/*
 * A connection that begins while libcurl is being loaded. That takes 4 ms,
 * which the first request would wait for before it connects. So dcode looks the
 * server up and begins to connect, and libcurl gets the addresses and the
 * connected socket. Whatever goes wrong, libcurl does all of it again: its
 * words are the errors, and it tries every address. Nothing is sent. One
 * thread.
 */
enum { DIAL_HOST = 256 }; /* bytes */

struct dial {
	char host[DIAL_HOST];
	uint16_t port;
	int64_t begun; /* ms */
	int fd;        /* -1: none, or it is libcurl's */
	int taken;
	struct sockaddr_storage to;
	socklen_t to_len;
	struct curl_slist known; /* what CURLOPT_RESOLVE takes; data owned */
};

/* Does nothing if libcurl is loaded, or if there may be a proxy. Takes over
 * what http_dial() has begun for that server. */
void dial_begin(struct dial *d, struct http *h, const struct http_request *req,
		const struct stop *stop);
/* Waits for the connection, and hands it to easy. -1: stop says so. */
int dial_give(struct dial *d, const struct curl_api *api, CURL *easy,
	      const struct stop *stop, struct error *err);
/* api, easy: NULL if nothing was given. */
void dial_end(struct dial *d, const struct curl_api *api, CURL *easy);

/* Tells the user when a server keeps dcode waiting: http_on_wait(). Any
 * thread. */
enum { NOTICE_MS = 4000 }; /* of silence before a line is shown */
/* An exchange has ended. The second failure in a row (5xx, or no answer) is
 * shown, and the first if the server asks for a long pause; no more until an
 * answer that is not a failure. */
void notice_result(struct http *h, const struct http_request *req, int rc,
		   const struct http_response *res, const struct error *err);
/* Nothing has arrived for NOTICE_MS. Shown once, until something arrives. */
void notice_silence(struct http *h, const struct http_request *req);

#endif
