/* isolation.c - what keeps a sandbox's commands from its host. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation.h"

#include <stddef.h>

#include "base/json.h"
#include "base/str.h"

static const char *const names[] = {
	[ISOLATION_UNSET] = "not documented",
	[ISOLATION_UNKNOWN] = "not documented",
	[ISOLATION_NONE] = "none",
	[ISOLATION_NAMESPACES] = "namespaces",
	[ISOLATION_CONTAINER] = "container",
	[ISOLATION_GVISOR] = "gVisor",
	[ISOLATION_VM] = "VM",
	[ISOLATION_MICROVM] = "microVM",
};

const char *isolation_name(enum sandbox_isolation isolation)
{
	return names[isolation];
}

enum sandbox_isolation isolation_parse(struct str name)
{
	for (size_t i = ISOLATION_NONE; i < sizeof(names) / sizeof(*names); i++)
		if (str_is_nocase(name, names[i]))
			return (enum sandbox_isolation)i;
	return ISOLATION_UNSET;
}

void isolation_json(struct buf *out, enum sandbox_isolation isolation)
{
	if (isolation < ISOLATION_NONE)
		buf_adds(out, "null");
	else
		json_quote(out, str_of(isolation_name(isolation)));
}
