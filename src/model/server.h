/* server.h - asks a model's server for model names and window sizes. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_SERVER_H
#define MODEL_SERVER_H

#include "model/model.h"

struct server_limits { /* in tokens, as the server reports; 0: unknown */
	int64_t context, max_output;
};

/* Call after a refusal with CASE_UNKNOWN_MODEL. Asks the server for its list of
 * models, for a few seconds at most, and puts the nearest name into the hint.
 * Without a list the hint is unchanged. Cancelled by stop. */
void server_suggest(const struct model *m, const struct stop *stop,
		    struct error *err);

/* Asks the server for a model's window in the background. */
struct window_probe;
/* path (copied): the JSON file with servers' answers, in dcode's state
 * directory. Sends nothing yet. */
struct window_probe *window_probe_new(const struct model *m, const char *path);
/* Cancels a running request at once. NULL is allowed. */
void window_probe_free(struct window_probe *p);
/* Returns the cached answer; false if there was none. */
bool window_probe_known(const struct window_probe *p,
			struct server_limits *limits);
/* Starts the thread that asks, for some seconds at most, unless the cached
 * answer is fresh. Later calls do nothing. Call after the model's first answer,
 * so that it delays none. */
void window_probe_start(struct window_probe *p);
/* True once the server has answered, then false. Does not wait. Call it only on
 * the thread that called window_probe_start(). */
bool window_probe_take(struct window_probe *p, struct server_limits *limits);

#endif
