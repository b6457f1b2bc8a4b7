/* runloop.h - declarations shared by the files of the Runloop provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_RUNLOOP_RUNLOOP_H
#define PROVIDERS_RUNLOOP_RUNLOOP_H

#include "providers/kit/vendor.h"

/* blueprint.c */
/* Sets *id (owned by the caller) to a policy for spec->network, which is
 * created if it does not exist. That of a list has the name spec->label. */
int runloop_policy(struct vendor_client *c, const struct sandbox_spec *spec,
		   char **id, const struct stop *stop, struct error *err);
/* Builds the blueprint unless it exists, and waits until it is built. spec
 * receives progress. */
int runloop_blueprint(struct vendor_client *c, const char *name,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err);
/* Implement sandbox_ops.snapshot, find_snapshot and remove_snapshot, with
 * snapshots of the disk. */
int runloop_snapshot(struct sandbox *sb, const char *name, bool replace,
		     const struct stop *stop, struct error *err);
int runloop_find_snapshot(struct sandbox_client *client, const char *name,
			  char **id, const struct stop *stop,
			  struct error *err);
int runloop_remove_snapshot(struct sandbox_client *client, const char *name,
			    const char *id, const struct stop *stop,
			    struct error *err);

/* gateway.c */
extern const struct secret_limits runloop_secrets;
/* Its objects are also the network policies. */
extern const struct vendor_vault runloop_vault;

/* tunnel.c */
extern const struct port_ops runloop_ports;

extern const struct sandbox_provider runloop_provider;

#endif
