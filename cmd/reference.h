/* reference.h - flags and commands that only the Python program has. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_REFERENCE_H
#define CMD_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* True if the Python program has the flag --NAME, or exactly one flag with that
 * prefix, or -letter if letter is not 0. err then says that dcode does not have
 * it, and what to use instead. */
bool reference_flag(const char *name, size_t len, char letter,
		    struct error *err);
/*
 * True if the Python program has this command. err then says that dcode does
 * not have it, and what to use instead.
 */
bool reference_command(const char *name, struct error *err);

#endif
