/* engine.h - the Docker Engine API, as the docker provider uses it. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_ENGINE_H
#define PROVIDERS_DOCKER_ENGINE_H

#include <stdatomic.h>

#include "base/json.h"
#include "net/conn.h"
#include "net/http.h"
#include "sandbox/sandbox.h"

/*
 * Paths carry no version: the engine then speaks its newest one, and new
 * engines refuse old versions (Docker 29 refuses all below 1.44). What is used
 * here has been the same since 1.24 and works with Podman.
 */
struct engine {
	struct http *http;    /* borrowed */
	char *base;           /* owned: "http://docker", "https://host:2376" */
	char *socket;         /* owned: path of the unix socket, or NULL */
	char *shown;          /* owned: for messages, "unix:///run/..." */
	bool is_podman;       /* Podman was asked for */
	atomic_int top_words; /* which query of kill.c the engine knows */
};

/* DOCKER_HOST, else Docker's socket, else Podman's; is_podman: Podman's socket,
 * else DOCKER_HOST. Talks to nobody. */
int engine_init(struct engine *e, struct http *http, const struct settings *set,
		bool is_podman, struct error *err);
void engine_release(struct engine *e);

struct engine_ask { /* one request; all borrowed */
	const char *method;
	const char *path;        /* with its query; id and action follow it */
	const char *id, *action; /* of a container or an exec, or NULL */
	struct str body;         /* JSON, or empty */
	const char *what;        /* names the request for a message */
	const char *type;        /* header of the body, or NULL: JSON */
	int64_t idle_ms; /* without a byte, then it is cut; 0: 2 minutes */
	/* As in struct http_request. */
	int (*data)(void *arg, struct str chunk, struct error *err);
	void *arg;
};
/* Any status is success. */
int engine_call(struct engine *e, const struct engine_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err);
/* The answer must be below 400; *answer (NULL: not wanted) is the parsed
 * body, the caller's. */
int engine_json(struct engine *e, const struct engine_ask *ask, cJSON **answer,
		const struct stop *stop, struct error *err);

/* A name or id that can stand in a path. */
bool engine_name_ok(const char *name);

/* POST /containers/ID/ACTION without a body. */
int engine_post(struct engine *e, const char *id, const char *action,
		const char *what, const struct stop *stop, struct error *err);
/* GET /containers/ID/json. ERR_NOT_FOUND when there is none. */
int engine_inspect(struct engine *e, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err);

/* Pulls the image; progress lines through spec. */
int engine_pull(struct engine *e, const char *image,
		const struct sandbox_spec *spec, const struct stop *stop,
		struct error *err);
/* A command: exec_create(), exec_start(), then bytes, then exec_inspect(). */

/* POST /containers/ID/exec: *id is owned. ERR_GONE when the container has
 * ended. */
int exec_create(struct engine *e, const char *container, struct str body,
		char **id, const struct stop *stop, struct error *err);
/* The connection of a started exec belongs to the command: it carries its
 * input, and its output in frames. */
struct exec_link {
	struct conn *conn; /* owned */
	struct buf rest;   /* owned: what came with the answer's head */
	bool sent;         /* the command may have started */
};
/* POST /exec/ID/start. The caller releases link whatever this returns. */
int exec_start(struct engine *e, const char *id, struct exec_link *link,
	       const struct stop *stop, struct error *err);
void exec_link_release(struct exec_link *link);
struct exec_state {
	bool running;
	int exit_code; /* -1 unknown */
	int64_t pid;   /* of its first process, on the engine's machine; or 0 */
};
/* GET /exec/ID/json. ERR_GONE when the engine does not know it any more. */
int exec_inspect(struct engine *e, const char *id, struct exec_state *state,
		 const struct stop *stop, struct error *err);

#endif
