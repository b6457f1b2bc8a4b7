/* duplicate_create.h - a create that was sent twice: which sandbox stays. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_DUPLICATE_CREATE_H
#define PROVIDERS_KIT_DUPLICATE_CREATE_H

#include <pthread.h>

#include "sandbox/sandbox.h"

/* For vendors that make a second sandbox of the same label when asked again.
 */
enum { CREATE_LOG_MAX = 16 };

/* Labels that a create was sent for, the last ones. Any thread. */
struct create_log {
	pthread_mutex_t lock;
	char labels[CREATE_LOG_MAX][16];
	unsigned n;
};
void create_log_init(struct create_log *t);
void create_log_release(struct create_log *t);
/* Was a request sent for this label before? Remembers it. */
bool create_log_add(struct create_log *t, const char *label);

/* How a vendor lists the sandboxes that may carry a label. */
struct duplicate_query {
	const char *label;
	int (*list)(struct sandbox_client *client, const char *key,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err);
	const char *key; /* for list(): the label or an owner */
};
/* Lists the sandboxes of the label and deletes all but *id. Where *id is NULL
 * the first one stays, and *id becomes its id, owned by the caller. */
int duplicate_create_resolve(struct sandbox_client *client,
			     const struct duplicate_query *query, char **id,
			     const struct stop *stop, struct error *err);

#endif
