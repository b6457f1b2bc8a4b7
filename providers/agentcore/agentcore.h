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
 * JSON; a tool's answer is an event stream. Sources of the protocol: the
 * service model bedrock-agentcore/2024-02-28 of botocore 1.43.67, and what
 * botocore and @aws-sdk/client-bedrock-agentcore 3.1141.0 were seen to send
 * (2026-11). dcode does not rely on what the service model leaves open (texts,
 * readFiles of a missing path): it uses the sandbox's shell instead.
 *
 * api.c signs requests and calls a session's tools; exec.c has commands and
 * files, and agentcore.c the account and its sessions.
 */
enum {
	AGENTCORE_TYPE = 64, /* bytes of an error's name, with NUL */
};

struct agentcore { /* sandbox_client.priv points to it */
	struct rest api;
	struct aws aws;
	const struct settings *settings; /* borrowed */
	char *region;                    /* owned */
	char *host;                      /* owned: the Host header */
	/* owned: beginning of all paths, in front of path; or "" */
	char *prefix;
	char *path;     /* owned: "/code-interpreters/ID" */
	char *endpoint; /* owned: sandbox_client.endpoint */
	struct create_log tried;
	pthread_mutex_t lock;
	int64_t skew_s; /* how far AWS's clock is ahead of this machine's */
};

struct agentcore_box { /* sandbox.priv points to it */
	pthread_mutex_t lock;
	/* owned: directory of the interpreter's file tools; NULL until known,
	 * then it never changes */
	char *cwd;
	atomic_bool no_tasks; /* this interpreter rejects the calls for tasks */
};

/* api.c */
struct agentcore_ask {
	/* its path follows "/code-interpreters/ID" */
	struct http_request rest;
	const char *session;       /* sent as a header; or NULL */
	char type[AGENTCORE_TYPE]; /* out: the error's name, or "" */
	int status;                /* out: HTTP status; 0: no answer came */
	char content_type[96];     /* out */
	unsigned tries;            /* out: number of requests sent */
};
/*
 * Signs and sends a request. With REST_AGAIN the request is repeated after any
 * temporary failure, even if the server may have executed it. Without it, only
 * if the server certainly did not: it throttled the request, or refused an
 * expired key or a wrong clock. The caller frees *tree (tree may be NULL).
 */
int agentcore_call(struct agentcore *a, struct agentcore_ask *ask, cJSON **tree,
		   const struct stop *stop, struct error *err);
/*
 * Requests the session's description, which the caller frees. Returns 0 with
 * NULL if the id is unknown.
 */
int agentcore_get_session(struct sandbox_client *client, const char *id,
			  cJSON **session, const struct stop *stop,
			  struct error *err);

/* exec.c */
struct agentcore_invoke {
	const char *tool; /* such as "executeCommand" */
	const char *key;  /* name of the tool's only argument */
	struct str text;  /* value of the argument, if it is a string */
	/* value of the argument, if it is an array: its items as JSON */
	struct str items;
	const char *what; /* what the request does, for messages */
	int64_t timeout_ms;
	/*
	 * Called with each result event: parsed, and raw as it was received.
	 * Returns -1 (err filled) to end the call.
	 */
	int (*result)(void *arg, const cJSON *result, struct str raw,
		      struct error *err);
	void *arg;
};
/*
 * Calls a tool once. Never repeats a call that the server may have executed.
 * Returns 0 when a result came. -1: ERR_NETWORK (the connection broke, or the
 * server failed), ERR_PROTOCOL (the stream is damaged), ERR_LIMIT (the answer
 * is too large), ERR_GONE (the session has ended), else the server's refusal.
 */
int agentcore_invoke(struct sandbox *sb, const struct agentcore_invoke *call,
		     const struct stop *stop, struct error *err);
/* Appends a result's standard output. A result without that has a text, which
 * is appended instead. */
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
