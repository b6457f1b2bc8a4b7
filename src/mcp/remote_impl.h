/* remote_impl.h - what the parts of a server behind an address share. */
/* SPDX-License-Identifier: MIT */
#ifndef MCP_REMOTE_IMPL_H
#define MCP_REMOTE_IMPL_H

#include <pthread.h>

#include "mcp/link.h"
#include "net/events.h"

/* modelcontextprotocol.io/specification/2025-11-25/basic/transports, read
 * 2026-11-23. */
enum {
	REMOTE_SESSION = 1024, /* bytes of a session's id */
	REMOTE_STREAM_MAX = 64 << 20,
	REMOTE_ASIDE_MS = 3000, /* what is sent beside a request, or at the end
				 */
	REMOTE_WAIT_MIN_MS = 100,   /* at least and at most */
	REMOTE_WAIT_MAX_MS = 30000, /* before a stream is asked for again */
};

struct mcp_waiter { /* a request whose answer comes by the stream */
	int64_t id;
	int event; /* an eventfd: the answer has come, or never will */
	cJSON *answer;
	struct mcp_waiter *next;
};

struct mcp_remote {
	struct mcp_link link;
	char *url;
	char **headers; /* of the entry, expanded; NULL-terminated */
	size_t n_headers;
	bool has_key;         /* one of them is Authorization */
	pthread_mutex_t lock; /* of all that follows */
	int64_t last_id;
	char session[REMOTE_SESSION + 1]; /* "": none */
	char version[32]; /* "" before initialize was answered */
	bool lost;        /* the server has forgotten the session */
	/* The stream of its own messages; of the old transport, of all. */
	struct cancel cancel;
	pthread_t thread;
	bool listens;
	bool stream_over;
	struct error why; /* of stream_over */
	char *post_url;   /* of the old transport: its stream names it */
	int named;        /* an eventfd: it has, or it is over */
	struct mcp_waiter *waiters;
};

struct mcp_exchange { /* one HTTP request */
	struct mcp_remote *remote;
	const char *method; /* of HTTP */
	struct str body;
	int64_t id; /* of the request; 0: no answer is waited for */
	struct jsonrpc_ask *ask; /* of the request, or NULL */
	const struct stop *stop; /* what is sent because of it is within */
	const char *resume;      /* the id of the last event, or NULL */
	/* What becomes of an event; NULL: it is a message. */
	int (*event)(struct mcp_exchange *x, struct str event, struct str data,
		     struct error *err);
	bool ends_with_head; /* the body of an answer that is none is left */
	bool reads;          /* messages in the answer count */
	bool streams;        /* it is an event stream */
	bool lasts;      /* for the session: received is of the last minute */
	int64_t since;   /* clock_ms(): where that began */
	bool authorized; /* a token of a login was sent */
	struct sse sse;
	struct buf text;      /* an answer that is none */
	struct buf challenge; /* WWW-Authenticate */
	size_t received;
	cJSON *answer;
};

static inline struct mcp_remote *remote_of(struct mcp_link *l)
{
	return (struct mcp_remote *)l;
}

/* remote_send.c */
/* Sends it, with the token of a login where there is one, renewed once where
 * the server refuses it. 0 whatever the status. */
int remote_send(struct mcp_exchange *x, struct http_response *res,
		const struct stop *stop, struct error *err);
void remote_exchange_init(struct mcp_exchange *x, struct mcp_remote *r,
			  const char *method);
void remote_exchange_release(struct mcp_exchange *x);
/* A message without an answer that matters. */
void remote_send_aside(struct mcp_remote *r, struct str body,
		       const struct stop *stop);
/* -1 with what a refusal means to the user. */
int remote_status_error(struct mcp_exchange *x, const struct http_response *res,
			struct error *err);
/* Appends a request as JSON. */
int remote_add_request(struct buf *out, int64_t id,
		       const struct jsonrpc_ask *ask, struct error *err);
int64_t remote_next_id(struct mcp_remote *r);
/* Takes a message over that came with an answer. */
void remote_consume(struct mcp_exchange *x, cJSON *message);

/* remote_stream.c */
/* Begins to listen to what the server says by itself. */
void remote_listen(struct mcp_remote *r);
void remote_stop_listening(struct mcp_remote *r);
/* A request of the old transport ("sse"). */
int remote_ask_by_stream(struct mcp_exchange *x, const struct stop *stop,
			 struct error *err);

#endif
