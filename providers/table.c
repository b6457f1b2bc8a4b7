/* table.c - the providers that dcode has built in. */
/* SPDX-License-Identifier: MIT */
#include "providers/registry.h"

/* One row per provider, sorted by name. NAME_provider is defined in the
 * directory NAME, except that of none, which is in local. */
#define PROVIDERS(ROW)                                                         \
	ROW(agentcore)                                                         \
	ROW(daytona)                                                           \
	ROW(deno)                                                              \
	ROW(docker)                                                            \
	ROW(e2b)                                                               \
	ROW(langsmith)                                                         \
	ROW(local)                                                             \
	ROW(modal)                                                             \
	ROW(none)                                                              \
	ROW(runloop)                                                           \
	ROW(slurm)                                                             \
	ROW(ssh)                                                               \
	ROW(vercel)

#define DECLARE(name) extern const struct sandbox_provider name##_provider;
PROVIDERS(DECLARE)

#define POINTER(name) &name##_provider,

const struct sandbox_provider *const sandbox_providers[] = {
	PROVIDERS(POINTER) NULL, /* end of the table */
};
