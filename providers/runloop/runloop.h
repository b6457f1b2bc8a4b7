/* runloop.h - the parts of the Runloop provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_RUNLOOP_RUNLOOP_H
#define PROVIDERS_RUNLOOP_RUNLOOP_H

#include "providers/kit/vendor.h"

/*
 * One server makes devboxes, runs commands in them and moves files. Wire: the
 * vendor's OpenAPI document (2026-05) and what its JavaScript SDK 1.32.0 and
 * Python SDK 1.23.3 were seen to send (2026-11). What the document leaves open
 * (error bodies, what a second shutdown answers) is never relied on: the
 * devbox's status is asked for instead.
 */
enum { RUNLOOP_LIFETIME_MAX_S = 172800 }; /* of keep_alive_time_seconds */

extern const struct setting runloop_settings[]; /* create.c */
extern const struct http_files runloop_files;   /* files.c */

/* runloop.c */
/* "x-request-id: UUID", the same for all tries of one request. */
void runloop_request_id(char header[VENDOR_HEADER]);

/* create.c: as in struct vendor */
int runloop_describe(struct vendor_client *c, const struct sandbox_spec *spec,
		     cJSON *body, const struct stop *stop, struct error *err);
int runloop_post(struct sandbox *sb, const struct sandbox_spec *spec,
		 cJSON *body, cJSON **answer, const struct stop *stop,
		 struct error *err);
struct runloop_rules {
	const char *const *hosts; /* that may be reached */
	size_t n;
	bool all; /* everything may */
};
/* policy.c: the id (owned) of the network policy that allows these host names,
 * or all; made when there is none. */
int runloop_policy(struct vendor_client *c, const struct runloop_rules *rules,
		   char **id, const struct stop *stop, struct error *err);
/* blueprint.c: makes sure that it is built; spec is for progress. */
int runloop_blueprint(struct vendor_client *c, const char *name,
		      const struct sandbox_spec *spec, const struct stop *stop,
		      struct error *err);
/* exec.c: as struct supervisor.call */
int runloop_call(void *arg, struct str command, int64_t wait_ms,
		 struct buf *out, const struct stop *stop, struct error *err);
/* price.c: as sandbox_provider.price */
int runloop_price(const struct settings *set, const char *snapshot,
		  struct sandbox_price *price, struct error *err);

extern const struct sandbox_provider runloop_provider;

#endif
