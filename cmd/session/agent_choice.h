/* agent_choice.h - chooses and creates agents, each with memory and skills. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_AGENT_CHOICE_H
#define CMD_SESSION_AGENT_CHOICE_H

#include "cmd/app.h"

/* The agent used if no other is named. */
#define AGENT_DEFAULT "agent"

/* Allows letters, digits, "-", "_" and inner spaces. ERR_USAGE otherwise, and
 * for names of other directories in ~/.deepagents. */
int agent_check_name(const char *name, struct error *err);
/* Returns ~/.deepagents/NAME. Owned. */
char *agent_dir(const struct settings *set, const char *name);
/* True if the agent's directory exists and is not a symbolic link. */
bool agent_exists(const struct settings *set, const char *name);
/* Sets *name (owned) to the first of these: flag (--agent, which is checked);
 * if a thread is resumed, its agent; otherwise [agents].default, then
 * [agents].recent. All except the flag are used only if the agent exists; the
 * last resort is AGENT_DEFAULT. thread is the name of the resumed thread's
 * agent ("" if it has none), or NULL if no thread is resumed. */
int agent_choose(struct app *app, const char *flag, const char *thread,
		 char **name, struct error *err);
/* Creates the directory and AGENTS.md of a new agent and says so on stderr (not
 * with -q). Does nothing for AGENT_DEFAULT or if the agent exists. */
int agent_make(struct app *app, const char *name, struct error *err);
/* Stores a chat's --agent as [agents].recent, unless [agents].default is set.
 * Only warns if config.toml cannot be changed. */
void agent_remember(struct app *app, const char *name);
/* Content of a new agent's AGENTS.md. */
extern const char agent_template[];

#endif
