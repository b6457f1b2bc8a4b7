/* e2b.h - the parts of the E2B provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_E2B_E2B_H
#define PROVIDERS_E2B_E2B_H

#include "providers/kit/vendor.h"

/*
 * Two servers: the API at https://api.DOMAIN, which makes and ends sandboxes,
 * and envd inside each sandbox, which runs commands and moves files. Wire:
 * the OpenAPI documents and protocol files of e2b-dev/E2B at b8029973a, and
 * what its JavaScript SDK 2.51.0 was seen to send (2026-11).
 */
struct e2b { /* sandbox_client.priv */
	struct vendor_client kit;
	char *domain;     /* owned */
	char *envd;       /* owned: one address for all, or NULL */
	const char *user; /* borrowed; NULL: the template's */
};

struct e2b_box { /* sandbox.priv */
	struct vendor_box kit;
	char *domain; /* owned; NULL: the account's. These under kit.lock */
	char *token;  /* owned, or NULL */
	int version;  /* of envd: 0.6.4 is 604; 0 unknown */
};

extern const struct setting e2b_settings[]; /* create.c */
extern const struct http_files e2b_files;   /* files.c */

/* create.c: as in struct vendor */
int e2b_describe(struct vendor_client *c, const struct sandbox_spec *spec,
		 cJSON *body, const struct stop *stop, struct error *err);
int e2b_post(struct sandbox *sb, const struct sandbox_spec *spec, cJSON *body,
	     cJSON **answer, const struct stop *stop, struct error *err);
/* e2b.c: of the sandbox's envd, 0 unknown. */
int e2b_version(struct sandbox *sb);
/* The user that envd has to be told, or NULL. */
const char *e2b_user(struct sandbox *sb);
/* snapshot.c */
int e2b_snapshot(struct sandbox *sb, const char *name, bool replace,
		 const struct stop *stop, struct error *err);
int e2b_find_snapshot(struct sandbox_client *client, const char *name,
		      const struct stop *stop, struct error *err);
extern const struct vendor_pages e2b_pages;
/* exec.c: as struct supervisor.call */
int e2b_call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
	     const struct stop *stop, struct error *err);
/* price.c: as sandbox_provider.price */
int e2b_price(const struct settings *set, const char *snapshot,
	      struct sandbox_price *price, struct error *err);

extern const struct sandbox_provider e2b_provider;

#endif
