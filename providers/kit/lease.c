/* lease.c - duplicate creates, lifetimes and prices. */
/* SPDX-License-Identifier: MIT */
/*
 * Three small parts, also used by providers without struct vendor.
 * duplicate_create_resolve() chooses one sandbox if a repeated create request
 * made several. lease_due() decides when to extend a sandbox's life.
 * rates_price() computes what a size costs.
 */
#include "providers/kit/lease.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	DUPLICATE_MAX = 8,
	/* largest value of each size: a setting may be larger */
	MOST = 1 << 24,
};

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
	char *id; /* owned: the sandbox to use, the first one found */
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

bool lease_due(int64_t ends, int64_t lifetime_s, int64_t pause_ms,
	       int64_t *asked)
{
	int64_t now = clock_ms();
	bool due = lifetime_s > 0 && ends - now < lifetime_s * 500 &&
		   (!*asked || now - *asked > pause_ms ||
		    now - *asked > lifetime_s * 200);

	if (due)
		*asked = now;
	return due;
}

static int64_t clamp(int64_t n)
{
	return n < 0 ? 0 : n > MOST ? MOST : n;
}

int64_t rates_price(const struct rates *rates, const struct rates_size *size)
{
	return rates->vcpu * clamp(size->milli_vcpu) / 1000 +
	       rates->gib * clamp(size->mib) / 1024 +
	       rates->disk_gib * clamp(size->disk_gib);
}

int rates_nothing(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err)
{
	(void)set;
	(void)snapshot;
	(void)err;
	price->usd_s = 0;
	return 0;
}
