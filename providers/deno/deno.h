/* deno.h - the doors between the rooms of the Deno provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DENO_DENO_H
#define PROVIDERS_DENO_DENO_H

#include <pthread.h>

#include "net/ws.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * Two servers: the sandboxes' own at https://REGION.DOMAIN, where a WebSocket
 * makes a sandbox (or joins one) and then carries everything that is done in
 * it, and the console, which only lists them. Wire: @deno/sandbox 0.13.2, seen
 * and read, and docs.deno.com/sandbox (2026-11).
 *
 * rpc.c has the calls over one WebSocket; over it exec.c has one running
 * sandbox (its connection, commands, files, extension), and deno.c the account:
 * settings, create, list, remove, price.
 */
enum {
	DENO_LIFETIME_S = 1800,
	/* The longest that dcode asks for at once: the server allows half an
	 * hour from now, by its own clock. */
	DENO_LONGEST_S = 1780,
	DENO_REGION = 4,
	DENO_MESSAGE_MAX = 32 << 20,
	DENO_CODE = 48,
	DENO_FULL = 4 << 20, /* bytes of output */
};

struct deno { /* sandbox_client.priv */
	struct rest console;
	const struct settings *settings; /* borrowed */
	const char *token;               /* borrowed */
	const char *org;                 /* borrowed, or NULL */
	char *fixed;        /* owned: one address for all regions, or NULL */
	const char *domain; /* borrowed */
	char *endpoint;     /* owned: sandbox_client.endpoint */
	struct create_log tried;
};

struct deno_box { /* sandbox.priv */
	struct deno_rpc *rpc;
	int64_t attached;     /* when, clock_ms(); 0: we made it */
	pthread_mutex_t dial; /* who connects */
	pthread_mutex_t lock; /* of what follows */
	int64_t lifetime_s;
	int64_t ends;  /* clock_ms() when it dies unless extended */
	int64_t asked; /* clock_ms() of the last try to extend */
};

/* rpc.c */
/*
 * The socket belongs to a thread, which sends what is queued, hands out what
 * arrives, and says "ping" every two seconds as the SDK does. Any thread may
 * call. When the socket ends, all calls fail with ERR_NETWORK, and so do later
 * ones until deno_rpc_set_socket().
 */
struct deno_rpc;

struct deno_call { /* one request and its answer; the caller's */
	const char *method;
	struct str params; /* JSON; with source, an object without its "}",
			      to which the stream's number is added */
	/* For "spawn": the call ends when the process has closed its output,
	 * which is appended to out (up to out->max). NULL: with the reply. */
	struct buf *out;
	/* Gets that output as it comes instead, on the calling thread; out
	 * must take DENO_FULL + DENO_MESSAGE_MAX. -1 (err filled) ends the
	 * call. */
	int (*sink)(void *arg, struct str chunk, struct error *err);
	/* Sent as a stream after the request; at most len bytes into room, 0
	 * at the end, -1 (err filled) makes the call fail. On the calling
	 * thread. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	void *arg;
	int64_t idle_ms; /* without an answer or output: ERR_NETWORK; 0: no end
			  */
	char code[DENO_CODE]; /* out: "ENOENT", where the call was refused */
};

struct deno_rpc *deno_rpc_new(void);
/* Ends the socket and the thread; never blocks for long. */
void deno_rpc_free(struct deno_rpc *r);
bool deno_rpc_alive(struct deno_rpc *r);
/* Ends the socket; one thread at a time, as deno_rpc_set_socket(). */
void deno_rpc_end(struct deno_rpc *r);
/* Owns ws from now on, also when it fails; one thread at a time, and only while
 * there is no socket. */
int deno_rpc_set_socket(struct deno_rpc *r, struct ws *ws, struct error *err);
/*
 * 0 with out filled. -1: ERR_NETWORK, the socket ended, and the request
 * may have been performed; ERR_PROTOCOL; ERR_REMOTE, refused (see code);
 * ERR_LIMIT, more output than out holds; what stop or source says.
 */
int deno_rpc_call(struct deno_rpc *r, struct deno_call *c,
		  const struct stop *stop, struct error *err);

/* exec.c */
/* The state of a sandbox, made at the first call. */
struct deno_box *deno_box(struct sandbox *sb);
/* Adds the headers that both servers want. */
int deno_add_headers(const struct deno *d, struct rest *r, struct error *err);
/* Adds what to do about a refused token. */
void deno_add_hint(struct error *err);
/* The server of a region, or of an id's region; the caller releases r. */
int deno_server(const struct deno *d, const char *region, struct rest *r,
		struct error *err);
/* A request about the sandbox to its region's server; sets ask->path. The
 * caller releases res. */
int deno_call_server(struct sandbox_client *client, const char *id,
		     struct rest_ask *ask, struct http_response *res,
		     const struct stop *stop, struct error *err);
struct deno_opening { /* how to open a sandbox's WebSocket */
	const struct rest *server;
	const char *path;
	const char *header; /* one more, or NULL */
	char **id;          /* gets the id that the server names, or NULL; the
			       caller frees it */
};
/* Opens a WebSocket and makes it the sandbox's. */
int deno_open_socket(struct sandbox *sb, const struct deno_opening *o,
		     const struct stop *stop, struct error *err);
/* Sets sb->workdir, once: the configured one, made when it is missing, or the
 * one in which the sandbox starts. */
int deno_set_workdir(struct sandbox *sb, const struct stop *stop,
		     struct error *err);
int deno_extend(struct sandbox *sb, int64_t lifetime_s, const struct stop *stop,
		struct error *err);
int deno_execute(struct sandbox *sb, const struct exec_request *req,
		 struct exec_result *res, const struct stop *stop,
		 struct error *err);
int deno_upload(struct sandbox *sb, struct transfer *files, size_t n,
		const struct stop *stop, struct error *err);
int deno_download(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err);

extern const struct sandbox_provider deno_provider;

#endif
