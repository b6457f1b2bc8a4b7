/* runloop.h - declarations shared by the files of the Runloop provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_RUNLOOP_RUNLOOP_H
#define PROVIDERS_RUNLOOP_RUNLOOP_H

#include "providers/kit/vendor.h"

/* blueprint.c */
struct runloop_rules {
	/* hosts that may be reached, if all is false */
	const char *const *hosts;
	size_t n;
	bool all; /* all hosts may be reached */
};
/* Sets *id (owned by the caller) to a network policy that allows these hosts,
 * or all hosts. The policy is created if it does not exist. */
int runloop_policy(struct vendor_client *c, const struct runloop_rules *rules,
		   char **id, const struct stop *stop, struct error *err);
/* Builds the blueprint unless it exists, and waits until it is built. spec
 * receives progress. */
int runloop_blueprint(struct vendor_client *c, const char *name,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err);

extern const struct sandbox_provider runloop_provider;

#endif
