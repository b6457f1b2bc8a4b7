/* e2b.h - what the files of this folder share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_E2B_E2B_H
#define PROVIDERS_E2B_E2B_H

#include "sandbox/sandbox.h"

/* Returns the version of the sandbox's envd: 0.6.4 is 604; 0 if unknown. */
int e2b_envd_version(struct sandbox *sb);
/* Returns the user to name in requests to envd, or NULL. */
const char *e2b_envd_user(struct sandbox *sb);

/* exec.c */
/* Implements supervisor.call for a struct sandbox: runs one process and reads
 * its output until it ends. */
int e2b_run_script(void *sb, struct str command, int64_t wait_ms,
		   struct buf *out, const struct stop *stop, struct error *err);
/* Implements sandbox_ops.shell. */
int e2b_shell(struct sandbox *sb, const struct exec_request *req,
	      struct exec_result *res, const struct stop *stop,
	      struct error *err);

#endif
