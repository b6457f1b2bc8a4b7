/* included.h - what was sent only because an include names it. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_INCLUDED_H
#define WORKTREE_INCLUDED_H

#include "worktree/select.h"

/* Kept with the base in LABEL.included: a later sync sends these again. */
struct included {     /* start from { 0 }; release it */
	char **paths; /* sorted; as "asked" of a selection has them; owned */
	size_t n;
};

/* Empty where nothing was included. */
int included_read(struct included *i, const struct workspace *w,
		  struct error *err);
/* Adds what the selection s asked for, and what another dcode has added
 * meanwhile, and writes all of them. */
int included_add(struct included *i, const struct workspace *w,
		 const struct selection *s, const struct stop *stop,
		 struct error *err);
/* The path of a file is one of them, or below one. */
bool included_has(const struct included *i, const char *path);
void included_release(struct included *i);

#endif
