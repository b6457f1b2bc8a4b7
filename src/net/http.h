/* http.h - one HTTP exchange, cancellable, on the caller's thread. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/stop.h"

/*
 * Everything that talks HTTP shares one of these: the table of libcurl's
 * functions (libcurl is loaded at run time, on a thread that http_new()
 * starts, since loading it takes longer than all else at start-up) and a list
 * of warm handles with their connections. Safe from any thread.
 */
struct http;

/* Never fails; a libcurl that cannot be loaded is reported by the first
 * exchange. ca_file: PEM bundle or NULL for SSL_CERT_FILE or the system's. */
struct http *http_new(const char *ca_file);
void http_free(struct http *h);
/* A line for the user about a server that fails again and again, or does not
 * answer for four seconds (from stop's held on); the wait goes on. From any
 * thread, one at a time. Before the first exchange. */
void http_on_wait(struct http *h, void (*say)(void *arg, const char *line),
		  void *arg);

enum {
	HTTP_2 = 1 << 0, /* prior knowledge on http://, ALPN on https:// */
	HTTP_NO_PROXY = 1 << 1, /* ignore the proxy variables */
	HTTP_ONCE = 1 << 2,     /* on a new connection, closed afterwards: for
				   answers that end with it */
	HTTP_FRESH = 1 << 3,    /* on a new connection, which is kept */
	HTTP_PROBE = 1 << 4,    /* show no notice about failures: they do not
				   matter, or the caller reports them */
};

struct http_request {
	const char *method;      /* "POST" */
	const char *url;         /* http:// or https:// only; redirects are not
				    followed */
	const char *unix_socket; /* connect there instead, or NULL */
	/* "host:port:address:port": that host of the URL is connected to at
	 * this address, also by a proxy, which is asked for a tunnel; never
	 * looked up. With HTTP_ONCE. NULL: by its name. */
	const char *connect_to;
	const char *const *headers; /* "Name: value", NULL-terminated */
	/* The body: segments sent one after the other without copying, or
	 * bytes pulled from source, or nothing. */
	const struct str *segments;
	size_t n_segments;
	/* Writes at most len bytes to room; returns how many, 0 at the end,
	 * -1 to abort (err filled). size: total bytes, -1 for chunked. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	/* Receives the body of an answer below 300 as it arrives; NULL
	 * collects it in response->body. -1 (err filled) aborts. */
	int (*data)(void *arg, struct str chunk, struct error *err);
	/* The whole request has been taken over by libcurl: called once, when
	 * nothing is left to do but wait. May be NULL. */
	void (*sent)(void *arg);
	/* Everything that has arrived was given to data: called before each
	 * wait and at the end; may be NULL. Returns how many ms more the rest
	 * is worth waiting for (then the answer counts as complete and the
	 * connection is closed), or -1 for the usual limits. */
	int64_t (*idle)(void *arg);
	/* In how many ms idle is to be called again although nothing arrives;
	 * -1: it need not be. May be NULL. */
	int64_t (*again)(void *arg);
	/* Each header line of the final answer and its trailers, without line
	 * end; may be NULL. */
	void (*header)(void *arg, struct str line);
	void *arg;
	int64_t connect_ms; /* 0: 30 s */
	int64_t idle_ms;    /* no byte in either direction for so long is
			       ERR_NETWORK "stalled"; 0: never */
	unsigned flags;
};

struct http_response {
	int status;             /* of the final answer */
	struct buf body;        /* see data; errors' bodies always land here.
				   Set body.max before; 0 means 1 MiB */
	int64_t retry_after_ms; /* from Retry-After (seconds or date), else -1
				 */
	bool began;             /* at least one byte of the answer arrived */
	char content_type[96];
	char request_id[96]; /* request-id or x-request-id, or "" */
	char location[256];  /* its first bytes, or "" */
};

/* Begins the connection that the next http_do() to this server takes, if that
 * comes within two seconds: for work that has to be done before it. Nothing is
 * sent. May wait for two seconds for a name. */
void http_dial(struct http *h, const char *url, const struct stop *stop);
/*
 * Runs one exchange. 0 with the response filled, whatever its status, unless
 * that is 3xx; -1 when no complete answer arrived: ERR_NETWORK (connect, TLS,
 * reset, truncated, stalled), ERR_UNREACHABLE (no connection, and never one to
 * that server before), ERR_CANCELLED, ERR_TIMEOUT, ERR_LIMIT, or what a
 * callback set; and for 3xx, ERR_REMOTE with the status: nothing follows a
 * redirect, since whoever can send one would get the request and its key.
 * The caller releases response->body either way.
 */
int http_do(struct http *h, const struct http_request *req,
	    struct http_response *res, const struct stop *stop,
	    struct error *err);
void http_response_release(struct http_response *res);
/* -1 with the error a user should read for a status of 300 or more: code by
 * status (401/403 AUTH, 404 NOT_FOUND, 429 LIMIT, else REMOTE), the status
 * itself, Retry-After and the body's code, message "what: HTTP 500: first line
 * of the body's message". 3xx names the address pointed to. what may be NULL.
 */
int http_status_error(const struct http_response *res, const char *what,
		      struct error *err);

/* The value of NAME=VALUE or NAME="VALUE" in a challenge of WWW-Authenticate
 * (RFC 9110 §11.2), owned. NULL: there is none, or it has more than 4096 bytes.
 */
char *auth_challenge_value(struct str challenge, const char *name);

/* The head of an answer line by line, for ws.c. */
struct curl_api;
/* "HTTP/1.1 200 OK" or "HTTP/2 200": begins a new answer, maybe after a 1xx,
 * and forgets the fields of the one before. */
void head_status(struct http_response *res, struct str line);
/* "Name: value": stores the fields that struct http_response has. */
void head_field(struct http_response *res, struct str line,
		const struct curl_api *api);

#endif
