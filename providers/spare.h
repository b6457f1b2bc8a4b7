/* spare.h - a create that was sent twice: which sandbox stays. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_SPARE_H
#define PROVIDERS_SPARE_H

#include <pthread.h>

#include "sandbox/sandbox.h"

/* For vendors that make a second sandbox of the same label when asked again.
 */
enum { SPARE_TRIED = 16, SPARE_MAX = 8 };

/* Labels that a create was sent for, the last ones. Any thread. */
struct spare_tried {
	pthread_mutex_t lock;
	char labels[SPARE_TRIED][16];
	unsigned n;
};
void spare_tried_init(struct spare_tried *t);
void spare_tried_release(struct spare_tried *t);
/* Was a request sent for this label before? Remembers it. */
bool spare_tried_before(struct spare_tried *t, const char *label);

struct spare { /* set label, and maybe id; the rest is { 0 } */
	const char *label;
	char *id; /* owned: the one that stays; the first that is found */
	char *others[SPARE_MAX];
	size_t n;
};
/* For a list of sandboxes; arg is a struct spare. */
void spare_found(void *arg, const struct sandbox_info *info);
/* Deletes all but id, and frees. */
void spare_delete(struct sandbox_host *host, struct spare *s,
		  const struct stop *stop);

#endif
