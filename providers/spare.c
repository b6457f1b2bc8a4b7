/* spare.c - a create that was sent twice: which sandbox stays. */
/* SPDX-License-Identifier: MIT */
#include "providers/spare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void spare_tried_init(struct spare_tried *t)
{
	*t = (struct spare_tried){ 0 };
	pthread_mutex_init(&t->lock, NULL);
}

void spare_tried_release(struct spare_tried *t)
{
	pthread_mutex_destroy(&t->lock);
}

bool spare_tried_before(struct spare_tried *t, const char *label)
{
	bool known = false;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < SPARE_TRIED && !known; i++)
		known = strcmp(t->labels[i], label) == 0;
	if (!known)
		snprintf(t->labels[t->n++ % SPARE_TRIED], sizeof(t->labels[0]),
			 "%s", label);
	pthread_mutex_unlock(&t->lock);
	return known;
}

void spare_found(void *arg, const struct sandbox_info *info)
{
	struct spare *s = arg;

	if (strcmp(info->label, s->label) != 0)
		return;
	if (!s->id)
		s->id = xstrdup(info->id);
	else if (strcmp(s->id, info->id) != 0 && s->n < SPARE_MAX)
		s->others[s->n++] = xstrdup(info->id);
}

void spare_delete(struct sandbox_host *host, struct spare *s,
		  const struct stop *stop)
{
	struct error ignored = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		(void)sandbox_remove(host, s->others[i], stop, &ignored);
		free(s->others[i]);
	}
	free(s->id);
	*s = (struct spare){ 0 };
}
