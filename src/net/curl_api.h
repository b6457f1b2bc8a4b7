/* curl_api.h - libcurl as a table of functions, loaded at run time. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_CURL_API_H
#define NET_CURL_API_H

#include <curl/curl.h>

#include "base/stop.h"

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

struct curl_loader;

/* Starts the thread. Never fails: the first curl_api_get() reports. */
struct curl_loader *curl_loader_new(void);
/* Waits for the thread; the library itself stays loaded (its own exit
 * handlers need it). */
void curl_loader_free(struct curl_loader *l);
/* Whether curl_api_get() need not wait. Any thread. */
bool curl_is_loaded(struct curl_loader *l);
/* The table, once it is there; NULL with the reason (ERR_SYSTEM, or what stop
 * says). Any thread. */
const struct curl_api *curl_api_get(struct curl_loader *l,
				    const struct stop *stop, struct error *err);

#endif
