/* stat_files.h - by the shell, what a vendor's files API cannot tell or do. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_STAT_FILES_H
#define PROVIDERS_KIT_STAT_FILES_H

#include "sandbox/sandbox.h"

enum stat_purpose {
	STAT_FOR_UPLOAD, /* makes parents, checks that it can be written */
	STAT_SET_MODES,  /* sets the modes that are wanted */
};

/* Sets error of those files that have none, by one command of the sandbox's
 * provider for all of them (several, when there are very many). */
int stat_files(struct sandbox *sb, enum stat_purpose what,
	       struct transfer *files, size_t n, const struct stop *stop,
	       struct error *err);

#endif
