/* making.h - what the vendors share where they make a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_MAKING_H
#define PROVIDERS_MAKING_H

#include <pthread.h>

#include "base/json.h"
#include "config/settings.h"

enum { MAKING_TRIED = 16 };

/* The last labels that a create was sent for. Any thread may ask. */
struct making_tried {
	pthread_mutex_t lock;
	char labels[MAKING_TRIED][16];
	unsigned n;
};

void making_tried_init(struct making_tried *t);
void making_tried_release(struct making_tried *t);
/* Was a request sent for this label before? Remembers it. */
bool making_tried_before(struct making_tried *t, const char *label);
/* The items "NAME=value" of a provider's setting as members of object. */
int making_pairs(const struct settings *set, const char *provider,
		 const char *key, cJSON *object, struct error *err);

#endif
