/* lease.h - duplicate creates, lifetimes and prices. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_LEASE_H
#define PROVIDERS_KIT_LEASE_H

#include <pthread.h>

#include "config/settings.h"
#include "sandbox/provider.h"
#include "sandbox/sandbox.h"

/* For vendors that make a second sandbox when a create with the same label is
 * repeated. */
enum { CREATE_LOG_MAX = 16 };

/* The most recent labels for which a create request was sent. May be used from
 * any thread. */
struct create_log {
	pthread_mutex_t lock;
	char labels[CREATE_LOG_MAX][16];
	unsigned n;
};
void create_log_init(struct create_log *t);
void create_log_release(struct create_log *t);
/* True if a create was sent for this label before. Stores the label. */
bool create_log_add(struct create_log *t, const char *label);

/* How to list the sandboxes that may have a label. */
struct duplicate_query {
	const char *label;
	int (*list)(struct sandbox_client *client, const char *key,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err);
	/* passed to list(): the label, or the owner if it filters by that */
	const char *key;
};
/* Lists the sandboxes of the label and deletes all but *id. If *id is NULL, the
 * first one is used, and *id becomes its id, owned by the caller. */
int duplicate_create_resolve(struct sandbox_client *client,
			     const struct duplicate_query *query, char **id,
			     const struct stop *stop, struct error *err);

/* True if half of the lifetime is over and the last request to extend was sent
 * at least pause_ms, or a fifth of the lifetime, ago. ends and *asked are
 * clock_ms() times; *asked is 0 if none was sent. If true, *asked becomes now.
 * Call with the lock that guards both. */
bool lease_due(int64_t ends, int64_t lifetime_s, int64_t pause_ms,
	       int64_t *asked);

/* Converts US dollars an hour to trillionths of a dollar a second, rounded
 * up. */
#define RATES_HOUR(usd) ((int64_t)((usd)*1e12 / 3600 + 0.999))

struct rates { /* each from RATES_HOUR(); 0: not billed */
	int64_t vcpu, gib, disk_gib;
};
struct rates_size {
	int64_t milli_vcpu, mib, disk_gib;
};
/* Returns trillionths of a US dollar per second. */
int64_t rates_price(const struct rates *rates, const struct rates_size *size);
/* Implements sandbox_provider.price for providers whose sandboxes cost nothing
 * because they run on the user's machine. */
int rates_nothing(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err);

#endif
