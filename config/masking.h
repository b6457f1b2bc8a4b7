/* masking.h - [redact]: which forms of credentials are masked in this run. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_MASKING_H
#define CONFIG_MASKING_H

#include <stddef.h>

struct error;
struct shapes; /* base/shapes/shapes.h */

struct masking {                /* values of [redact]; borrowed */
	const char *const *off; /* kinds_off */
	size_t n_off;
	const char *const *patterns;
	size_t n_patterns;
};

/* Sets *shapes to the built-in kinds without those in off, with the patterns;
 * the caller frees it. If both lists are empty, leaves *shapes as it is. Fails
 * with ERR_CONFIG for a pattern or a kind that cannot be used. shapes NULL:
 * only checks that. */
int masking_shapes(const struct masking *m, struct shapes **shapes,
		   struct error *err);

#endif
