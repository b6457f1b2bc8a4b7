/* table.c - the providers that dcode has built in. */
/* SPDX-License-Identifier: MIT */
#include "providers/agentcore/agentcore.h"
#include "providers/daytona/daytona.h"
#include "providers/deno/deno.h"
#include "providers/docker/engine.h"
#include "providers/e2b/e2b.h"
#include "providers/langsmith/langsmith.h"
#include "providers/local/local.h"
#include "providers/modal/modal.h"
#include "providers/runloop/runloop.h"
#include "providers/vercel/vercel.h"

const struct sandbox_provider *const sandbox_providers[] = {
	&agentcore_provider, &daytona_provider, &deno_provider,
	&docker_provider,    &e2b_provider,     &langsmith_provider,
	&local_provider,     &modal_provider,   &none_provider,
	&runloop_provider,   &vercel_provider,  NULL,
};
