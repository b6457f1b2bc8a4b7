/* tool_set.h - a conversation's tools, adapted to its vendor. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_SET_H
#define MODEL_TOOL_SET_H

#include "model/model.h"

struct tool_set;

/* Adapts names and schemas of MCP tools to the vendor. Leaves out those that
 * cannot be adapted and those above the vendor's limit, with a note for each.
 * dcode's own tools are sent unchanged. origin: the vendor for which refusals
 * are remembered. NULL if all tools are dcode's own: nothing needs adapting. */
struct tool_set *tool_set_new(const struct model_choice *choice,
			      const char *origin, const struct tool_spec *tools,
			      size_t n);
void tool_set_free(struct tool_set *s);
/* The tools in requests. Valid until the next tool_set_refuse(). */
const struct tool_spec *tool_set_list(const struct tool_set *s, size_t *n);
/* Call after a request was refused with this body; why is one line of it.
 * Leaves out the tools that the body names, by position or name, or those above
 * the limit that it names. True if there were any: send again. */
bool tool_set_refuse(struct tool_set *s, struct str body, const char *why);
/* Returns the next note about a tool left out, owned by the caller; NULL: no
 * more. */
char *tool_set_take_note(struct tool_set *s);
/* Returns the tool's name in requests; its own if they are the same. */
const char *tool_set_sent_name(const struct tool_set *s, const char *name);
/* Restores the tools' own names in the calls of an answer. */
void tool_set_restore(const struct tool_set *s, struct message *answer);
/* Translates names for a request. True if copy must be sent instead of m; the
 * caller releases it. */
bool tool_set_translate(const struct tool_set *s, const struct message *m,
			struct message *copy);

/* Notes about MCP tools that are left out. One list for all conversations of a
 * run, so that each line is printed once. Any thread. */
struct tool_notes;
struct tool_notes *tool_notes_new(void);
void tool_notes_free(struct tool_notes *n);
/* Adds a line for the user; only the first one for each key. */
void tool_notes_add(struct tool_notes *n, const char *key, const char *line);
/* Returns the next line, owned by the caller; NULL: no more. */
char *tool_notes_take(struct tool_notes *n);

#endif
