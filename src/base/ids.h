/* ids.h - random identifiers. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_IDS_H
#define BASE_IDS_H

#include <stddef.h>
#include <stdint.h>

/* Call once, before the other functions and before starting threads. Aborts on
 * failure. */
void ids_init(void);
/* Makes a UUIDv7 (RFC 9562): 36 characters and NUL; sorts by time. */
void ids_uuid7(char out[37]);
/* Makes a UUIDv4: the same length, fully random. */
void ids_uuid4(char out[37]);
/* Writes n random characters of a-z and 2-7, and NUL. */
void ids_random(char *out, size_t n);
/* Shortens an id for display: the first 12 digits of a 64-digit container id,
 * as docker ps shows it; other ids are cut at 127 bytes. Returns room. */
enum { IDS_SHOWN = 128 };
const char *ids_shown(const char *id, char room[IDS_SHOWN]);
/* Returns a uniform random number in [0, bound). */
uint32_t ids_below(uint32_t bound);

#endif
