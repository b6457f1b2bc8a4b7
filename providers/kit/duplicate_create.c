/* duplicate_create.c - a create that was sent twice: which sandbox stays. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/duplicate_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { DUPLICATE_MAX = 8 };

void create_log_init(struct create_log *t)
{
	*t = (struct create_log){ 0 };
	pthread_mutex_init(&t->lock, NULL);
}

void create_log_release(struct create_log *t)
{
	pthread_mutex_destroy(&t->lock);
}

bool create_log_add(struct create_log *t, const char *label)
{
	bool known = false;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < CREATE_LOG_MAX && !known; i++)
		known = strcmp(t->labels[i], label) == 0;
	if (!known)
		snprintf(t->labels[t->n++ % CREATE_LOG_MAX],
			 sizeof(t->labels[0]), "%s", label);
	pthread_mutex_unlock(&t->lock);
	return known;
}

struct duplicates {
	const char *label;
	char *id; /* owned: the one that stays; the first that is found */
	char *others[DUPLICATE_MAX];
	size_t n;
};

static void on_found(void *arg, const struct sandbox_info *info)
{
	struct duplicates *d = arg;

	if (strcmp(info->label, d->label) != 0)
		return;
	if (!d->id)
		d->id = xstrdup(info->id);
	else if (strcmp(d->id, info->id) != 0 && d->n < DUPLICATE_MAX)
		d->others[d->n++] = xstrdup(info->id);
}

int duplicate_create_resolve(struct sandbox_client *client,
			     const struct duplicate_query *query, char **id,
			     const struct stop *stop, struct error *err)
{
	struct duplicates found = { .label = query->label, .id = xstrdup(*id) };
	const struct info_sink sink = { on_found, &found };
	int rc = query->list(client, query->key, &sink, stop, err);
	struct error ignored = { 0 };

	if (rc == 0 && !*id)
		*id = xstrdup(found.id);
	for (size_t i = 0; i < found.n; i++) {
		(void)sandbox_remove(client, found.others[i], stop, &ignored);
		free(found.others[i]);
	}
	free(found.id);
	return rc;
}
