/* skills.h - what the skills subcommands share. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_SKILLS_H
#define CMD_COMMANDS_SKILLS_H

#include "cmd/command.h"
#include "skills/skills.h"

struct skills_line { /* what a command line is about */
	struct app *app;
	struct skills_request request;
	const char **allowed; /* owned */
	char *agent;          /* owned */
	unsigned scopes;      /* enum skill_scope: which are meant */
	struct skills skills;
};

/* Reads --agent, --user, --project, and the skills. skills_cmd_close() in any
 * case. */
int skills_cmd_open(struct skills_line *l, struct app *app,
		    const struct args *args, struct error *err);
void skills_cmd_close(struct skills_line *l);
/* ERR_NOT_FOUND with the names that there are. */
int skills_cmd_find(const struct skills_line *l, const char *name,
		    const struct skill **found, struct error *err);
/* Appends the object of one, without the brace at its end. */
void skills_cmd_add_json(struct app *app, const struct skill *s,
			 struct buf *out);
/* On standard output: before and after are ours, text is foreign. */
void skills_cmd_print(const struct app *app, const char *before,
		      const char *text, const char *after);

/* One subcommand each. Return the exit status. */
int skills_cmd_info(struct app *app, const struct args *args);
int skills_cmd_create(struct app *app, const struct args *args);
int skills_cmd_delete(struct app *app, const struct args *args);

#endif
