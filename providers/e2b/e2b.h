/* e2b.h - what the files of this folder share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_E2B_E2B_H
#define PROVIDERS_E2B_E2B_H

#include "providers/kit/vendor.h"
#include "sandbox/sandbox.h"

struct e2b { /* sandbox_client.priv points to it */
	struct vendor_client kit;
	char *domain;     /* owned */
	char *envd;       /* owned: one address for all sandboxes, or NULL */
	const char *user; /* borrowed; NULL: the template's user */
};

struct e2b_box { /* sandbox.priv points to it */
	struct vendor_box kit;
	/* owned; NULL: e2b.domain. kit.lock guards these fields */
	char *domain;
	char *token; /* owned, or NULL */
	/* owned: what requests to its ports need; NULL: nothing, anybody who
	 * knows the id reaches them */
	char *traffic;
	int version; /* envd's version: 0.6.4 is 604; 0 unknown */
};

/* exec.c */
/* Returns the version of the sandbox's envd: 0.6.4 is 604; 0 if unknown. */
int e2b_envd_version(struct sandbox *sb);
/* Returns the user to name in requests to envd, or NULL. */
const char *e2b_envd_user(struct sandbox *sb);

/* Implements supervisor.call for a struct sandbox: runs one process and reads
 * its output until it ends. */
int e2b_run_script(void *sb, struct str command, int64_t wait_ms,
		   struct buf *out, const struct stop *stop, struct error *err);
/* Implements sandbox_ops.shell. */
int e2b_shell(struct sandbox *sb, const struct exec_request *req,
	      struct exec_result *res, const struct stop *stop,
	      struct error *err);

#endif
