/* runloop.h - the doors between the rooms of the Runloop provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_RUNLOOP_RUNLOOP_H
#define PROVIDERS_RUNLOOP_RUNLOOP_H

#include "providers/kit/vendor.h"

/* blueprint.c */
struct runloop_rules {
	const char *const *hosts; /* that may be reached */
	size_t n;
	bool all; /* everything may be reached */
};
/* The id (owned) of the network policy that allows these host names, or all;
 * made if it does not exist. */
int runloop_policy(struct vendor_client *c, const struct runloop_rules *rules,
		   char **id, const struct stop *stop, struct error *err);
/* Makes sure that the blueprint is built; spec is for progress. */
int runloop_blueprint(struct vendor_client *c, const char *name,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err);

extern const struct sandbox_provider runloop_provider;

#endif
