/* pack.h - keeps a git repository of dcode's own small. */
/* SPDX-License-Identifier: MIT */
#ifndef GIT_PACK_H
#define GIT_PACK_H

#include <stdbool.h>

#include "git/git.h"

/* What reading the directory dir of such a repository says: it has many packs
 * or loose objects, or more than twice the bytes that it had when it was last
 * packed. Once a day: says no until a day after pack_all(). No git is run. */
bool pack_is_due(const char *dir);
/* One pack of all that a reference names, another of what was named in the last
 * two weeks; the rest is deleted. Nothing else may use g meanwhile. What a git
 * that was ended leaves is deleted by the next one. */
int pack_all(const struct git *g, const struct stop *stop, struct error *err);

#endif
