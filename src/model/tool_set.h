/* tool_set.h - the tools of one conversation, as its vendor takes them. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_TOOL_SET_H
#define MODEL_TOOL_SET_H

#include "model/model.h"

struct tool_set;

/*
 * Makes the schemas and names of tools that other programs brought fit the
 * vendor, and leaves out those that cannot, or that are more than it takes;
 * each is noted with its server. dcode's own tools stay as they are, and stay.
 * origin: whose refusals are remembered. NULL where all tools are dcode's own:
 * nothing has to be done for them.
 */
struct tool_set *tool_set_new(const struct model_choice *choice,
			      const char *origin, const struct tool_spec *tools,
			      size_t n);
void tool_set_free(struct tool_set *s);
/* What goes into requests; until the next tool_set_refuse(). */
const struct tool_spec *tool_set_list(const struct tool_set *s, size_t *n);
/*
 * A request was refused with this body, why in one line: leaves out the tools
 * that it names, by index or by name, or those above the number that it names.
 * True when there was such a tool, so that the request can be sent again.
 */
bool tool_set_refuse(struct tool_set *s, struct str body, const char *why);
/* The next line about a tool that was left out, owned by the caller; or NULL.
 */
char *tool_set_take_note(struct tool_set *s);
/* The name that a tool is sent under; its own where no other is needed. */
const char *tool_set_sent_name(const struct tool_set *s, const char *name);
/* An answer: calls get the names that the tools and servers know. */
void tool_set_restore(const struct tool_set *s, struct message *answer);
/* The other way: true where copy is to be sent in place of m; the caller
 * releases it. */
bool tool_set_translate(const struct tool_set *s, const struct message *m,
			struct message *copy);

#endif
