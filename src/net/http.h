/* http.h - one HTTP exchange, can be cancelled, on the caller's thread. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/stop.h"

/* Shared by all code that uses HTTP: the table of libcurl's functions and a
 * list of handles with open connections. libcurl is loaded at run time on a
 * thread that http_new() starts, because loading it takes longer than the rest
 * of start-up. Thread-safe. */
struct http;

/* Never fails: if libcurl cannot be loaded, the first exchange reports it.
 * ca_file: a PEM bundle; NULL: SSL_CERT_FILE or the system's. */
struct http *http_new(const char *ca_file);
void http_free(struct http *h);
/* Sets the function that shows the user a line about a server that keeps
 * failing or has not answered for four seconds. The four seconds count from
 * stop->held if that is later than the last byte. The exchange goes on. say is
 * called from any thread, one call at a time. Set it before the first
 * exchange. */
void http_on_wait(struct http *h, void (*say)(void *arg, const char *line),
		  void *arg);

/* Flags of http_request. Those from 1 << 8 on are in providers/kit/rest.h. */
enum {
	HTTP_2 = 1 << 0, /* prior knowledge on http://, ALPN on https:// */
	HTTP_NO_PROXY = 1 << 1, /* ignore the proxy variables */
	HTTP_ONCE = 1 << 2,     /* use a new connection and close it: for
				 * answers that end with the connection */
	HTTP_FRESH = 1 << 3,    /* use a new connection and keep it */
	/* show no notice about failures: they do not matter, or the caller
	 * reports them */
	HTTP_PROBE = 1 << 4,
};

/*
 * One request, from the code that knows what to ask to libcurl; everything in
 * it is borrowed. A function on the way copies the struct and adds what it
 * knows. rest_call() (providers/kit/rest.h), for example, makes the URL and the
 * headers from path and type.
 */
struct http_request {
	const char *method; /* "POST" */
	const char *url;    /* http:// or https:// only; redirects are not
			       followed */
	/* For functions that know the server, such as rest_call(). http_do()
	 * does not read these four. */
	const char *path; /* appended to the server's base; may have a query */
	const char *type; /* media type of the body; NULL: application/json */
	const char *what; /* the operation: "creating the sandbox" */
	int64_t timeout_ms; /* ms for one try; 0: the function's default */
	/* connect to this Unix socket instead of the URL's host, or NULL */
	const char *unix_socket;
	/* "host:port:address:port": connect to this address instead of looking
	 * up the URL's host, also through a proxy's tunnel. Requires HTTP_ONCE.
	 * NULL: look up the host. */
	const char *connect_to;
	const char *const *headers; /* "Name: value", NULL-terminated */
	/* The body: one text; or segments, sent in order without copying; or
	 * bytes from source; or nothing. */
	struct str body;
	const struct str *segments;
	size_t n_segments;
	/* Writes up to len bytes to room. Returns how many, 0 at the end, -1 to
	 * abort (err filled). source_size: total bytes, -1 for chunked. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	/* Receives the body of an answer with status below 300 as it arrives.
	 * Returning -1 (err filled) aborts. NULL: the body is collected in
	 * response->body. */
	int (*data)(void *arg, struct str chunk, struct error *err);
	/* Called once when the whole request was handed to libcurl and only the
	 * answer is missing. May be NULL. */
	void (*sent)(void *arg);
	/* Called before each wait and at the end, after data has received
	 * everything. Returns how many more ms to wait for the rest; -1: the
	 * usual limits. After that time the answer counts as complete and the
	 * connection is closed. May be NULL. */
	int64_t (*idle)(void *arg);
	/* Returns after how many ms idle must be called even if nothing
	 * arrives; -1: never. May be NULL. */
	int64_t (*again)(void *arg);
	/* Receives each header and trailer line of the final answer, without
	 * line end. May be NULL. */
	void (*header)(void *arg, struct str line);
	void *arg;
	/* If the body is a long and fast stream of small pieces, waits this
	 * long between reads, because a wake-up costs more than a piece. 0:
	 * reads each piece when it arrives. */
	int64_t gather_ms;
	int64_t connect_ms; /* 0: 30 s */
	int64_t idle_ms;    /* limit without a byte in either direction, then
			     * ERR_NETWORK "stalled"; 0: none */
	unsigned flags;
};

struct http_response {
	int status;             /* of the final answer */
	struct buf body;        /* body not given to data, and every error's
				 * body; set body.max before, 0 means 1 MiB */
	int64_t retry_after_ms; /* from Retry-After (seconds or date), else -1
				 */
	bool began;             /* at least one byte of the answer arrived */
	char content_type[96];
	char request_id[96]; /* request-id or x-request-id, or "" */
	char location[256];  /* start of the Location header, or "" */
};

/* Starts a connection that the next http_do() to this server uses if it comes
 * within two seconds. Use it when other work must be done first. Sends nothing.
 * May block up to two seconds for the DNS lookup. */
void http_dial(struct http *h, const char *url, const struct stop *stop);
/* Runs one exchange. Returns 0 with the response filled for every status but
 * 3xx. Returns -1 if no complete answer arrived: ERR_NETWORK (connect, TLS,
 * reset, truncated, stalled), ERR_UNREACHABLE (cannot connect, and never could
 * to this server), ERR_CANCELLED, ERR_TIMEOUT, ERR_LIMIT, or the error of a
 * callback. 3xx gives -1 with ERR_REMOTE and the status: redirects are not
 * followed, because their target would get the request and its key. The caller
 * must release response->body in every case. */
int http_do(struct http *h, const struct http_request *req,
	    struct http_response *res, const struct stop *stop,
	    struct error *err);
void http_response_release(struct http_response *res);
/* Fills err for a status of 300 or more and returns -1. The error's code
 * depends on the status (401/403 AUTH, 404 NOT_FOUND, 429 LIMIT, else REMOTE).
 * The error also stores the status, Retry-After and the error code in the body.
 * Its message is "what: HTTP 500: first line of the body's message"; for 3xx it
 * names the redirect's target. what may be NULL. */
int http_status_error(const struct http_response *res, const char *what,
		      struct error *err);

/* Returns the value of NAME=VALUE or NAME="VALUE" in a WWW-Authenticate
 * challenge (RFC 9110 §11.2), owned. NULL if missing or longer than 4096
 * bytes. */
char *auth_challenge_value(struct str challenge, const char *name);

/* The next two functions parse an answer's header lines. Only for http_do.c and
 * ws.c. */
struct curl_api;
/* "HTTP/1.1 200 OK" or "HTTP/2 200": starts a new answer (maybe after a 1xx)
 * and clears the fields of the previous one. */
void head_status(struct http_response *res, struct str line);
/* Parses "Name: value" and stores it if struct http_response has a field for
 * it. */
void head_field(struct http_response *res, struct str line,
		const struct curl_api *api);

#endif
