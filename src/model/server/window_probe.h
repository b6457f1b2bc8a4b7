/* window_probe.h - asks a server for a model's window beside a conversation. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_SERVER_WINDOW_PROBE_H
#define MODEL_SERVER_WINDOW_PROBE_H

#include "model/server/query.h"

struct window_probe;
/* path: see window_file.h; copied. Asks nobody yet. */
struct window_probe *window_probe_new(const struct model *m, const char *path);
/* Ends the question that runs, at once. NULL is fine. */
void window_probe_free(struct window_probe *p);
/* What was known before it asked: false where nothing is in the file. */
bool window_probe_known(const struct window_probe *p,
			struct server_limits *limits);
/* Begins to ask, on a thread of its own and for some seconds at most, unless
 * the file's answer is fresh; once. Called after the first answer, so that it
 * delays none. */
void window_probe_start(struct window_probe *p);
/* True once: the server has answered. Does not wait. The thread that began. */
bool window_probe_take(struct window_probe *p, struct server_limits *limits);

#endif
