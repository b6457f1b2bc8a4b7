/* daytona.h - the parts of the Daytona provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DAYTONA_DAYTONA_H
#define PROVIDERS_DAYTONA_DAYTONA_H

#include "providers/kit/vendor.h"

/*
 * Two servers with one key: the API, which makes and ends sandboxes, and the
 * toolbox proxy that a sandbox's toolboxProxyUrl names, which runs commands
 * and moves files. Wire: the OpenAPI documents 0.190.0 and what the official
 * JavaScript SDK 0.218.0 and Python SDK 0.190.0 were seen to send (2026-11).
 */
extern const struct setting daytona_settings[]; /* create.c */
extern const struct http_files daytona_files;   /* files.c */

/* create.c: as in struct vendor */
int daytona_describe(struct vendor_client *c, const struct sandbox_spec *spec,
		     cJSON *body, const struct stop *stop, struct error *err);
int daytona_post(struct sandbox *sb, const struct sandbox_spec *spec,
		 cJSON *body, cJSON **answer, const struct stop *stop,
		 struct error *err);
/* snapshot.c: struct sandbox_ops.snapshot, until it can be used. */
int daytona_snapshot(struct sandbox *sb, const char *name, bool replace,
		     const struct stop *stop, struct error *err);
int daytona_find_snapshot(struct sandbox_client *client, const char *name,
			  const struct stop *stop, struct error *err);
/* price.c: as sandbox_provider.price */
int daytona_price(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err);
/* exec.c: as struct supervisor.call */
int daytona_call(void *arg, struct str command, int64_t wait_ms,
		 struct buf *out, const struct stop *stop, struct error *err);

extern const struct sandbox_provider daytona_provider;

#endif
