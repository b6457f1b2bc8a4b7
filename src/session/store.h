/* store.h - opens, limits and closes the database of threads and the ledger. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_STORE_H
#define SESSION_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The database file holds threads and the sandbox ledger. */
struct store;
/* Does not open the database yet: that would take most of the time before the
 * first request. A store may be used by one thread at a time. */
struct store *store_new(const char *path, void (*warn)(const char *line));
/* Makes another connection to the same database, for another thread, with the
 * same capacity. */
struct store *store_again(const struct store *s);
/* Opens or creates the database (0600, its directory 0700, WAL) and upgrades
 * it. A damaged file is moved aside with a warning on warn (may be NULL), and a
 * new one is created. Every use of a store calls this first. It waits at most
 * five seconds for another dcode that is writing, then fails with
 * ERR_SYSTEM. */
int store_ready(struct store *s, struct error *err);
/* Refuses messages beyond max_mib MiB (0: unlimited). prune: deletes the oldest
 * threads instead. */
void store_set_capacity(struct store *s, int64_t max_mib, bool prune);
/* Returns the space of deleted threads to the file system, if nobody else uses
 * the database. */
void store_compact(struct store *s);
void store_close(struct store *s);
/* Returns this installation's id, a UUID made on first use. Owned by the
 * store. */
const char *store_owner(const struct store *s);

#endif
