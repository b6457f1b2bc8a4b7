/* reference.h - flags and commands that only the Python program has. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_REFERENCE_H
#define CMD_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* True when the Python program has the flag --NAME (or the only one that begins
 * so), or -letter where letter is not 0: err then says that dcode does not, and
 * what to do instead. */
bool reference_flag(const char *name, size_t len, char letter,
		    struct error *err);
/* The same for a command's name. */
bool reference_command(const char *name, struct error *err);

#endif
