/* store_open.h - a store that is opened at once. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_STORE_OPEN_H
#define TESTS_UNIT_STORE_OPEN_H

#include "session/session.h"

/* As store_new() and store_ready(); *out stays as it is on failure. */
static inline int store_open(struct store **out, const char *path,
			     void (*warn)(const char *line), struct error *err)
{
	struct store *s = store_new(path, warn);

	if (store_ready(s, err) < 0) {
		store_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

#endif
