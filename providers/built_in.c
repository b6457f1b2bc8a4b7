/* built_in.c - finds a provider that dcode has built in. */
/* SPDX-License-Identifier: MIT */
#include "providers/built_in.h"

#include <string.h>

#include "sandbox/sandbox.h"

const struct sandbox_provider *sandbox_provider_find(const char *name)
{
	if (!name)
		return NULL;
	for (size_t i = 0; sandbox_providers[i]; i++)
		if (strcmp(sandbox_providers[i]->name, name) == 0)
			return sandbox_providers[i];
	return NULL;
}

bool sandbox_is_none(const char *name)
{
	const struct sandbox_provider *p = sandbox_provider_find(name);

	return p && p->flags & SANDBOX_UNISOLATED;
}

bool sandbox_provider_is_built_in(const char *name)
{
	for (size_t i = 0; sandbox_providers[i]; i++) {
		const char *also = sandbox_providers[i]->also;

		if (also && !strcmp(also, name))
			return true;
	}
	return sandbox_provider_find(name);
}
