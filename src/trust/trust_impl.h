/* trust_impl.h - what the parts of trust share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef TRUST_TRUST_IMPL_H
#define TRUST_TRUST_IMPL_H

#include <cjson/cJSON.h>

#include "trust/trust.h"

enum { TRUST_HEX = 65 }; /* of a SHA-256, with its NUL */

/* fingerprint.c: the hash that an answer is remembered by. files gets a line
 * for each file that is covered by content. ERR_LIMIT: too much to read. */
int trust_fingerprint(const struct trust_entry *e, char hex[TRUST_HEX],
		      struct buf *files, struct error *err);

/* words.c: paths that a word of a command line may mean. */
struct trust_words {
	char **list; /* owned, unique */
	size_t n;
	bool over; /* there were too many */
};
void trust_words_add(struct trust_words *w, const char *word);
void trust_words_release(struct trust_words *w);

/* store.c: {"version":1,"allowed":[{...}]}. Records without a file: an empty
 * list. A file that others can write to is ERR_CONFIG: they could allow
 * anything. Owned by the caller. */
cJSON *trust_store_read(const char *path, struct error *err);
/* Adds a record to what is in the file now. */
int trust_store_add(const char *path, const struct trust_entry *e,
		    const char *hex, struct error *err);
/* How many records of root (NULL: all) were removed, or -1. */
int trust_store_remove(const char *path, const char *root, struct error *err);

#endif
