/* store.h - the database of threads and the ledger: opened, capped, closed. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_STORE_H
#define SESSION_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The database file holds threads and the sandbox ledger. */
struct store;
/* Does not touch the disk yet: opening takes longer than all else before a
 * first request. One thread at a time per store. */
struct store *store_new(const char *path, void (*warn)(const char *line));
/* Another connection to the same database, for another thread, with the same
 * cap. */
struct store *store_again(const struct store *s);
/* Opens or creates it (0600, its directory 0700), WAL; migrates. A damaged
 * file is moved aside with a warning on warn (may be NULL) and a new one
 * begun. Each use of a store does this first, and waits five seconds at most
 * for another dcode that writes: then ERR_SYSTEM. */
int store_ready(struct store *s, struct error *err);
/* Messages are refused beyond so many MiB (0: no cap); prune: the oldest
 * threads are deleted instead. */
void store_set_capacity(struct store *s, int64_t max_mib, bool prune);
/* Gives what deleted threads have left back to the file system, where nobody
 * else uses the database. */
void store_compact(struct store *s);
void store_close(struct store *s);
/* This installation's id, a UUID made on first use. Owned by the store. */
const char *store_owner(const struct store *s);

#endif
