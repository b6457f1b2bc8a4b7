/* vault_impl.h - what the parts of the vault share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_VAULT_IMPL_H
#define CONFIG_VAULT_IMPL_H

#include "config/vault.h"

enum { VAULT_FILE_MAX = 4 << 20, VAULT_SECRET = 32 };

/* How a file is sealed; its first line says so. */
struct vault_seal {
	bool phrase;
	unsigned long long ops; /* Argon2id's */
	size_t mem;
	unsigned char salt[16];
	unsigned char *secret; /* VAULT_SECRET bytes of locked memory, owned */
};

/* Locked memory, zeroed by sodium_free(). Aborts when there is none. */
void *vault_memory(size_t size);

/* vault_seal.c. A seal begins as { 0 } and is released. */
void vault_seal_release(struct vault_seal *s);
/* The seal of a sealed file's first line, without its secret. */
int vault_seal_read(struct vault_seal *s, struct str file, struct error *err);
/* A new one for a passphrase, with its secret. */
int vault_seal_phrase(struct vault_seal *s, struct str phrase,
		      struct error *err);
int vault_seal_derive(struct vault_seal *s, struct str phrase,
		      struct error *err);
/* The secret of a key file; made anew with create where there is none. */
int vault_seal_file(struct vault_seal *s, const char *path, bool create,
		    struct error *err);
/* Opens file into locked memory (owned by the caller): 0, or -1 when it was
 * not sealed like this. */
int vault_unseal(const struct vault_seal *s, struct str file, char **text,
		 size_t *len);
void vault_close_in(const struct vault_seal *s, struct str text,
		    struct buf *file);

/* vault_records.c: what is inside is NAME NUL KEY NUL URL NUL WHEN NUL, again
 * and again. */
struct vault {
	char *text; /* locked, owned */
	size_t text_len;
	char *plain; /* the same, of auth.json */
	struct vault_entry *entries;
	size_t n;
};
/* Adds what text holds; -1 when it is no list of records. */
int vault_records_read(struct vault *v, char *text, size_t len, bool plain);
/* The sealed entries with one change, in locked memory; *changed as in
 * vault_change(). */
char *vault_records_write(const struct vault *v, const struct vault_change *c,
			  size_t *len, bool *changed);
/* Reads auth.json; what it cannot use is left out. */
void vault_records_legacy(struct vault *v, const char *path);

#endif
