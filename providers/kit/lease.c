/* lease.c - when to ask for more of a sandbox's life. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/lease.h"

#include "base/stop.h"

bool lease_due(int64_t ends, int64_t lifetime_s, int64_t pause_ms,
	       int64_t *asked)
{
	int64_t now = clock_ms();
	bool due = lifetime_s > 0 && ends - now < lifetime_s * 500 &&
		   (!*asked || now - *asked > pause_ms ||
		    now - *asked > lifetime_s * 200);

	if (due)
		*asked = now;
	return due;
}
