/* process.h - the parts of the provider that is a child process. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PROCESS_H
#define PROVIDERS_EXTERNAL_PROCESS_H

#include <pthread.h>

#include "providers/external/jsonrpc.h"
#include "providers/external/provider_config.h"

/*
 * The client of PROTOCOL.md. The child starts with the first request, is
 * initialized once, and is started again when it died, at most CHILD_STARTS
 * times. What it can is known only then: until then the provider's flags are
 * what was written down of it.
 */
enum {
	CHILD_PROTOCOL = 1,
	CHILD_STARTS = 4,
	CHILD_ID_MAX = 512,    /* bytes of a sandbox's id */
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

struct provider_process_limits { /* ms */
	int64_t start;           /* until it has answered initialize */
	int64_t create;          /* create, attach, snapshot */
	int64_t call;            /* the others, but execute */
	int64_t held;            /* execute: for which one is held at most */
	int64_t slack;           /* execute: on top of that */
	int64_t patience;        /* execute: without any answer */
	int64_t grace;           /* to end by itself */
};

struct process_provider { /* what sandbox_client.provider points to */
	struct made_provider made;
	struct provider_config d;
	struct sandbox_ops ops; /* less what it has not: from initialize on */
	struct provider_process_limits limits;
};

struct provider_process { /* sandbox_client.priv */
	struct process_provider *p;
	const struct settings *settings; /* borrowed */
	char *program;                   /* owned, absolute */
	pthread_mutex_t lock;
	struct jsonrpc *wire; /* NULL before, and after its end */
	unsigned users;       /* calls under way in it */
	unsigned starts;
	struct error last; /* why the last one ended */
	char *workdir;     /* owned: what initialize said, or NULL */
	bool uploads, downloads;
	size_t max_command, max_file;
	bool held; /* nothing outlives an execute; known before commands run */
};

struct provider_process *provider_process_of(const struct sandbox_client *host);
/* jsonrpc_call() at a child that is started when it is not there; the errors
 * that it answers with become ours. */
int provider_process_call(struct provider_process *c, struct jsonrpc_ask *ask,
			  cJSON **result, const struct stop *stop,
			  struct error *err);
/* Makes the code that a child answered with one of ours. */
void provider_process_translate(const struct provider_process *c, int code,
				struct error *err);
/* {"sandbox":ID without its end. */
void provider_process_params(struct buf *b, const char *id);

/* provider_process_start.c */
int provider_process_initialize(struct provider_process *c, struct jsonrpc *w,
				const struct stop *stop, struct error *err);
struct jsonrpc *provider_process_spawn(struct provider_process *c,
				       struct error *err);
int provider_process_open(struct sandbox_client *host,
			  const struct settings *set, struct error *err);

/* provider_process_exec.c */
/* Where commands run: where that is not known for sure and cannot be entered,
 * sb->workdir becomes what the sandbox has itself. */
void provider_process_settle(struct sandbox *sb, const struct stop *stop);
/* Finds out whether commands have to be held in their call. */
void provider_process_find_held(struct sandbox *sb, const struct stop *stop);
int provider_process_execute(struct sandbox *sb, const struct exec_request *req,
			     struct exec_result *res, const struct stop *stop,
			     struct error *err);
/* provider_process_files.c */
int provider_process_upload(struct sandbox *sb, struct transfer *files,
			    size_t n, const struct stop *stop,
			    struct error *err);
int provider_process_download(struct sandbox *sb, struct transfer *files,
			      size_t n, const struct stop *stop,
			      struct error *err);
/* provider_process_list.c */
int provider_process_list(struct sandbox_client *host, const char *owner,
			  const struct info_sink *sink, const struct stop *stop,
			  struct error *err);
int provider_process_info(struct sandbox_client *host, const char *id,
			  const struct info_sink *sink, const struct stop *stop,
			  struct error *err);

#endif
