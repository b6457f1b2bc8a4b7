/* duplicate_create.c - a create that was sent twice: which sandbox stays. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/duplicate_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

void duplicate_create_found(void *arg, const struct sandbox_info *info)
{
	struct duplicate_create *s = arg;

	if (strcmp(info->label, s->label) != 0)
		return;
	if (!s->id)
		s->id = xstrdup(info->id);
	else if (strcmp(s->id, info->id) != 0 && s->n < DUPLICATE_MAX)
		s->others[s->n++] = xstrdup(info->id);
}

void duplicate_create_delete(struct sandbox_client *host,
			     struct duplicate_create *s,
			     const struct stop *stop)
{
	struct error ignored = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		(void)sandbox_remove(host, s->others[i], stop, &ignored);
		free(s->others[i]);
	}
	free(s->id);
	*s = (struct duplicate_create){ 0 };
}

int duplicate_create_resolve(struct sandbox_client *host,
			     const struct duplicate_query *query, char **id,
			     const struct stop *stop, struct error *err)
{
	struct duplicate_create found = { .label = query->label,
					  .id = xstrdup(*id) };
	const struct info_sink sink = { duplicate_create_found, &found };
	int rc = query->list(host, query->key, &sink, stop, err);

	if (rc == 0 && !*id)
		*id = xstrdup(found.id);
	duplicate_create_delete(host, &found, stop);
	return rc;
}
