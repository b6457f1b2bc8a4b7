/* lease.h - when to ask for more of a sandbox's life. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_LEASE_H
#define PROVIDERS_KIT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Has half of the life passed (ends: by clock_ms()), and is it long enough
 * since *asked (0: never): pause_ms, or a fifth of the lifetime? Then *asked
 * becomes now. The caller holds the lock that guards them.
 */
bool lease_due(int64_t ends, int64_t lifetime_s, int64_t pause_ms,
	       int64_t *asked);

#endif
