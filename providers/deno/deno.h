/* deno.h - declarations shared by the files of the Deno provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DENO_DENO_H
#define PROVIDERS_DENO_DENO_H

#include <pthread.h>

#include "net/ws.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * There are two servers. At the sandboxes' server, https://REGION.DOMAIN, a
 * WebSocket creates a sandbox (or joins one), and then carries all requests to
 * it. The console only lists sandboxes. Sources of the protocol: the code of
 * @deno/sandbox 0.13.2 and what it was seen to send, and docs.deno.com/sandbox
 * (2026-11).
 *
 * rpc.c has the calls over one WebSocket; exec.c has one running sandbox (its
 * connection, commands, files, extension), and deno.c the account: settings,
 * create, list, remove, price.
 */
enum {
	DENO_LIFETIME_S = 1800,
	/* Longest extension in seconds that dcode requests. The server allows
	 * 30 minutes by its own clock, which may differ. */
	DENO_LONGEST_S = 1780,
	DENO_REGION = 4,
	DENO_MESSAGE_MAX = 32 << 20,
	DENO_CODE = 48,
	/* bytes of output; with more of it unread, the socket is not read */
	DENO_FULL = 4 << 20,
};

struct deno { /* sandbox_client.priv points to it */
	struct rest console;
	const struct settings *settings; /* borrowed */
	const char *token;               /* borrowed */
	const char *org;                 /* borrowed, or NULL */
	char *fixed;        /* owned: one address for all regions, or NULL */
	const char *domain; /* borrowed */
	char *endpoint;     /* owned: sandbox_client.endpoint */
	struct create_log tried;
};

struct deno_box { /* sandbox.priv points to it */
	struct deno_rpc *rpc;
	/* clock_ms() when dcode attached; 0: dcode created the sandbox */
	int64_t attached;
	/* held by the thread that connects, so that only one does */
	pthread_mutex_t dial;
	pthread_mutex_t lock; /* guards the fields below */
	int64_t lifetime_s;
	int64_t ends;  /* clock_ms() when it ends unless extended */
	int64_t asked; /* clock_ms() of the last request to extend */
};

/* rpc.c */
/* One WebSocket with many calls at the same time. A thread owns the socket: it
 * sends queued messages, delivers received ones, and sends "ping" every two
 * seconds like the SDK. Calls may be made from any thread. When the socket
 * ends, all calls fail with ERR_NETWORK; so do later ones until
 * deno_rpc_set_socket(). */
struct deno_rpc;

struct deno_call { /* one request and its answer; owned by the caller */
	const char *method;
	/*
	 * JSON. With source: an object without its closing "}", because the
	 * number of the stream is added
	 */
	struct str params;
	/* Only for "spawn". If set, the call ends when the process has closed
	 * its output, which is appended to out (up to out->max). If NULL, the
	 * call ends with the server's reply. */
	struct buf *out;
	/* If set, receives the output as it arrives, on the calling thread. out
	 * is then the buffer in between and must hold DENO_FULL +
	 * DENO_MESSAGE_MAX bytes. -1 (err filled) ends the call. */
	int (*sink)(void *arg, struct str chunk, struct error *err);
	void *arg;
	/* If set, supplies data that is sent as a stream after the request.
	 * Writes at most len bytes into room and returns how many; 0 at the
	 * end, -1 (err filled) to fail the call. Runs on the calling thread. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	void *source_arg;
	/* With source and sink, data passes in both directions at the same
	 * time: source is called when this descriptor is readable, and may
	 * return EXEC_LATER. */
	int source_fd;
	/* the parameter with the number of the source's stream */
	const char *stream;
	/* ms without answer and output, then ERR_NETWORK; 0: no limit */
	int64_t idle_ms;
	/* out: error code such as "ENOENT" if the call was refused */
	char code[DENO_CODE];
	/* out, only for "spawn": the process, or -1 if it has ended or is not
	 * known */
	int64_t pid;
};

struct deno_rpc *deno_rpc_new(void);
/* Ends the socket and the thread; never blocks for long. */
void deno_rpc_free(struct deno_rpc *r);
bool deno_rpc_alive(struct deno_rpc *r);
/* Ends the socket. Only one thread may call this or deno_rpc_set_socket() at a
 * time. */
void deno_rpc_end(struct deno_rpc *r);
/* Uses ws, and takes ownership of it even on failure. Only one thread may call
 * this at a time, and only while there is no socket. */
int deno_rpc_set_socket(struct deno_rpc *r, struct ws *ws, struct error *err);
/* Returns 0 with out filled, or -1: ERR_NETWORK (the socket ended; the request
 * may have run), ERR_PROTOCOL, ERR_REMOTE (refused, see code), ERR_LIMIT (more
 * output than out holds), or the error of stop or source. */
int deno_rpc_call(struct deno_rpc *r, struct deno_call *c,
		  const struct stop *stop, struct error *err);

/* exec.c */
/* Returns the sandbox's state, which the first call creates. */
struct deno_box *deno_box(struct sandbox *sb);
/* Adds the headers that both servers require. */
int deno_add_headers(const struct deno *d, struct rest *r, struct error *err);
/* Adds a hint about a refused token to err. */
void deno_add_hint(struct error *err);
/* Sets r to the server of a region. region may also be a sandbox's id, which
 * contains its region. The caller releases r. */
int deno_server(const struct deno *d, const char *region, struct rest *r,
		struct error *err);
/* Sends a request about the sandbox to the server of its region. ask->path is
 * appended to the sandbox's path, and changed. The caller releases res. */
int deno_call_server(struct sandbox_client *client, const char *id,
		     struct http_request *ask, struct http_response *res,
		     const struct stop *stop, struct error *err);
struct deno_opening {         /* how to open a sandbox's WebSocket */
	struct deno_rpc *rpc; /* that will use it */
	const struct rest *server;
	const char *path;
	const char *header; /* one more header line, or NULL */
	/* NULL, or set to the id in the server's answer, owned by the caller */
	char **id;
};
/* Opens a WebSocket to the sandbox. */
int deno_open_socket(struct sandbox *sb, const struct deno_opening *o,
		     const struct stop *stop, struct error *err);
/* Sets sb->workdir once: the configured directory, created if missing, or the
 * directory in which the sandbox starts. */
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

extern const struct port_ops deno_ports;

extern const struct sandbox_provider deno_provider;

#endif
