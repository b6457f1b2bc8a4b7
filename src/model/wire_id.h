/* wire_id.h - names and ids of calls as every vendor takes them. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRE_ID_H
#define MODEL_WIRE_ID_H

#include "base/buf.h"

/* [A-Za-z0-9_-], at most 64 bytes
 * for names, never empty. Adds a JSON string. */
void wire_name(struct buf *out, const char *name);
void wire_id(struct buf *out, const char *id);
/* The same with at most 64 bytes: the end of a longer id becomes a hash of it.
 */
void wire_short_id(struct buf *out, const char *id);
/* True when wire_id() maps both to the same id. */
bool wire_same_id(const char *a, const char *b);

#endif
