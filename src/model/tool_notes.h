/* tool_notes.h - which tools of servers are not offered, and who was told. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_NOTES_H
#define MODEL_TOOL_NOTES_H

#include <stdbool.h>

/* One for all conversations of a run, so that each line is printed once. Any
 * thread. */
struct tool_notes;
struct tool_notes *tool_notes_new(void);
void tool_notes_free(struct tool_notes *n);
/* line is for the user, once for each key. */
void tool_notes_add(struct tool_notes *n, const char *key, const char *line);
bool tool_notes_has(struct tool_notes *n, const char *key);
/* The next line that nobody was told of, owned by the caller; or NULL. */
char *tool_notes_take(struct tool_notes *n);

#endif
