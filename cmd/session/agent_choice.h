/* agent_choice.h - which agent a run is of: whose memory and skills it has. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_AGENT_CHOICE_H
#define CMD_SESSION_AGENT_CHOICE_H

#include "cmd/app.h"

/* The one that is used where nothing names another. */
#define AGENT_DEFAULT "agent"

/* ERR_USAGE: letters, digits, "-", "_" and blanks within; no name that dcode or
 * the reference uses for something else. */
int agent_check_name(const char *name, struct error *err);
/* ~/.deepagents/NAME, owned. */
char *agent_dir(const struct settings *set, const char *name);
/* Whether that is a directory, and no link. */
bool agent_exists(const struct settings *set, const char *name);
/*
 * *name is flag (--agent, checked), else that of the thread, else
 * [agents].default, else [agents].recent, else AGENT_DEFAULT. All but the
 * flag's only where they exist. Owned.
 */
int agent_choose(struct app *app, const char *flag, const char *thread,
		 char **name, struct error *err);
/* Makes the directory of one that is new, with an AGENTS.md to fill in, and
 * says so on stderr (not with -q). */
int agent_make(struct app *app, const char *name, struct error *err);
/* Stores a chat's --agent as [agents].recent, unless [agents].default goes
 * before that; a config.toml that cannot be changed is a warning. */
void agent_remember(struct app *app, const char *name);
/* The AGENTS.md of a new one. */
extern const char agent_template[];

#endif
