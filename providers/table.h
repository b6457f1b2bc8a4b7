/* table.h - one line per provider: each lives in a file of its name. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_TABLE_H
#define PROVIDERS_TABLE_H

#include "sandbox/sandbox.h"

extern const struct sandbox_provider agentcore_provider;
extern const struct sandbox_provider daytona_provider;
extern const struct sandbox_provider deno_provider;
extern const struct sandbox_provider docker_provider;
extern const struct sandbox_provider e2b_provider;
extern const struct sandbox_provider langsmith_provider;
extern const struct sandbox_provider local_provider;
extern const struct sandbox_provider modal_provider;
extern const struct sandbox_provider none_provider;
extern const struct sandbox_provider runloop_provider;
extern const struct sandbox_provider vercel_provider;

#endif
