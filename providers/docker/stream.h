/* stream.h - the connection that carries an exec's streams. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_STREAM_H
#define PROVIDERS_DOCKER_STREAM_H

#include "net/conn.h"
#include "providers/docker/engine.h"

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
