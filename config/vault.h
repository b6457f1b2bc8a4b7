/* vault.h - stored keys, sealed on disk, in locked memory once opened. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_VAULT_H
#define CONFIG_VAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/stop.h"

/*
 * DIR/credentials holds all keys in one piece, sealed with XChaCha20-Poly1305
 * under a random key (DIR/credentials.key, mode 0600) or one made from a
 * passphrase with Argon2id. DIR/auth.json, the plain file of the Python dcode,
 * is read beside it and never written: what is sealed goes first.
 */
enum {
	VAULT_KEY_MAX = 16 << 10, /* bytes of one key */
	VAULT_NAME_MAX = 128,     /* bytes of a name */
	VAULT_MOST = 1000,        /* entries */
	VAULT_PHRASE_MAX = 1024,  /* bytes of a passphrase */
};

struct vault_entry {      /* in locked memory, the vault's */
	const char *name; /* "anthropic", "modal.token_secret" */
	const char *key;
	const char *url;  /* where it is for, or "" */
	const char *when; /* Unix seconds as decimal digits, or "" */
	bool plain;       /* of auth.json */
};

/* Immutable once opened: any thread may read. */
struct vault;

/* Writes the passphrase to room; returns its length, or -1 (err filled).
 * attempt counts from 0: a wrong one makes it be called again, as long as it
 * gives an answer, three times at most. */
struct vault_ask {
	int (*passphrase)(void *arg, int attempt, char *room, size_t size,
			  struct error *err);
	void *arg;
};

/* Without any file it is empty. ERR_CONFIG: damaged, without its key, wrong
 * passphrase; the message names the file. ask may be NULL. */
int vault_open(struct vault **v, const char *dir, const struct vault_ask *ask,
	       struct error *err);
void vault_close(struct vault *v); /* zeroes; NULL is fine */
size_t vault_list(const struct vault *v, const struct vault_entry **list);
/* By name, or NULL. */
const struct vault_entry *vault_find(const struct vault *v, const char *name);

struct vault_change { /* borrowed */
	const char *name;
	struct str key;  /* empty: remove the entry */
	const char *url; /* or NULL */
	/* Seal under this from now on, and remove the key file; or empty. */
	struct str phrase;
};
/*
 * Reads, changes and replaces the sealed file, under a lock: of two at once
 * none is lost. *changed (may be NULL): an entry was there to be removed.
 * ERR_TIMEOUT when the lock is not free before stop ends.
 */
int vault_change(const char *dir, const struct vault_ask *ask,
		 const struct vault_change *change, bool *changed,
		 const struct stop *stop, struct error *err);
/* True when it can be kept: printable ASCII without white space, not too long.
 */
bool vault_key_ok(struct str key);

#endif
