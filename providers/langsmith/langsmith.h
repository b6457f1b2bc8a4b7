/* langsmith.h - declarations shared by the files of the LangSmith provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LANGSMITH_LANGSMITH_H
#define PROVIDERS_LANGSMITH_LANGSMITH_H

#include "providers/kit/files.h"
#include "providers/kit/vendor.h"

/*
 * Two servers: the API at LANGSMITH_ENDPOINT, which creates and deletes
 * sandboxes and stores snapshots (langsmith.c), and the data plane, whose
 * address is in each sandbox's description (plane.c). A sandbox's name is its
 * id in every path. dcode uses the label as the name, so a label cannot be used
 * twice. Sources of the protocol: what the Python SDK at bc8dd672 and the
 * JavaScript SDK 0.10.5 were seen to send, and the source of npm langsmith
 * 0.12.0 (2026-11-26), whose control plane is below /api/v2/sandboxes.
 */
struct langsmith_box { /* sandbox.priv points to it */
	struct vendor_box kit;
	/* the data plane has refused a WebSocket; guarded by kit.lock */
	bool no_ws;
};

/* plane.c */
extern const struct http_files langsmith_files;
int langsmith_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err);

extern const struct sandbox_provider langsmith_provider;

#endif
