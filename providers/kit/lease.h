/* lease.h - a sandbox's creation, life and price, as vendors count them. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_LEASE_H
#define PROVIDERS_KIT_LEASE_H

#include <pthread.h>

#include "config/settings.h"
#include "sandbox/provider.h"
#include "sandbox/sandbox.h"

/* For vendors that make a second sandbox of the same label when asked again.
 */
enum { CREATE_LOG_MAX = 16 };

/* The last labels that a create was sent for. Any thread. */
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
/* Lists the sandboxes of the label and deletes all but *id. If *id is NULL the
 * first one stays, and *id becomes its id, owned by the caller. */
int duplicate_create_resolve(struct sandbox_client *client,
			     const struct duplicate_query *query, char **id,
			     const struct stop *stop, struct error *err);

/*
 * Has half of the life passed (ends: by clock_ms()), and is it long enough
 * since *asked (0: never): pause_ms, or a fifth of the lifetime? Then *asked
 * becomes now. The caller holds the lock that guards them.
 */
bool lease_due(int64_t ends, int64_t lifetime_s, int64_t pause_ms,
	       int64_t *asked);

/* US dollars an hour as trillionths of a dollar a second, rounded up. */
#define RATES_HOUR(usd) ((int64_t)((usd)*1e12 / 3600 + 0.999))

struct rates { /* RATES_HOUR() of one; 0: it is not billed */
	int64_t vcpu, gib, disk_gib;
};
struct rates_size {
	int64_t milli_vcpu, mib, disk_gib;
};
/* Trillionths of a US dollar for each second. */
int64_t rates_price(const struct rates *rates, const struct rates_size *size);
/* sandbox_provider.price of a sandbox on the user's own machine: nothing. */
int rates_nothing(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err);

#endif
