/* langsmith.h - the parts of the LangSmith provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LANGSMITH_LANGSMITH_H
#define PROVIDERS_LANGSMITH_LANGSMITH_H

#include "providers/kit/vendor.h"

/*
 * Two servers: the API at LANGSMITH_ENDPOINT, which makes and ends sandboxes
 * and keeps snapshots, and the data plane, whose address is in each sandbox's
 * description. A sandbox's name is its id in every path; ours is the label, so
 * that no label can be used twice. Wire: what the SDKs of Python at bc8dd672
 * and JavaScript 0.10.5 were seen to send, and the source of npm langsmith
 * 0.12.0 (2026-11-26), whose control plane is below /api/v2/sandboxes.
 */
#define LANGSMITH_API "/api/v2/sandboxes"

struct langsmith { /* sandbox_client.priv */
	struct vendor_client kit;
	const char *key; /* borrowed */
};

struct langsmith_box { /* sandbox.priv */
	struct vendor_box kit;
	bool no_ws; /* the data plane refused a WebSocket; under kit.lock */
};

extern const struct setting langsmith_settings[]; /* create.c */
extern const struct http_files langsmith_files;   /* plane.c */

/* create.c: as in struct vendor */
int langsmith_describe(struct vendor_client *c, const struct sandbox_spec *spec,
		       cJSON *body, const struct stop *stop, struct error *err);
int langsmith_post(struct sandbox *sb, const struct sandbox_spec *spec,
		   cJSON *body, cJSON **answer, const struct stop *stop,
		   struct error *err);
/* snapshot.c: the id of the snapshot to start from, owned: looked up by name,
 * built when there is none. */
int langsmith_resolve_snapshot(struct vendor_client *c,
			       const struct sandbox_spec *spec, char **id,
			       const struct stop *stop, struct error *err);
int langsmith_snapshot(struct sandbox *sb, const char *name, bool replace,
		       const struct stop *stop, struct error *err);
int langsmith_find_snapshot(struct sandbox_client *client, const char *name,
			    const struct stop *stop, struct error *err);
/* Appends the path of a list's first page; filter is encoded: "label=a%3Db". */
void langsmith_list_path(struct buf *path, const char *list,
			 const char *filter);
/* As struct vendor_pages.next, for either dialect of the lists. */
void langsmith_next_path(struct buf *path, const char *first, const cJSON *page,
			 int64_t seen);
/* plane.c */
int langsmith_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err);
/* ws.c: runs the command over a WebSocket and appends its standard output, as
 * UTF-8, to out. 1 when there is no WebSocket to be had: then nothing was
 * started. ERR_TIMEOUT when it did not end in time. */
int langsmith_ws_call(struct sandbox *sb, struct str command,
		      int64_t timeout_ms, struct buf *out,
		      const struct stop *stop, struct error *err);
/* price.c: as sandbox_provider.price */
int langsmith_price(const struct settings *set, const char *snapshot,
		    struct sandbox_price *price, struct error *err);

extern const struct sandbox_provider langsmith_provider;

#endif
