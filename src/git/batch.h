/* batch.h - many objects of a repository, read by one git. */
/* SPDX-License-Identifier: MIT */
#ifndef GIT_BATCH_H
#define GIT_BATCH_H

#include <stdint.h>

#include "git/git.h"

struct batch_object {
	size_t i;        /* of the names, from 0 */
	const char *oid; /* borrowed for the callback */
	const char *type;
	int64_t size; /* -1: there is no such object; oid and type are "" */
};

struct object_batch {
	int (*begin)(void *arg, const struct batch_object *o,
		     struct error *err);
	/* The bytes of the one that began. NULL: sizes alone are asked for. */
	int (*data)(void *arg, struct str bytes, struct error *err);
	void *arg;
	/* Of batch_read(). */
	struct buf line;
	size_t next;
	size_t asked;
	int64_t left; /* bytes of the object, with the line end after it */
};
/* names: one a line, each with its line end. In their order; each begins once,
 * or it is ERR_PROTOCOL. */
int batch_read(const struct git *g, struct str names, struct object_batch *b,
	       const struct stop *stop, struct error *err);

#endif
