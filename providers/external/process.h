/* process.h - a provider that is a child process. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PROCESS_H
#define PROVIDERS_EXTERNAL_PROCESS_H

#include <pthread.h>

#include "providers/external/provider_config.h"
#include "rpc/jsonrpc.h"

/*
 * The client of PROTOCOL.md. The first request starts the child and initializes
 * it. If it dies, it is started again, up to CHILD_STARTS starts in all. Which
 * operations it supports is certain only after its answer to initialize. Until
 * then the provider's flags are those of its configuration.
 *
 * process_child.c starts the child and sends requests; process.c implements the
 * provider's operations with them.
 */
enum {
	CHILD_PROTOCOL = 1,
	CHILD_STARTS = 4,
	CHILD_FILE = 16 << 20, /* bytes of a file in one message */
};

/* Error codes of PROTOCOL.md. */
enum {
	CHILD_NO_METHOD = -32601,
	CHILD_BAD_PARAMS = -32602,
	CHILD_NOT_FOUND = -32001,
	CHILD_AUTH = -32002,
	CHILD_CONFIG = -32003,
	CHILD_LIMIT = -32004,
	CHILD_NETWORK = -32005,
	CHILD_TIMEOUT = -32006,
	CHILD_GONE = -32007,
	CHILD_UNSUPPORTED = -32008,
	CHILD_MISSING = -32009, /* a package is not installed */
	CHILD_FILE_NOT_FOUND = -32020,
	CHILD_FILE_PERMISSION = -32021,
	CHILD_FILE_DIRECTORY = -32022,
	CHILD_FILE_PATH = -32023,
	CHILD_FILE_TOO_LARGE = -32024,
};

struct process_limits {   /* all in milliseconds */
	int64_t start;    /* until initialize is answered */
	int64_t create;   /* create, attach, snapshot */
	int64_t call;     /* all other operations except execute */
	int64_t held;     /* execute: longest time for one request */
	int64_t slack;    /* execute: added to the time of each request */
	int64_t patience; /* execute: longest time without any answer */
	int64_t grace;    /* between close and the kill of the child */
};

struct process_provider { /* sandbox_client.provider points to it */
	struct made_provider made;
	struct provider_config config;
	/* after initialize: only the supported operations */
	struct sandbox_ops ops;
	struct process_limits limits;
};

struct process_client { /* sandbox_client.priv points to it */
	struct process_provider *p;
	const struct settings *settings; /* borrowed */
	char *program;                   /* owned, absolute */
	pthread_mutex_t lock;
	struct jsonrpc *wire; /* NULL while no child runs */
	unsigned users;       /* calls that use wire at present */
	unsigned starts;
	struct error last; /* why the last child ended */
	char *workdir;     /* owned: from the answer to initialize, or NULL */
	bool uploads, downloads;
	size_t max_command, max_file;
	/* supervise_probe() found that processes end with their execute. */
	bool held;
};

/* process_child.c */
/* callbacks of the connection to the child (PROTOCOL.md) */
extern const struct jsonrpc_peer process_peer;
/* Implements sandbox_ops.open: finds the program. */
int process_open(struct sandbox_client *client, const struct settings *set,
		 struct error *err);
/* Starts the child unless it runs. */
int process_start(struct process_client *c, const struct stop *stop,
		  struct error *err);
/*
 * Returns the beginning of a JSON object for params: {"key":"value", or only {
 * if value is NULL. process_request() adds the end and frees it.
 */
struct buf process_params(const char *key, const char *value);
/* Adds ,"key":"value" to params. */
void process_add_param(struct buf *params, const char *key, struct str value);
/*
 * Like jsonrpc_call(), but starts the child if it does not run, and translates
 * its error codes. ask->params may be empty. Without ask->timeout_ms,
 * limits.call applies. result may be NULL if only success matters.
 */
int process_request(struct process_client *c, struct jsonrpc_ask *ask,
		    struct buf *params, cJSON **result, const struct stop *stop,
		    struct error *err);
/* Like jsonrpc_bad_answer(), with ask's description in front. */
int process_bad_answer(const struct jsonrpc_ask *ask, const char *detail,
		       struct error *err);

#endif
