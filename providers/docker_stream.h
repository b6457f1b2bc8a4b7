/* docker_stream.h - the connection that carries an exec's streams. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_STREAM_H
#define PROVIDERS_DOCKER_STREAM_H

#include "net/conn.h"
#include "providers/docker_engine.h"

/* POST /containers/ID/exec: *id is owned. ERR_GONE when the container has
 * ended. */
int exec_create(struct engine *e, const char *container, struct str body,
		char **id, const struct stop *stop, struct error *err);
/*
 * POST /exec/ID/start on a connection of its own, which then belongs to the
 * command: it carries its input, and its output in frames. *rest holds what
 * came with the head. *sent tells whether the command may have started, also
 * when this fails.
 */
int exec_start(struct engine *e, const char *id, struct conn **c,
	       struct buf *rest, bool *sent, const struct stop *stop,
	       struct error *err);
/* GET /exec/ID/json. */
int exec_inspect(struct engine *e, const char *id, bool *running,
		 int *exit_code, const struct stop *stop, struct error *err);

#endif
