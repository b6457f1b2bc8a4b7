/* hook_program.h - which file a hook's command line runs. */
/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_HOOK_PROGRAM_H
#define HOOKS_HOOK_PROGRAM_H

/* Returns why a command of the user's own hooks.json may run a file of the
 * repository: its program, or the script of an interpreter ("bash ./x"), is a
 * relative path. NULL if it does not. argv: the program and its arguments, or
 * NULL for a shell command, in which each command is checked up to one that
 * changes to an absolute directory. Static text. */
const char *hook_program_fault(const char *const *argv, const char *command);

#endif
