/* look.h - what the shell says of paths that a vendor's files API does not. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LOOK_H
#define PROVIDERS_LOOK_H

#include "sandbox/sandbox.h"

enum look {
	LOOK_UPLOAD,   /* makes parents, looks whether it can be written */
	LOOK_DOWNLOAD, /* can it be read? */
	LOOK_MODES,    /* sets the modes that are wanted */
};

/* Sets error of those files that have none, by one command of the sandbox's
 * provider for all of them (several, when there are very many). */
int look(struct sandbox *sb, enum look what, struct transfer *files, size_t n,
	 const struct stop *stop, struct error *err);

#endif
