/* slash.h - the commands of the chat that begin with a slash. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_SLASH_H
#define CMD_CHAT_SLASH_H

#include "cmd/session/run.h"
#include "editor/choices.h"
#include "skills/skills.h"

/* All of them, and "/skill:NAME" for each skill (may be NULL), for completion;
 * *list is owned by the caller, with its texts. Their number. */
size_t slash_list(const struct app *app, const struct skills *skills,
		  struct fuzzy_item **list);
/* True for a line that is this command by any of its names: "/quit". */
bool slash_is(const struct app *app, struct str line, const char *name);
/* Appends what a command says that need not wait for the end of a turn, or that
 * it is unknown. False: it is another one. On the thread that draws. */
bool slash_show(struct run *r, struct str line, size_t columns,
		struct buf *out);
/* Appends the lines of /help about the command of this name ("model" or
 * "/model"), if there is one. */
void slash_add_usage(const struct app *app, const char *name, size_t columns,
		     struct buf *out);
/* Whether what it shows is of the sandbox, which must be there then. */
bool slash_needs_sandbox(const struct app *app, struct str line);
/* Whether the arguments of a command ("/model") can be listed, and the list, as
 * slash_cmd.h says; on the thread that the chat's work is done on. */
bool slash_has_arguments(const struct app *app, struct str command);
void slash_list_arguments(struct run *r, struct str command, struct buf *out);
/* Runs it; one that is unknown is answered with the nearest. r->next, when it
 * is set then, is the run that the chat goes on with; r is closed. told is
 * what the model learns with the next prompt. False when the chat is over. */
bool slash_run(struct run *r, struct str line, struct buf *told);

#endif
