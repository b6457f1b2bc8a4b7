/* agentcore.h - declarations shared by the files of the AgentCore provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_AGENTCORE_AGENTCORE_H
#define PROVIDERS_AGENTCORE_AGENTCORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "aws/credentials.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * Sessions of a code interpreter of AWS Bedrock AgentCore. Requests are signed
 * JSON; a tool's answer is an event stream. Wire: the service model
 * bedrock-agentcore/2024-02-28 of botocore 1.43.67 and what it and
 * @aws-sdk/client-bedrock-agentcore 3.1141.0 were seen to send (2026-11). dcode
 * does not rely on what the model leaves open (texts, readFiles of a missing
 * path): it uses the sandbox's shell instead.
 *
 * api.c signs requests and calls a session's tools; exec.c has commands and
 * files, and agentcore.c the account and its sessions.
 */
enum {
	AGENTCORE_TYPE = 64, /* room for an error's name */
};

struct agentcore { /* sandbox_client.priv */
	struct rest api;
	struct aws aws;
	const struct settings *settings; /* borrowed */
	char *region;                    /* owned */
	char *host;                      /* owned: the Host header */
	char *prefix;   /* owned: path in front of a->path, or "" */
	char *path;     /* owned: "/code-interpreters/ID" */
	char *endpoint; /* owned */
	struct create_log tried;
	pthread_mutex_t lock;
	int64_t skew_s; /* how far the server's clock is ahead */
};

struct agentcore_box { /* sandbox.priv */
	pthread_mutex_t lock;
	char *cwd; /* owned: the interpreter's directory, or NULL; set once */
	atomic_bool no_tasks; /* this interpreter rejects the task calls */
};

/* api.c */
struct agentcore_ask {
	struct rest_ask rest;      /* path: after "/code-interpreters/ID" */
	const char *session;       /* sent as a header; or NULL */
	char type[AGENTCORE_TYPE]; /* out: the error's name, or "" */
	int status;                /* out: HTTP status; 0 without an answer */
	char content_type[96];     /* out */
	unsigned tries;            /* out: number of requests sent */
};
/*
 * Signs and sends a request. With REST_AGAIN it is also repeated after an
 * answer was lost; without it only if the server certainly did not run it:
 * throttled, expired key, wrong clock. The caller frees *tree (tree may be
 * NULL).
 */
int agentcore_call(struct agentcore *a, struct agentcore_ask *ask, cJSON **tree,
		   const struct stop *stop, struct error *err);
/*
 * Fetches the session's description, which the caller frees; NULL if the id is
 * unknown.
 */
int agentcore_get_session(struct sandbox_client *client, const char *id,
			  cJSON **session, const struct stop *stop,
			  struct error *err);

/* exec.c */
struct agentcore_invoke {
	const char *tool; /* such as "executeCommand" */
	const char *key;  /* name of its only argument */
	struct str text;  /* the argument if it is a string */
	struct str items; /* else the argument's array as JSON items */
	const char *what; /* what the request does, for messages */
	int64_t timeout_ms;
	/*
	 * Called with each result event, parsed and as received. -1 (err
	 * filled) ends the call.
	 */
	int (*result)(void *arg, const cJSON *result, struct str raw,
		      struct error *err);
	void *arg;
};
/*
 * Calls a tool once; never repeats a call that the server may have run. Returns
 * 0 when a result came. -1: ERR_NETWORK (the connection broke, or the server
 * failed), ERR_PROTOCOL (a damaged stream), ERR_LIMIT (too large), ERR_GONE,
 * else the server's refusal.
 */
int agentcore_invoke(struct sandbox *sb, const struct agentcore_invoke *call,
		     const struct stop *stop, struct error *err);
/* Appends a result's standard output, or its text if it has no output. */
int agentcore_add_output(const cJSON *result, struct buf *out,
			 struct error *err);
/* Runs a command line until it ends and appends its standard output to out. */
int agentcore_run(struct sandbox *sb, struct str command, int64_t timeout_ms,
		  struct buf *out, const struct stop *stop, struct error *err);

/* exec.c */
int agentcore_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err);
int agentcore_upload(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err);
int agentcore_download(struct sandbox *sb, struct transfer *files, size_t n,
		       const struct stop *stop, struct error *err);

extern const struct sandbox_provider agentcore_provider;

#endif
