/* consent.h - what the user answered about sending a tree to a provider. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_CONSENT_H
#define SESSION_CONSENT_H

#include <stdbool.h>

#include "base/error.h"

struct store; /* session/session.h */

/* 1: he allowed it for this root, 0: he did not, -1 with err; *asked is false
 * when he was never asked. */
int consent_get(struct store *s, const char *root, const char *provider,
		bool *asked, struct error *err);
int consent_set(struct store *s, const char *root, const char *provider,
		bool allowed, struct error *err);

#endif
