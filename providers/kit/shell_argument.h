/* shell_argument.h - a shell command as JSON strings that fit into arguments.
 */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_SHELL_ARGUMENT_H
#define PROVIDERS_KIT_SHELL_ARGUMENT_H

#include "base/buf.h"

/* Appends what follows "-c" in an array of arguments of sh: the command, or,
 * when it is too long for one argument (Linux takes 128 KiB), a script that
 * joins the pieces that come after it. */
void shell_argument_add(struct buf *json, struct str command);

#endif
