/* agentcore.h - the parts of the AgentCore provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_AGENTCORE_AGENTCORE_H
#define PROVIDERS_AGENTCORE_AGENTCORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "aws/credentials.h"
#include "providers/kit/duplicate_create.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * Sessions of a code interpreter of AWS Bedrock AgentCore. Requests are signed
 * JSON; a tool's answer is an event stream. Wire: the service model
 * bedrock-agentcore/2024-02-28 of botocore 1.43.67 and what it and
 * @aws-sdk/client-bedrock-agentcore 3.1141.0 were seen to send (2026-11). What
 * the model leaves open (texts, what readFiles does with a path that is not
 * there) is never relied on: the sandbox's shell is asked instead.
 */
enum {
	AGENTCORE_LIFETIME_S = 14400,
	AGENTCORE_LIFETIME_MAX_S = 28800, /* of sessionTimeoutSeconds */
	AGENTCORE_ID_MAX = 40,
	AGENTCORE_TYPE = 64, /* room for an error's name */
	AGENTCORE_HASH = 65,
};

struct agentcore { /* sandbox_client.priv */
	struct rest api;
	struct aws aws;
	const struct settings *settings; /* borrowed */
	char *region;                    /* owned */
	char *host;                      /* owned: as in the Host header */
	char *prefix;   /* owned: the path before ours, or "" */
	char *path;     /* owned: "/code-interpreters/ID" */
	char *endpoint; /* owned */
	struct create_log tried;
	pthread_mutex_t lock;
	int64_t skew_s; /* the server's clock is so much ahead */
};

struct agentcore_box { /* sandbox.priv */
	pthread_mutex_t lock;
	char *cwd; /* owned: the interpreter's directory, or NULL; set once */
	atomic_bool no_tasks; /* the task calls do not work here */
};

/* agentcore.c */
struct agentcore *agentcore_of(const struct sandbox_client *host);
bool agentcore_id_ok(const char *id);
/* sb->priv, made when there is none. */
void agentcore_box(struct sandbox *sb);

/* api.c */
struct agentcore_ask {
	struct rest_ask rest;      /* path: after "/code-interpreters/ID" */
	const char *session;       /* goes into a header, or NULL */
	char type[AGENTCORE_TYPE]; /* out: the error's name, or "" */
	int status;                /* out: 0 when no answer came */
	char content_type[96];     /* out */
	unsigned tries;            /* out: how often it was sent */
};
/*
 * Signs, sends and, with REST_AGAIN, repeats; without, only what was refused
 * before it was looked at (throttled, an expired key, a wrong clock). *tree
 * (may be NULL) is the caller's.
 */
int agentcore_call(struct agentcore *a, struct agentcore_ask *ask, cJSON **tree,
		   const struct stop *stop, struct error *err);
/* A clientToken: the same for the same kind and id. */
void agentcore_token(const char *kind, const char *id,
		     char out[AGENTCORE_HASH]);

/* create.c */
int agentcore_create(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err);
int agentcore_attach(struct sandbox *sb, const char *id,
		     const struct stop *stop, struct error *err);
int agentcore_remove(struct sandbox_client *host, const char *id,
		     const struct stop *stop, struct error *err);
int agentcore_list(struct sandbox_client *host, const char *owner,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err);
int agentcore_info(struct sandbox_client *host, const char *id,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err);
/* After a tool's call has failed: 0 when the session is READY, -1 with
 * ERR_GONE, or with the reason that this cannot be told. */
int agentcore_check_alive(struct sandbox *sb, const struct stop *stop,
			  struct error *err);

/* exec.c */
struct agentcore_invoke {
	const char *tool; /* "executeCommand" */
	const char *key;  /* of its one argument */
	struct str text;  /* the argument as a string, */
	struct str items; /* or the JSON items of an array */
	const char *what; /* the request, for messages */
	int64_t timeout_ms;
	/* Each result event, parsed, and its bytes; -1 (err filled) stops. */
	int (*result)(void *arg, const cJSON *result, struct str raw,
		      struct error *err);
	void *arg;
};
/*
 * One call of a tool, never repeated once the server may have seen it. 0 when
 * a result came. -1: ERR_NETWORK (cut, or the server is in trouble),
 * ERR_PROTOCOL (a damaged stream), ERR_LIMIT (too large), ERR_GONE, else what
 * the server says.
 */
int agentcore_invoke(struct sandbox *sb, const struct agentcore_invoke *call,
		     const struct stop *stop, struct error *err);
/* Runs a line to its end, its standard output appended to out. */
int agentcore_run(struct sandbox *sb, struct str command, int64_t timeout_ms,
		  struct buf *out, const struct stop *stop, struct error *err);
int agentcore_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err);
/* The interpreter's directory, which its file tools resolve paths against and
 * which is not documented; NULL until it is known. Lives as long as sb. */
const char *agentcore_cwd(struct sandbox *sb);
/* Asks for it, unless it is known. */
int agentcore_find_cwd(struct sandbox *sb, const struct stop *stop,
		       struct error *err);

/* upload.c, download.c */
int agentcore_upload(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err);
int agentcore_download(struct sandbox *sb, struct transfer *files, size_t n,
		       const struct stop *stop, struct error *err);
/* The path below the interpreter's directory, owned; NULL when the file tools
 * cannot reach it. */
char *agentcore_relative(struct sandbox *sb, const char *path);
/* After a file tool failed: the shell would fail, too. */
bool agentcore_is_fatal(const struct error *e);
/* price.c: as sandbox_provider.price */
int agentcore_price(const struct settings *set, const char *snapshot,
		    struct sandbox_price *price, struct error *err);

extern const struct sandbox_provider agentcore_provider;

#endif
