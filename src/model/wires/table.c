/* table.c - the list of all wires. */
/* SPDX-License-Identifier: MIT */
/* Only the table is here, so that the files of the wires do not depend on each
 * other. WIRES in wire.h lists the wires; wire_NAME is defined in NAME.c. */
#include <string.h>

#include "model/wire.h"

#define POINTER(name) &wire_##name,

const struct wire *const wires[] = { WIRES(POINTER) NULL };

const struct wire *wire_find(const char *name)
{
	for (size_t i = 0; wires[i]; i++)
		if (strcmp(wires[i]->name, name) == 0)
			return wires[i];
	return NULL;
}

void wire_names(struct buf *out)
{
	for (size_t i = 0; wires[i]; i++)
		buf_addf(out, "%s\"%s\"", i ? " or " : "", wires[i]->name);
}
