/* server.h - what a model's server says of its models: names, windows. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_SERVER_H
#define MODEL_SERVER_H

#include "model/model.h"

struct server_limits { /* in tokens, as the server says; 0: unknown */
	int64_t context, max_output;
};

/* Call after a refusal with MODEL_UNKNOWN. Asks the server for its list of
 * models, for a few seconds at most, and names the nearest one in the hint. The
 * hint stays as it was if there is no list. Cancelled by stop. */
void server_suggest(const struct model *m, const struct stop *stop,
		    struct error *err);

/* Asks a server for a model's window beside a conversation. */
struct window_probe;
/* path, copied: a file of JSON with the answers of servers, in the directory of
 * dcode's state. Sends nothing yet. */
struct window_probe *window_probe_new(const struct model *m, const char *path);
/* Cancels the running request, at once. NULL is allowed. */
void window_probe_free(struct window_probe *p);
/* The answer that was in the file; false if there was none. */
bool window_probe_known(const struct window_probe *p,
			struct server_limits *limits);
/* Starts the thread that asks, for some seconds at most, unless the answer in
 * the file is fresh; later calls do nothing. Call it after the first answer of
 * the model, so that it delays none. */
void window_probe_start(struct window_probe *p);
/* True once: the server has answered. Does not wait. Only the thread that
 * called window_probe_start(). */
bool window_probe_take(struct window_probe *p, struct server_limits *limits);

#endif
