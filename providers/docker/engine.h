/* engine.h - the Docker Engine API, as the docker provider uses it. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_ENGINE_H
#define PROVIDERS_DOCKER_ENGINE_H

#include <stdatomic.h>

#include "base/json.h"
#include "net/conn.h"
#include "net/http.h"
#include "sandbox/sandbox.h"

/* Paths contain no API version: the engine then uses its newest one, and new
 * engines refuse old versions (Docker 29 refuses all below 1.44). The requests
 * used here have not changed since 1.24 and work with Podman. */
struct engine {
	struct http *http; /* borrowed */
	char *base;        /* owned: "http://docker", "https://host:2376" */
	char *socket;      /* owned: path of the unix socket, or NULL */
	char *shown;       /* owned: for messages, "unix:///run/..." */
	bool is_podman;    /* the user chose Podman */
	bool installed;    /* docker or podman is, as far as is known */
	/* index in kill.c's queries[]: the one that this engine accepted */
	atomic_int top_words;
};

/* Chooses the engine without connecting: DOCKER_HOST, else Docker's socket,
 * else Podman's. With is_podman: Podman's socket, else DOCKER_HOST. */
int engine_init(struct engine *e, struct http *http, const struct settings *set,
		bool is_podman, struct error *err);
void engine_release(struct engine *e);

/* A request to the engine; all borrowed. engine_call() makes the URL:
 * http.path, id, action. */
struct engine_ask {
	struct http_request http; /* idle_ms: 2 minutes by default */
	const char *id;           /* such as a container's; or NULL */
	const char *action;       /* what follows the id; or NULL */
};
/* Sends a request. Any HTTP status is success. */
int engine_call(struct engine *e, const struct engine_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err);
/* Sends a request and requires a status below 400. *answer is the parsed body,
 * owned by the caller; answer may be NULL. */
int engine_json(struct engine *e, const struct engine_ask *ask, cJSON **answer,
		const struct stop *stop, struct error *err);

/* True if a name or id is safe in a path. */
bool engine_name_ok(const char *name);

/* Sends POST /containers/ID/ACTION without a body. */
int engine_post(struct engine *e, const char *id, const char *action,
		const char *what, const struct stop *stop, struct error *err);
/* Sends GET /containers/ID/json. ERR_NOT_FOUND: no such container. */
int engine_inspect(struct engine *e, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err);

/* Pulls the image and reports progress through spec. */
int engine_pull(struct engine *e, const char *image,
		const struct sandbox_spec *spec, const struct stop *stop,
		struct error *err);
/* A command needs exec_create(), exec_start(), the transfer of bytes, then
 * exec_inspect(). */

/* Sends POST /containers/ID/exec. The caller owns *id. ERR_GONE: the container
 * has ended. */
int exec_create(struct engine *e, const char *container, struct str body,
		char **id, const struct stop *stop, struct error *err);
/* The connection of a started exec. It carries the command's input, and its
 * output in frames. */
struct exec_link {
	struct conn *conn; /* owned */
	struct buf rest; /* owned: bytes received after the answer's headers */
	bool sent;       /* the command may have started */
};
/* Sends POST /exec/ID/start. The caller releases link, even on failure.
 * terminal: as in exec_create(); the output then has no frames. */
int exec_start(struct engine *e, const char *id, bool terminal,
	       struct exec_link *link, const struct stop *stop,
	       struct error *err);
void exec_link_release(struct exec_link *link);
struct exec_state {
	bool running;
	int exit_code; /* -1 unknown */
	/* the command's first process, on the engine's machine; 0: unknown */
	int64_t pid;
};
/* Sends GET /exec/ID/json. ERR_GONE: the engine no longer knows the exec. */
int exec_inspect(struct engine *e, const char *id, struct exec_state *state,
		 const struct stop *stop, struct error *err);

#endif
