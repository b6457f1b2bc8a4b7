/* process.h - a provider that is a child process. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PROCESS_H
#define PROVIDERS_EXTERNAL_PROCESS_H

#include <pthread.h>

#include "providers/external/provider_config.h"
#include "rpc/jsonrpc.h"

/*
 * The client of PROTOCOL.md. The child starts with the first request, is
 * initialized once, and is started again when it died, at most CHILD_STARTS
 * times. Its abilities are certain only once it has answered initialize; until
 * then the provider's flags are what its configuration says.
 *
 * process_child.c starts the child and asks it; over it process.c has the
 * operations of the provider.
 */
enum {
	CHILD_PROTOCOL = 1,
	CHILD_STARTS = 4,
	CHILD_FILE = 16 << 20, /* bytes of a file in one message */
};

/* Codes of errors, as in PROTOCOL.md. */
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

struct process_limits {   /* ms */
	int64_t start;    /* until it has answered initialize */
	int64_t create;   /* create, attach, snapshot */
	int64_t call;     /* the others, but execute */
	int64_t held;     /* execute: for which one is held at most */
	int64_t slack;    /* execute: on top of that */
	int64_t patience; /* execute: without any answer */
	int64_t grace;    /* to end by itself */
};

struct process_provider { /* what sandbox_client.provider points to */
	struct made_provider made;
	struct provider_config config;
	struct sandbox_ops ops; /* from initialize on only what it can do */
	struct process_limits limits;
};

struct process_client { /* sandbox_client.priv */
	struct process_provider *p;
	const struct settings *settings; /* borrowed */
	char *program;                   /* owned, absolute */
	pthread_mutex_t lock;
	struct jsonrpc *wire; /* NULL before the start, and after the end */
	unsigned users;       /* calls under way in it */
	unsigned starts;
	struct error last; /* why the last one ended */
	char *workdir;     /* owned: of its answer to initialize, or NULL */
	bool uploads, downloads;
	size_t max_command, max_file;
	/* supervise_probe() said that nothing outlives an execute. */
	bool held;
};

/* process_child.c */
extern const struct jsonrpc_peer process_peer; /* PROTOCOL.md */
/* Finds the program; sandbox_ops.open. */
int process_open(struct sandbox_client *client, const struct settings *set,
		 struct error *err);
/* Starts the child if it does not run. */
int process_start(struct process_client *c, const struct stop *stop,
		  struct error *err);
/* The beginning of an object of parameters: {"key":"value", or { if value is
 * NULL. process_request() ends and frees it. */
struct buf process_params(const char *key, const char *value);
/* Adds ,"key":"value" to it. */
void process_add_param(struct buf *params, const char *key, struct str value);
/*
 * jsonrpc_call() at a child that is started when it does not run. The codes of
 * its errors become ours. ask needs no params, and without a timeout_ms it has
 * limits.call. result NULL: only success counts.
 */
int process_request(struct process_client *c, struct jsonrpc_ask *ask,
		    struct buf *params, cJSON **result, const struct stop *stop,
		    struct error *err);
/* jsonrpc_bad_answer() with ask's description before it. */
int process_bad_answer(const struct jsonrpc_ask *ask, const char *detail,
		       struct error *err);

#endif
