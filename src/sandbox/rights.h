/* rights.h - whose files the tools of a sandbox can change. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_RIGHTS_H
#define SANDBOX_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

struct sandbox;
/* True when tools can change the user's own files: on `none`, where a
 * directory of the user's machine is mounted for writing, and on a shared
 * machine: calls need approval then. */
bool sandbox_acts_on_host(const struct sandbox *sb);
/* SANDBOX_SHARED holds with these settings: another machine, unisolated. */
bool sandbox_is_shared(const struct sandbox *sb);
/* Its id as a sentence has it, "job 7" or "me@build": returns room. */
const char *sandbox_called(const struct sandbox *sb, char *room, size_t size);

#endif
