/* table.c - the providers that dcode has built in. */
/* SPDX-License-Identifier: MIT */
#include "providers/table.h"

const struct sandbox_provider *const sandbox_providers[] = {
	&agentcore_provider, &daytona_provider, &deno_provider,
	&docker_provider,    &e2b_provider,     &langsmith_provider,
	&local_provider,     &modal_provider,   &none_provider,
	&runloop_provider,   &vercel_provider,  NULL,
};
