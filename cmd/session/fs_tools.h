/* fs_tools.h - --allow-fs-tools: which file tools the model has. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_FS_TOOLS_H
#define CMD_SESSION_FS_TOOLS_H

#include <stdbool.h>

#include "base/error.h"

/* "all" or names between commas, in any case; text NULL: all. ERR_USAGE with
 * the words of the reference (its flag --allow-fs-tools). */
int fs_tools_parse(const char *text, unsigned *tools, struct error *err);
/* True also for a tool that is none of these. */
bool fs_tools_permit(unsigned tools, const char *name);

#endif
