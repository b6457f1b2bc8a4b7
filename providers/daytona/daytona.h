/* daytona.h - what the files of this folder share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DAYTONA_DAYTONA_H
#define PROVIDERS_DAYTONA_DAYTONA_H

#include "sandbox/sandbox.h"

/* Implements sandbox_ops.shell. */
int daytona_shell(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err);

#endif
