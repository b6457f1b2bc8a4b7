/* tool_set.h - a conversation's tools, adapted to its vendor. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_SET_H
#define MODEL_TOOL_SET_H

#include "model/model.h"

struct tool_set;

/* Adapts names and schemas of MCP tools to the vendor. Leaves out those that
 * cannot be adapted and those above the vendor's limit, with a note for each.
 * dcode's own tools are sent unchanged. origin: the wire and vendor; refusals
 * are remembered for it. Returns NULL if all tools are dcode's own, since
 * nothing needs adapting. */
struct tool_set *tool_set_new(const struct model_choice *choice,
			      const char *origin, const struct tool_spec *tools,
			      size_t n);
void tool_set_free(struct tool_set *s);
/* Returns the tools for requests. Valid until the next tool_set_refuse(). */
const struct tool_spec *tool_set_list(const struct tool_set *s, size_t *n);
/* Call after the vendor refused a request; body is its answer, and why is one
 * line of it. Leaves out the tools that the body names by position or name. If
 * the body names a limit, leaves out the tools above it. True if any tool was
 * left out: send the request again. */
bool tool_set_refuse(struct tool_set *s, struct str body, const char *why);
/* Returns the next note about a tool that was left out, owned by the caller.
 * NULL: no more notes. */
char *tool_set_take_note(struct tool_set *s);
/* Returns the tool's name in requests, which may be its own. */
const char *tool_set_sent_name(const struct tool_set *s, const char *name);
/* Replaces names and arguments in the calls of an answer by the tools' own. */
void tool_set_restore(const struct tool_set *s, struct message *answer);
/* Replaces names and arguments in a message by those for requests. True if copy
 * must be sent instead of m; the caller releases it. */
bool tool_set_translate(const struct tool_set *s, const struct message *m,
			struct message *copy);

/* Notes for the user about MCP tools that are left out. All conversations of a
 * run share one list, so that each note is printed once. Any thread. */
struct tool_notes;
struct tool_notes *tool_notes_new(void);
void tool_notes_free(struct tool_notes *n);
/* Adds a note for the user, unless there is one with this key. */
void tool_notes_add(struct tool_notes *n, const char *key, const char *line);
/* Returns the next note, owned by the caller. NULL: no more notes. */
char *tool_notes_take(struct tool_notes *n);

#endif
