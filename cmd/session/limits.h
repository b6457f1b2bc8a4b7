/* limits.h - [workspace]: sizes of what comes back, and of what is kept. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_LIMITS_H
#define CMD_SESSION_LIMITS_H

#include "config/settings.h"
#include "workspace/fetch/fetch.h"

/* fetch_mb, file_mb, patches_days and patches_mb. -1: one of them cannot be
 * used; err says what to write instead. */
int limits_check(const struct settings *set, struct error *err);
/* Sets file_max and total_max. */
int limits_read(const struct settings *set, struct fetch_request *r,
		struct error *err);
/* The same before a sandbox is deleted: where a value cannot be used, its
 * default counts, which is said on stderr. */
void limits_read_or_default(const struct settings *set,
			    struct fetch_request *r);

#endif
