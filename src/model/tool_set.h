/* tool_set.h - the tools of one conversation, as its vendor accepts them. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_SET_H
#define MODEL_TOOL_SET_H

#include "model/model.h"

struct tool_set;

/*
 * Makes the names and schemas of servers' tools fit the vendor. Leaves out
 * those that cannot be made to fit and those above the vendor's number of
 * tools; each is noted with its server. dcode's own tools are always sent
 * unchanged. origin: whose refusals are remembered. NULL if all tools are
 * dcode's own: nothing has to be done for them.
 */
struct tool_set *tool_set_new(const struct model_choice *choice,
			      const char *origin, const struct tool_spec *tools,
			      size_t n);
void tool_set_free(struct tool_set *s);
/* The tools in requests; valid until the next tool_set_refuse(). */
const struct tool_spec *tool_set_list(const struct tool_set *s, size_t *n);
/*
 * A request was refused with this body; why is one line of it. Leaves out the
 * tools that the body names, by index or by name, or those above the number
 * that it names. True if there was such a tool: send the request again.
 */
bool tool_set_refuse(struct tool_set *s, struct str body, const char *why);
/* The next line about a tool that was left out, owned by the caller; or NULL.
 */
char *tool_set_take_note(struct tool_set *s);
/* The name of a tool in requests; its own if no other is needed. */
const char *tool_set_sent_name(const struct tool_set *s, const char *name);
/* Gives the calls of an answer the names that the tools and servers know. */
void tool_set_restore(const struct tool_set *s, struct message *answer);
/* The other direction. True if copy has to be sent in place of m; the caller
 * releases it. */
bool tool_set_translate(const struct tool_set *s, const struct message *m,
			struct message *copy);

/* Which tools of servers are left out. One list for all conversations of a run,
 * so that each line is printed once. Any thread. */
struct tool_notes;
struct tool_notes *tool_notes_new(void);
void tool_notes_free(struct tool_notes *n);
/* Adds a line for the user, once for each key. */
void tool_notes_add(struct tool_notes *n, const char *key, const char *line);
/* The next line that was not taken yet, owned by the caller; or NULL. */
char *tool_notes_take(struct tool_notes *n);

#endif
