/* spool.h - long-lived text in a temporary file instead of in memory. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

/*
 * For text that a long chat collects and seldom reads: old messages, the output
 * of calls, earlier prompts. The file has no name and mode 0600, so nothing
 * stays behind, even after a kill. It is in $TMPDIR, else in /tmp. Texts are
 * read through a mapping, so a read needs no copy, and the kernel takes the
 * pages back after spool_drop_pages(). One thread uses a spool at a time.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct spool {      /* initialise with { 0 } */
	size_t end; /* bytes stored: the position of the next text */
	char *map;  /* owned; NULL: nothing was stored yet */
	size_t mapped;
	int fd; /* valid if map is set */
};

/* Appends a text at position end. False if the file cannot be written: the
 * caller then keeps the text. */
bool spool_add(struct spool *s, struct str text);
/* Returns len stored bytes. Valid until the next spool_add(). */
struct str spool_text(const struct spool *s, size_t at, size_t len);
/* Gives the memory of what was read back. Texts that spool_text() returned stay
 * valid. */
void spool_drop_pages(const struct spool *s);
void spool_release(struct spool *s);

#endif
