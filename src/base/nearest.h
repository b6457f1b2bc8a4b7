/* nearest.h - the name that a mistyped word was probably meant to be. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include "base/buf.h"

/* How many letters have to be added, dropped, replaced or swapped with their
 * neighbour to make b of a; case is ignored. Words beyond 63 bytes differ by
 * their length. */
size_t nearest_distance(struct str a, struct str b);
/* The name with the least distance to word, the first of several; NULL when
 * there are none. */
const char *nearest_name(struct str word, const char *const *names, size_t n);

#endif
