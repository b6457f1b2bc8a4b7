/* ids.h - random identifiers. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_IDS_H
#define BASE_IDS_H

#include <stddef.h>
#include <stdint.h>

/* Call once before the others, before the first thread; aborts on failure. */
void ids_init(void);
/* UUIDv7 (RFC 9562): 36 characters and NUL, sorts by time. */
void ids_uuid7(char out[37]);
/* UUIDv4: the same length, all random. */
void ids_uuid4(char out[37]);
/* n characters of a-z and 2-7 and NUL, from the system's randomness. */
void ids_random(char *out, size_t n);
/* How an id is shown: 12 digits of a container's 64, as docker ps has them;
 * any other as it is, cut at 127 bytes. Returns room. */
enum { IDS_SHOWN = 128 };
const char *ids_shown(const char *id, char room[IDS_SHOWN]);
/* Uniform in [0, bound). */
uint32_t ids_below(uint32_t bound);

#endif
