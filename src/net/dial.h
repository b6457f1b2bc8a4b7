/* dial.h - a connection that is begun while libcurl is being loaded. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <sys/socket.h>

#include "net/handles.h"

/*
 * libcurl takes 4 ms to load, which the first request would wait for before it
 * connects. So it looks its server up and begins to connect by itself, and
 * libcurl gets the addresses and the connected socket. Whatever goes wrong,
 * libcurl does all of it by itself: its words are the errors, and it tries
 * every address. Nothing is sent. One thread.
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

/* Nothing where libcurl is there already, or a proxy may stand between. Takes
 * what http_dial() began for that server. */
void dial_begin(struct dial *d, struct http *h, const struct http_request *req,
		const struct stop *stop);
/* Waits for the connection, and hands it to easy. -1: stop says so. */
int dial_give(struct dial *d, const struct curl_api *api, CURL *easy,
	      const struct stop *stop, struct error *err);
/* api, easy: NULL where nothing was given. */
void dial_end(struct dial *d, const struct curl_api *api, CURL *easy);

#endif
