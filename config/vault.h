/* vault.h - stores keys encrypted on disk; decrypts them into locked memory. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_VAULT_H
#define CONFIG_VAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/stop.h"

/*
 * DIR/credentials contains all keys, encrypted as a whole with
 * XChaCha20-Poly1305. The encryption key is random (DIR/credentials.key, mode
 * 0600) or derived from a passphrase with Argon2id. DIR/auth.json, the
 * plain-text file of the Python program, is also read but never written. If
 * both files have an entry, the one in DIR/credentials counts.
 */
enum {
	VAULT_KEY_MAX = 16 << 10, /* bytes of one key */
	VAULT_NAME_MAX = 128,     /* bytes of a name */
	VAULT_MOST = 1000,        /* entries */
	VAULT_PHRASE_MAX = 1024,  /* bytes of a passphrase */
};

struct vault_entry {      /* in locked memory owned by the vault */
	const char *name; /* "anthropic", "modal.token_secret" */
	const char *key;
	const char *url;  /* the server's address for this key, or "" */
	const char *when; /* Unix seconds as decimal digits, or "" */
	bool plain;       /* read from auth.json */
};

/* Immutable after opening: any thread may read. */
struct vault;

/* Writes the passphrase to room and returns its length, or -1 with err. attempt
 * is 0 in the first call. After a wrong passphrase the function is called
 * again, up to three times in total. */
struct vault_ask {
	int (*passphrase)(void *arg, int attempt, char *room, size_t size,
			  struct error *err);
	void *arg;
};

/* Opens the vault, which is empty if there are no files. ERR_CONFIG if a file
 * is damaged, its key is missing or the passphrase is wrong; the message names
 * the file. ask may be NULL. */
int vault_open(struct vault **v, const char *dir, const struct vault_ask *ask,
	       struct error *err);
void vault_close(struct vault *v); /* zeroes the memory; v may be NULL */
size_t vault_list(const struct vault *v, const struct vault_entry **list);
/* Returns the entry of this name, or NULL. */
const struct vault_entry *vault_find(const struct vault *v, const char *name);

struct vault_change { /* borrowed */
	const char *name;
	struct str key;  /* empty: remove the entry */
	const char *url; /* or NULL */
	/* If not empty: encrypt with this passphrase from now on and remove the
	 * key file. */
	struct str phrase;
};
/*
 * Reads, changes and replaces the encrypted file under a lock, so that
 * concurrent changes are not lost. *changed (may be NULL): true if an entry of
 * that name existed. ERR_TIMEOUT if the lock is not free before stop ends the
 * wait.
 */
int vault_change(const char *dir, const struct vault_ask *ask,
		 const struct vault_change *change, bool *changed,
		 const struct stop *stop, struct error *err);
/* True if the key can be stored: printable ASCII without white space, not too
 * long. */
bool vault_key_ok(struct str key);

#endif
