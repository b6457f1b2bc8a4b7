/* server.h - asks a model's server for model names and sizes of context
 * windows. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_SERVER_H
#define MODEL_SERVER_H

#include "model/model.h"

struct server_limits { /* in tokens, as the server reports; 0: unknown */
	int64_t context, max_output;
};

/* Call after a refusal with CASE_UNKNOWN_MODEL. Asks the server for its list of
 * models, for a few seconds at most, and puts the nearest name into err's hint.
 * If there is no list, the hint stays unchanged. Ends early when stop does. */
void server_suggest(const struct model *m, const struct stop *stop,
		    struct error *err);

/* Calls each for every name in the list of the model's server, unchecked bytes
 * of the server. Takes a few seconds at most; a server without a list, or one
 * that cannot be reached, has no names. */
void server_list_names(const struct model *m,
		       void (*each)(void *arg, const char *name), void *arg,
		       const struct stop *stop);

/* Asks the server in the background for the size of a model's context
 * window. */
struct window_probe;
/* path (copied): the JSON file in dcode's state directory that caches answers
 * of servers. Sends nothing yet. */
struct window_probe *window_probe_new(const struct model *m, const char *path);
/* Cancels the request at once if it is running. NULL is allowed. */
void window_probe_free(struct window_probe *p);
/* Returns the cached answer. False if there is none or it has no window. */
bool window_probe_known(const struct window_probe *p,
			struct server_limits *limits);
/* Starts the thread that asks the server, for some seconds at most. Does
 * nothing if the cached answer is recent or on a later call. Call it after the
 * model's first answer, so that it does not delay that. */
void window_probe_start(struct window_probe *p);
/* True in the first call after the server has answered, else false. Does not
 * wait. Call it only on the thread that called window_probe_start(). */
bool window_probe_take(struct window_probe *p, struct server_limits *limits);

#endif
