/* vercel.h - what the files of the Vercel Sandbox provider share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_VERCEL_VERCEL_H
#define PROVIDERS_VERCEL_VERCEL_H

#include "providers/kit/files.h"
#include "providers/kit/vendor.h"

/*
 * There is one server. A sandbox of the v2 API has a name (dcode's label and
 * id) and a session, in which commands run. A sandbox of the v1 API has only an
 * id. Sources of the protocol: what the SDKs @vercel/sandbox 3.5.0 and 1.10.2
 * and the Python package vercel 0.5.9 were seen to send, and what they accept
 * (2026-11).
 *
 * exec.c has commands and files of a session; rules.c has the rules for what
 * leaves it; vercel.c has the account and its sandboxes.
 */
struct vercel { /* sandbox_client.priv points to it */
	struct vendor_client kit;
	bool v1;
	const char *token; /* borrowed */
	char *project;     /* owned */
	char *query;       /* owned: "&projectId=PROJECT", percent-encoded */
	char *team;        /* owned, percent-encoded */
	char *endpoint;    /* owned */
};

/* exec.c */
extern const struct http_files vercel_files;
/*
 * Returns path with a query: the team, then more ("&a=b" or ""). Owned by the
 * caller.
 */
char *vercel_path(const struct vercel *v, const char *path, const char *more);
/* Implements supervisor.call: runs one script in the sandbox. */
int vercel_call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err);

/* ports.c */
enum { VERCEL_PORTS = 15 }; /* of one sandbox, at most */
extern const struct port_ops vercel_ports;

/* rules.c */
/* Returns the names of the network, as a list, or with the rules that put the
 * secrets in (NULL: none). "*" without rules leaves all other names open. */
cJSON *vercel_allowed_names(const struct network *n,
			    const struct secrets *secrets);

extern const struct sandbox_provider vercel_provider;

#endif
