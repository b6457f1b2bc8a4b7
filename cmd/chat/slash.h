/* slash.h - the commands of the chat that begin with a slash. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_SLASH_H
#define CMD_CHAT_SLASH_H

#include "cmd/session/run.h"
#include "editor/choices.h"
#include "skills/skills.h"

/* Lists all commands for completion, and "/skill:NAME" for each skill (skills
 * may be NULL). Returns their number; the caller owns *list including its
 * texts. */
size_t slash_list(const struct app *app, const struct skills *skills,
		  struct fuzzy_item **list);
/* True if line runs the command with this name or one of its aliases. */
bool slash_is(const struct app *app, struct str line, const char *name);
/* Appends the output of a command that does not have to wait for the end of a
 * turn, or a note that the command is unknown. False: a command that has to
 * wait. Call on the thread that draws. */
bool slash_show(struct run *r, struct str line, size_t columns,
		struct buf *out);
/* Appends the lines of /help about the command called name ("model" or
 * "/model"), if it exists. */
void slash_add_usage(const struct app *app, const char *name, size_t columns,
		     struct buf *out);
/* True if the command's output needs an open sandbox. */
bool slash_needs_sandbox(const struct app *app, struct str line);
/* slash_has_arguments() tells whether the arguments of a command ("/model") can
 * be listed. slash_list_arguments() lists them, in the format of slash_cmd.h,
 * on the thread that does the chat's work. */
bool slash_has_arguments(const struct app *app, struct str command);
void slash_list_arguments(struct run *r, struct str command, struct buf *out);
/* Runs a command; for an unknown one, suggests the nearest. If r->next is set
 * afterwards, the chat continues with that run and r is closed. told: text for
 * the model with the next prompt. False when the chat is over. */
bool slash_run(struct run *r, struct str line, struct buf *told);

#endif
